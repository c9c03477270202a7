"""What a validation leaves in TensorBoard besides scalars: attention heatmaps and translations."""

from collections.abc import Iterator
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import TensorBoardLogger
from tensorboard.compat.proto.summary_pb2 import Summary

from seq2seq.decoding.forced import force_decode
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.tensorboard.event_log import drawing
from seq2seq.tensorboard.heatmap import attention_title, png_bytes, render_attention
from seq2seq.text.batch import Batch
from seq2seq.text.store import EncodedSplit
from seq2seq.text.vocabulary import END, Vocabulary


class AttentionHeatmaps(Callback):
    """Draws the teacher-forced attention of the first validation sentences at every validation.

    Each sentence has its own tag ``attention/<sentence id>``, so that TensorBoard's step slider
    replays how its alignment forms.

    Args:
        validation: the validation split.
        source_vocabulary: names the columns.
        target_vocabulary: names the rows.
        count: number of sentences.
        title: begins the title of each picture.
    """

    def __init__(
        self,
        validation: EncodedSplit,
        *,
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        count: int,
        title: str,
    ) -> None:
        self._validation = validation
        self._source_vocabulary = source_vocabulary
        self._target_vocabulary = target_vocabulary
        self._sentence_ids = list(range(min(count, len(validation))))
        self._title = title

    @drawing
    def on_validation_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Draw."""
        if not self._sentence_ids:
            return
        batch = Batch.from_split(self._validation, self._sentence_ids).to(pl_module.device)
        hypotheses = force_decode(pl_module.model, batch)
        for index, hypothesis in zip(self._sentence_ids, hypotheses, strict=True):
            picture = self._picture(index, hypothesis, trainer.global_step)
            _writer(trainer).file_writer.add_summary(picture, trainer.global_step)

    def _picture(self, index: int, forced: Hypothesis, step: int) -> Summary:
        source = [*self._source_vocabulary.words(self._validation.source[index]), END]
        target = [*self._target_vocabulary.words(self._validation.target[index]), END]
        image = render_attention(
            forced.weights.float().numpy(),
            source,
            target,
            title=attention_title(self._title, step=step, score=forced.score),
        )
        encoded = Summary.Image(
            height=image.height,
            width=image.width,
            colorspace=3,
            encoded_image_string=png_bytes(image),
        )
        return Summary(value=[Summary.Value(tag=f"attention/{index}", image=encoded)])


class TranslationSamples(Callback):
    """Shows source, reference and translation of the first validation sentences as text.

    Args:
        validation: the validation split.
        count: number of sentences.
    """

    def __init__(self, validation: EncodedSplit, *, count: int) -> None:
        self._validation = validation
        self._count = min(count, len(validation))

    @drawing
    def on_validation_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Write a table."""
        if not self._count:
            return
        table = "\n".join(self._rows(pl_module.translations))
        _writer(trainer).add_text("validation/samples", table, trainer.global_step)

    def _rows(self, translations: dict[int, str]) -> Iterator[str]:
        yield "| source | reference | translation |"
        yield "| --- | --- | --- |"
        for index in range(self._count):
            pair = self._validation.pairs[index]
            cells = (pair.source, pair.target, translations.get(index, ""))
            yield "| " + " | ".join(_cell(text) for text in cells) + " |"


def log_config(trainer: pl.Trainer, config: str) -> None:
    """Show the resolved configuration as text."""
    indented = "\n".join(f"    {line}" for line in config.splitlines())
    _writer(trainer).add_text("config", indented, trainer.global_step)


def _writer(trainer: pl.Trainer) -> Any:
    """TensorBoard's writer of the run."""
    if not isinstance(trainer.logger, TensorBoardLogger):
        raise TypeError("attention is drawn where a TensorBoardLogger is the trainer's logger")
    return trainer.logger.experiment


def _cell(text: str) -> str:
    """Text that stays text in a Markdown table."""
    for sign in "\\`*_{}[]<>()#+-.!|":
        text = text.replace(sign, f"\\{sign}")
    return text
