"""Decoders beside `seq2seq.model.decoder.BahdanauDecoder`, a file each, and their names."""
