"""Serve a model over HTTP: ``seq2seq serve MODEL --port 8000``

    curl localhost:8000/translate -H 'Content-Type: application/json' -d '{"text": "I see it."}'

``POST /translate`` takes ``text``, a sentence or a list of sentences, and optionally ``beam_size``,
``alternatives`` (how many translations of each) and ``weights`` (attention with its tokens). ``GET /health``
answers ``ok``, ``/info`` describes the model, ``/metrics`` is for Prometheus; ``/`` is the page that translates in the
browser. Needs ``pip install fastapi uvicorn prometheus-client``.
"""

import logging
import os
import signal
import socket
from collections.abc import Sequence
from typing import Any

from seq2seq.cli.demo import examples
from seq2seq.cli.main import MODEL_HELP, device, model, parser_of, port
from seq2seq.common.progress import announce
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_on_error

FAMILIES = {"127.0.0.1": socket.AF_INET, "0.0.0.0": socket.AF_INET, "::": socket.AF_INET6}
"""Addresses: this machine only, all of IPv4, all of IPv6."""
GRACE = 8
"""Seconds for open requests after SIGTERM; `docker stop` waits for 10."""


def main(arguments: Sequence[str]) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    parser = parser_of("serve", __doc__)
    add = parser.add_argument
    add("model", type=model, help=MODEL_HELP)
    add("--host", default="127.0.0.1", choices=tuple(FAMILIES), help="default: 127.0.0.1, this machine only")
    add("--port", type=port, default=8000, help="1024 to 65535 (default: 8000)")
    add("--device", type=device, default="cpu", help="cpu, cuda or mps (default: cpu)")
    for name, default, text in (
        ("batch-size", 32, "maximum sentences that are translated together"),
        ("timeout", 30.0, "seconds after which a request is refused"),
        ("max-texts", 64, "maximum sentences of a request"),
        ("max-characters", 2000, "maximum characters of a sentence"),
        ("max-requests", 256, "maximum translation requests at the same time"),
    ):
        kind = type(default)
        metavar = "S" if kind is float else "N"
        add(f"--{name}", type=kind, default=default, metavar=metavar, help=f"{text} (default: {default:g})")
    options = parser.parse_args(list(arguments))
    with exit_on_error():
        for name in ("batch_size", "max_texts", "max_characters", "max_requests", "timeout"):
            if getattr(options, name) <= 0:
                raise InputError(
                    f"--{name.replace('_', '-')} {getattr(options, name):g}: a number above 0 is needed"
                )
        try:
            socket.create_server((options.host, options.port), family=FAMILIES[options.host]).close()
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise InputError(f"--port {options.port}: {reason}; choose another one") from error
        announce("loading PyTorch and the model")
        run(application(options), options)


def application(options: Any) -> Any:
    """Return the application that serves a model.

    Raises:
        InputError: A package is missing, or there is no such model or device.
    """
    try:
        from seq2seq.serving.server import Limits, make_app
    except ImportError as error:
        raise InputError(
            f"serving needs the package {error.name}: pip install fastapi uvicorn prometheus-client"
        ) from error
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from seq2seq.decoding.translator import Translator, device_named
    from seq2seq.export.translating_page import export_page
    from seq2seq.models.folder import load_model_folder

    device = device_named(options.device)
    saved = load_model_folder(options.model)
    translator = Translator(saved, device=device)
    try:
        page = export_page(options.model, next(iter(examples(options.model)), ""))
    except InputError as error:
        page = f"<!doctype html><title>seq2seq</title><p>POST /translate. There is no page: {error}.</p>"
    limits = Limits(options.max_texts, options.max_characters, options.max_requests, options.timeout)
    info = description(options.model.name, saved)
    app = make_app(translator, info, page, limits, batch_size=options.batch_size)
    if options.host == "127.0.0.1":  # a page whose name leads here must not ask in its visitor's place
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    return app


def description(name: str, saved: Any) -> dict[str, Any]:
    """Return what ``/info`` says about a model."""
    return {
        "model": name,
        "source_language": saved.source_tokenizer.language,
        "target_language": saved.target_tokenizer.language,
        "encoder": type(saved.model.encoder).__name__,
        "decoder": type(saved.model.decoder).__name__,
        "parameters": sum(parameter.numel() for parameter in saved.model.parameters()),
    }


def run(app: Any, options: Any) -> None:
    """Serve an application until SIGTERM or Ctrl-C; both end it with status 0 after its open requests."""
    import uvicorn

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")  # on standard error
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    server = uvicorn.Server(
        uvicorn.Config(app, options.host, options.port, log_config=None, timeout_graceful_shutdown=GRACE)
    )
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn handles both, and raises them again at its end
        signal.signal(number, lambda number, frame: None)
    address = f"http://{options.host}:{options.port}"
    print(f"{address}   POST /translate, GET /health, /info, /metrics; / translates", flush=True)
    server.run()
