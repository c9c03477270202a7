"""What a server answers: requests, which are checked before they wait, and a model that answers many at once."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

import litserve
from pydantic import BaseModel, ConfigDict, Field, field_validator

from seq2seq.decoding.search import search_from_options
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import Translator

MAX_BEAM = 20


class TranslationRequest(BaseModel):
    """A request: sentences and how to search.

    Attributes:
        max_texts: Sentences at most.
        max_characters: Of a sentence, at most.
    """

    model_config = ConfigDict(extra="forbid")
    max_texts: ClassVar[int] = 64
    max_characters: ClassVar[int] = 2000

    text: str | list[str]
    beam_size: int = Field(5, ge=1, le=MAX_BEAM)
    alternatives: int = Field(1, ge=1, le=MAX_BEAM)
    weights: bool = False

    @field_validator("text")
    @classmethod
    def within_limits(cls, text: str | list[str]) -> str | list[str]:
        """Refuse too many sentences, and sentences that are too long."""
        sentences = [text] if isinstance(text, str) else text
        if not 1 <= len(sentences) <= cls.max_texts:
            raise ValueError(f"{len(sentences)} sentences; 1 to {cls.max_texts} are allowed")
        if any(0xD800 <= ord(letter) < 0xE000 for sentence in sentences for letter in sentence):
            raise ValueError("half of a surrogate pair, which is no text")
        longest = max(map(len, sentences))
        if longest > cls.max_characters:
            raise ValueError(f"a sentence of {longest} characters; {cls.max_characters} are allowed")
        return text


class TranslationAPI(litserve.LitAPI):
    """Translates the sentences of several requests together.

    Args:
        model: Folder or name of the model.
        **options: Those of ``litserve.LitAPI``: ``max_batch_size``, ``batch_timeout``, ``api_path``.
    """

    def __init__(self, model: str | Path, **options: Any) -> None:
        super().__init__(**options)
        self.model = model

    def decode_request(self, request: TranslationRequest) -> TranslationRequest:
        """Return the request, which its annotation has had checked before it waited in the queue."""
        return request

    def setup(self, device: str) -> None:
        """Load the model in a process of its own."""
        end_with_parent()
        self.translator = Translator.load(self.model, device=str(device))

    def batch(self, inputs: list[Any]) -> list[Any]:
        """Keep requests as they are: `predict` sorts their sentences."""
        return inputs

    def unbatch(self, output: list[Any]) -> list[Any]:
        """Return an answer for each request."""
        return output

    def predict(self, x: Any) -> list[dict[str, Any]]:
        """Translate the sentences of requests, those that are searched in the same way at once."""
        requests = x if isinstance(x, list) else [x]
        groups: dict[tuple[int, int, bool], list[tuple[int, str]]] = {}
        for place, each in enumerate(requests):
            width = max(each.beam_size, each.alternatives)
            texts = [each.text] if isinstance(each.text, str) else each.text
            key = width, each.alternatives, each.weights
            groups.setdefault(key, []).extend((place, " ".join(text.split())) for text in texts)
        answers: list[list[dict[str, Any]]] = [[] for _ in requests]
        for (width, alternatives, weights), sentences in groups.items():
            search = search_from_options(
                beam_size=width, num_best=alternatives, length_penalty="average" if width > 1 else "none"
            )
            found = self.translator.translate_n_best(
                [text for _, text in sentences], search=search, return_attention=weights
            )
            for (place, _), translations in zip(sentences, found, strict=True):
                answers[place].append(described(translations, weights=weights))
        return [{"translations": each} for each in answers]


def end_with_parent() -> None:
    """End this process on SIGTERM, and soon after the one that started it, which SIGKILL may have ended."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # `seq2seq serve` blocks it
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def described(translations: list[Translation], *, weights: bool) -> dict[str, Any]:
    """Return the translations of a sentence, the best first, as JSON can hold them."""
    best = translations[0]
    answer: dict[str, Any] = {"text": best.text, "score": best.score, "unknown": best.unknown}
    if len(translations) > 1:
        answer["alternatives"] = [{"text": each.text, "score": each.score} for each in translations[1:]]
    if weights:
        whole = best.as_dict()
        answer |= {name: whole[name] for name in ("source_tokens", "target_tokens", "attention")}
    return answer
