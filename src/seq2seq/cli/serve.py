"""Serve a model over HTTP: ``seq2seq serve MODEL --port 8000``

    curl localhost:8000/translate -H 'Content-Type: application/json' -d '{"text": "I see it."}'

``POST /translate`` takes ``text``, a sentence or a list of sentences, and optionally ``beam_size``,
``alternatives`` (how many translations of each) and ``weights`` (attention with its tokens). ``GET /health``
answers ``ok``, ``/info`` describes the model, ``/metrics`` is for Prometheus; ``/`` is the page that translates in the
browser. Needs ``pip install fastapi uvicorn prometheus-client``.
"""

import os
import socket
from collections.abc import Sequence

from seq2seq.cli.main import MODEL_HELP, device, model, parser_of, port
from seq2seq.common.progress import announce
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_on_error

FAMILIES = {"127.0.0.1": socket.AF_INET, "0.0.0.0": socket.AF_INET, "::": socket.AF_INET6}
"""Addresses: this machine only, all of IPv4, all of IPv6."""


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
        try:
            from seq2seq.serving.program import application, serve
            from seq2seq.serving.server import Limits
        except ImportError as error:
            raise InputError(
                f"serving needs the package {error.name}: pip install fastapi uvicorn prometheus-client"
            ) from error
        limits = Limits(options.max_texts, options.max_characters, options.max_requests, options.timeout)
        app = application(options.model, options.device, limits, batch_size=options.batch_size)
        serve(app, options.host, options.port)
