"""What TensorBoard, and loggers that take pictures, are shown at validations and between them."""

from lightning.pytorch.callbacks import Callback

from seq2seq.config import Config, LoggerName
from seq2seq.decoding.beam import beam_search
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.lengths import LengthBounds
from seq2seq.runs.making.decoding import build_search
from seq2seq.runs.making.text import EncodedCorpus
from seq2seq.tensorboard.attention_panel import choose_panel
from seq2seq.tensorboard.callbacks import (
    AttentionHeatmaps,
    AttentionRecords,
    PanelSearch,
    TranslationSamples,
)


def build_pictures(
    config: Config, title: str, corpus: EncodedCorpus, *, attends: bool
) -> list[Callback]:
    """Translations as text, and attention, where there is any, as pictures and as records.

    Args:
        config: of the run.
        title: of the pictures.
        corpus: of the run.
        attends: whether there is attention.
    """
    shown: list[Callback] = []
    if LoggerName.tensorboard in config.logger:
        shown.append(TranslationSamples(corpus.validation, count=config.tensorboard.samples))
    if attends and {*config.logger} - {LoggerName.csv}:
        codecs, count = (corpus.source_codec, corpus.target_codec), config.tensorboard.heatmaps
        every = config.tensorboard.draw_every
        shown.append(
            AttentionHeatmaps(corpus.validation, codecs, count=count, title=title, every=every)
        )
    if attends and LoggerName.tensorboard in config.logger:
        shown.append(_records(config, corpus))
    return shown


def _records(config: Config, corpus: EncodedCorpus) -> AttentionRecords:
    """Attention of the panel: teacher-forced, and of every search that is named here."""
    codecs = (corpus.source_codec, corpus.target_codec)
    panel = choose_panel(
        corpus.validation,
        codecs,
        first=config.tensorboard.panel.first,
        indices=config.tensorboard.panel.indices,
        texts=config.tensorboard.panel.texts,
        bounds=corpus.bounds,
    )
    searches = _searches(config, corpus.bounds)
    return AttentionRecords(panel, codecs, searches, config.tensorboard.draw_every)


def _searches(config: Config, bounds: LengthBounds) -> dict[str, PanelSearch]:
    """The searches whose attention is recorded: greedy, and the beam that scores the model."""
    searches: dict[str, PanelSearch] = {
        "greedy": lambda model, source: [
            [found] for found in greedy_search(model, source, bounds=bounds)
        ]
    }
    search = build_search(config.decoding)
    if search.beam > 1:
        searches["beam"] = lambda model, source: beam_search(
            model,
            source,
            size=search.beam,
            num_best=search.beam,
            penalty=search.penalty,
            bounds=bounds,
        )
    return searches
