"""Models of runs, which the tab shows as pages of the programs that trained them: only of runs in the log folder."""

import numpy as np
import pytest

from tensorboard_attention import add_attention, plugin

ROUTE = "/data/plugin/attention"
PAGE = "<!doctype html><title>mine</title>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs, and beside the log folder one that must not be read."""
    above = tmp_path_factory.mktemp("above")
    for run in ("runs/own", "runs/none", "outside"):
        add_attention(above / run, "s", np.eye(2), ["a", "b"], ["c", "d"], 1)
    (above / "runs" / "linked").symlink_to(above / "outside")
    return above / "runs"


@pytest.fixture
def served(serve, folder, monkeypatch):
    """A client of TensorBoard beside programs with these functions, or errors when they are loaded."""

    def start(**functions):
        class Entry:
            def __init__(self, name):
                self.name = name

            def load(self):
                if isinstance(functions[self.name], Exception):
                    raise functions[self.name]
                return functions[self.name]

        found = {plugin.MODELS: [Entry(name) for name in functions]}
        monkeypatch.setattr(plugin, "entry_points", lambda group: found[group])
        return serve(folder)

    return start


def test_the_page_of_a_run_is_that_of_its_program(served, folder):
    asked = []

    def mine(run):
        asked.append(run)
        return (lambda: PAGE) if run.name == "own" else None

    client = served(mine=mine)
    runs = {run["run"]: run["model"] for run in client.get(f"{ROUTE}/index").json["runs"]}
    assert runs.items() >= {"own": True, "none": False}.items()
    assert not runs.get("linked")
    answer = client.get(f"{ROUTE}/model", query_string={"run": "own"})
    assert (answer.status_code, answer.mimetype, answer.text) == (200, "text/html", PAGE)
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")
    assert "allow-same-origin" not in answer.headers["Content-Security-Policy"]
    assert {*asked} == {folder.resolve() / "own", folder.resolve() / "none"}


@pytest.mark.parametrize(
    "run",
    [
        *("none", "absent", "linked", "../outside", "own/../../outside", "own/../own"),
        *("/", "a\0b", "x" * 300, "x" * 5000),
    ],
)
def test_no_other_folder_is_a_run(served, folder, run):
    client = served(mine=lambda run: None if run.name == "none" else lambda: PAGE)
    for name in {run, str(folder.parent / "outside")}:
        assert client.get(f"{ROUTE}/model", query_string={"run": name}).status_code == 404
    assert client.get(f"{ROUTE}/model").status_code == 404
    assert client.get(f"{ROUTE}/model?run=own&run=own").status_code == 404


def test_a_broken_program_disturbs_nobody(served):
    def broken(run):
        raise KeyError("weights")

    def refusing(run):
        def page():
            raise ValueError("no page computes this model")

        return page

    client = served(broken=broken, absent=ImportError("no torch"))
    index = client.get(f"{ROUTE}/index").json
    assert not any(run["model"] for run in index["runs"])
    assert any("own: broken cannot read" in problem for problem in index["problems"])
    assert client.get(f"{ROUTE}/model?run=own").status_code == 404
    assert served(broken=broken, mine=lambda run: lambda: PAGE).get(f"{ROUTE}/model?run=own").text == PAGE
    refused = served(mine=refusing).get(f"{ROUTE}/model?run=own")
    assert (refused.status_code, refused.text) == (400, "no page computes this model")
