"""Translations that show their attention in a notebook."""

import html
from dataclasses import fields
from pathlib import Path

from seq2seq.decoding.device import device_named
from seq2seq.decoding.forced import force_translate
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.model_folder import load_attending
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import Translator
from seq2seq.interface.shown_attention import ShownAttention
from seq2seq.tensorboard.record_format import MAX_TOKENS
from seq2seq.tensorboard.records import attention_record, maps_of
from seq2seq.text.bucketing import BatchSize
from seq2seq.text.corpus import SentencePair


class ShownTranslation(Translation):
    """A translation that a notebook shows as the viewer of the Attention tab."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """HTML; the text alone where there is no attention, or too much of it for the viewer."""
        if not self.weights.numel() or max(self.weights.shape) > MAX_TOKENS:
            return f"<p>{html.escape(self.text)}</p>"
        record = attention_record(
            maps_of(self), self.source_tokens, self.target_tokens, score=self.score
        )
        return ShownAttention(record, "translation", f"Attention of {self.text}")._repr_html_()


class ShowingTranslator(Translator):
    """A translator whose translations are shown so."""

    def _translation(
        self, source_ids: list[int], source: str, hypothesis: Hypothesis
    ) -> ShownTranslation:
        return _shown(super()._translation(source_ids, source, hypothesis))


def forced(folder: Path, sentence: str, target: str) -> Translation:
    """A translation that is given, with the attention of the model that writes it.

    Raises:
        InputError: there is no model with attention.
    """
    (translation,) = force_translate(
        load_attending(folder),
        [SentencePair(sentence, target)],
        device=device_named("cpu"),
        batch_size=BatchSize(sentences=1, tokens=None),
    )
    return _shown(translation)


def _shown(translation: Translation) -> ShownTranslation:
    return ShownTranslation(*(getattr(translation, each.name) for each in fields(Translation)))
