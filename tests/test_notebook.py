"""The notebook keeps every promise it makes, without Jupyter."""

import ast
import json
import re
from pathlib import Path

import pytest
import torch
from PIL import Image

PATH = Path(__file__).parents[1] / "notebooks" / "attention.ipynb"
NOTEBOOK = json.loads(PATH.read_text("utf-8"))
CODE = [(n, cell) for n, cell in enumerate(NOTEBOOK["cells"]) if cell["cell_type"] == "code"]
FIELDS = {
    "markdown": {"cell_type", "id", "metadata", "source"},
    "code": {"cell_type", "execution_count", "id", "metadata", "outputs", "source"},
}


def run(number, source, namespace):
    """Run a cell as Jupyter would; the value of its last line, where that is an expression."""
    filename = f"cell {number}"
    tree = ast.parse(source, filename)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, filename, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), filename, "eval"), namespace)


def asserts_of(source):
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]


def is_picture(cell):
    return "picture" in cell["metadata"].get("tags", [])


def test_the_cells_run_in_order_and_show_their_pictures():
    namespace = {"__name__": "__main__"}
    with torch.random.fork_rng(devices=[]):
        shown = {n: run(n, "".join(cell["source"]), namespace) for n, cell in CODE}
    for number, cell in CODE:
        assert isinstance(shown[number], Image.Image if is_picture(cell) else type(None)), number
    pictures = [picture for picture in shown.values() if picture is not None]
    assert len(pictures) == 5
    for picture in pictures:
        assert min(picture.size) > 100
        assert len(picture.convert("L").getcolors()) > 10


def test_every_cell_but_the_imports_states_what_to_expect():
    _install, imports, *others = ["".join(cell["source"]) for _, cell in CODE]
    assert not asserts_of(imports)
    assert len(others) >= 10
    for source in others:
        assert asserts_of(source), source


@pytest.mark.parametrize(
    ("stated", "changed"),
    [
        ("[[2, 2], [3, 3]]", "[[2, 2], [3, 4]]"),
        ("(2, 2, 10, 16)", "(2, 2, 16, 10)"),
        ("[[10.0, 11, 12, 13]]", "[[10.0, 11, 12, 14]]"),
        ("(4, 7, 10)", "(4, 7, 11)"),
    ],
)
def test_a_changed_result_is_noticed_in_the_cell_that_states_it(stated, changed):
    """The cells up to the one in question are run; training, after them, is not."""
    namespace = {"__name__": "__main__"}
    with torch.random.fork_rng(devices=[]):
        for number, cell in CODE:
            source = "".join(cell["source"])
            if is_picture(cell):
                continue
            if not any(stated in ast.unparse(node) for node in asserts_of(unified(source))):
                run(number, source, namespace)
                continue
            with pytest.raises(AssertionError) as caught:
                run(number, unified(source).replace(stated, changed), namespace)
            assert caught.traceback[-1].path == f"cell {number}"
            return
    pytest.fail(f"no assert states {stated}")


def unified(source):
    """A source in the spelling of `ast.unparse`."""
    return ast.unparse(ast.parse(source))


def test_no_outputs_are_stored():
    for number, cell in CODE:
        assert cell["outputs"] == [], number
        assert cell["execution_count"] is None, number


def test_the_file_has_the_structure_of_nbformat_4():
    assert set(NOTEBOOK) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert NOTEBOOK["nbformat"] == 4
    assert NOTEBOOK["nbformat_minor"] >= 5  # the first with cell ids
    kernel = NOTEBOOK["metadata"]["kernelspec"]
    assert (kernel["name"], kernel["language"]) == ("python3", "python")
    assert kernel["display_name"]
    ids = [cell["id"] for cell in NOTEBOOK["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in NOTEBOOK["cells"]:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"])
        assert set(cell) == FIELDS[cell["cell_type"]], cell["id"]
        assert isinstance(cell["metadata"], dict)
        *whole, last = cell["source"]
        assert all(line.endswith("\n") and line.count("\n") == 1 for line in whole), cell["id"]
        assert last
        assert "\n" not in last, cell["id"]


def test_a_reader_finds_text_before_code():
    kinds = [cell["cell_type"] for cell in NOTEBOOK["cells"]]
    assert kinds[0] == "markdown"
    assert 20 <= len(kinds) <= 37
    assert "code code code" not in " ".join(kinds)
