"""One model for several pairs of languages: a corpus whose source sentences begin with a tag of the target language.

The tag, `seq2seq.data.languages.target_tag`, is a word like any other, so that models and tokenizers need nothing for it.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from seq2seq.common.errors import InputError
from seq2seq.data.addresses import is_address
from seq2seq.data.corpora.parallel import ParallelText
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.files import is_path
from seq2seq.data.languages import require_language_code, target_tag
from seq2seq.data.text import Splits
from seq2seq.data.words import clean


class MultilingualText(TranslationDataModule):
    """Several parallel corpora for one model: each source sentence begins with the `target_tag` of its target.

    Args:
        corpora: By their languages, such as ``en-de``: the files of ``train``, ``validation`` and ``test``, see
            `ParallelText`.
        root: Folder that relative names of files begin in.
        **options: Those of `TranslationDataModule`; with `split` no validation files are needed, and pairs of all corpora
            that have a sentence in common are held out together.
    """

    def __init__(
        self, *, corpora: Mapping[str, Mapping[str, Mapping[str, str]]], root: str = ".", **options: Any
    ) -> None:
        super().__init__(**options)
        self.corpora, self.root = corpora, root
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
            if unknown := given.keys() - {"train", "validation", "test"}:
                raise InputError(f"data.corpora.{languages}.{min(unknown)}: give train, validation and test")
            files: dict[str, Any] = {
                split: {
                    side: str(Path(self.root, name)) if is_path(name) and not is_address(name) else name
                    for side, name in (sides or {}).items()
                }
                for split, sides in given.items()
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
