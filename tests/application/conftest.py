from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from seq2seq.application.config_errors import as_config
from seq2seq.config import register_schema

CONF = Path(__file__).parents[2] / "conf"

TINY = [
    "data.train_pairs=120",
    "data.validation_pairs=20",
    "data.test_pairs=20",
    "model.embedding_size=8",
    "model.encoder_hidden_size=6",
    "model.decoder_hidden_size=12",
    "attention.hidden_size=6",
    "trainer.batch_sentences=16",
    "trainer.max_epochs=2",
    "trainer.log_every=3",
    "optim.warmup_steps=2",
    "tensorboard.heatmaps=2",
    "device=cpu",
]


@pytest.fixture
def configured():
    """Overrides -> the typed configuration, as train.py makes it."""
    register_schema()

    def configure(*overrides):
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return as_config(compose("config", overrides=list(overrides)))

    return configure


@pytest.fixture
def tiny(configured):
    return lambda *overrides: configured(*TINY, *overrides)
