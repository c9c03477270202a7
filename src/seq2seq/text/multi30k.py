"""Multi30k, task 1: its published files, their checksums, and which of them a corpus needs.

Elliott, Frank, Sima'an and Specia 2016, https://github.com/multi30k/dataset. Needs no torch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seq2seq.errors import InputError
from seq2seq.text.corpus import ParallelCorpus, read_parallel
from seq2seq.text.download import Checksum
from seq2seq.text.languages import nearest_language

LANGUAGES = ("en", "de", "fr", "cs")

TEST_STEMS = {
    "flickr_2016": "test_2016_flickr",
    "flickr_2017": "test_2017_flickr",
    "coco_2017": "test_2017_mscoco",
}
"""Test sets, and how their files are called."""

SHA256 = {
    "train.en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.fr": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}
"""Computed from the published files."""

MD5 = {
    "train.cs": "d9a5fc268917725a2b0efce3a0cc8607",
    "val.cs": "83cdc082f646b769095615384cf5c0ca",
    "test_2016_flickr.cs": "3104872229daa1bef3b401d44dd2220b",
    "test_2017_flickr.en": "005396bac545d880abe6f00bbb7dbbb4",
    "test_2017_flickr.de": "6a8d5c87f6ae19e3d35681aa6fd16571",
    "test_2017_flickr.fr": "cb09af7d2b501f9112f2d6a59fa1360d",
    "test_2017_mscoco.en": "a7b684e0edbef1d4a23660c8e8e743fd",
    "test_2017_mscoco.de": "e8cd6ec2bc8a11fc846fa48a46e3d0bb",
    "test_2017_mscoco.fr": "4995d10954a804d3cdfd907b9fd093e8",
}
"""Of the files that the authors of this program have not had in hand: the sums that torchtext 0.9
publishes for them. Its sums of the nine files above are right."""


MOST_BYTES = 1 << 21
"""Of any published file; the largest that is known here, ``train.de.gz``, has 637,044."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Two languages and a test set.

    Raises:
        InputError: Multi30k does not have them.
    """

    source_language: str
    target_language: str
    test_set: str

    def __post_init__(self) -> None:
        for key in ("source_language", "target_language"):
            _check_language(f"data.{key}", getattr(self, key), self.test_set)
        if self.source_language == self.target_language:
            others = ", ".join(code for code in LANGUAGES if code != self.source_language)
            raise InputError(
                f"data.source_language and data.target_language are both {self.source_language}: "
                f"set data.target_language to another, {others}"
            )

    def stems(self) -> dict[str, str]:
        """How the files of each split are called."""
        return {"train": "train", "validation": "val", "test": TEST_STEMS[self.test_set]}

    def names(self) -> Iterator[str]:
        """Names of the files, such as ``train.en``; the published ones end in ``.gz``."""
        for stem in self.stems().values():
            yield from (f"{stem}.{self.source_language}", f"{stem}.{self.target_language}")


def _check_language(key: str, language: str, test_set: str) -> None:
    if language not in LANGUAGES:
        raise InputError(
            f"{key}={language}: Multi30k has no such language"
            f"{nearest_language(language, LANGUAGES)}; there are {', '.join(LANGUAGES)}"
        )
    if f"{TEST_STEMS[test_set]}.{language}" not in {**SHA256, **MD5}:
        raise InputError(
            f"data.test_set={test_set}: Multi30k does not have it in {language}: "
            "set data.test_set=flickr_2016"
        )


def checksum(name: str) -> Checksum:
    """What the published file of a name such as ``train.en`` hashes to."""
    algorithm, digests = ("sha256", SHA256) if name in SHA256 else ("md5", MD5)
    return Checksum(algorithm, digests[name], MOST_BYTES)


def missing_files(root: Path, selection: Selection) -> list[str]:
    """Names of the files that the folder has neither as published nor decompressed."""
    return [name for name in selection.names() if not _file(root, name).exists()]


def read_multi30k(root: Path, selection: Selection) -> ParallelCorpus:
    """Read the files of a folder.

    Raises:
        InputError: a file is missing or wrong.
    """
    stems = selection.stems()
    train, validation, test = (
        read_parallel(
            _file(root, f"{stems[split]}.{selection.source_language}"),
            _file(root, f"{stems[split]}.{selection.target_language}"),
        )
        for split in ("train", "validation", "test")
    )
    return ParallelCorpus(train, validation, test)


def _file(root: Path, name: str) -> Path:
    """The published file, or the same decompressed."""
    plain, published = root / name, root / f"{name}.gz"
    return plain if plain.exists() and not published.exists() else published
