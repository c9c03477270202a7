"""The store of tokenised corpora that a configuration describes."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from seq2seq.config import DataConfig, ParallelConfig
from seq2seq.plain_text import one_line
from seq2seq.runs.making.tokenizers import codec_settings
from seq2seq.text.chunk_encoding import EncodingRules
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import Shard
from seq2seq.text.corpus_build import num_cores
from seq2seq.text.corpus_store import Part, Recipe, open_corpus
from seq2seq.text.stored_corpus import StoredCorpus


def open_large_corpus(
    data: DataConfig, shards: tuple[Shard, ...], codecs: tuple[TextCodec, TextCodec] | None
) -> StoredCorpus:
    """The tokenised training files, made first if need be.

    Args:
        data: how.
        shards: the files.
        codecs: of source and target; None to train them.

    Raises:
        InputError: a file is wrong, or the store cannot be written to.
    """
    if not isinstance(data, ParallelConfig):
        raise TypeError(f"{type(data).__name__} has no store")
    recipe = Recipe(
        shards=shards,
        languages=(data.source_language, data.target_language),
        tokenizers=codec_settings(data),
        codecs=codecs,
        rules=EncodingRules(
            max_length=data.max_length,
            truncate=data.truncate,
            held_out=data.validation.fraction or 0.0,
            split_seed=data.split_seed,
            keep_text=data.tokenizer.sampling is not None,
        ),
    )
    with TerminalReport() as report:
        return open_corpus(Path(data.store), recipe, report=report, num_processes=num_cores())


class TerminalReport:
    """Says on the terminal how a build goes on: a line for each part of it, and a bar."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._bars = Progress(
            *columns,
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )

    def __enter__(self) -> "TerminalReport":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def begin(self, part: Part, line: str, num_pairs: int | None = None) -> None:
        """A part of it begins."""
        self._console.print(Text(one_line(line)))
        if part == "tokenising":
            self._bars.add_task(part, total=num_pairs)

    def advance(self, num_pairs: int) -> None:
        """So many more pairs are tokenised."""
        self._bars.advance(self._bars.task_ids[-1], num_pairs)
