"""The decoders by their equations: one token of one sentence, see `tests.oracles.model.Oracle`.

A step is given the embedded token, the state (a list), the encoded sentence and the dropout; it
returns features, new state and attention weights.
"""

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


STARTS = {"luong": luong_start}
STEPS = {"bahdanau": bahdanau, "conditional": conditional, "luong": luong, "context": context, "plain": plain}
