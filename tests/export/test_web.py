"""The module of JavaScript for pages of others translates as Python does."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import seq2seq
from seq2seq.common.errors import InputError
from seq2seq.export.files import write_export
from seq2seq.export.web import export_js
from tests.small import built_in_pairs

PROGRAM = """
import fs from "node:fs";
globalThis.fetch = async (url) => ({ ok: true, json: async () => JSON.parse(fs.readFileSync(new URL(url))) });
const { load } = await import(process.argv[1]);
const translator = await load("model/");
const found = [];
for (const text of JSON.parse(fs.readFileSync(0, "utf8"))) found.push(await translator.explain(text));
console.log(JSON.stringify(found));
"""


def test_the_module_translates_as_python_does(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    paths = export_js("grammar-en-fr", tmp_path)
    sentences = [pair.source for pair in built_in_pairs(40)]
    sentences += ["", f"{sentences[0]}  {sentences[1]}\n{sentences[2]}"]
    command = [node, "--input-type=module", "-e", PROGRAM, str(tmp_path / "translator.js")]
    done = subprocess.run(command, input=json.dumps(sentences), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    wanted = seq2seq.load("grammar-en-fr").translate(sentences, beam_size=5)
    for parts, translation in zip(found, wanted, strict=True):
        assert "".join(part["gap"] + part["text"] for part in parts) == translation.text
        for part in parts:
            assert len(part["weights"]) == len(part["target"])
            assert all(abs(sum(row) - 1) < 1e-9 for row in part["weights"])
    assert [len(parts) for parts in found[-2:]] == [0, 3]
    page = tmp_path / "example.html"
    page.write_text(page.read_text().replace("<h1>", "<h1>Mine: "))
    edited = page.read_text()
    assert export_js("grammar-en-fr", tmp_path) == [
        each for each in paths if each != page
    ]  # its own files are replaced
    assert page.read_text() == edited
    (long,) = json.loads(subprocess.run(command, input=json.dumps(["the red cat sees " * 52 + "it ."]), capture_output=True, text=True,
                                        check=True).stdout)  # fmt: skip
    assert sum(part["left"] for part in long) == 10


def test_a_file_of_the_user_is_not_replaced(tmp_path):
    (tmp_path / "translator.js").write_text("mine")
    with pytest.raises(InputError, match="nothing that this export writes"):
        export_js("grammar-en-fr", tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["translator.js"]


def test_a_page_that_does_not_fit_on_the_disk_is_not_there(tmp_path, monkeypatch):
    def cut_off(path, text, **_):
        path.write_bytes(text.encode()[:9])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", cut_off)
    with pytest.raises(OSError, match="No space"):
        write_export(tmp_path / "page.html", "a page of a model")
    assert not [*tmp_path.iterdir()]
