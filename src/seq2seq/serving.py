"""What a server answers: requests, which are checked before they wait, and a model that answers many at once."""

import asyncio
import os
import signal
import threading
import time
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar

import litserve
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from seq2seq.decoding.search import search_from_options
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import Translator

MAX_BEAM = 20


class TranslationRequest(BaseModel):
    """A request: sentences and how to search.

    Attributes:
        max_texts: Sentences at most.
        max_characters: Of a sentence, at most.
        max_work: Characters times the width of the beam, at most.
    """

    model_config = ConfigDict(extra="forbid")
    max_texts: ClassVar[int] = 64
    max_characters: ClassVar[int] = 2000
    max_work: ClassVar[int] = 64 * 2000 * 5

    text: str | list[str]
    beam_size: int = Field(5, ge=1, le=MAX_BEAM)
    alternatives: int = Field(1, ge=1, le=MAX_BEAM)
    weights: bool = False
    _arrived: float = PrivateAttr(default_factory=time.monotonic)
    _work: int = 0

    @model_validator(mode="after")
    def within_limits(self) -> "TranslationRequest":
        """Refuse too many sentences, sentences that are too long, and a wide beam for much text."""
        sentences = [self.text] if isinstance(self.text, str) else self.text
        if not 1 <= len(sentences) <= self.max_texts:
            raise ValueError(f"{len(sentences)} sentences; 1 to {self.max_texts} are allowed")
        if any(0xD800 <= ord(letter) < 0xE000 for sentence in sentences for letter in sentence):
            raise ValueError("half of a surrogate pair, which is no text")
        longest = max(map(len, sentences))
        if longest > self.max_characters:
            raise ValueError(f"a sentence of {longest} characters; {self.max_characters} are allowed")
        self.text, self.beam_size = sentences, max(self.beam_size, self.alternatives)
        self._work = self.beam_size * sum(map(len, sentences))
        if self._work > self.max_work:
            raise ValueError(
                f"more than {self.max_work:,} characters x beam: lower beam_size or alternatives"
            )
        return self


class Bounded:
    """ASGI middleware: at most so many requests to a path run (else status 503), each for so many seconds (else 504).

    Connections without a request do not count; a request that took too long counts until its work is done.
    """

    def __init__(self, app: Any, *, path: str, most: int, timeout: float) -> None:
        self.app, self.path, self.most, self.timeout = app, path, most, timeout
        self.running: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope.get("path") != self.path:
            return await self.app(scope, receive, send)
        if len(self.running) >= self.most:
            return await JSONResponse({"detail": "too many requests: try later"}, 503)(scope, receive, send)
        has_begun, deadline = False, time.monotonic() + self.timeout

        async def forward(message: Any) -> None:
            nonlocal has_begun
            has_begun = has_begun or time.monotonic() < deadline
            if has_begun:
                await send(message)

        task = asyncio.create_task(self.app(scope, receive, forward))
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        await asyncio.wait({task}, timeout=self.timeout)
        if has_begun or task.done():
            return await task
        deadline = 0
        return await JSONResponse({"detail": "no answer in time: send less, or try later"}, 504)(
            scope, receive, send
        )


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
        """Translate requests, those that are searched in the same way at once; late ones, answered before, not."""
        left = list(enumerate(x if isinstance(x, list) else [x]))
        answers: list[list[dict[str, Any]]] = [[] for _ in left]
        while left:
            now, groups = time.monotonic(), dict[tuple[int, int, bool], list[tuple[int, str]]]()
            left = [(place, each) for place, each in left if now - each._arrived < self.request_timeout]
            sums = accumulate(each._work for _, each in left)
            count = max(1, sum(work <= TranslationRequest.max_work for work in sums))
            for place, each in left[:count]:
                key = each.beam_size, each.alternatives, each.weights
                groups.setdefault(key, []).extend((place, text) for text in each.text)
            left = left[count:]
            for (width, num_best, weights), sentences in groups.items():
                penalty = "average" if width > 1 else "none"
                search = search_from_options(beam_size=width, num_best=num_best, length_penalty=penalty)
                texts = [text for _, text in sentences]
                found = self.translator.translate_n_best(texts, search=search, return_attention=weights)
                for (place, _), translations in zip(sentences, found, strict=True):
                    answers[place].append(as_json(translations, weights=weights))
        return [{"translations": each} for each in answers]


def end_with_parent() -> None:
    """End this process on SIGTERM, and within a second of the end of its parent process."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # `seq2seq serve` blocks it
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def as_json(translations: list[Translation], *, weights: bool) -> dict[str, Any]:
    """Return the translations of a sentence, the best first, as JSON can hold them."""
    best = translations[0]
    answer: dict[str, Any] = {"text": best.text, "score": best.score, "unknown": best.unknown}
    if len(translations) > 1:
        answer["alternatives"] = [{"text": each.text, "score": each.score} for each in translations[1:]]
    if weights:
        whole = best.as_dict()
        answer |= {name: whole[name] for name in ("source_tokens", "target_tokens", "attention")}
    return answer
