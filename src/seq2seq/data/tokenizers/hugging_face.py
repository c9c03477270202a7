"""A tokenizer of the package `tokenizers`."""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from seq2seq.common.errors import InputError
from seq2seq.data.addresses import on_disk, read_file
from seq2seq.data.tokenizers.tokenizer import Tokenizer
from seq2seq.data.vocabulary import SPECIALS, UNKNOWN


class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer of the package `tokenizers`, read from a ``tokenizer.json``; its vocabulary follows the special tokens.

    Its own unknown token, such as ``[UNK]``, is ``<unk>``. What the file says of training (dropout of merges) and of batches
    (truncation, padding) is left out: a sentence has all its tokens, and the same each time.

    Args:
        file: A file that `tokenizers.Tokenizer.save` wrote.
        **options: Arguments of `Tokenizer`.
    """

    def __init__(self, *, file: str | None = None, **options: Any) -> None:
        self._tokenizer: Any = None  # until there is a file
        self._unknown: str | None = None
        self.arguments.pop("file", None)  # a saved tokenizer has the content beside it
        super().__init__(**options)
        if file is not None:
            self._use(self._content(file))

    @staticmethod
    def _content(file: str) -> str:
        try:
            return read_file(Path(on_disk(file))).decode("utf-8-sig")
        except OSError as error:
            raise InputError(f"data.tokenizer.file={file}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise InputError(
                f"data.tokenizer.file={file} is no tokenizer.json; of SentencePiece, tokenizer=unigram and tokenizer=bpe "
                "train a model of this corpus"
            ) from error

    def _use(self, content: str) -> None:
        try:
            import tokenizers

            self._tokenizer = tokenizers.Tokenizer.from_str(content)
            self._tokenizer.no_truncation()  # a file may ask for them, and words of long sentences would be lost
            self._tokenizer.no_padding()
            if getattr(self._tokenizer.model, "dropout", None) is not None:
                self._tokenizer.model.dropout = None
            model = json.loads(content)["model"]
            self.has_subwords = model.get("type") != "WordLevel"
            self._unknown = model.get("unk_token")
            if model.get("unk_id") is not None:  # of Unigram
                self._unknown = model["vocab"][model["unk_id"]][0]
        except ImportError as error:
            raise InputError("this tokenizer needs a package: pip install tokenizers") from error
        except Exception as error:  # of no narrower class
            raise InputError(f"a tokenizer.json cannot be read: {error}") from error

    def with_tokens(self, tokens: Sequence[str]) -> Tokenizer:
        """Refuse tokens that the file does not have."""
        raise InputError(
            "data.new_tokens: a tokenizer.json has the tokens that it was trained with: leave this out"
        )

    def fit(self, texts: Iterable[str]) -> None:
        """Use the vocabulary of the file."""
        if self._tokenizer is None:
            raise InputError("data.tokenizer.file is needed: a tokenizer.json")
        by_id = sorted(self._tokenizer.get_vocab().items(), key=lambda item: item[1])
        others = {*SPECIALS, self._unknown}
        self.set_vocabulary([*SPECIALS, *(token for token, _ in by_id if token not in others)])

    def split(self, text: str) -> list[str]:
        """Return the tokens of a sentence; where the file's unknown token would stand, the text that is unknown."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return [
            token
            if token != self._unknown
            else text[start:end]
            if text[start:end] not in self._ids
            else UNKNOWN
            for token, (start, end) in zip(found.tokens, found.offsets, strict=True)
        ]

    def join(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens; one that the file does not know is a word as it is."""
        parts = list[str]()
        for is_known, run in groupby(tokens, lambda token: self._tokenizer.token_to_id(token) is not None):
            written = list(run)
            ids = map(self._tokenizer.token_to_id, written)
            parts += [self._tokenizer.decode(list(ids), skip_special_tokens=False)] if is_known else written
        return " ".join(part.strip() for part in parts) if len(parts) > 1 else "".join(parts)

    def save(self, folder: Path, side: str) -> None:
        """Write ``<side>.json`` and ``<side>.tokenizer.json``."""
        super().save(folder, side)
        (folder / f"{side}.tokenizer.json").write_text(self._tokenizer.to_str(), encoding="utf-8")

    def read_model(self, folder: Path, side: str) -> None:
        """Read ``<side>.tokenizer.json``."""
        self._use(read_file(folder / f"{side}.tokenizer.json").decode())
