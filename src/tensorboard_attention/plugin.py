"""TensorBoard's way to the Attention tab: the entry point ``tensorboard_plugins``."""

import re
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tensorboard import plugin_util
from tensorboard.backend import http_util
from tensorboard.plugins.base_plugin import FrontendMetadata, TBContext, TBLoader, TBPlugin
from werkzeug.wrappers import Request, Response

from tensorboard_attention import views
from tensorboard_attention.page import STATIC_FILES, static_file
from tensorboard_attention.record import PLUGIN_NAME

MODEL_FILES = "config.json", "model.safetensors", "source.json", "target.json"
"""Of a model folder of seq2seq, which the tab can ask for translations where that is installed."""

MAX_NAME_LENGTH = 4096
MODEL_BYTES = 1 << 27
"""Of the weights of a model that is sent to a browser, which are a quarter of that there."""
STEP = re.compile(r"-?[0-9]{1,19}")


class AttentionLoader(TBLoader):
    """Loads the plugin, and has TensorBoard keep every step of its records."""

    def fix_flags(self, flags: Namespace) -> None:
        """Keep all records, unless the user bounds them by ``--samples_per_plugin``."""
        flags.samples_per_plugin = {PLUGIN_NAME: 0, **(flags.samples_per_plugin or {})}

    def load(self, context: TBContext) -> "AttentionPlugin":
        """Make the plugin."""
        return AttentionPlugin(context)


class AttentionPlugin(TBPlugin):
    """Serves the viewer and its data; every route is an exact one."""

    plugin_name = PLUGIN_NAME

    def __init__(self, context: TBContext) -> None:
        self._provider = context.data_provider
        self._logdir = context.logdir or ""
        self._records = views.Records(self._provider, self._logdir)

    def is_active(self) -> bool:
        """TensorBoard itself looks for records; without any, the tab is among the inactive."""
        return False

    def frontend_metadata(self) -> FrontendMetadata:
        """An iframe with an ES module."""
        return FrontendMetadata(es_module_path="/tab.js", tab_name="Attention")

    def get_plugin_apps(self) -> dict[str, Callable[..., Any]]:
        """Routes below ``data/plugin/attention``."""
        answers = {f"/{name}": partial(_static, name) for name in STATIC_FILES}
        answers |= {"/index": self._index, "/view": self._view, "/model": self._model}
        return {path: Request.application(answer) for path, answer in answers.items()}

    def _index(self, request: Request) -> Response:
        content = views.index(
            self._provider, plugin_util.context(request.environ), plugin_util.experiment_id(request.environ)
        )
        for run in content["runs"]:
            run["model"] = self._model_folder(run["run"]) is not None
        return http_util.Respond(request, content, "application/json")

    def _model_folder(self, run: str) -> Path | None:
        """Return the folder of a run's own model; None where it has none that a browser can hold, or a link leads to it."""
        root = Path(self._logdir).resolve()
        files = [root / run / "model" / name for name in MODEL_FILES]
        try:
            is_own = all(file.resolve() == file and file.is_relative_to(root) for file in files)
            is_there = files[0].is_file() and files[1].stat().st_size <= MODEL_BYTES
        except (OSError, ValueError):  # absent, a name that no file can have, or somebody else's folder
            return None
        return files[0].parent if self._logdir and is_own and is_there else None

    def _model(self, request: Request) -> Response:
        runs = request.args.getlist("run")
        folder = self._model_folder(runs[0]) if len(runs) == 1 else None
        if folder is None:
            return _refused(request, 404, "there is no such run with a model")
        try:  # the one thing that needs the program that trained the model
            page_model = import_module("seq2seq.export.translating_page").page_model
            return http_util.Respond(request, page_model(folder), "application/json")
        except (ImportError, ValueError) as error:
            return _refused(request, 400, str(error))

    def _view(self, request: Request) -> Response:
        run, tag = request.args.getlist("run"), request.args.getlist("tag")
        if not all(len(name) == 1 and len(name[0]) <= MAX_NAME_LENGTH for name in (run, tag)):
            return _refused(request, 400, "give one run and one tag")
        step = request.args.get("step")
        if step is not None and not STEP.fullmatch(step):
            return _refused(request, 400, "a step is a whole number")
        context, experiment = plugin_util.context(request.environ), plugin_util.experiment_id(request.environ)
        wanted = None if step is None else int(step)
        content = views.view(self._records, context, run[0], tag[0], step=wanted, experiment_id=experiment)
        if content is None:
            return _refused(request, 404, "there is no such run and tag")
        return http_util.Respond(request, content, "application/json")


def _static(name: str, request: Request) -> Response:
    """Answer with one file of the viewer."""
    content_type = "text/css" if name.endswith(".css") else "text/javascript"
    return http_util.Respond(request, static_file(name), content_type)


def _refused(request: Request, code: int, message: str) -> Response:
    return http_util.Respond(request, message, "text/plain", code=code)
