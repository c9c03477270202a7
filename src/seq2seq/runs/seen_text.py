"""What a model has been trained on, so that it is not tested on it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seq2seq.config import Config
from seq2seq.errors import InputError
from seq2seq.runs.making.text import EncodedCorpus
from seq2seq.runs.run_folder import SEEN
from seq2seq.storage.typed_json import read_bytes
from seq2seq.storage.writing import write_file
from seq2seq.text.corpus import SentencePair
from seq2seq.text.text_digests import MOST, digests, least_digests

DIGESTS = np.dtype("<u8")


def seen_digests(path: Path) -> NDArray[np.uint64] | None:
    """Digests of the source sentences a model was trained on, also where it began from another.

    None where the folder is not of a run, or of one that did not keep them.

    Args:
        path: a run folder or its ``model/``.

    Raises:
        InputError: the file is damaged.
    """
    file = path / SEEN if (path / "model").is_dir() else path.parent / SEEN
    try:
        return np.frombuffer(read_bytes(file, DIGESTS.itemsize * MOST), DIGESTS)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{file} is damaged ({error}): remove it to go on without") from error


def keep_seen(run_dir: Path, config: Config, corpus: EncodedCorpus) -> None:
    """Keep what a run, and the model that it starts from, are trained on."""
    start = None if config.init_from is None else seen_digests(Path(config.init_from))
    parts = [corpus.digests] if start is None else [corpus.digests, start]
    write_file(run_dir / SEEN, least_digests(*parts).astype(DIGESTS).tobytes())


def require_unseen(config: Config, corpus: EncodedCorpus) -> None:
    """Refuse to start from a model that was trained on what is held out here, and only here.

    Raises:
        InputError: it was, and the configuration does not allow it.
    """
    if config.allow_overlap or config.init_from is None:
        return
    seen = seen_digests(Path(config.init_from))
    if seen is None:
        print(f"WARNING: init_from={config.init_from} does not say what it was trained on")
        return
    seen = np.setdiff1d(seen, corpus.digests)
    if len(corpus.digests) == MOST:  # what is greater may be in the training text, too
        seen = seen[seen < corpus.digests[-1]]
    counts = {name: num_seen(pairs, seen) for name, pairs in corpus.held_out().items()}
    if any(counts.values()):
        found = " and ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        raise InputError(
            f"init_from={config.init_from} was trained on {found} pairs of this run: take the same "
            "corpus and data.split_seed, or set allow_overlap=true"
        )


def num_seen(pairs: Sequence[SentencePair], seen: NDArray[np.uint64]) -> int:
    """How many pairs have their source sentence, but for case and punctuation, among digests."""
    return int(np.isin(digests(pair.source for pair in pairs), seen).sum())


def overlap_line(corpus: EncodedCorpus) -> str:
    """A line of the corpus report: what the held-out splits share with the training split."""
    counts = {name: num_seen(pairs, corpus.digests) for name, pairs in corpus.held_out().items()}
    named = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    source = "their source, but for case and punctuation, in train"
    bound = "at least " if len(corpus.digests) == MOST else ""
    return f"overlap     {bound}{named} pairs have {source}"


def warn_of_seen(models: Sequence[Path], pairs: Sequence[SentencePair]) -> list[str]:
    """A line for each model that was trained on sentences that it is to be scored on."""
    lines = []
    for path in models:
        seen = seen_digests(path)
        count = 0 if seen is None else num_seen(pairs, seen)
        if count:
            lines.append(
                f"WARNING: {path} was trained on {count:,} of the {len(pairs):,} source sentences, "
                "but for case and punctuation"
            )
    return lines
