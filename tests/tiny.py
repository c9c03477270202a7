"""What makes a run or a pair of codecs a matter of seconds."""

from seq2seq.text.codec import CodecSettings, train_codecs

SMALL_CORPUS = ["data.validation_pairs=20", "data.test_pairs=20"]
SMALL_MODEL = [
    "model.embedding_size=8",
    "model.encoder_hidden_size=6",
    "model.decoder_hidden_size=12",
    "attention.hidden_size=6",
    "trainer.batch_sentences=16",
    "tensorboard.panel.first=2",
    "tensorboard.samples=2",
    "device=cpu",
]


def settings_of(tokenizer="word", **changes):
    base = {
        "source_tokenizer": tokenizer,
        "target_tokenizer": tokenizer,
        "lowercase": False,
        "joint": False,
        "min_frequency": 1,
        "max_size": None,
    }
    return CodecSettings(**{**base, **changes})


def codecs_of(pairs, folder, languages=("en", "fr"), **changes):
    """Codecs trained on sentence pairs, and saved in a folder; see `settings_of` for changes."""
    return train_codecs(pairs, settings_of(**changes), languages, folder)
