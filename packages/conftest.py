"""Fixtures of the tests of the packages: applications that are not ours, which know nothing of seq2seq."""

import importlib
import itertools
import sys
from functools import partial

import pytest
import yaml

from packages.programs import HYDRA_13, MAIN, fork


@pytest.fixture
def app(tmp_path, request):
    """Run app.py, the text APP of the test's file, with arguments in its folder, and return the `Program`.

    Its configuration is CONFIG of the test's file, if there is one.
    """
    for name in ("hydra", "optuna", "scipy.stats", "sqlalchemy.dialects.sqlite", "alembic.command"):
        importlib.import_module(name)
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

    run.launch, run.folder = launch, tmp_path
    return run
