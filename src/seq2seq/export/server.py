"""The HTTP server: requests are checked, and one queue translates the sentences of all of them in small batches."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seq2seq.common import VERSION
from seq2seq.decoding import PenaltyName
from seq2seq.decoding.search import search_from_options
from seq2seq.decoding.sentences import translate_texts
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import HALVES, Translator

MAX_BEAM = 20
USUAL_BEAM = 5
BATCH_WORK = 2000 * USUAL_BEAM
"""Characters times the width of the beam in a batch, unless one sentence has more: a second or two of two cores, which is
how long others wait."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes.

    Attributes:
        texts: Sentences of a request.
        characters: Characters of a sentence.
        requests: Translation requests that are open at the same time.
        seconds: Time for a request, its body included.
    """

    texts: int = 64
    characters: int = 2000
    requests: int = 256
    seconds: float = 30.0

    @property
    def work(self) -> int:
        """Characters of a request times the width of its beam: those of the largest request with the usual beam."""
        return USUAL_BEAM * self.texts * self.characters

    @property
    def content(self) -> int:
        """Bytes of a request, whose characters may be written as six."""
        return 6 * self.texts * self.characters + 4096

    def check(self, request: "TranslationRequest") -> None:
        """Refuse a request that is too large.

        Raises:
            HTTPException: Status 422 and what is wrong.
        """
        texts = request.sentences
        longest = max(map(len, texts), default=0)
        for is_wrong, reason in (
            (not 1 <= len(texts) <= self.texts, f"{len(texts)} sentences; 1 to {self.texts} are allowed"),
            (longest > self.characters, f"a sentence of {longest} characters; {self.characters} are allowed"),
            (any(map(HALVES.search, texts)), "half of a surrogate pair, which is no text"),
            (
                request.width * sum(map(len, texts)) > self.work,
                f"more than {self.work:,} characters x beam: lower beam_size or alternatives",
            ),
        ):
            if is_wrong:
                raise HTTPException(422, f"text: {reason}")


class TranslationRequest(BaseModel):
    """Sentences to translate, and how."""

    model_config = ConfigDict(extra="forbid")
    text: str | list[str] = Field(description="a text or a list of texts")
    beam_size: int = Field(
        USUAL_BEAM, ge=1, le=MAX_BEAM, strict=True, description="hypotheses of a step; 1: greedy search"
    )
    alternatives: int = Field(1, ge=1, le=MAX_BEAM, strict=True, description="translations of each sentence")
    weights: bool = Field(False, description="whether to return the attention")

    @model_validator(mode="after")
    def _require_width(self) -> "TranslationRequest":
        if "beam_size" in self.model_fields_set and self.alternatives > self.beam_size:
            raise ValueError(
                f"{self.alternatives} alternatives need a beam_size of as many, not {self.beam_size}"
            )
        return self

    @property
    def sentences(self) -> list[str]:
        """The sentences."""
        return [self.text] if isinstance(self.text, str) else self.text

    @property
    def width(self) -> int:
        """The width of the beam: as given, or the usual one, or the number of alternatives."""
        return max(self.beam_size, self.alternatives)


class Alternative(BaseModel):
    """A translation and its score, the natural log-probability of its tokens."""

    text: str
    score: float


class Answer(Alternative):
    """The best translation of a sentence."""

    unknown: list[str] = Field(description="tokens of the source that the model does not know")
    guess: bool | None = Field(
        None, description="whether the model is less sure of it than of text that it knows"
    )
    alternatives: list[Alternative] | None = None
    source_tokens: list[str] | None = None
    target_tokens: list[str] | None = None
    attention: list[list[float]] | None = Field(default=None, description="a row for each target token")


class Answers(BaseModel):
    """The answers for the sentences of a request, in order."""

    translations: list[Answer]


class Job:
    """A request in the queue: its sentences that wait, and the answers so far."""

    def __init__(self, request: TranslationRequest) -> None:
        self.search = request.width, request.alternatives, request.weights
        shortest = sorted(enumerate(request.sentences), key=lambda item: len(item[1]))
        self.waiting = shortest[::-1]  # the last is next
        self.answers: list[Any] = [None] * len(self.waiting)
        self.done: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()

    @property
    def work(self) -> int:
        """Characters that wait, times the width of the beam."""
        return self.search[0] * sum(len(text) for _, text in self.waiting)


class TranslationQueue:
    """Translates the sentences of all requests, one small batch after another, in a thread.

    A batch has sentences that are searched in the same way. Batches begin in turns with the request that has the least
    work left and with the oldest one: small requests do not wait for large ones, and large ones are not forgotten.
    Between two batches, requests that are answered, or whose time is over, leave the queue.
    """

    def __init__(self, translator: Translator, batch_size: int = 32) -> None:
        self.translator, self.batch_size = translator, batch_size
        self.jobs: list[Job] = []
        self._has_jobs = asyncio.Event()

    @contextmanager
    def request(self, request: TranslationRequest) -> Iterator[Job]:
        """Put a request into the queue, and take it out at the end, also if it is not answered."""
        job = Job(request)
        self.jobs.append(job)
        self._has_jobs.set()
        try:
            yield job
        finally:
            job.done.cancel()
            self.jobs.remove(job)

    async def run(self) -> None:
        """Translate batches until the task is canceled."""
        for turn in count():
            await self._has_jobs.wait()
            batch = self.next_batch(is_oldest_first=turn % 2 == 1)
            if not batch:
                self._has_jobs.clear()
                continue
            try:
                answers = await asyncio.to_thread(
                    self._answers, [text for _, _, text in batch], *batch[0][0].search
                )
            except Exception as error:  # the requests get it, and the server goes on
                for job in {job for job, _, _ in batch if not job.done.done()}:
                    job.done.set_exception(error)
                continue
            for (job, place, _), answer in zip(batch, answers, strict=True):
                job.answers[place] = answer
            for job in {job for job, _, _ in batch if not job.waiting and not job.done.done()}:
                job.done.set_result(job.answers)

    def next_batch(self, *, is_oldest_first: bool) -> list[tuple[Job, int, str]]:
        """Take the sentences of the next batch, with their jobs and places there; [] if none waits."""
        jobs = [job for job in self.jobs if job.waiting and not job.done.done()]
        if not jobs:
            return []
        by_work = sorted(jobs, key=lambda job: job.work)
        first = jobs[0] if is_oldest_first else by_work[0]
        batch: list[tuple[Job, int, str]] = []
        characters = BATCH_WORK // first.search[0]
        for job in (first, *by_work):
            while job.waiting and job.search == first.search:
                characters -= len(job.waiting[-1][1])
                if batch and (characters < 0 or len(batch) == self.batch_size):
                    return batch
                batch.append((job, *job.waiting.pop()))
        return batch

    def _answers(self, texts: list[str], width: int, alternatives: int, weights: bool) -> list[Answer]:
        penalty: PenaltyName = "average" if width > 1 else "none"
        search = search_from_options(beam_size=width, num_best=alternatives, length_penalty=penalty)
        found = translate_texts(self.translator, texts, search=search, return_attention=weights)
        return [answer_of(translations, weights=weights) for translations in found]


def answer_of(translations: list[Translation], *, weights: bool) -> Answer:
    """Return the answer for a sentence from its translations, the best first."""
    best = translations[0]
    answer = Answer(text=best.text, score=best.score, unknown=list(best.unknown), guess=best.is_guess)
    if len(translations) > 1:
        answer.alternatives = [Alternative(text=each.text, score=each.score) for each in translations[1:]]
    if weights:
        answer.source_tokens, answer.target_tokens = list(best.source_tokens), list(best.target_tokens)
        answer.attention = best.as_dict()["attention"]
    return answer


async def disconnected(client: Request) -> None:
    """Return when the client of a request, whose body has been read, closes its connection."""
    while (await client.receive())["type"] != "http.disconnect":
        pass


def make_app(
    translator: Translator,
    info: dict[str, Any],
    page: str,
    limits: Limits | None = None,
    *,
    batch_size: int = 32,
) -> FastAPI:
    """Return the application, for any ASGI server.

    `info` is what ``/info`` answers beside the limits, `page` the HTML of ``/``.
    """
    limits = limits or Limits()
    queue = TranslationQueue(translator, batch_size)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(queue.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    # its own pages of documentation load scripts from elsewhere
    app = FastAPI(
        title="seq2seq", version=VERSION, lifespan=lifespan, docs_url=None, redoc_url=None,
    )  # fmt: skip

    @app.post("/translate", response_model_exclude_none=True)
    async def translate(request: TranslationRequest, client: Request) -> Answers:
        """Translate a sentence or a list of sentences."""
        limits.check(request)
        if len(queue.jobs) >= limits.requests:
            raise HTTPException(503, "too many requests: try later")
        with queue.request(request) as job:
            gone = asyncio.create_task(disconnected(client))
            try:
                ended, _ = await asyncio.wait((job.done, gone), return_when="FIRST_COMPLETED")
            finally:
                gone.cancel()
        if job.done not in ended:
            raise HTTPException(499, "the client has gone")
        return Answers(translations=job.done.result())

    @app.get("/health", response_class=PlainTextResponse)
    async def health() -> str:
        """Answer ok."""
        return "ok"

    @app.get("/info")
    async def about() -> dict[str, Any]:
        """Return the model's name, languages and classes, and the limits."""
        return info | {"limits": asdict(limits)}

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def home() -> str:
        return page

    @app.exception_handler(RequestValidationError)
    async def refuse(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]  # it repeats the input, which may be long
        has_header = "json" in request.headers.get("content-type", "")
        advice = "" if has_header else ": send JSON, with the header Content-Type: application/json"
        return JSONResponse({"detail": f"{'.'.join(map(str, first['loc']))}: {first['msg']}{advice}"}, 422)

    app.state.queue = queue
    app.add_middleware(bounded, limits=limits)
    return app


def bounded(app: ASGIApp, limits: Limits) -> ASGIApp:
    """Return an application that bounds the bytes that come and the time.

    A server that ends cancels the requests that are open: they have an answer too.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limits.content:
                raise HTTPException(413, f"more than {limits.content:,} bytes")
            return message

        try:
            async with asyncio.timeout(limits.seconds):
                await app(scope, counted, send)
        except TimeoutError:
            late = JSONResponse({"detail": "no answer in time: send less, or try later"}, 504)
            await late(scope, receive, send)
        except asyncio.CancelledError:
            await JSONResponse({"detail": "the server ends: try later"}, 503)(scope, receive, send)

    return lambda scope, *ways: answer(scope, *ways) if scope["type"] == "http" else app(scope, *ways)
