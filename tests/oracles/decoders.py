"""The decoders by their equations: one token of one sentence, see `tests.oracles.model.Oracle`.

A step is given the embedded token, the state (a list), the encoded sentence and the dropout; it
returns features, new state and attention weights.
"""

import math

import torch


def layers_alone(oracle, encoded):
    """A state of one vector a layer."""
    return oracle.first_states(encoded)


def bahdanau(oracle, embedded, state, encoded, drop):
    """Bahdanau et al. 2015."""
    memory, _ = encoded
    query = oracle.seen(state[-1])
    if oracle.spec.query_with_embedding:
        query = torch.cat([query, embedded])
    context, weights = oracle.attend(query, memory)
    new = oracle.climb(layer_names(state), torch.cat([embedded, context]), state, drop)
    return oracle.readout(oracle.seen(new[-1]), context, embedded), new, weights


def conditional(oracle, embedded, state, encoded, drop):
    """Sennrich et al. 2017: one transition by the word, a second one by the context."""
    memory, _ = encoded
    middle = oracle.cell(embedded, state[0], *oracle.layer("decoder.token_cell"))
    context, weights = oracle.attend(oracle.seen(middle), memory)
    new = oracle.climb(layer_names(state), context, [middle, *state[1:]], drop)
    return oracle.readout(oracle.seen(new[-1]), context, embedded), new, weights


def luong_start(oracle, encoded):
    """Nothing has been attended to."""
    spec = oracle.spec
    size = (spec.readout_size or spec.decoder_hidden_size) if spec.input_feeding else 0
    return [*oracle.first_states(encoded), encoded[0].new_zeros(size)]


def luong(oracle, embedded, state, encoded, drop):
    """Luong et al. 2015."""
    *states, fed = state
    new = oracle.climb(layer_names(states), torch.cat([embedded, fed]), states, drop)
    top = oracle.seen(new[-1])
    context, weights = oracle.attend(top, encoded[0])
    attentional = torch.tanh(oracle["decoder.attentional.weight"] @ torch.cat([context, top]))
    kept = attentional if oracle.spec.input_feeding else fed
    return attentional, [*new, kept], weights


def context(oracle, embedded, state, encoded, drop):
    """Cho et al. 2014."""
    summary = torch.cat(encoded[1])
    new = oracle.climb(layer_names(state), torch.cat([embedded, summary]), state, drop)
    return oracle.readout(oracle.seen(new[-1]), summary, embedded), new, None


def plain(oracle, embedded, state, encoded, drop):
    """Sutskever et al. 2014."""
    new = oracle.climb(layer_names(state), embedded, state, drop)
    features = oracle.seen(new[-1])
    if oracle.spec.readout_size is not None:
        weight, bias = (oracle[f"decoder.readout.0.{kind}"] for kind in ("weight", "bias"))
        features = torch.tanh(weight @ features + bias)
    return features, new, None


def layer_names(states):
    """One above the other."""
    return [f"decoder.stack.cells.{layer}" for layer in range(len(states))]


def token_alone(oracle, token, time):
    """The embedding of a token."""
    return oracle["decoder.embedding.weight"][token]


def with_position(oracle, token, time):
    """Vaswani et al. 2017: sines and cosines of the position; a shared embedding is scaled."""
    embedded = oracle["decoder.embedding.weight"][token]
    size = len(embedded)
    angles = [time / 10_000 ** ((i - i % 2) / size) for i in range(size)]
    places = [math.cos(angle) if i % 2 else math.sin(angle) for i, angle in enumerate(angles)]
    scale = 1 if oracle.spec.tie == "none" else size**0.5
    return scale * embedded + torch.tensor(places, dtype=embedded.dtype)


def nothing_yet(oracle, encoded):
    """No token has been read, in any layer."""
    return [[] for _ in range(oracle.spec.num_layers)]


def transformer(oracle, embedded, state, encoded, drop):
    """Vaswani et al. 2017, with layer normalization before each part (Xiong et al. 2020)."""
    x, new, looked = embedded, [], []
    for layer, earlier in enumerate(state):
        name = f"decoder.layers.{layer}"
        asking = normed(oracle, f"{name}.norms.0", x)
        new.append([*earlier, asking])  # all that has been asked may be asked
        found, _ = asked(oracle, f"{name}.self_attention", asking, torch.stack(new[-1]), drop)
        x = x + drop(f"{name}.dropout", 0, found)
        asking = normed(oracle, f"{name}.norms.1", x)
        found, weights = asked(oracle, f"{name}.cross_attention", asking, encoded[0], drop)
        looked.extend(weights)
        x = x + drop(f"{name}.dropout", 1, found)
        hidden = torch.relu(linear(oracle, f"{name}.first", normed(oracle, f"{name}.norms.2", x)))
        found = linear(oracle, f"{name}.second", drop(f"{name}.dropout", 2, hidden))
        x = x + drop(f"{name}.dropout", 3, found)
    return normed(oracle, "decoder.norm", x), new, sum(looked) / len(looked)


def asked(oracle, name, asking, rows, drop):
    """What an attention finds in rows, head by head, and the weights of each."""
    size, heads = len(asking), math.gcd(2, len(asking))
    query, share = linear(oracle, f"{name}.query", asking), size // heads
    both = rows @ oracle[f"{name}.keys_values.weight"].T + oracle[f"{name}.keys_values.bias"]
    contexts, all_weights = [], []
    for head in range(heads):
        columns = range(head * share, (head + 1) * share)
        keys, values = both[:, columns], both[:, [size + column for column in columns]]
        powers = torch.exp(keys @ query[columns] / share**0.5)
        weights = powers / powers.sum()
        contexts.append(drop(f"{name}.dropout", head, weights) @ values)
        all_weights.append(weights)
    return linear(oracle, f"{name}.output", torch.cat(contexts)), all_weights


def normed(oracle, name, x):
    """Layer normalization (Ba et al. 2016)."""
    centered = x - x.mean()
    scaled = centered / (centered.square().mean() + 1e-5) ** 0.5
    return scaled * oracle[f"{name}.weight"] + oracle[f"{name}.bias"]


def linear(oracle, name, x):
    """A linear layer with bias."""
    return oracle[f"{name}.weight"] @ x + oracle[f"{name}.bias"]


EMBEDDED = {"transformer": with_position}
STARTS = {"luong": luong_start, "transformer": nothing_yet}
STEPS = {
    "bahdanau": bahdanau, "conditional": conditional, "luong": luong, "context": context, "plain": plain,
    "transformer": transformer,
}  # fmt: skip
