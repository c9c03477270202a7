"""The model by its equations: one sentence, one token at a time, from the parameters by name.

No batches, no padding, no packing, and nothing of the code that it is held against.
"""

import math

import torch

from tests.oracles import decoders

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
        if self.spec.reverse_source:
            memory, finals = self._encode(ids[::-1], drop)
            return memory.flip(0), finals
        return self._encode(ids, drop)

    def _encode(self, ids, drop):
        rows = [self["source_embedding.weight"][token] for token in ids]
        rows = [drop("source embedding", 0, time, row) for time, row in enumerate(rows)]
        finals = []
        for layer in range(self.spec.num_layers):
            if layer:
                rows = [drop("between encoder layers", layer, time, row) for time, row in enumerate(rows)]
            columns = [self._read(layer, "", rows)]
            if self.spec.bidirectional:
                columns.append(self._read(layer, "_reverse", rows[::-1])[::-1])
            size = self.spec.encoder_hidden_size
            rows = [torch.cat([state[:size] for state in pair]) for pair in zip(*columns, strict=True)]
            ends = [states[end] for states, end in zip(columns, (-1, 0), strict=False)]
            finals.append(torch.cat([e[:size] for e in ends] + [e[size:] for e in ends]))
        rows = [drop("memory", 0, time, row) for time, row in enumerate(rows)]
        return torch.stack(rows), finals

    def _read(self, layer, direction, rows):
        kinds = ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
        weights = [self[f"encoder.layers.{layer}.{kind}_l0{direction}"] for kind in kinds]
        state = rows[0].new_zeros(self._num_states * self.spec.encoder_hidden_size)
        states = []
        for row in rows:
            state = self.cell(row, state, *weights)
            states.append(state)
        return states

    @property
    def _num_states(self):
        return 2 if self.spec.cell == "lstm" else 1

    def cell(self, inputs, state, *weights):
        """The state after an input."""
        return (lstm if self.spec.cell == "lstm" else gru)(inputs, state, *weights)

    def seen(self, state):
        """What a layer shows of its state."""
        return state[: self.spec.decoder_hidden_size]

    def start(self, encoded):
        """The state before the first token: one vector a layer, then what the decoder adds."""
        return decoders.STARTS.get(self.spec.decoder, decoders.layers_alone)(self, encoded)

    def first_states(self, encoded):
        """One vector a layer."""
        _, finals = encoded
        if self.spec.initial_state == "zeros":
            size = self._num_states * self.spec.decoder_hidden_size
            return [finals[0].new_zeros(size) for _ in finals]
        if self.spec.initial_state == "copy":
            return finals
        weight, bias = (self[f"decoder.bridge.projection.{kind}"] for kind in ("weight", "bias"))
        return list(torch.tanh(weight @ torch.cat(finals) + bias).chunk(len(finals)))

    def step(self, token, state, encoded, time=0, drop=undisturbed):
        """Features, new state and attention weights after a target token."""
        embedded = decoders.EMBEDDED.get(self.spec.decoder, decoders.token_alone)(self, token, time)
        embedded = drop("target embedding", 0, time, embedded)

        def dropped(place, layer, vector):
            return drop(place, layer, time, vector)

        step = decoders.STEPS[self.spec.decoder]
        features, new, weights = step(self, embedded, state, encoded, dropped)
        return drop("features", 0, time, features), new, weights

    def climb(self, names, inputs, states, drop):
        """New states of layers above each other; `inputs` are of the first."""
        new = []
        for layer, (name, previous) in enumerate(zip(names, states, strict=True)):
            if layer:
                inputs = drop("between decoder layers", layer, self.seen(new[-1]))
            first_gates = "decoder.context_gates.weight" if not layer else None
            new.append(self.cell(inputs, previous, *self.layer(name, first_gates)))
        return new

    def layer(self, name, more=None):
        """Weights of a layer; those of its first input's second part may have another name."""
        input_weight = self[f"{name}.input_gates.weight"]
        if more and self._has(more):
            input_weight = torch.cat([input_weight, self[more]], dim=1)
        state = (self[f"{name}.state_gates.{kind}"] for kind in ("weight", "bias"))
        return input_weight, self[f"{name}.input_gates.bias"], *state

    def attend(self, query, memory):
        """Context and weights."""
        weights = softmax(self._scores(query, memory))
        return weights @ memory, weights

    def _scores(self, query, memory):
        name = "decoder.attention.score"
        if self._has("decoder.attention.key_projection.weight"):
            memory = memory @ self["decoder.attention.key_projection.weight"].T
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

    def readout(self, state, context, embedded):
        """Features of Bahdanau's decoder, and of those like it."""
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


def lstm(inputs, state, input_weight, input_bias, state_weight, state_bias):
    """Hochreiter and Schmidhuber 1997, as torch.nn.LSTMCell documents it; the state is [h; c]."""
    hidden, cell = state.split(len(state) // 2)
    gates = input_weight @ inputs + input_bias + state_weight @ hidden + state_bias
    i, f, g, o = gates.split(len(hidden))
    cell = cell / (1 + torch.exp(-f)) + torch.tanh(g) / (1 + torch.exp(-i))
    return torch.cat([torch.tanh(cell) / (1 + torch.exp(-o)), cell])


def softmax(scores):
    """Numbers that sum to one."""
    powers = torch.exp(scores - scores.max())
    return powers / powers.sum()
