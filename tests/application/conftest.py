from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from seq2seq.application.config_errors import as_config
from seq2seq.config import register_schema
from tests.tiny import SMALL_CORPUS, SMALL_MODEL

CONF = Path(__file__).parents[2] / "conf"

TINY = [
    "data.train_pairs=120",
    *SMALL_CORPUS,
    *SMALL_MODEL,
    "trainer.max_epochs=2",
    "trainer.log_every=3",
    "optim.warmup_steps=2",
    "tensorboard.heatmaps=2",
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
