"""The program that serves a model: its application, and a server that runs until SIGTERM or Ctrl-C."""

import logging
import resource
import signal
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware

from seq2seq.common.errors import InputError
from seq2seq.decoding.translator import Translator
from seq2seq.export.card import examples
from seq2seq.export.server import Limits, make_app
from seq2seq.export.translating_page import export_page

GRACE = 6
"""Seconds for open requests after SIGTERM; then a batch has to end, and `docker stop` waits for 10."""
FILES, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
"""Files that the process may open: a half is for connections, 3/8 for those that are accepted and not yet counted."""


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
    return make_app(
        translator, {"model": model.name} | translator.facts(), page, limits, batch_size=batch_size
    )


def serve(app: FastAPI, limits: Limits, host: str, port: int) -> None:
    """Serve an application until SIGTERM or Ctrl-C; both end it with status 0 after its open requests."""
    if host == "127.0.0.1":  # a page whose name leads here must not ask in its visitor's place
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")  # on standard error
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    server = uvicorn.Server(uvicorn.Config(
        app, host, port, log_config=None, http="h11", ws="none", loop="asyncio",
        backlog=min(FILES // 8, 128), limit_concurrency=2 * limits.requests, headers=[("Connection", "close")],
        timeout_graceful_shutdown=GRACE,
    ))  # fmt: skip
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn handles both, and raises them again at its end
        signal.signal(number, lambda number, frame: None)
    print(f"http://{host}:{port}   POST /translate, GET /health, /info, /metrics; / translates", flush=True)
    server.run()
