"""Multi30k: captions of photographs."""

from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce, counted
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.text import Splits, read_parallel

TEST_SETS = {
    "flickr_2016": "test_2016_flickr",
    "flickr_2017": "test_2017_flickr",
    "coco_2017": "test_2017_mscoco",
    "flickr_2018": "test_2018_flickr",
}
"""Names of files by the values of `data.test_set`; the name of the files is a value, too."""


class Multi30k(TranslationDataModule):
    """Captions of photographs in English, German, French and Czech: Multi30k, task 1.

    Elliott, Frank, Sima'an and Specia 2016, the files of the public repository multi30k/dataset.

    Args:
        root: Folder of the files, compressed or not.
        download: Fetch files that are missing in the folder.
        address: URL of the files.
        test_set: ``flickr_2016``, ``flickr_2017``, ``coco_2017`` or ``flickr_2018``; or as the files are named, such
            as ``test_2018_flickr``.
        **options: Arguments of `TranslationDataModule`.
    """

    def __init__(
        self,
        *,
        root: str = "data/multi30k",
        download: bool = True,
        address: str = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw",
        test_set: str = "flickr_2016",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        stem = TEST_SETS.get(test_set, test_set)
        if stem not in TEST_SETS.values():
            raise InputError(f"data.test_set={test_set}: choose one of {', '.join(TEST_SETS)}")
        self.root, self.download = Path(root), download
        self.stems = "train", "val", stem
        languages = self.source_language, self.target_language
        import pooch

        self.registry = pooch.create(self.root, f"{address}/", env=None)
        self.registry.load_registry(Path(__file__).with_name("multi30k.txt"))
        for key, language in zip(("source_language", "target_language"), languages, strict=True):
            if f"{self.stems[2]}.{language}.gz" not in self.registry.registry:
                raise InputError(
                    f"data.{key}={language}: Multi30k has en, de, fr and cs (no cs in the test sets of 2017)"
                )
        if languages[0] == languages[1]:
            raise InputError(f"data.source_language and data.target_language are both {languages[0]}")

    def prepare_data(self) -> None:
        """Download missing files and check them.

        Raises:
            InputError: A file is missing that a folder below `root` has, or that cannot be downloaded.
        """
        missing = [path.name for path in chain(*self._paths()) if not path.exists()]
        if not missing:
            return
        lacks = (
            f"data.root={self.root} lacks {missing[0]}"
            if self.root.is_dir()
            else f"there is no folder data.root={self.root}"
        )
        names = missing[0], missing[0].removesuffix(".gz")
        below = [
            path
            for place in ("*", "data/task1/raw")
            for name in names
            for path in self.root.glob(f"{place}/{name}")
        ]
        if below:
            raise InputError(f"{lacks}: give data.root={below[0].parent}")
        if not self.download:
            raise InputError(f"{lacks}: give another data.root, or data.download=true")
        announce(f"{lacks}: downloading {counted(len(missing), 'file')}")
        new = [each for each in (self.root, *self.root.parents) if not each.exists()]
        try:
            for name in missing:
                self.registry.fetch(name, progressbar=True)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{lacks}, and the download fails ({type(error).__name__}): download the files of "
                f"multi30k/dataset, data/task1/raw, into a folder and set data.root to it"
            ) from error
        finally:
            for each in new:  # those that hold nothing
                with suppress(OSError):
                    each.rmdir()

    def _paths(self) -> list[list[Path]]:
        """Return the two files of each split: decompressed if only those exist, else compressed."""

        def path(name: str) -> Path:
            plain, packed = self.root / name, self.root / f"{name}.gz"
            return plain if plain.exists() and not packed.exists() else packed

        sides = self.source_language, self.target_language
        return [[path(f"{stem}.{side}") for side in sides] for stem in self.stems]

    def read(self) -> Splits:
        """Read the files."""
        self.prepare_data()
        return Splits(*(read_parallel(*paths) for paths in self._paths()))
