"""Fixtures of the tests of the packages: applications that are not ours, which know nothing of seq2seq."""

import importlib
import itertools
import json
import sys
from functools import partial

import pytest
import yaml
from hydra.core.plugins import Plugins

from packages.programs import HYDRA_13, MAIN, fork

EACH = """
import contextlib, io, json, runpy, sys
from hydra.core.global_hydra import GlobalHydra

lines, texts = json.loads(sys.argv[1]), []
for line in lines:
    sys.argv, said = ["app.py", *line], io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            runpy.run_path("app.py", run_name="__main__")
        except SystemExit as end:
            assert end.code == 1, (line, end.code)
        else:
            raise AssertionError(f"not refused: {line}")
    GlobalHydra.instance().clear()
    texts.append(said.getvalue())
print(json.dumps(texts))
"""


@pytest.fixture
def app(tmp_path, request):
    """Run app.py, the text APP of the test's file, with arguments in its folder, and return the `Program`.

    Its configuration is CONFIG of the test's file, if there is one.
    """
    for name in ("optuna", "scipy.stats", "sqlalchemy.dialects.sqlite", "alembic.command"):
        importlib.import_module(name)
    Plugins.instance()  # Hydra has searched for plugins once
    script, numbers = tmp_path / "app.py", itertools.count()
    if config := getattr(request.module, "CONFIG", None):
        (tmp_path / "conf").mkdir()
        (tmp_path / "conf" / "config.yaml").write_text(yaml.safe_dump(config))
    script.write_text(request.module.APP.replace(HYDRA_13, MAIN))

    def launch(*arguments, prepare=None):
        return fork(script, arguments, tmp_path / f"said {next(numbers)}", cwd=tmp_path, prepare=prepare)

    def run(*arguments, check=None):
        # Hydra takes the tracing of coverage for a debugger, under which it prints tracebacks
        done = launch(*arguments, prepare=partial(sys.settrace, None) if check == 1 else None)
        done.wait(300)
        if check is not None:
            assert done.status == check, done.text
        return done

    def refusals(lines):
        """Run app.py with each of several lines of arguments in one process; return what it says to each, which it refuses."""
        each = tmp_path / "each.py"
        each.write_text(EACH)
        told = fork(each, [json.dumps([[*line] for line in lines])], tmp_path / "refusals", cwd=tmp_path)
        assert told.wait(300) == 0, told.text
        return json.loads(told.text)

    run.launch, run.folder, run.refusals = launch, tmp_path, refusals
    return run
