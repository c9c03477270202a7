"""The command that serves a model over HTTP."""

import os
import re
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from seq2seq.cli.options import Count, Model
from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce
from seq2seq.settings.devices import Device

FAMILIES = {"127.0.0.1": socket.AF_INET, "0.0.0.0": socket.AF_INET, "::": socket.AF_INET6}
"""Addresses: this machine only, all of IPv4, all of IPv6."""


def origin(text: str) -> str:
    """Return the scheme, host and port of web pages."""
    if text != "*" and not re.fullmatch(r"https?://[^/\s]+", text):
        raise InputError(
            f"--allow-origin {text}: give scheme, host and port, such as https://example.org; *: any"
        )
    return text


def serve(
    model: Model,
    *,
    host: Literal["127.0.0.1", "0.0.0.0", "::"] = "127.0.0.1",
    port: Annotated[int, "PORT", Ge(1024), Le(65535)] = 8000,
    to: Annotated[str, "LANGUAGE"] | None = None,
    device: Device = "cpu",
    batch_size: Count = 32,
    timeout: Annotated[float, "SECONDS", Gt(0)] = 30.0,
    max_texts: Count = 64,
    max_characters: Count = 2000,
    max_requests: Count = 256,
    allow_origin: Sequence[Annotated[str, "URL", origin]] = (),
    trust_custom_code: bool = False,
) -> None:
    """Serve a model over HTTP: ``seq2seq serve MODEL --port 8000``

        curl localhost:8000/translate -H 'Content-Type: application/json' -d '{"text": "I see it."}'

    ``POST /translate`` takes ``text``, a sentence or a list of sentences, and optionally ``beam_size``,
    ``alternatives`` (how many translations of each) and ``weights`` (attention with its tokens). ``GET /health``
    answers ``ok``, ``/info`` describes the model; ``/`` is the page that translates in the browser. Needs
    ``pip install fastapi uvicorn``.

    Args:
        model: A run folder, a model folder, or the name of a shipped model.
        host: 127.0.0.1: this machine only.
        port: From 1024 on.
        to: Target language, for a model of several languages.
        device: cpu, cuda or mps.
        batch_size: Maximum sentences that are translated together.
        timeout: After which a request is refused, its body included.
        max_texts: Maximum sentences of a request.
        max_characters: Maximum characters of a sentence.
        max_requests: Maximum translation requests at the same time; at most a quarter of `ulimit -n`.
        allow_origin: Web pages of these origins may call the server, such as https://example.org; *: all.
        trust_custom_code: Import classes that the model folder names.
    """
    try:
        socket.create_server((host, port), family=FAMILIES[host]).close()
    except OSError as error:
        raise InputError(f"--port {port}: {os.strerror(error.errno or 0)}; choose another one") from error
    announce("loading PyTorch and the model")
    try:
        from fastapi.middleware.cors import CORSMiddleware

        from seq2seq.export import program
        from seq2seq.export.server import Limits
    except ImportError as error:
        raise InputError(f"serving needs the package {error.name}: pip install fastapi uvicorn") from error
    limits = Limits(max_texts, max_characters, min(max_requests, program.FILES // 4), timeout)
    app = program.application(
        Path(model), device, limits, batch_size=batch_size, to=to, trust_custom_code=trust_custom_code
    )
    if allow_origin:
        app.add_middleware(
            CORSMiddleware, allow_origins=allow_origin, allow_methods=["POST"], allow_headers=["Content-Type"]
        )
    program.serve(app, limits, host, port)
