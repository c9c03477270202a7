"""Studies of the attention of a trained model: word links, changed weights, faithfulness, statistics of a split.

Nothing of training imports them; the callbacks here are asked for by their groups in ``conf/callbacks``.
"""
