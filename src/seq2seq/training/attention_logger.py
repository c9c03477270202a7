"""Callback that logs attention during training: heatmaps, and records for the Attention tab."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback

from joined_words import clean
from lightning_exact_resume import callbacks_of, is_dry, validation_follows
from seq2seq.common.errors import InputError
from seq2seq.common.numbers import NotNegative, Positive
from seq2seq.data.batch import Batch, EncodedSplit, Sentences
from seq2seq.data.datamodule import Prepared, prepared_of
from seq2seq.data.languages import require_tags, target_tag
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import END
from seq2seq.decoding.effect import log_probabilities
from seq2seq.decoding.forced import force_decode, weights_of, with_heads
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.evaluation.bleu import sentence_bleu_score
from seq2seq.training.gold_pairs import gold_links
from seq2seq.training.module import TranslationModule
from tensorboard_attention import MAX_TOKENS, MAX_WEIGHTS, add_attention, log_picture, writer_of

READABLE = 60
"""Maximum number of tokens of a sentence in a heatmap, and of a source whose effects are computed: one pass of the decoder each."""


class AttentionLogger(Callback):
    """Log the attention of some sentences at every validation, and optionally between validations.

    Heatmaps show the attention under forced decoding of the reference, with one tag per sentence. Records for the
    Attention tab are of forced decoding, with the effect of each token of a source that is not too long, and of the greedy translation; they have the
    `marks` of other callbacks, short texts about this validation. With averaged weights (EMA), validations log
    the attention of the averaged model; this callback must come before the averaging callback.

    Args:
        sentences: Number of validation sentences to record, from the start of the split.
        heatmaps: Number of these sentences to draw as heatmaps.
        every_n_steps: Number of optimizer steps between records; None: at validations, and at `steps`.
        steps: Further steps to record, such as the first ones, when attention forms; 0 is before training.
        indices: Indices of further validation sentences to record, from 0.
        texts: Further sentences to record, as ``source`` or ``source ||| target``.

    Raises:
        InputError: An index or a text is invalid.
    """

    def __init__(
        self,
        sentences: NotNegative = 16,
        heatmaps: NotNegative = 4,
        every_n_steps: Positive | None = None,
        steps: Sequence[int] = (),
        indices: Sequence[int] = (),
        texts: Sequence[str] = (),
    ) -> None:
        self.sentences, self.heatmaps, self.every_n_steps = sentences, heatmaps, every_n_steps
        self.steps = frozenset(steps)
        self.indices, self.texts = list(indices), list(texts)
        self._panel: EncodedSplit | None = None
        self._tags: list[str] = []
        self._figure: Any = None
        self._latest_step = 0

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Select and encode the sentences."""
        self._panel, data = None, prepared_of(trainer)
        if data is None or not isinstance(pl_module, TranslationModule):
            return
        if not pl_module.model.decoder.has_attention:
            return
        split, limits = data.validation, pl_module.limits
        if beyond := [index for index in self.indices if not 0 <= index < len(split)]:
            raise InputError(
                f"callbacks.attention.indices holds {beyond[0]}, but the validation split has {len(split):,} "
                f"pairs: choose among 0 to {len(split) - 1}"
            )
        longest = int(min((MAX_TOKENS - limits.max_extra) / max(limits.max_ratio, 1.0), MAX_TOKENS)) - 1
        places = [
            place
            for place in dict.fromkeys([*range(min(self.sentences, len(split))), *self.indices])
            if 0 < len(split.source[place]) <= longest and 0 < len(split.target[place]) < MAX_TOKENS
        ]
        own = self._own_pairs(data)
        self._tags = [f"attention/{place}" for place in places]
        self._tags += [f"attention/text {number}" for number in range(1, len(own) + 1)]
        self._panel = EncodedSplit(
            [split.pairs[place] for place in places] + own,
            Sentences.from_lists(
                [split.source[place].tolist() for place in places]
                + data.source_tokenizer.encode_all([pair.source for pair in own])
            ),
            Sentences.from_lists(
                [split.target[place].tolist() for place in places]
                + data.target_tokenizer.encode_all([pair.target for pair in own])
            ),
        )
        self._latest_step = trainer.global_step

    def _own_pairs(self, data: Prepared) -> list[SentencePair]:
        """Return `texts` as pairs, with their target language if the corpus has several."""
        codes = {pair.target_language for pair in data.validation.pairs}
        languages = {target_tag(code): f"mul-{code}" for code in codes if code}
        own = []
        for text in self.texts:
            source, _, target = (part.strip() for part in text.partition("|||"))
            if not source:
                raise InputError(
                    f"callbacks.attention.texts holds {text!r}: give source, or source ||| target"
                )
            own.append(SentencePair(source, target, languages=languages.get(source.partition(" ")[0], "")))
        sources, vocabulary = [clean(pair.source) for pair in own], data.source_tokenizer.vocabulary
        require_tags(sources, vocabulary, data.target_tokenizer.language, "callbacks.attention.texts")
        return own

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log what an untrained model attends to."""
        if trainer.global_step == 0 and 0 in self.steps:
            self._log(trainer, pl_module, searches=False)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Log heatmaps, forced decoding and greedy translations."""
        if not trainer.sanity_checking:
            self._log(trainer, pl_module, searches=True)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log heatmaps and forced decoding between validations, without searches, which are slow early in training."""
        step, latest = trainer.global_step, self._latest_step
        self._latest_step = step
        is_due = step in self.steps or (self.every_n_steps is not None and step % self.every_n_steps == 0)
        if is_due and step != latest and not validation_follows(trainer):
            self._log(trainer, pl_module, searches=False)

    def _log(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *, searches: bool) -> None:
        data = prepared_of(trainer)
        if not self._panel or data is None or not isinstance(pl_module, TranslationModule):
            return
        if is_dry(trainer) or not trainer.is_global_zero:
            return
        was_training = pl_module.training
        pl_module.eval()
        with torch.no_grad():
            self._log_panel(trainer, pl_module, self._panel, data, searches=searches)
        pl_module.train(was_training)

    def _log_panel(
        self,
        trainer: pl.Trainer,
        pl_module: TranslationModule,
        panel: EncodedSplit,
        data: Prepared,
        *,
        searches: bool,
    ) -> None:
        model, step = pl_module.model, trainer.global_step
        batch = Batch.from_split(panel, range(len(panel))).to(pl_module.device)
        forced = force_decode(model, batch)
        if not all(each.weights.isfinite().all() for each in forced):
            return  # training fails at the next loss
        sources = [[*data.source_tokenizer.words(ids), END] for ids in panel.source]
        references = [[*data.target_tokenizer.words(ids), END] for ids in panel.target]
        self._draw(trainer, forced, sources, references, step)
        writer = writer_of(trainer)
        if writer is None:
            return
        found: dict[str, list[Hypothesis]] = {"forced": forced}
        marks = list[str]()
        if searches:
            found["greedy"] = greedy_search(model, batch.source, limits=pl_module.limits)
            marks = [text for each in callbacks_of(trainer) for text in getattr(each, "marks", ())]
        tokenizers = data.source_tokenizer, data.target_tokenizer
        for kind, hypotheses in found.items():
            for place, (hypothesis,) in enumerate(with_heads(model, batch.source, [[h] for h in hypotheses])):
                pair = panel.pairs[place]
                if (kind == "forced" and not pair.target) or not hypothesis.weights.isfinite().all():
                    continue
                target = data.target_tokenizer.words(hypothesis.ids)
                bleu = None
                if kind != "forced" and pair.target:
                    text = data.target_tokenizer.decode(hypothesis.ids, pair.target_language)
                    language = pair.target_language or data.target_tokenizer.language
                    bleu = sentence_bleu_score(text, pair.target, language)
                # gold links are those of the reference, not of a different translation
                has_effect = searches and kind == "forced" and 1 < len(sources[place]) <= READABLE
                same, sizes = target == references[place], (len(sources[place]) - 1, len(target) - 1)
                add_attention(
                    writer,
                    self._tags[place],
                    weights_of(hypothesis, MAX_WEIGHTS),
                    sources[place],
                    target,
                    step,
                    reference=pair.target if kind != "forced" and pair.target else None,
                    score=hypothesis.score,
                    kind=kind,
                    bleu=bleu,
                    alignment=gold_links(pair, tokenizers, sizes) if same and pair.alignment else None,
                    effect=partial(log_probabilities, model, batch, place) if has_effect else None,
                    marks=marks,
                )

    def _draw(
        self,
        trainer: pl.Trainer,
        forced: Sequence[Hypothesis],
        sources: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        step: int,
    ) -> None:
        from tensorboard_attention import AttentionFigure

        self._figure = self._figure or AttentionFigure()
        drawn = 0
        for tag, hypothesis, source, target in zip(self._tags, forced, sources, references, strict=True):
            if drawn == self.heatmaps:
                break
            if max(len(source), len(target)) > READABLE or len(target) < 2:
                continue
            drawn += 1
            title = f"step {step:,}, log p = {hypothesis.score:z.2f}"
            self._figure.draw(hypothesis.weights.float().numpy(), source, target, title=title)
            pixels = self._figure.pixels()
            for logger in trainer.loggers:
                log_picture(logger, f"val_{tag}", pixels, step)
