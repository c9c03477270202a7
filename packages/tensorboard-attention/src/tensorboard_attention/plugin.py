"""TensorBoard's way to the Attention tab: the entry point ``tensorboard_plugins``.

A program whose models the tab should offer has an entry point of the group ``tensorboard_attention.models``: a function that is
given the folder of a run (`Path`) and returns None, or a function without arguments that makes a page, HTML with a content
security policy of its own. The first is called often and should be quick; the second when a user opens the page. The tab
shows the page in a frame that shares nothing with TensorBoard's page, and passes a typed sentence in its address:
``#text=…``.
"""

import re
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from tensorboard import plugin_util
from tensorboard.backend import http_util
from tensorboard.plugins.base_plugin import FrontendMetadata, TBContext, TBLoader, TBPlugin
from werkzeug.wrappers import Request, Response

from tensorboard_attention import views
from tensorboard_attention.page import STATIC_FILES, static_file
from tensorboard_attention.record import PLUGIN_NAME

MODELS = "tensorboard_attention.models"
"""The group of entry points of programs with models."""
MAX_NAME_LENGTH = 4096
MAX_PROBLEMS = 20
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
        answers: dict[str, Callable[..., Response]] = {
            f"/{name}": partial(_static, name) for name in STATIC_FILES
        }
        answers |= {"/index": self._index, "/view": self._view, "/model": self._model}
        return {path: Request.application(answer) for path, answer in answers.items()}

    def _index(self, request: Request) -> Response:
        content = views.index(
            self._provider, plugin_util.context(request.environ), plugin_util.experiment_id(request.environ)
        )
        for run in content["runs"]:
            found = self._model_of(run["run"])
            run["model"] = callable(found)
            if isinstance(found, str) and len(content["problems"]) < MAX_PROBLEMS:
                content["problems"].append(f"{run['run']}: {found}")
        return http_util.Respond(request, content, "application/json")

    @cached_property
    def _programs(self) -> dict[str, Callable[[Path], Callable[[], str] | None] | str]:
        """The functions of programs with models, or what is wrong with them, by name."""
        programs = {}
        for entry in entry_points(group=MODELS):
            try:
                programs[entry.name] = entry.load()
            except Exception as error:  # of somebody else's program
                programs[entry.name] = f"the program {entry.name} is not asked for models: {error}"
        return programs

    def _model_of(self, run: str) -> Callable[[], str] | str | None:
        """Return what makes the page of a run's model, or what is wrong; None where there is none, or outside the log folder."""
        if not self._logdir:
            return None
        root = Path(self._logdir).resolve()
        try:
            folder = root / run
            is_own = folder.resolve() == folder and folder.is_relative_to(root) and folder.is_dir()
        except (OSError, ValueError):  # a name that no folder can have
            return None
        answers = sorted(self._answers(folder), key=callable, reverse=True) if is_own else []
        return next(iter(answers), None)

    def _answers(self, folder: Path) -> Iterator[Callable[[], str] | str]:
        for name, offer in self._programs.items():
            try:
                found = offer if isinstance(offer, str) else offer(folder)
            except Exception as error:  # of somebody else's program
                found = f"{name} cannot read its model: {error}"
            if found is not None:
                yield found

    def _model(self, request: Request) -> Response:
        runs = request.args.getlist("run")
        found = self._model_of(runs[0]) if len(runs) == 1 else None
        if not callable(found):
            return _refused(request, 404, found or "there is no such run with a model")
        try:
            content = found()
        except Exception as error:  # of somebody else's program
            return _refused(request, 400, str(error))
        # the page has a policy of its own, and shares nothing with this server
        headers = {
            "Content-Security-Policy": "sandbox allow-scripts allow-downloads",
            "Cache-Control": "no-cache",
        }
        return Response(
            content, mimetype="text/html", headers=headers | {"X-Content-Type-Options": "nosniff"}
        )

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
