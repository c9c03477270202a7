from unittest.mock import MagicMock

import lightning.pytorch as pl
import pytest
import torch

from seq2seq.training.progress import ProgressReport

MEASURED = {
    "train/loss": 0.5, "validation/loss": 0.25, "validation/bleu": 31.04, "validation/exact": 97.26,
    "alignment/aer": 0.0614, "train/tokens_per_second": 5000.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("monitored", "score"),
    [
        ("loss", "BLEU 31.0"),
        ("last", "BLEU 31.0"),
        ("bleu", "BLEU 31.0"),
        ("exact", "exact match 97.3"),
        ("aer", "AER 0.061"),
    ],
)
def test_the_line_of_an_epoch_tells_the_score_that_is_monitored(monitored, score, capsys):
    trainer = MagicMock(
        pl.Trainer,
        callback_metrics={name: torch.tensor(value) for name, value in MEASURED.items()},
        current_epoch=1,
        max_epochs=6,
        global_step=200,
    )
    ProgressReport(total_steps=600, monitored=monitored).on_validation_end(
        trainer, MagicMock(pl.LightningModule)
    )
    (line,) = capsys.readouterr().out.splitlines()
    start, end = f"epoch   2/6  step    200  loss 0.500, validation 0.250  {score}  5,000", " left"
    assert line.startswith(start)
    assert line.endswith(end)
