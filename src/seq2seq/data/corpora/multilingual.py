"""One model for several pairs of languages: a corpus whose source sentences begin with a tag of the target language.

The tag, `seq2seq.data.languages.target_tag`, is a word like any other, so that models and tokenizers need nothing for it.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from joined_words import clean
from seq2seq.common.errors import InputError
from seq2seq.common.progress import counted
from seq2seq.data.addresses import is_address
from seq2seq.data.corpora.parallel import ParallelText
from seq2seq.data.datamodule import Prepared, TranslationDataModule
from seq2seq.data.files import is_path
from seq2seq.data.languages import require_language_code, target_tag
from seq2seq.data.text import Splits


class MultilingualText(TranslationDataModule):
    """Several parallel corpora for one model: each source sentence begins with the `target_tag` of its target.

    Args:
        corpora: By their languages, such as ``en-de``: the files of ``train``, ``validation`` and ``test``, see
            `ParallelText`; and ``weight``, which multiplies its share, 1 if it is left out.
        temperature: T, by which an epoch of N pairs has N w_i n_i^(1/T) / sum_j w_j n_j^(1/T) of a corpus of n_i pairs with
            the weight w_i (Arivazhagan et al. 2019): 1 for their sizes, 5 for nearly equal shares. None: 1 if there is a
            weight, else every pair once.
        root: Folder that relative names of files begin in.
        **options: Those of `TranslationDataModule`; with `split` no validation files are needed, and pairs of all corpora
            that have a sentence in common are held out together.
    """

    def __init__(
        self,
        *,
        corpora: Mapping[str, Mapping[str, Any]],
        root: str = ".",
        temperature: Annotated[float, Ge(1)] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.corpora, self.root = corpora, root
        self.weights = {name: given["weight"] for name, given in corpora.items() if "weight" in given}
        for name, weight in self.weights.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
                raise InputError(f"data.corpora.{name}.weight={weight}: expected a number above 0")
        self.temperature = temperature or (1.0 if self.weights else None)
        if self.temperature is not None and self.max_tokens is not None:
            raise InputError(
                "data.temperature and weights of corpora: with data.max_tokens, epochs would differ in their number of "
                "batches: give data.batch_size"
            )
        for languages in corpora:
            codes = languages.split("-")
            if len(codes) != 2:
                raise InputError(f"data.corpora.{languages}: name it by two codes, such as en-de or en-pt_BR")
            for code in codes:
                require_language_code(f"data.corpora.{languages}", code)
        if not corpora:
            raise InputError("data.corpora is empty: give +data.corpora.en-de.train.source=… and so on")
        if self.both_directions or self.alignments or self.validation_alignments:
            raise InputError(
                "data=multi knows no alignments and no data.both_directions: name both en-de and de-en"
            )

    def read(self) -> Splits:
        """Read all files; pairs of the corpora take turns."""
        corpora = []
        for languages, given in self.corpora.items():
            if unknown := given.keys() - {"train", "validation", "test", "weight"}:
                raise InputError(
                    f"data.corpora.{languages}.{min(unknown)}: give train, validation, test and weight"
                )
            files: dict[str, Any] = {
                split: {
                    side: str(Path(self.root, name)) if is_path(name) and not is_address(name) else name
                    for side, name in (sides or {}).items()
                }
                for split, sides in given.items()
                if split != "weight"
            }
            source, target = languages.split("-")
            splits = ParallelText(
                **{"train": {}, **files}, source_language=source, target_language=target, split=self.split
            ).read()
            tag = f"{target_tag(target)} "
            corpora.append(
                [
                    [
                        replace(p, source=tag * bool(clean(p.source)) + p.source, languages=languages)
                        for p in split
                    ]
                    for split in (splits.train, splits.validation, splits.test)
                ]
            )
        return Splits(
            *([p for turn in zip_longest(*split) for p in turn if p] for split in zip(*corpora, strict=True))
        )

    @cached_property
    def members(self) -> dict[str, NDArray[np.integer]]:
        """The training pairs of each corpus, by index."""
        names = np.array([pair.languages for pair in self.prepared.train.pairs])
        return {name: np.flatnonzero(names == name) for name in self.corpora if name in names}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of pairs of each corpus that an epoch reads, by their shares; together all that there are."""
        sizes = {name: len(own) for name, own in self.members.items()}
        parts = {
            n: self.weights.get(n, 1.0) * size ** (1 / (self.temperature or 1)) for n, size in sizes.items()
        }
        ends = np.cumsum([*parts.values()]) / sum(parts.values()) * sum(sizes.values())
        return dict(zip(parts, np.diff(ends.round().astype(int), prepend=0).tolist(), strict=True))

    def drawn(self, epoch: int) -> NDArray[np.integer] | None:
        """Return the pairs of an epoch: of each corpus every pair equally often, but for a rest that is drawn at random."""
        if self.temperature is None:
            return None
        generator = np.random.default_rng((self.seed, epoch, len(self.members)))
        rests = [
            generator.choice(own, self.numbers[name] % len(own), replace=False)
            for name, own in self.members.items()
        ]
        whole = [np.repeat(own, self.numbers[name] // len(own)) for name, own in self.members.items()]
        return np.concatenate([*whole, *rests])

    def setup(self, stage: str | None = None) -> None:
        """Read the corpora, and log the shares of a training, ``train/share_en-de`` and so on."""
        super().setup(stage)
        if self.temperature is None or self.trainer is None or stage != "fit":
            return
        total = sum(self.numbers.values())
        for logger in self.trainer.loggers:
            logger.log_metrics(
                {f"train/share_{n}": count / total for n, count in self.numbers.items()}, step=0
            )

    @cached_property
    def prepared(self) -> Prepared:
        """The corpus with tokenizers and encoded splits; the share of each corpus in an epoch is noted."""
        prepared = super().prepared  # kept as `self.prepared`, which `members` reads
        if self.temperature is not None:
            for name, count in self.numbers.items():
                size, share = len(self.members[name]), count / sum(self.numbers.values())
                self.note(
                    f"share       {name}: {share:.1%} of an epoch, {count:,} of {counted(size, 'pair')}: {count / size:.2f} times each"
                )
        return prepared
