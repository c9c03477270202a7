"""The program that serves a model: its application, and a server that runs until SIGTERM or Ctrl-C."""

import logging
import resource
import signal
from asyncio import TimerHandle, Transport
from pathlib import Path

import h11
import uvicorn
from fastapi import FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from seq2seq.common.errors import InputError
from seq2seq.decoding.translator import Translator
from seq2seq.export.card import examples
from seq2seq.export.server import Limits, make_app
from seq2seq.export.translating_page import export_page

GRACE = 6
"""Seconds for open requests after SIGTERM; then a batch has to end, and `docker stop` waits for 10."""
FILES, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
"""Files that the process may open: a half is for connections, 3/8 for those that are accepted and not yet counted."""
MINUTES: dict[object, float] = {}
"""The minute of the last line of each kind in the log."""


def application(
    model: Path,
    device: str,
    limits: Limits,
    *,
    batch_size: int,
    to: str | None = None,
    trust_custom_code: bool = False,
) -> FastAPI:
    """Return the application that serves a model.

    Raises:
        InputError: There is no such model, device or language.
    """
    translator = Translator.load(model, device=device, to=to, trust_custom_code=trust_custom_code)
    if translator.target_language == "mul":
        raise InputError("this model translates into several languages: choose one with --to")
    try:
        page = export_page(model, next(iter(examples(model)), ""))
    except InputError as error:
        page = f"<!doctype html><title>seq2seq</title><p>POST /translate. There is no page: {error}.</p>"
    knows = {} if translator.knows is None else {"knows": translator.knows.examples}
    info = {"model": model.name, **translator.facts(), **knows}
    return make_app(translator, info, page, limits, batch_size=batch_size)


def connections(limits: Limits) -> type[H11Protocol]:
    """Return the class of connections, of one request each: it ends after three times the time of that, whatever it does.

    One too many ends the one that has waited longest for its client, to send its request or to read the answer.
    """

    class Connection(H11Protocol):
        @property
        def waits(self) -> bool:
            return self.conn.our_state is not h11.SEND_RESPONSE or self.conn.their_state is h11.SEND_BODY

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            opened[self] = self.loop.call_later(3 * limits.seconds, self.end, "its time is over")
            if len(opened) > 2 * limits.requests:
                next((each for each in opened if each.waits), self).end("there are too many")

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self in opened:
                opened.pop(self).cancel()

        def end(self, reason: str) -> None:
            logging.getLogger(__name__).warning("a connection is closed: " + reason)
            opened.pop(self).cancel()
            self.transport.abort()

    opened: dict[Connection, TimerHandle] = {}  # the oldest first
    return Connection


def is_first_of_its_kind(record: logging.LogRecord) -> bool:
    """Return whether to write a line: a warning, and a refused request by its status, once a minute."""
    status = int(record.getMessage()[-3:]) if record.name == "uvicorn.access" else 0
    if record.levelno < logging.WARNING and status < 400:
        return True
    error = record.exc_info[1] if record.exc_info else ""
    kind, minute = status or f"{record.msg}{error}", record.created // 60
    is_first = MINUTES.get(kind) != minute
    MINUTES[kind] = minute
    return is_first


def serve(app: FastAPI, limits: Limits, host: str, port: int) -> None:
    """Serve an application until SIGTERM or Ctrl-C; both end it with status 0 after its open requests."""
    if host == "127.0.0.1":  # a page whose name leads here must not ask in its visitor's place
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")  # on standard error
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    logging.root.handlers[0].addFilter(is_first_of_its_kind)
    server = uvicorn.Server(uvicorn.Config(
        app, host, port, log_config=None, http=connections(limits), ws="none", loop="asyncio",
        backlog=min(FILES // 8, 128), headers=[("Connection", "close")], timeout_graceful_shutdown=GRACE,
    ))  # fmt: skip
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn handles both, and raises them again at its end
        signal.signal(number, lambda number, frame: None)
    print(f"http://{host}:{port}   POST /translate, GET /health, /info; / translates", flush=True)
    server.run()
