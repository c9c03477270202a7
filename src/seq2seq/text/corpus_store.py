"""Large corpora that are tokenised once, for all runs that read them alike."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Protocol

import sentencepiece

from seq2seq.errors import InputError
from seq2seq.storage.failures import is_full, refusal
from seq2seq.storage.folder_lock import holding
from seq2seq.storage.removal import has_leftovers, remove_leftovers
from seq2seq.storage.writing import inside, replacing_folder
from seq2seq.text.block_file import DamagedFileError
from seq2seq.text.chunk_encoding import EncodingRules
from seq2seq.text.codec import CodecSettings, TextCodec, codec_digest, train_codecs
from seq2seq.text.corpus import Shard, drop_blank
from seq2seq.text.corpus_build import Encoders, build_corpus_folder
from seq2seq.text.corpus_folder import CORPUS_FILES, FORMAT
from seq2seq.text.shards import sample_pairs, stamps
from seq2seq.text.stored_corpus import StoredCorpus, read_corpus

WHOLE = "corpus"
"""Folder of a corpus that can be read, in one whose name is the key of its recipe."""

SETTING = "data.store"
"""What names the folder of all."""

KEY = re.compile(r"[0-9a-f]{16}")


Part = Literal["waiting", "sampling", "training", "tokenising"]
"""Of a build: for another process, of what tokenizers are trained on, of them, of all."""


class BuildReport(Protocol):
    """Is told how a build goes on."""

    def begin(self, part: Part, line: str, num_pairs: int | None = None) -> None:
        """A part begins, in words; of ``tokenising``, the number of pairs where it is known."""
        ...

    def advance(self, num_pairs: int) -> None:
        """So many more pairs are tokenised."""
        ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides what a stored corpus holds.

    Attributes:
        shards: the files.
        languages: codes of source and target.
        tokenizers: how to make the codecs.
        codecs: codecs to use instead.
        rules: which pairs are kept, and what of them.
    """

    shards: tuple[Shard, ...]
    languages: tuple[str, str]
    tokenizers: CodecSettings
    codecs: tuple[TextCodec, TextCodec] | None
    rules: EncodingRules

    def key(self) -> str:
        """A name for what is made of the files as they are now."""
        codecs = None if self.codecs is None else [codec_digest(codec) for codec in self.codecs]
        facts = {
            "format": FORMAT,
            "files": stamps(self.shards),
            "languages": self.languages if codecs is None else None,
            "tokenizers": asdict(self.tokenizers) if codecs is None else None,
            "codecs": codecs,
            "rules": asdict(self.rules),
            "sentencepiece": sentencepiece.__version__,
        }
        return hashlib.sha256(json.dumps(facts).encode("utf-8")).hexdigest()[:16]


def open_corpus(
    root: Path, recipe: Recipe, *, report: BuildReport, num_processes: int
) -> StoredCorpus:
    """Open the tokenised corpus of a recipe; it is made first if it is not there.

    Of several processes that want the same one makes it, and the others wait. It is there whole or
    not at all, whenever its making is stopped; what that has left is removed by the next call.

    Raises:
        InputError: a file is wrong, or the folder cannot be written to.
    """
    folder = inside(root, recipe.key())
    try:
        _remove_leftovers(root)
        corpus = _read(folder)
        if corpus is not None:
            return corpus
        with holding(folder, wait=False, setting=SETTING) as is_ours:
            if is_ours:
                return _read(folder) or _build(folder, recipe, report, num_processes)
        report.begin("waiting", f"waiting for another process that tokenises into {folder}")
        with holding(folder, wait=True, setting=SETTING):
            return _read(folder) or _build(folder, recipe, report, num_processes)
    except OSError as error:
        if is_full(error):
            raise refusal(error, root) from error
        raise InputError(
            f"{root} cannot hold the tokenised corpus ({error.strerror}): set "
            f"{SETTING} to another folder"
        ) from error


def _read(folder: Path) -> StoredCorpus | None:
    try:
        return read_corpus(folder / WHOLE)
    except DamagedFileError:
        return None


def _remove_leftovers(root: Path) -> None:
    """Remove what builds have left that were killed."""
    for folder in root.iterdir() if root.is_dir() else []:
        if KEY.fullmatch(folder.name) and has_leftovers(folder, [WHOLE]):
            with holding(inside(root, folder.name), wait=False, setting=SETTING) as is_ours:
                if is_ours:
                    remove_leftovers(folder, [WHOLE], inside=CORPUS_FILES)


def _build(folder: Path, recipe: Recipe, report: BuildReport, num_processes: int) -> StoredCorpus:
    """Make a corpus in a folder that is locked."""
    # what is there is damaged
    with replacing_folder(folder / WHOLE, CORPUS_FILES) as partial:
        with Encoders(num_processes) as encoders:
            codecs, num_pairs = _codecs(folder, recipe, report)
            count = "pairs" if num_pairs is None else f"{num_pairs:,} pairs"
            who = "one process" if num_processes == 1 else f"{num_processes} processes"
            report.begin("tokenising", f"tokenising {count} in {who}", num_pairs)
            build_corpus_folder(
                partial,
                recipe.shards,
                codecs,
                recipe.rules,
                encoders=encoders,
                progress=report.advance,
            )
        _require_unchanged(folder, recipe)
    return read_corpus(folder / WHOLE)


def _require_unchanged(folder: Path, recipe: Recipe) -> None:
    if recipe.key() != folder.name:
        raise InputError(
            f"{recipe.shards[0].source} or another training file was changed while it was read: "
            "start again when it is finished"
        )


def _codecs(
    folder: Path, recipe: Recipe, report: BuildReport
) -> tuple[tuple[TextCodec, TextCodec], int | None]:
    """The codecs, and the number of pairs where it is known."""
    if recipe.codecs is not None:
        return recipe.codecs, None
    report.begin("sampling", f"tokenising the training files, once, into {folder}")
    pairs, num_pairs = sample_pairs(recipe.shards, recipe.rules.held_out, recipe.rules.split_seed)
    pairs = drop_blank(pairs)
    report.begin("training", f"training the tokenizers on {len(pairs):,} pairs")
    with TemporaryDirectory() as scratch:
        codecs = train_codecs(pairs, recipe.tokenizers, recipe.languages, Path(scratch))
    return codecs, num_pairs
