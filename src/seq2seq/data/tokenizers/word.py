"""Words and punctuation marks."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from joined_words import LETTERS, SPACE_MARK, join_with_joints, shown, split_with_joints, split_words
from seq2seq.common.errors import InputError
from seq2seq.common.progress import warn
from seq2seq.data.addresses import read_json
from seq2seq.data.languages import base_language, is_unspaced
from seq2seq.data.tokenizers.tokenizer import Tokenizer
from seq2seq.data.vocabulary import UNKNOWN_ID

LONGEST_MEAN = 10
"""Letters of a word on average, beyond which words are not separated: German text has 6."""


class WordTokenizer(Tokenizer):
    """Words and punctuation marks, by one of several sets of rules.

    Args:
        rules: ``word``: words with their hyphens, and punctuation marks; ``basic_english``: the tokenizer of
            torchtext, for lower-cased English; ``moses``: the Moses tokenizer of the language (sacremoses).
        joints: Whether tokens carry where they touch, see `split_with_joints`, so that every clean text comes back; without
            them single spaces separate tokens, and sacremoses joins those of ``moses``. None: with the rules ``word``.
        **options: Arguments of `Tokenizer`.

    Raises:
        InputError: The rules do not support the language, or have no joints.
    """

    def __init__(self, *, rules: str = "word", joints: bool | None = None, **options: Any) -> None:
        self.joints = rules == "word" if joints is None else joints
        self.arguments["joints"] = self.joints
        if not isinstance(self.joints, bool):
            raise InputError(f"data.tokenizer.joints={self.joints!s:.40}: expected true or false")
        if self.joints and rules != "word":
            raise InputError(f"data.tokenizer.joints=true needs rules=word, not {rules}")
        super().__init__(**options)
        self._use_rules(rules)

    def share(self, language: str) -> Tokenizer:
        """Return a tokenizer with the same vocabulary, and the rules of another language."""
        other = super().share(language)
        assert isinstance(other, WordTokenizer)
        other._use_rules(self.arguments.get("rules", "word"))
        return other

    def _use_rules(self, rules: str) -> None:
        self._split: Callable[[str], list[str]] = split_with_joints if self.joints else split_words
        self._join: Callable[[Sequence[str]], str] = join_with_joints if self.joints else " ".join
        if rules == "basic_english":
            if base_language(self.language) != "en":
                raise InputError(
                    f"data.tokenizer: basic_english splits English only, not {self.language}: choose "
                    "rules=word or rules=moses for this language"
                )
            from torchtext.data.utils import get_tokenizer

            self._split = get_tokenizer("basic_english")
        elif rules == "moses":
            from sacremoses import MosesDetokenizer, MosesTokenizer
            from sacremoses.corpus import NonbreakingPrefixes

            known = sorted(set(NonbreakingPrefixes().available_langs.values()))
            language = base_language(self.language)
            if language not in known:
                raise InputError(
                    f"data.tokenizer: moses does not know the language {self.language}: choose rules=word, "
                    f"or one of {', '.join(known)}"
                )
            self._split = partial(MosesTokenizer(language).tokenize, escape=False)
            self._join = partial(MosesDetokenizer(language).detokenize, unescape=False)
        elif rules != "word":
            raise InputError(f"data.tokenizer.rules={rules}: choose word, basic_english or moses")

    def set_vocabulary(self, tokens: Sequence[str]) -> None:
        """Set the vocabulary; with joints, each word is also known by the most frequent token that is shown as it."""
        super().set_vocabulary(tokens)
        if self.joints:
            most = {self.shown(token): index for index, token in reversed([*enumerate(tokens)])}
            self._ids = most | self._ids

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Return the ids of tokens; one whose joint is unknown is the word without it, before it is ``<unk>``."""
        known = self._ids
        return [known[t] if t in known else known.get(self.shown(t), UNKNOWN_ID) for t in tokens]

    def shown(self, token: str) -> str:
        """Return a token without joints."""
        return shown(token, SPACE_MARK) if self.joints else token

    def read_model(self, folder: Path, side: str) -> None:
        """Refuse words that rules of their language joined, which are gone."""
        found = read_json(folder / f"{side}.json")["arguments"]
        if "joints" not in found and found.get("rules") != "moses":
            raise InputError(
                "its words were joined by rules that are gone: train it again, as python train.py --config-path RUN "
                f"--config-name config name=again does ({folder / side}.json)"
            )

    def fit(self, texts: Iterable[str]) -> None:
        """Set the vocabulary to the most frequent words of some sentences; warn if they are no words."""
        texts = list(texts)
        super().fit(texts)
        if is_unspaced(self.language):
            words = [word for text in texts[:1000] for word in LETTERS.findall(text)]
            length = sum(map(len, words)) / max(len(words), 1)
            if length > LONGEST_MEAN:
                warn(
                    f"data.tokenizer: {self.language} is written without spaces, so that a word has {length:.0f} letters: "
                    "choose tokenizer=bpe or tokenizer=characters"
                )

    def split(self, text: str) -> list[str]:
        """Return words and punctuation marks."""
        return self._split(text)

    def join(self, tokens: Sequence[str]) -> str:
        """Join words at their joints, or else with spaces, or by the rules of Moses."""
        return self._join(list(tokens))
