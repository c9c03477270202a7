"""Serve a model over HTTP: ``seq2seq serve MODEL --port 8000``

    curl localhost:8000/translate -H 'Content-Type: application/json' -d '{"text": "I see it."}'

``POST /translate`` takes ``text``, a sentence or a list of sentences, and optionally ``beam_size``,
``alternatives`` (how many translations of each) and ``weights`` (attention with its tokens). ``GET /health``
answers ``ok``; ``/`` is the page that translates in the browser. Built on LitServe: ``pip install litserve``.
"""

import logging
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Sequence
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any

from seq2seq.cli.main import MODEL_HELP, device, model, parser_of, port
from seq2seq.errors import InputError
from seq2seq.interrupts import interrupt
from seq2seq.progress import announce
from seq2seq.run.messages import exit_with_one_line

FAMILIES = {"127.0.0.1": socket.AF_INET, "0.0.0.0": socket.AF_INET, "::": socket.AF_INET6}
"""Addresses that LitServe accepts."""


def main(arguments: Sequence[str]) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    parser = parser_of("serve", __doc__)
    add = parser.add_argument
    add("model", type=model, help=MODEL_HELP)
    add("--host", default="127.0.0.1", choices=tuple(FAMILIES), help="default: 127.0.0.1, this machine only")
    add("--port", type=port, default=8000, help="1024 to 65535 (default: 8000)")
    add("--device", type=device, default="cpu", help="cpu, cuda or mps (default: cpu)")
    for name, default, text in (
        ("workers", 1, "processes, each with a copy of the model"),
        ("batch-size", 32, "maximum requests that are translated together"),
        ("batch-timeout", 0.005, "seconds to wait for more requests"),
        ("timeout", 30.0, "seconds after which a request is refused"),
        ("max-texts", 64, "maximum sentences of a request"),
        ("max-characters", 2000, "maximum characters of a sentence"),
        ("max-requests", 256, "maximum translation requests at the same time"),
    ):
        kind = type(default)
        metavar = "S" if kind is float else "N"
        add(f"--{name}", type=kind, default=default, metavar=metavar, help=f"{text} (default: {default:g})")
    options = parser.parse_args(list(arguments))
    with exit_with_one_line():
        for name in ("workers", "batch_size", "max_texts", "max_characters", "max_requests"):
            if getattr(options, name) < 1:
                raise InputError(f"--{name.replace('_', '-')} {getattr(options, name)}: 1 or more")
        if not 0 <= options.batch_timeout < options.timeout:
            raise InputError(f"--timeout {options.timeout:g}: more than --batch-timeout is needed")

        if hasattr(signal, "pthread_sigmask"):
            stop_on_signals()
        try:
            socket.create_server((options.host, options.port), family=FAMILIES[options.host]).close()
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise InputError(f"--port {options.port}: {reason}; choose another one") from error
        announce("loading PyTorch and the model")
        server = make_server(options)
        if hasattr(os, "register_at_fork"):
            from seq2seq.serving import end_with_parent

            os.register_at_fork(after_in_child=end_with_parent)  # the processes that LitServe forks
        address = f"http://{options.host}:{options.port}"
        print(f"{address}   POST /translate, GET /health, / translates", flush=True)
        server.uvicorn_graceful_timeout = 8  # seconds for open requests; `docker stop` waits for 10
        try:
            quiet = {"log_level": "warning", "generate_client_file": False}
            server.run(host=options.host, port=options.port, num_api_servers=1, **quiet)
        except KeyboardInterrupt:  # before it served; afterwards LitServe ends its processes
            for child in multiprocessing.active_children():
                child.kill()
            raise


def stop_on_signals() -> None:
    """Raise KeyboardInterrupt in the main thread on SIGTERM and Ctrl-C; the second one ends the process at once.

    Both are blocked and a thread waits for them. Other processes inherit the mask, so that Ctrl-C, which a terminal
    sends to all of them, ends this one, and this one ends the others.
    """
    signals = {signal.SIGINT, signal.SIGTERM}

    def stop(number: int, frame: FrameType | None) -> None:
        logging.disable()  # of LitServe, which reports processes that have ended by the same signal
        interrupt(number, frame)

    def wait() -> None:
        signal.sigwait(signals)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        signal.sigwait(signals)
        os._exit(130)

    signal.signal(signal.SIGUSR1, stop)
    resource_tracker.ensure_running()  # first, because it unblocks both signals
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    threading.Thread(target=wait, daemon=True).start()


def make_server(options: Any) -> Any:
    """Return the server of a model, not yet running.

    Raises:
        InputError: LitServe is missing, or there is no such model or device.
    """
    try:
        import litserve
    except ImportError as error:
        raise InputError("serving needs the package litserve: pip install litserve") from error
    from fastapi import Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse, JSONResponse
    from fastapi.routing import APIRoute
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from seq2seq.decoding.translator import Translator, device_named
    from seq2seq.export.translating_page import export_page
    from seq2seq.serving import Bounded, TranslationAPI, TranslationRequest

    device_named(options.device)
    Translator.load(options.model)  # what is wrong with it is said here, not in a worker
    try:
        page = export_page(options.model, "")
    except InputError as error:
        page = f"<!doctype html><title>seq2seq</title><p>POST /translate. There is no page: {error}.</p>"
    TranslationRequest.max_texts = options.max_texts
    TranslationRequest.max_characters = options.max_characters
    TranslationRequest.max_work = 5 * options.max_texts * options.max_characters  # with the usual beam
    batching = {"max_batch_size": options.batch_size, "batch_timeout": options.batch_timeout}
    api = TranslationAPI(options.model, api_path="/translate", **batching)
    server = litserve.LitServer(
        api,
        accelerator=options.device,
        devices=1,
        workers_per_device=options.workers,
        timeout=options.timeout,
        max_payload_size=6 * options.max_texts * options.max_characters + 4096,  # 6: \uXXXX
        track_requests=False,
    )

    async def home() -> HTMLResponse:
        return HTMLResponse(page)

    async def refuse(request: Request, error: Exception) -> JSONResponse:
        first = error.errors()[0] if isinstance(error, RequestValidationError) else {}  # it repeats the input
        where = ".".join(str(part) for part in first.get("loc", ())) or "body"
        said = first.get("msg", "wrong request").removeprefix("Value error, ")
        return JSONResponse({"detail": f"{where}: {said}"}, 422)

    routes, replaced = server.app.router.routes, ("/", "/docs", "/docs/oauth2-redirect", "/redoc")
    routes[:] = [APIRoute("/", home), *(each for each in routes if each.path not in replaced)]
    server.app.add_middleware(Bounded, path="/translate", most=options.max_requests, timeout=options.timeout)
    if options.host == "127.0.0.1":  # a page whose name leads here must not ask in its visitor's place
        server.app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    server.app.add_exception_handler(RequestValidationError, refuse)
    return server
