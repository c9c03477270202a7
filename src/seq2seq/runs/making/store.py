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
from seq2seq.text.corpus_store import Recipe, open_corpus
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

    def waiting(self, folder: Path) -> None:
        """Another process builds what is wanted."""
        self._say(f"waiting for another process that tokenises into {folder}")

    def sampling(self, folder: Path) -> None:
        """The build begins."""
        self._say(f"tokenising the training files, once, into {folder}")

    def training(self, num_pairs: int) -> None:
        """The tokenizers are trained on so many pairs."""
        self._say(f"training the tokenizers on {num_pairs:,} pairs")

    def encoding(self, num_pairs: int | None, num_processes: int) -> None:
        """So many pairs, or an unknown number, are tokenised next."""
        processes = "one process" if num_processes == 1 else f"{num_processes} processes"
        count = "pairs" if num_pairs is None else f"{num_pairs:,} pairs"
        self._say(f"tokenising {count} in {processes}")
        self._bars.add_task("tokenising", total=num_pairs)

    def advance(self, num_pairs: int) -> None:
        """So many more pairs are tokenised."""
        self._bars.advance(self._bars.task_ids[-1], num_pairs)

    def _say(self, line: str) -> None:
        self._console.print(Text(one_line(line)))
