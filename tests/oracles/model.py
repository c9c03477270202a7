"""The model by its equations: one sentence, one token at a time, from the parameters by name.

No batches, no padding, no packing, and nothing of the code that it is held against.
"""

import math

import torch

IN_ENCODER = ("source embedding", "between encoder layers", "memory")
IN_DECODER = ("target embedding", "between decoder layers", "features")
"""Where dropout acts."""


def undisturbed(place, layer, time, vector):
    """No dropout."""
    return vector


class Oracle:
    """A model of that spec with these parameters."""

    def __init__(self, spec, parameters):
        self.spec, self._parameters = spec, parameters

    def __getitem__(self, name):
        return self._parameters[name]

    def _has(self, name):
        return name in self._parameters

    def encode(self, ids, drop=undisturbed):
        """Rows of the memory, and the final state of each layer, of one sentence."""
        rows = [self["encoder.embedding.weight"][token] for token in ids]
        rows = [drop("source embedding", 0, time, row) for time, row in enumerate(rows)]
        finals = []
        for layer in range(self.spec.num_layers):
            if layer:
                rows = [
                    drop("between encoder layers", layer, time, row)
                    for time, row in enumerate(rows)
                ]
            forth = self._read(f"l{layer}", rows)
            final = [forth[-1]]
            columns = [forth]
            if self.spec.bidirectional:
                back = self._read(f"l{layer}_reverse", rows[::-1])
                final.append(back[-1])
                columns.append(back[::-1])
            rows = [torch.cat(parts) for parts in zip(*columns, strict=True)]
            finals.append(torch.cat(final))
        rows = [drop("memory", 0, time, row) for time, row in enumerate(rows)]
        return torch.stack(rows), finals

    def _read(self, name, rows):
        kinds = ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
        weights = [self[f"encoder.gru.{kind}_{name}"] for kind in kinds]
        state = torch.zeros(self.spec.encoder_hidden_size, dtype=weights[0].dtype)
        states = []
        for row in rows:
            state = gru(row, state, *weights)
            states.append(state)
        return states

    def start(self, encoded):
        """The state before the first token: one vector a layer."""
        _, finals = encoded
        if self.spec.initial_state == "zeros":
            return [finals[0].new_zeros(self.spec.decoder_hidden_size) for _ in finals]
        if not self._has("decoder.bridge.0.0.weight"):
            return finals
        return [
            torch.tanh(
                self[f"decoder.bridge.{layer}.0.weight"] @ final
                + self[f"decoder.bridge.{layer}.0.bias"]
            )
            for layer, final in enumerate(finals)
        ]

    def step(self, token, state, encoded, time=0, drop=undisturbed):
        """Features, new state and attention weights after a target token."""
        memory, _ = encoded
        embedded = self["decoder.embedding.weight"][token]
        embedded = drop("target embedding", 0, time, embedded)
        query = torch.cat([state[-1], embedded]) if self.spec.query != "state" else state[-1]
        weights = softmax(self._scores(query, memory))
        context = weights @ memory
        inputs, new = torch.cat([embedded, context]), []
        for layer, previous in enumerate(state):
            name = "decoder.first_layer" if not layer else f"decoder.upper_layers.{layer - 1}"
            if layer:
                inputs = drop("between decoder layers", layer, time, new[-1])
            new.append(gru(inputs, previous, *self._decoder_layer(name, first=not layer)))
        features = self._features(new[-1], context, embedded)
        return drop("features", 0, time, features), new, weights

    def _decoder_layer(self, name, *, first):
        input_weight = self[f"{name}.input_gates.weight"]
        if first:
            input_weight = torch.cat([input_weight, self["decoder.context_gates.weight"]], dim=1)
        state = (self[f"{name}.state_gates.{kind}"] for kind in ("weight", "bias"))
        return input_weight, self[f"{name}.input_gates.bias"], *state

    def _scores(self, query, memory):
        name = "decoder.attention.score"
        if self._has("decoder.key_projection.weight"):
            memory = memory @ self["decoder.key_projection.weight"].T
        if self.spec.score == "additive":
            query = self[f"{name}.query_projection.weight"] @ query
            keys = memory @ self[f"{name}.key_projection.weight"].T
            return torch.tanh(query + keys) @ self[f"{name}.score_weight"]
        if self.spec.score == "bilinear":
            return memory @ (query @ self[f"{name}.key_projection.weight"])
        if self.spec.score == "gaussian":
            differences = self[f"{name}.inverse_width"] * (query - memory)
            return -(differences**2).sum(dim=1) / 2
        scale = math.sqrt(len(query)) if self.spec.score == "scaled_dot" else 1
        return memory @ query / scale

    def _features(self, state, context, embedded):
        if self.spec.readout_size is None:
            return state
        return torch.tanh(
            self["decoder.readout.state.weight"] @ state
            + self["decoder.readout.state.bias"]
            + self["decoder.readout.context.weight"] @ context
            + self["decoder.readout.embedded.weight"] @ embedded
        )

    def logits(self, features):
        """Of the next token."""
        return self["decoder.output.weight"] @ features + self["decoder.output.bias"]


def gru(inputs, state, input_weight, input_bias, state_weight, state_bias):
    """Cho et al. 2014, as torch.nn.GRUCell documents it."""
    x_r, x_z, x_n = (input_weight @ inputs + input_bias).split(len(state))
    h_r, h_z, h_n = (state_weight @ state + state_bias).split(len(state))
    reset, update = 1 / (1 + torch.exp(-x_r - h_r)), 1 / (1 + torch.exp(-x_z - h_z))
    return (1 - update) * torch.tanh(x_n + reset * h_n) + update * state


def softmax(scores):
    """Numbers that sum to one."""
    powers = torch.exp(scores - scores.max())
    return powers / powers.sum()
