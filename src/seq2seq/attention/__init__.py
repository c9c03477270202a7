"""Attention for sequence models: scores, masking and pooling, usable on their own.

An attention compares every query with every key (a *score*), turns the scores of one query into
weights that sum to one (the *masked softmax*) and returns the weighted mean of the values (the
*pooling*):

    context, weights = Attention(AdditiveScore(hidden_size=128))(queries, keys, values, lengths)

- `seq2seq.attention.scores`: the scoring functions, and the contract `Score` for new ones.
- `seq2seq.attention.masking`: the softmax that gives padding a weight of exactly zero.
- `seq2seq.attention.pooling`: `Attention` and `AveragePooling`.
- `seq2seq.attention.additive`: additive attention as an operation of bounded memory.
- `seq2seq.attention.registry`: scores by name, those of other packages included.

Shapes are written with B batch, Q queries, K keys, A attention (hidden) size, and q, k, v for the
sizes of one query, key and value.
"""
