from unittest.mock import MagicMock

import lightning.pytorch as pl
import pytest
import torch

from seq2seq.training.progress import ProgressReport

MEASURED = {
    "train/loss": 0.5, "validation/loss": 0.25, "validation/bleu": 31.04, "validation/exact": 97.26,
    "alignment/aer": 0.0614, "train/tokens_per_second": 5000.0,
}  # fmt: skip


def second_epoch():
    return MagicMock(
        pl.Trainer,
        callback_metrics={name: torch.tensor(value) for name, value in MEASURED.items()},
        current_epoch=1,
        max_epochs=6,
        global_step=200,
    )


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
    ProgressReport(total_steps=600, monitored=monitored).on_validation_end(
        second_epoch(), MagicMock(pl.LightningModule)
    )
    (line,) = capsys.readouterr().out.splitlines()
    start, end = f"epoch   2/6  step    200  loss 0.500, validation 0.250  {score}  5,000", " left"
    assert line.startswith(start)
    assert line.endswith(end)


@pytest.mark.parametrize("is_validated", [True, False])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_an_epoch_without_validation_has_a_line_where_there_is_no_bar(
    is_validated, is_terminal, capsys, monkeypatch
):
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    progress, trainer = ProgressReport(total_steps=600, monitored="last"), second_epoch()
    if is_validated:
        progress.on_validation_end(trainer, MagicMock(pl.LightningModule))
    progress.on_train_epoch_end(trainer, MagicMock(pl.LightningModule))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == (is_validated or not is_terminal)
    assert is_validated or all("loss 0.500  5,000 tokens/s" in line for line in lines)
