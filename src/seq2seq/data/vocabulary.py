"""The special tokens and their ids, the first four of every vocabulary."""

UNKNOWN, PADDING, BEGIN, END = "<unk>", "<pad>", "<bos>", "<eos>"
SPECIALS = (UNKNOWN, PADDING, BEGIN, END)
UNKNOWN_ID, PADDING_ID, BEGIN_ID, END_ID = range(4)

SPACE_MARK = "\N{LOWER ONE EIGHTH BLOCK}"
"""How SentencePiece writes a space; the first piece of every word begins with it."""
