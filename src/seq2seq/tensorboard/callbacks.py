"""What training leaves in TensorBoard besides scalars: attention heatmaps and translations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import lightning.pytorch as pl
import numpy as np
from lightning.pytorch.callbacks import Callback
from PIL.Image import Image

from seq2seq.decoding.forced import force_decode
from seq2seq.decoding.heads import with_heads
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.interventions import attentions_of, tokens_that_stay
from seq2seq.evaluation.bleu import sentence_bleu_score
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.pictures.heatmap import attention_title, render_attention
from seq2seq.tensorboard.attention_panel import AttentionPanel, gold_links
from seq2seq.tensorboard.draws_attention import DrawsAttention
from seq2seq.tensorboard.event_log import TakesPictures, drawing, event_log
from seq2seq.tensorboard.records import log_attention, maps_of
from seq2seq.text.batch import Batch, SourceBatch
from seq2seq.text.codec import TextCodec
from seq2seq.text.store import EncodedSplit
from seq2seq.text.vocabulary import END, END_ID

CARD = 350
"""Pixels of TensorBoard's card of a picture, to which it scales every picture without smoothing."""

READABLE = 200
"""Tokens of a sentence of which a picture can be read."""

CAUSES = {
    "causal_maximum": "most_attended_erased",
    "causal_random": "another_erased",
    "causal_context": "no_context",
}
"""The weights that take the place of a step's own, by the share of predictions that they change."""

PanelSearch = Callable[[Seq2Seq, SourceBatch], Sequence[Sequence[Hypothesis]]]
"""The n best translations of every sentence of a batch, the best first."""


class AttentionHeatmaps(DrawsAttention):
    """Draws the teacher-forced attention of the first validation sentences.

    (Those of more than `READABLE` tokens are passed over.)

    Each sentence has its own tag ``attention/<sentence id>``, so that TensorBoard's step slider
    replays how its alignment forms.

    The title begins that of each picture.
    """

    def __init__(
        self,
        validation: EncodedSplit,
        codecs: tuple[TextCodec, TextCodec],
        *,
        count: int,
        title: str,
        every: int | None = None,
    ) -> None:
        super().__init__(every)
        self._validation = validation
        self._codecs = codecs
        lengths = np.maximum(validation.source.lengths, validation.target.lengths)[:count]
        self._sentence_ids = np.flatnonzero(lengths <= READABLE).tolist()
        self._title = title

    def draw(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Draw."""
        if not self._sentence_ids:
            return
        batch = Batch.from_split(self._validation, self._sentence_ids).to(pl_module.device)
        hypotheses = force_decode(pl_module.model, batch)
        for index, hypothesis in zip(self._sentence_ids, hypotheses, strict=True):
            picture = self._picture(index, hypothesis, trainer.global_step)
            for logger in trainer.loggers:
                if isinstance(logger, TakesPictures):
                    logger.log_picture(f"attention/{index}", picture, trainer.global_step)

    def _picture(self, index: int, forced: Hypothesis, step: int) -> Image:
        sides = (self._validation.source[index], self._validation.target[index])
        source, target = (
            [*codec.vocabulary.words(ids), END]
            for codec, ids in zip(self._codecs, sides, strict=True)
        )
        title = attention_title(self._title, step=step, score=forced.score)
        weights = forced.weights.float().numpy()
        return render_attention(weights, source, target, title=title, width=CARD)


class AttentionRecords(DrawsAttention):
    """Records the attention of a panel of sentences for the Attention tab.

    The kinds are ``forced``, for sentences with a target, and at validations one for each search.
    The shares of `CAUSES` are scalars: of the likeliest tokens while the model is forced to write
    the targets.
    """

    def __init__(
        self,
        panel: AttentionPanel,
        codecs: tuple[TextCodec, TextCodec],
        searches: Mapping[str, PanelSearch],
        every: int | None = None,
    ) -> None:
        super().__init__(every)
        self._panel = panel
        self._source_codec, self._target_codec = codecs
        self._searches = searches

    def draw(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Record what is forced."""
        if len(self._panel):
            batch = self._batch(pl_module)
            forced = [[each] for each in force_decode(pl_module.model, batch)]
            self._record_kind(trainer, pl_module.model, batch, "forced", forced)

    def draw_more(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Record what searches find, and the causes."""
        if not len(self._panel):
            return
        model, batch = pl_module.model, self._batch(pl_module)
        for kind, search in self._searches.items():
            self._record_kind(trainer, model, batch, kind, search(model, batch.source))
        if attentions_of(model.decoder):
            self._record_causes(trainer, model, batch)

    def _batch(self, pl_module: Any) -> Batch:
        everyone = list(range(len(self._panel)))
        return Batch.from_split(self._panel.split, everyone).to(pl_module.device)

    def _record_kind(
        self,
        trainer: pl.Trainer,
        model: Seq2Seq,
        batch: Batch,
        kind: str,
        lists: Sequence[Sequence[Hypothesis]],
    ) -> None:
        for index, hypotheses in enumerate(with_heads(model, batch.source, lists)):
            if kind == "forced" and not self._panel.split.pairs[index].target:
                continue
            for rank, hypothesis in enumerate(hypotheses):
                self._record(trainer, index, kind, rank, hypothesis)

    def _record_causes(self, trainer: pl.Trainer, model: Seq2Seq, batch: Batch) -> None:
        stays, _ = tokens_that_stay(model, batch, seed=0, changes=[*CAUSES.values()])
        of_words = stays.transpose(1, 2)[batch.target_is_token & (batch.target_output != END_ID)]
        if not len(of_words):
            return
        shares = (1 - of_words.float().mean(dim=0)).tolist()
        causes = {f"attention/{name}": each for name, each in zip(CAUSES, shares, strict=True)}
        for logger in trainer.loggers:
            logger.log_metrics(causes, trainer.global_step)

    def _record(
        self, trainer: pl.Trainer, index: int, kind: str, rank: int, hypothesis: Hypothesis
    ) -> None:
        split = self._panel.split
        pair = split.pairs[index]
        source = self._source_codec.vocabulary.words(split.source[index])
        reference = self._target_codec.vocabulary.words(split.target[index])
        target = self._target_codec.vocabulary.words(hypothesis.ids)
        bleu = None
        if kind != "forced" and pair.target:
            text = self._target_codec.decode(hypothesis.ids)
            bleu = sentence_bleu_score(text, pair.target, self._target_codec.tokenizer.language)
        log_attention(
            _writer(trainer),
            self._panel.tags[index],
            maps_of(hypothesis),
            [*source, END],
            target,
            trainer.global_step,
            kind=kind,
            rank=rank,
            score=hypothesis.score,
            bleu=bleu,
            # gold is of the reference: another translation has other words at its places
            alignment=gold_links(pair, source, reference) if target == [*reference, END] else None,
        )


class TranslationSamples(Callback):
    """Shows source, reference and translation of the first validation sentences as text."""

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
    log = event_log(trainer)
    if log is None:
        raise TypeError("texts and records are written where there is an EventLog")
    return log.experiment


def _cell(text: str) -> str:
    """Text that stays text in a Markdown table."""
    for sign in "\\`*_{}[]<>()#+-.!|":
        text = text.replace(sign, f"\\{sign}")
    return text
