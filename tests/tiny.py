"""Overrides that make a run a matter of seconds."""

SMALL_CORPUS = ["data.validation_pairs=20", "data.test_pairs=20"]
SMALL_MODEL = [
    "model.embedding_size=8",
    "model.encoder_hidden_size=6",
    "model.decoder_hidden_size=12",
    "attention.hidden_size=6",
    "trainer.batch_sentences=16",
    "device=cpu",
]
