// The special tokens, which begin every vocabulary: seq2seq.data.

export const [UNKNOWN_ID, PADDING_ID, BEGIN_ID, END_ID] = [0, 1, 2, 3];
export const NUM_SPECIALS = 4;
