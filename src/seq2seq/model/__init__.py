"""GRU encoder, Bahdanau decoder, and the two together. Plain torch."""
