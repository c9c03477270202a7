"""The attentions that are more than a score: parts that go together, a small module each.

An attention scores the keys (with `coverage` or without), makes weights of the scores (all of them,
in `windows`, or `monotonic`) and takes the mean (`composed`); `heads` are several beside each
other, and `build` puts them together. They keep `seq2seq.model.contracts.MemoryAttention` and go
step by step: only `seq2seq.model.attention.ScoredAttention` has a fast way.
"""
