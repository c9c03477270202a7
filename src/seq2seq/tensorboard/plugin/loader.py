"""TensorBoard's way to the Attention tab: the entry point ``tensorboard_plugins``."""

import re
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from tensorboard import plugin_util
from tensorboard.backend import http_util
from tensorboard.plugins.base_plugin import FrontendMetadata, TBContext, TBLoader, TBPlugin
from werkzeug.wrappers import Request, Response

from seq2seq.tensorboard.plugin import views
from seq2seq.tensorboard.plugin.page import STATIC_FILES, static_file
from seq2seq.tensorboard.record_format import PLUGIN_NAME

MAX_NAME_LENGTH = 4096
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

    def is_active(self) -> bool:
        """TensorBoard itself looks for records; without any, the tab is among the inactive."""
        return False

    def frontend_metadata(self) -> FrontendMetadata:
        """An iframe with an ES module."""
        return FrontendMetadata(es_module_path="/tab.js", tab_name="Attention")

    def get_plugin_apps(self) -> dict[str, Callable[..., Any]]:
        """Routes below ``data/plugin/attention``."""
        static = {f"/{name}": _static(name) for name in STATIC_FILES}
        data = {"/index": self._index, "/view": self._view}
        return static | {path: Request.application(answer) for path, answer in data.items()}

    def _index(self, request: Request) -> Response:
        content = views.index(
            self._provider,
            plugin_util.context(request.environ),
            plugin_util.experiment_id(request.environ),
        )
        return http_util.Respond(request, content, "application/json")

    def _view(self, request: Request) -> Response:
        run, tag = request.args.getlist("run"), request.args.getlist("tag")
        if not all(len(name) == 1 and len(name[0]) <= MAX_NAME_LENGTH for name in (run, tag)):
            return _refused(request, 400, "give one run and one tag")
        step = request.args.get("step")
        if step is not None and not STEP.fullmatch(step):
            return _refused(request, 400, "a step is a whole number")
        content = views.view(
            self._provider,
            plugin_util.context(request.environ),
            run[0],
            tag[0],
            step=None if step is None else int(step),
            experiment_id=plugin_util.experiment_id(request.environ),
        )
        if content is None:
            return _refused(request, 404, "there is no such run and tag")
        return http_util.Respond(request, content, "application/json")


def _static(name: str) -> Callable[..., Any]:
    """The route of one file of the viewer."""

    def serve(request: Request) -> Response:
        content_type = "text/css" if name.endswith(".css") else "text/javascript"
        return http_util.Respond(request, static_file(name), content_type)

    return Request.application(serve)


def _refused(request: Request, code: int, message: str) -> Response:
    return http_util.Respond(request, message, "text/plain", code=code)
