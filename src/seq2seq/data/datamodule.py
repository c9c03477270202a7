"""The data module: reads a corpus, fits tokenizers, encodes text, and makes batches.

A corpus is a subclass that implements `read`; `_target_` in the configuration selects it.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import lightning.pytorch as pl
import numpy as np
from numpy.typing import NDArray

from joined_words import clean
from seq2seq.common.errors import InputError
from seq2seq.common.numbers import NotNegative, Positive, Seed, require_bounds
from seq2seq.common.progress import LOG, announce, counted, warn
from seq2seq.data.batch import EncodedSplit, Ids, Sentences, checksum_of
from seq2seq.data.batching import BatchLoader, BatchSize, Order, share, shuffled_order, sorted_order
from seq2seq.data.filter import Filter
from seq2seq.data.languages import require_language_code
from seq2seq.data.split import Split
from seq2seq.data.text import SentencePair, Splits, warn_of_escapes, warn_of_seen, with_alignments
from seq2seq.data.tokenizers import SentencePieceTokenizer, Tokenizer, WordTokenizer, save_proved

MAX_TRANSLATED = 1000
"""Maximum number of tokens of a validation or test sentence; longer sentences are cut."""

AFTER_TEXT = {
    "tokenizer", "target_tokenizer", "joint_vocabulary", "new_tokens", "max_length", "both_directions",
    "batch_size", "max_tokens", "num_workers", "seed",
}  # fmt: skip
"""Arguments of a data module that decide about tokens and batches, and not about the pairs of its `splits`."""

Factory = Callable[..., Tokenizer]


@dataclass(frozen=True)
class MaxLength:
    """How long the sentences of training pairs are.

    Attributes:
        tokens: Maximum number of tokens of a side; None: no limit.
        over: What becomes of longer pairs: ``drop`` leaves them out, ``cut`` cuts their sentences.
    """

    tokens: Positive | None = None
    over: Literal["drop", "cut"] = "drop"

    def __post_init__(self) -> None:
        require_bounds(self)

    @classmethod
    def of(cls, given: "int | MaxLength | Mapping[str, Any] | None") -> "MaxLength":
        """Return what is given: a number of tokens, or the arguments."""
        if isinstance(given, MaxLength):
            return given
        return cls(**given) if isinstance(given, Mapping) else cls(given)


@dataclass(frozen=True)
class Prepared:
    """A corpus that is ready for training: fitted tokenizers and encoded splits.

    There may be no test pairs. `both_directions` is that of the data module.
    """

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    train: EncodedSplit
    validation: EncodedSplit
    test: EncodedSplit | None
    both_directions: bool = False

    @property
    def held_out(self) -> EncodedSplit:
        """The test pairs, or the validation pairs if there are none."""
        return self.test or self.validation

    @property
    def splits(self) -> dict[str, EncodedSplit]:
        """The splits that there are, by name."""
        splits = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: split for name, split in splits.items() if split is not None}

    @cached_property
    def checksums(self) -> dict[str, list[int]]:
        """Sums by which a training that continues knows its tokens again, and its text: sizes, and all pairs.

        Between them is the sum of up to 10,000 pairs a split, which is the last of an older checkpoint.
        """
        splits, tokenizers = (self.train, self.validation), (self.source_tokenizer, self.target_tokenizer)
        chosen = [
            split.pairs[place] for split in splits for place in range(0, len(split), len(split) // 10_000 + 1)
        ]
        text = "\n".join(f"{pair.source}\t{pair.target}" for pair in chosen).encode(errors="surrogatepass")
        return {
            "tokens": [zlib.crc32("\n".join(each.vocabulary).encode()) for each in tokenizers],
            "text": [*map(len, splits), zlib.crc32(text), *(split.checksum for split in splits)],
        }

    def save_tokenizers(self, folder: Path) -> None:
        """Write both tokenizers into a folder, see `save_proved`."""
        pairs = [self.train.pairs[place] for place in range(min(len(self.train), 100))]
        save_proved(self.source_tokenizer, folder, "source", [pair.source for pair in pairs])
        save_proved(self.target_tokenizer, folder, "target", [pair.target for pair in pairs])


class TranslationDataModule(pl.LightningDataModule):
    """Batches of sentence pairs for training, validation and test.

    Args:
        tokenizer: Returns the tokenizer of a language; called with `language`.
        target_tokenizer: The same for the target; None: `tokenizer`.
        joint_vocabulary: Use one vocabulary for both languages.
        source_language: Language code such as ``en``; ``und`` if there is none.
        target_language: The same for the target.
        batch_size: Maximum number of sentence pairs in a batch; None for no limit.
        max_tokens: Maximum number of padded source and target tokens in a batch; None for no limit. A single
            pair above the limit is a batch by itself.
        max_length: Maximum number of tokens of a side, or a `MaxLength`; longer training pairs are left out. None for no limit.
        split: How pairs are held out of the training pairs, a `Split` or its arguments; None: `read` returns validation pairs.
        filter: Which training pairs are left out, a `Filter` or its arguments.
        max_examples: Use only the first pairs of each split.
        new_tokens: Maximum number of tokens that the training text adds to each vocabulary of a model that the training
            starts from; None: none.
        both_directions: Also train on every pair with source and target swapped (needs `joint_vocabulary`).
        overfit: Validate and test on the training pairs.
        alignments: Pharaoh file, one line per training pair, before any are held out or left out, for guided alignment;
            None: those of the corpus.
        validation_alignments: The same for the validation pairs: gold alignments to compare attention with.
        num_workers: Number of processes that assemble training batches ahead; 0: the training does.
        seed: Seed of the order of the batches.

    Raises:
        InputError: An argument is out of its range.
    """

    def __init__(
        self,
        *,
        tokenizer: Factory = WordTokenizer,
        target_tokenizer: Factory | None = None,
        joint_vocabulary: bool = False,
        source_language: str = "und",
        target_language: str = "und",
        batch_size: Positive | None = 64,
        max_tokens: Positive | None = None,
        max_length: Positive | MaxLength | Mapping[str, Any] | None = None,
        split: Split | Mapping[str, Any] | None = None,
        filter: Filter | Mapping[str, Any] | None = None,  # noqa: A002 - the key's name
        max_examples: Positive | None = None,
        new_tokens: Positive | None = None,
        both_directions: bool = False,
        overfit: bool = False,
        alignments: str | None = None,
        validation_alignments: str | None = None,
        num_workers: NotNegative = 0,
        seed: Seed = 1,
    ) -> None:
        super().__init__()
        require_language_code("data.source_language", source_language)
        require_language_code("data.target_language", target_language)
        self.max_length = MaxLength.of(max_length)
        BatchSize(batch_size, max_tokens)  # refuses others
        if max_examples is not None and max_examples < 1:
            raise InputError(f"data.max_examples={max_examples}: a number above 0 is needed")
        self.split = Split.of(split) if split else None
        if isinstance(filter, Mapping):
            filter = Filter(**filter) if any(filter.values()) else None  # noqa: A001
        self.filter = filter
        self.tokenizer, self.target_tokenizer = tokenizer, target_tokenizer or tokenizer
        self.joint_vocabulary = joint_vocabulary
        self.source_language, self.target_language = source_language, target_language
        self.batch_size, self.max_tokens = batch_size, max_tokens
        self.max_examples, self.new_tokens = max_examples, new_tokens
        self.both_directions, self.overfit = both_directions, overfit
        self.alignments, self.validation_alignments = alignments, validation_alignments
        self.num_workers, self.seed = num_workers, seed
        self.notes: list[str] = []

    def read(self) -> Splits:
        """Return the sentence pairs of the corpus. Subclasses implement this method."""
        raise NotImplementedError(f"{type(self).__name__} needs a method read() that returns Splits")

    @cached_property
    def splits(self) -> Splits:
        """The result of `read`, modified by the options; the corpus is read at the first access."""
        announce("reading the corpus")
        splits = self.read()
        if self.alignments is not None:  # of every pair of the files
            train = with_alignments(splits.train, self.alignments, "data.alignments")
            splits = replace(splits, train=train)
        if self.filter is not None:
            left, told = self.filter.kept(splits.train)
            splits = replace(splits, train=left)
            self.note(told)
        if self.split is not None:
            splits = self.divide(self.split, splits)
        if self.validation_alignments is not None:
            validation = with_alignments(
                splits.validation, self.validation_alignments, "data.validation_alignments"
            )
            splits = replace(splits, validation=validation)
        train, validation, test = (
            list(split[: self.max_examples]) for split in (splits.train, splits.validation, splits.test)
        )
        for name, pairs in (("training", train), ("validation", validation)):
            if all(pair.is_blank for pair in pairs):
                raise InputError(f"no {name} pair is left of {len(pairs):,}: the others are blank on a side")
        warn_of_escapes(train)
        if self.overfit:
            if self.validation_alignments is not None:
                warn(
                    "data.validation_alignments has no effect here: data.overfit=true validates on the training pairs"
                )
            validation = test = train
        else:
            warn_of_seen(train, {"validation": validation, "test": test})
        return Splits(train, validation, test)

    @property
    def text_checksums(self) -> list[int]:
        """A sum for each of the `splits`, of the text and the alignments of its pairs before tokenization."""
        return [*map(checksum_of, (self.splits.train, self.splits.validation, self.splits.test))]

    def divide(self, split: Split, splits: Splits) -> Splits:
        """Return the splits of a corpus with pairs held out of its training pairs.

        Raises:
            InputError: It has those splits, or too few pairs.
        """
        held = split.divide(splits.train)
        for name, own, new in (
            ("validation", splits.validation, held.validation),
            ("test", splits.test, held.test),
        ):
            if own and new:
                raise InputError(
                    f"data.split.{name}: the corpus has {counted(len(own), f'{name} pair')}: leave this out"
                )
        return Splits(held.train, held.validation, splits.test or held.test)

    @property
    def num_pairs(self) -> int:
        """Number of training pairs that an epoch reads."""
        return len(self.splits.train) * (2 if self.both_directions else 1)

    @cached_property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """The tokenizers of source and target, fitted at the first access; set them before to use others."""
        pairs = self.splits.train
        announce("fitting the tokenizers")
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        source = self.tokenizer(language=self.source_language)
        if self.joint_vocabulary:
            if self.target_tokenizer is not self.tokenizer:
                raise InputError("data.joint_vocabulary=true needs one tokenizer: leave out target_tokenizer")
            if isinstance(source, SentencePieceTokenizer):
                source.fit([*sources, *targets])
                target = source.share(self.target_language)
            else:  # Moses splits words by the rules of a language
                target = self.tokenizer(language=self.target_language)
                if type(source).fit in (Tokenizer.fit, WordTokenizer.fit):
                    source.fit(sources)
                    target.fit(targets)
                    source.fit_tokens([*map(source.tokens, sources), *map(target.tokens, targets)])
                else:  # learns something else, from text
                    source.fit([*sources, *targets])
                target.set_vocabulary(source.vocabulary)
        else:
            source.fit(sources)
            target = self.target_tokenizer(language=self.target_language)
            target.fit(targets)
        if target.case == "restore":
            target.learn_case(targets, _languages(pairs))
        if self.both_directions and source.case == "restore":
            source.learn_case(sources)
        return source, target

    def start_with(self, source: Tokenizer, target: Tokenizer) -> None:
        """Use the tokenizers of a model; if it has other languages, with those of this corpus and the case of its words."""
        if source.language != self.source_language:
            source = source.share(self.source_language)
        if self.both_directions and source.case == "restore":
            source.learn_case([pair.source for pair in self.splits.train])
        languages, texts = _languages(self.splits.train), [pair.target for pair in self.splits.train]
        is_known = target.language == self.target_language and target.casings.keys() >= set(languages)
        if not is_known:
            target = target.share(self.target_language)
        if target.case == "restore":
            (target.learn_new_case if is_known else target.learn_case)(texts, languages)
        self.tokenizers = source, target
        if self.new_tokens is not None:
            self.tokenizers = self.extended(source, target, self.new_tokens)

    def extended(self, source: Tokenizer, target: Tokenizer, most: int) -> tuple[Tokenizer, Tokenizer]:
        """Return tokenizers with the most frequent tokens of the training text that they lack; one vocabulary stays one."""
        pairs, before = self.splits.train, (source, target)
        texts = [pair.source for pair in pairs], [pair.target for pair in pairs]
        missing = [each.missing(own) for each, own in zip(before, texts, strict=True)]
        if source.vocabulary == target.vocabulary:
            missing = [missing[0] + missing[1]] * 2
        after = []
        for name, tokenizer, counts in zip(("source", "target"), before, missing, strict=True):
            frequent = [token for token, count in counts.items() if count >= tokenizer.min_frequency]
            added = sorted(frequent, key=lambda token: (-counts[token], token))[:most]
            after.append(tokenizer.with_tokens(added))
            shown = ", ".join(map(tokenizer.shown, added[:8])) + (", …" if len(added) > 8 else "")
            self.note(
                f"new tokens  {name}: {len(added):,} behind {tokenizer.vocab_size:,}, of {len(counts):,} that were missing"
                f"{f': {shown}' if added else ''}"
            )
        return after[0], after[1]

    def note(self, text: str) -> None:
        """Keep a line on what became of the text for `notes`, which the table of the splits ends with, and log it."""
        self.notes.append(text)
        LOG.info(text)

    @cached_property
    def prepared(self) -> Prepared:
        """The corpus with tokenizers and encoded splits; it is read at the first access.

        Raises:
            InputError: A file is invalid, options cannot be combined, or no pair is left.
        """
        splits = self.splits
        if self.both_directions and not self.joint_vocabulary:
            raise InputError("data.both_directions=true needs data.joint_vocabulary=true")
        tokenizers = self.tokenizers
        if self.both_directions and tokenizers[0].vocabulary != tokenizers[1].vocabulary:
            raise InputError(
                "data.both_directions=true needs one vocabulary, and the model to start from (init_from) has two"
            )
        announce("tokenizing")
        train = self.encode_train(splits.train)
        validation, test = (
            self.encode(split, MAX_TRANSLATED, truncate=True, keep_blank=True)
            for split in (splits.validation, splits.test)
        )
        if not len(train):
            raise InputError(
                f"no training pair is left: {train.num_blank} blank, {train.num_long} longer than "
                "data.max_length; check the files or raise data.max_length"
            )
        return Prepared(*tokenizers, train, validation, test if len(test) else None, self.both_directions)

    def setup(self, stage: str | None = None) -> None:
        """Read the corpus, fit the tokenizers, and encode all splits, see `prepared`; only at the first call."""
        self.prepared  # noqa: B018 - computed once

    def encode_train(self, pairs: Sequence[SentencePair]) -> EncodedSplit:
        """Return the encoded training pairs, in both directions if `both_directions` is set."""
        limit = self.max_length
        split = self.encode(pairs, limit.tokens, truncate=limit.over == "cut")
        if not self.both_directions:
            return split
        sources, targets = [*map(list, split.source)], [*map(list, split.target)]
        return EncodedSplit(  # each language in the tokens of its own rules
            pairs=[*split.pairs, *(pair.reversed() for pair in split.pairs)],
            source=Sentences.from_lists([*sources, *targets]),
            target=Sentences.from_lists([*targets, *sources]),
            num_blank=2 * split.num_blank,
            num_long=2 * split.num_long,
            num_cut=2 * split.num_cut,
        )

    def encode(
        self,
        pairs: Sequence[SentencePair],
        max_length: int | None,
        *,
        truncate: bool,
        keep_blank: bool = False,
    ) -> EncodedSplit:
        """Return encoded pairs, without those above `max_length` that are not cut.

        Pairs with a blank side are left out, too, unless `keep_blank` is set.
        """
        filled = [pair for pair in pairs if keep_blank or not pair.is_blank]
        source_tokenizer, target_tokenizer = self.tokenizers
        sources = source_tokenizer.encode_all([pair.source for pair in filled])
        targets = target_tokenizer.encode_all([pair.target for pair in filled])
        short = [
            index
            for index, (source, target) in enumerate(zip(sources, targets, strict=True))
            if max_length is None or max(len(source), len(target)) <= max_length
        ]
        kept = range(len(filled)) if truncate else short
        return EncodedSplit(
            pairs=[filled[index] for index in kept],
            source=Sentences.from_lists([sources[index][:max_length] for index in kept]),
            target=Sentences.from_lists([targets[index][:max_length] for index in kept]),
            num_blank=len(pairs) - len(filled),
            num_long=len(filled) - len(kept),
            num_cut=len(kept) - len(short),
        )

    # --- batches ---

    def train_dataloader(self) -> BatchLoader:
        """Return batches in an order that depends only on seed and epoch; each process has its share."""
        train = self.prepared.train
        lengths = train.source.lengths, train.target.lengths
        size = BatchSize(self.batch_size, self.max_tokens)
        rank, processes = self._share()

        @lru_cache(maxsize=1)
        def order(epoch: int) -> Order:
            drawn = self.drawn(epoch)
            source, target = lengths if drawn is None else (side[drawn] for side in lengths)
            whole = shuffled_order(source, target, size, seed=self.seed, epoch=epoch, num_shares=processes)
            return share(whole if drawn is None else [drawn[batch] for batch in whole], rank, processes)

        def epoch() -> int:
            return self.trainer.current_epoch if self.trainer else 0

        return BatchLoader(self._of_epoch, order, epoch, self.num_workers)

    def drawn(self, epoch: int) -> NDArray[np.integer] | None:
        """Return the training pairs that an epoch reads, as many in each; None: all of them once."""
        del epoch
        return None

    def val_dataloader(self) -> BatchLoader:
        """Return batches of the validation split in one order of all epochs; a blank source is in none of them.

        The lengths are mixed, as ``trainer.limit_val_batches`` takes the first ones.
        """
        return self._held_out(self.prepared.validation)

    def test_dataloader(self) -> BatchLoader:
        """Return batches of the test split, or of the validation split if there is none."""
        return self._held_out(self.prepared.held_out)

    def _held_out(self, split: EncodedSplit) -> BatchLoader:
        rank, processes = self._share()
        size = BatchSize(max(self.batch_size or 1, 128) if self.max_tokens is None else None, self.max_tokens)
        filled = np.flatnonzero([bool(clean(pair.source)) for pair in split.pairs])
        # in a process without a batch, Lightning leaves the validation out, and the others wait for it
        if 0 < len(filled) < processes:
            raise InputError(
                f"{counted(len(filled), 'sentence')} with text to validate on, and {processes} processes: give one for each, or a "
                "smaller trainer.devices"
            )
        lengths = split.source.lengths[filled], split.target.lengths[filled]
        whole = sorted_order(*lengths, size, processes)
        mixed = [whole[place] for place in np.random.default_rng(0).permutation(len(whole))]
        order = [filled[batch] for batch in share(mixed, rank, processes)]
        return BatchLoader(lambda _: split, lambda _: order, lambda: 0)

    def _share(self) -> tuple[int, int]:
        return (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)

    def _of_epoch(self, epoch: int) -> EncodedSplit:
        """Return the training split; with subword sampling, words are split differently in each epoch."""
        sides = zip(("source", "target"), self.tokenizers, strict=True)
        sampled: dict[str, Any] = {
            side: _Sampled(self, epoch, side, tokenizer)
            for side, tokenizer in sides
            if getattr(tokenizer, "sampling", None)
        }
        return replace(self.prepared.train, **sampled)


def _languages(pairs: Sequence[SentencePair]) -> list[str]:
    """Return the target language of each pair of a corpus that has several; else nothing."""
    return [pair.target_language for pair in pairs] if any(pair.languages for pair in pairs) else []


def prepared_of(trainer: pl.Trainer) -> Prepared | None:
    """Return the corpus that a trainer uses; None without a `TranslationDataModule`."""
    data = getattr(trainer, "datamodule", None)
    return data.prepared if isinstance(data, TranslationDataModule) else None


class _Sampled:
    """One side of the training split in one epoch; each sentence is split at random when it is read."""

    def __init__(self, data: TranslationDataModule, epoch: int, side: str, tokenizer: Any) -> None:
        self._pairs, self._side, self._tokenizer = data.prepared.train.pairs, side, tokenizer
        self._usual, self._max_length = getattr(data.prepared.train, side), data.max_length.tokens
        generator = np.random.default_rng((data.seed, epoch, int(side == "target")))
        self._seeds = generator.integers(2**32, size=len(self._usual), dtype=np.uint32)

    def __len__(self) -> int:
        return len(self._usual)

    def __getitem__(self, index: int) -> Ids:
        drawn = self._tokenizer.sample(getattr(self._pairs[index], self._side), int(self._seeds[index]))
        if self._max_length is not None and len(drawn) > self._max_length:
            return self._usual[index]
        return np.array(drawn, dtype=np.int32)
