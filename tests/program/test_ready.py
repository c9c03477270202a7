"""What is there without a training: shipped models and samples, show, demo, serve, the Hub."""

import asyncio
import contextlib
import json
import lzma
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from http.client import HTTPResponse
from urllib.request import Request, urlopen

import pytest
import yaml

import seq2seq
from seq2seq.data.folders import MODELS, SHIPPED, example_sentences
from seq2seq.decoding.translation import Translation
from seq2seq.export.card import examples
from tests.conftest import ROOT, TINY
from tests.small import built_in_pairs, forget_checksums
from tests.test_docs import typed

COMMAND = ROOT / "src/seq2seq/__main__.py"
MAX_MODEL, MAX_MODELS = 6_000_000, 25_000_000  # bytes of one, and of all that a wheel takes along


def embedded(page):
    """What a page of the viewer shows."""
    return json.loads(re.search(r'id="attention-data">(.*?)</script>', page, re.DOTALL)[1])


def card(folder):
    """Metadata and text of a model card."""
    _, metadata, text = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(metadata), text


def test_models_that_come_along_are_small_and_have_a_card():
    assert "grammar-en-fr" in SHIPPED
    sizes = [sum(path.stat().st_size for path in (MODELS / name).iterdir()) for name in SHIPPED]
    assert max(sizes) < MAX_MODEL
    left_out = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]["exclude"]
    in_wheel = [not any(fnmatch(f"data/models/{name}", each) for each in left_out) for name in SHIPPED]
    assert sum(size for size, is_in in zip(sizes, in_wheel, strict=True) if is_in) < MAX_MODELS
    for name in SHIPPED:
        metadata, text = card(MODELS / name)
        assert metadata["license"] != "unknown"
        for heading in ("## Data and license", "## Scores", "## Made by"):
            assert heading in text, name
        assert re.search(r"Commit [0-9a-f]{7,}\.", text), name
        assert "FOLDER" in text or "=/" not in text
        if name.startswith("multi30k"):
            assert "research" in text


@pytest.mark.long
@pytest.mark.parametrize("name", SHIPPED)
def test_the_scores_of_a_card_are_those_that_evaluate_finds(name, tmp_path, program, request):
    sides = name.split("-")[1:]
    if name.startswith("multi30k"):
        folder = request.getfixturevalue("real_data") / "multi30k"
        files = [next(folder.glob(f"test_2016_flickr.{side}*")) for side in sides]
    else:
        files, corpus = (
            [tmp_path / side for side in sides],
            ROOT / f"data/cache/libreoffice/en-{sides[1]}.tsv",
        )
        if name.startswith("help") and not corpus.is_file():
            pytest.skip(f"make the text first: python scripts/get_libreoffice.py {sides[1]}")
        if name.startswith("everyday"):
            text = request.getfixturevalue("real_data") / f"tatoeba/en-{sides[1]}.tsv.gz"
            corpus = tmp_path / "corpus.tsv.xz"
            command = [
                sys.executable,
                str(ROOT / "scripts/make_everyday.py"),
                str(text),
                str(corpus),
                "--all",
            ]
            subprocess.run(command, check=True, capture_output=True)
        for place, (file, side) in enumerate(zip(files, ("source", "target"), strict=True)):
            if name.startswith("everyday"):
                rows = (
                    line.split("\t") for line in lzma.decompress(corpus.read_bytes()).decode().splitlines()
                )
                lines = [row[1 + place] for row in rows if row[0] == "test"]
            elif name.startswith("help"):
                rows = (line.split("\t") for line in corpus.read_text(encoding="utf-8").splitlines())
                lines = [row[2 + place] for row in rows if row[0] == "test"]
            else:
                lines = [getattr(pair, side) for pair in built_in_pairs(10**6, "test")]
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    done = program(name, "--source", files[0], "--reference", files[1], "--json",
                   command="evaluate", cwd=tmp_path, check=0)  # fmt: skip
    found = json.loads(done.text[done.text.index("{") :])
    metadata, _ = card(MODELS / name)
    metrics = metadata["model-index"][0]["results"][0]["metrics"]
    said = {each["name"]: each["value"] for each in metrics}
    assert len(said) == 4
    for search in ("greedy", "beam"):
        for score in ("bleu", "chrf"):
            assert found[search][score] == pytest.approx(said[f"{score}, {search} search"], abs=0.1)


def test_translating_loads_neither_lightning_nor_matplotlib_nor_tensorboard(tmp_path):
    code = (
        "import sys; from seq2seq.cli.main import main; main(['translate', 'grammar-en-fr']); "
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'lightning', 'matplotlib', 'tensorboard', "
        "'torchtext', 'sacrebleu', 'scipy'}), 'torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], input="The red cat sees it.\n", cwd=tmp_path,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout.splitlines() == ["Le chat rouge le voit.", "[] False"]


def test_a_model_is_found_by_name_and_a_folder_of_that_name_comes_first(tmp_path, monkeypatch, tiny_run):
    monkeypatch.chdir(tmp_path)
    (found,) = seq2seq.load("grammar-en-fr").translate(["The red cat sees it."], beam_size=5)
    assert found.text == "Le chat rouge le voit."
    shutil.copytree(tiny_run / "model", tmp_path / "grammar-en-fr")
    assert seq2seq.load("grammar-en-fr").folder == tmp_path / "grammar-en-fr"
    with pytest.raises(seq2seq.InputError, match="grammar-en-fr"):
        seq2seq.load("gramar-en-fr")


def test_a_notebook_shows_the_page_that_translates():
    frame = seq2seq.load("grammar-en-fr").page("The red <i>cat</i>", height=321)._repr_html_()
    assert frame.startswith("<iframe")
    assert "height: 321px" in frame
    assert "<i>" not in frame


def test_a_wrong_name_of_a_model_lists_those_that_come_along(tmp_path, program):
    done = program("gramar-en-fr", "--source", COMMAND, command="translate", cwd=tmp_path, check=2)
    assert "mean grammar-en-fr? " in done.text
    assert done.text.count("\n") == 1
    for name, meant in (("help-de-en", "help-en-de, "), ("multi30k-de-en", "multi30k-en-de, ")):
        done = program(name, "A sentence.", command="translate", cwd=tmp_path, check=2)
        assert f"mean {meant}" in done.text


@pytest.mark.parametrize(("precision", "share"), [("bf16", 0.55), ("int8", 0.35)])
def test_a_run_becomes_a_smaller_model_folder_with_a_card(precision, share, tiny_run, tmp_path, program):
    program("export", "model", tiny_run, "-o", "small", "--precision", precision, "--commit", "0123abc",
            script=COMMAND, cwd=tmp_path, check=0)  # fmt: skip
    sizes = [
        (folder / "model.safetensors").stat().st_size for folder in (tmp_path / "small", tiny_run / "model")
    ]
    assert sizes[0] < share * sizes[1]
    metadata, text = card(tmp_path / "small")
    assert metadata["language"] == ["en", "fr"]
    assert "Commit 0123abc." in text
    small, whole = (seq2seq.load(folder).translator for folder in (tmp_path / "small", tiny_run))
    states = [each._models[0].state_dict() for each in (small, whole)]
    for name, tensor in states[1].items():
        assert (states[0][name] - tensor).abs().max() <= 0.01 * tensor.abs().max() + 1e-7, name


def test_an_export_says_what_it_replaces_and_keeps_files_that_are_not_its_own(tiny_run, tmp_path, program):
    line = ["export", "model", tiny_run, "-o", "small"]
    assert "replaced" not in program(*line, script=COMMAND, cwd=tmp_path, check=0).text
    assert "small: replaced" in program(*line, script=COMMAND, cwd=tmp_path, check=0).text
    (tmp_path / "small" / "thesis.txt").write_text("the user's")
    assert "thesis.txt" in program(*line, script=COMMAND, cwd=tmp_path, check=2).text
    assert (tmp_path / "small" / "thesis.txt").read_text() == "the user's"
    page = ["export", "page", "grammar-en-fr", "-o", "p.html"]
    (tmp_path / "p.html").write_text("the user's")
    assert "p.html" in program(*page, script=COMMAND, cwd=tmp_path, check=2).text
    (tmp_path / "p.html").unlink()
    assert "replaced" not in program(*page, script=COMMAND, cwd=tmp_path, check=0).text
    page = program(*page, script=COMMAND, cwd=tmp_path, check=0)
    assert "p.html: replaced" in page.text
    example = examples(ROOT / "data/models/grammar-en-fr")[0]  # the page opens with it
    assert example in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_a_damaged_int8_folder_is_one_line(tiny_run, tmp_path, program):
    from safetensors.torch import load_file, save_file

    command = ["export", "model", tiny_run, "-o", "small", "--precision", "int8"]
    program(*command, script=COMMAND, cwd=tmp_path, check=0)
    forget_checksums(tmp_path / "small")
    path = tmp_path / "small" / "model.safetensors"
    weights = load_file(path)
    name = next(each for each in weights if each.endswith(".int8_scale"))
    for wrong in (None, weights[name][:1]):
        changed = {key: value for key, value in weights.items() if key != name}
        save_file(changed if wrong is None else changed | {name: wrong}, path)
        with pytest.raises(seq2seq.InputError, match=re.escape(name.removesuffix(".int8_scale"))):
            seq2seq.load(tmp_path / "small").translate(["I see it."])


def test_a_run_that_is_not_finished_becomes_no_card(tiny_run, tmp_path, program):
    shutil.copytree(tiny_run / "model", tmp_path / "model")
    done = program("export", "model", "model", "-o", "x", script=COMMAND, cwd=tmp_path, check=2)
    assert "finished run" in done.text


@pytest.mark.parametrize("target", [[], ["--target", "Le chat rouge la voit."]])
def test_show_writes_the_page_of_a_sentence(target, tmp_path, program):
    done = program("show", "grammar-en-fr", "The red cat <b>sees</b> it.", *target, "-o", "a page.html",
                   script=COMMAND, cwd=tmp_path, check=0)  # fmt: skip
    page = (tmp_path / "a page.html").read_text(encoding="utf-8")
    assert "Content-Security-Policy" in page
    assert "<b>" not in page
    assert done.text.startswith("Le chat rouge la voit." if target else "")
    (run,) = embedded(page)["index"]["runs"]
    assert "grammar-en-fr" in run["run"]
    assert run["run"] in page[: page.index("</title>")]
    assert embedded(page)["views"][0]["steps"] == [None]
    done = program("show", "grammar-en-fr", " ", script=COMMAND, cwd=tmp_path, check=2)
    assert "blank" in done.text


def test_the_demo_translates_draws_and_writes_the_page(tmp_path, program):
    sentence = "Where is the station?"
    done = program("demo", "--sentence", sentence, script=COMMAND, cwd=tmp_path, check=0)
    assert "Où est la gare ?" in done.text
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert sentence in (tmp_path / "demo.html").read_text(encoding="utf-8")


def test_examples_of_cards_are_sentences_and_what_is_none_is_left_out(tmp_path):
    for name in SHIPPED:
        assert len(found := examples(MODELS / name)) == 3
        assert all(example_sentences([text, "another one of five words"], 1) == [text] for text in found)
    for metadata in ("widget: [x, {text: Hi}, {text: [a]}]", "widget: 2001-99-99", "- a", "[" * 9999):
        (tmp_path / "README.md").write_text(f"---\n{metadata}\n---\n")
        assert examples(tmp_path) == (["Hi"] if "Hi" in metadata else [])


def test_samples_are_made_from_the_built_in_corpus(tmp_path, program):
    folder = ROOT / "data/samples"
    program("-o", tmp_path, script=folder / "make.py", cwd=tmp_path, check=0)
    names = {path.name for path in folder.iterdir()} - {"make.py"}
    assert names == {path.name for path in tmp_path.iterdir()}
    for name in names:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name
    assert len((folder / "pairs.tsv").read_text(encoding="utf-8").splitlines()) == 2000


def commands_on_samples():
    """The training commands of README and docs that name sample files."""
    for (line,), name in typed(r"(?:python train\.py|seq2seq train) (.*data/samples.*)"):
        yield pytest.param(shlex.split(line), id=name)


@pytest.mark.long
@pytest.mark.parametrize("words", list(commands_on_samples()))
def test_commands_for_own_text_train_on_the_samples(words, tmp_path, program):
    done = program(
        *words, *TINY, "data.tokenizer.vocab_size=300", "experiment_name=own", "name=own", f"paths.runs_dir={tmp_path}", "callbacks.attention=null",
        "trainer.max_epochs=1", cwd=ROOT, timeout=300, check=0,
    )  # fmt: skip
    assert "BLEU" in done.text
    assert (tmp_path / "own/own/metrics.json").is_file()


def test_readme_names_commands_on_samples():
    assert any("README" in str(each.id) for each in commands_on_samples())


def test_version_is_the_same_everywhere(tmp_path, program):
    assert program("--version", script=COMMAND, cwd=tmp_path, check=0).text.strip() == seq2seq.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    declared = re.search(
        r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert citation["version"] == declared[1]
    assert f"## [{declared[1]}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_under_load_gives_clean_answers_and_stops(number, tmp_path):
    pytest.importorskip("fastapi")
    from benchmarks import serving_load

    port = 20_000 + os.getpid() % 20_000
    server = serving_load.start("grammar-en-fr", port, tmp_path / "log", "--max-requests", "16")
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(16)]  # they do not count
    try:
        asked = [serving_load.ask(port, "GET", path)[0] for path in ("/health", "/docs", "/redoc")]
        assert [*asked, serving_load.ask(port, "GET", "/health", host="evil.org")[0]] == [200, 404, 404, 400]
        body = json.dumps({"text": ["a" * 2000] * 64, "beam_size": 6})
        assert b"lower beam_size" in serving_load.ask(port, "POST", "/translate", body)[1]
        status, page = serving_load.ask(port, "GET", "/")
        assert status == 200
        assert b"Content-Security-Policy" in page
        body = json.dumps({"text": "The red cat sees it.", "alternatives": 3, "weights": True})
        status, content = serving_load.ask(port, "POST", "/translate", body)
        (answer,) = json.loads(content)["translations"]
        assert answer["text"] == "Le chat rouge le voit."
        assert len(answer["alternatives"]) == 2
        assert len(answer["attention"]) == len(answer["target_tokens"])
        assert {len(row) for row in answer["attention"]} == {len(answer["source_tokens"])}
        found, *_ = serving_load.load(port, clients=8, requests=10, largest=0)
        assert found == {200: 64, 400: 2, 413: 2, 422: 12}
        info = json.loads(serving_load.ask(port, "GET", "/info")[1])
        assert (info["target_language"], info["limits"]["requests"]) == ("fr", 16)
        found, status = serving_load.stop_under_load(server, port, clients=4, number=number)
        assert status == 0
        assert found.keys() == {200, "closed"}
        assert not serving_load.alive(server.pid)
        assert "Traceback" not in (tmp_path / "log").read_text()
    finally:
        [each.close() for each in idle]
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


@pytest.mark.long
def test_a_server_outlives_clients_that_never_end(tmp_path):
    pytest.importorskip("fastapi")
    from benchmarks import serving_load

    port = 20_000 + os.getpid() % 20_000
    server = serving_load.start("grammar-en-fr", port, tmp_path / "log", "--timeout", "0.5", files=64)
    clients = []

    def begin(text=b""):
        clients.append(socket.create_connection(("127.0.0.1", port), timeout=30))
        clients[-1].sendall(text)
        return clients[-1]

    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
    try:
        for _ in range(14):
            silent = [
                begin() for _ in range(5)
            ]  # together more than the server may open: the first have to leave
            assert serving_load.ask(port, "GET", "/health")[0] == 200
        assert silent[-1].recv(1) == b""  # when its time is over
        assert begin(b"GET / HTTP/1.1\r\nX: ").recv(1) == b""
        for half in [begin(head + b"\r\n{") for _ in range(5)]:
            assert b"504" in half.recv(100)
        endless = begin(head + b"Transfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for _ in range(256):  # 16 MB, if nobody refuses them
                endless.sendall(b"10000\r\n" + b"a" * 0x10000 + b"\r\n")
        begin(head + b"\r\n{")
        server.terminate()
        assert server.wait(30) == 0
        log = (tmp_path / "log").read_text()
        assert "Traceback" not in log
        assert "413\n" in log
        assert 1 <= log.count("504\n") <= 3  # once a minute
        assert log.count("closed") <= 6
    finally:
        [each.close() for each in clients]
        if server.poll() is None:
            server.kill()
            server.wait()


class Slow:
    """A translator that notes its batches and takes as long as the test lets it."""

    source_language, target_language = "en", "fr"

    def __init__(self):
        self.batches, self.goes_on = [], threading.Event()

    source_language, target_language, knows = "en", "en", None

    def language_of(self, text):
        return self.target_language

    def translate_n_best(self, texts, **_):
        self.batches.append(texts)
        assert self.goes_on.wait(30)
        if "broken" in texts:
            raise RuntimeError("broken")
        return [[Translation(text.upper(), (), (), 0.0, None)] for text in texts]


def test_the_queue_serves_small_requests_between_the_batches_of_a_large_one():
    pytest.importorskip("fastapi")
    from seq2seq.export.server import TranslationQueue, TranslationRequest

    slow = Slow()

    async def talk():
        queue = TranslationQueue(slow, batch_size=4)
        runs = asyncio.create_task(queue.run())

        async def answers_of(request):
            with queue.request(request) as job:
                return await job.done

        large = asyncio.create_task(answers_of(TranslationRequest(text=[letter * 2000 for letter in "abc"])))
        await asyncio.to_thread(wait_for, lambda: slow.batches)
        others = [
            TranslationRequest(text="small"),
            TranslationRequest(text=["x", "y"], beam_size=1),
            TranslationRequest(text="broken", beam_size=2),
        ]
        tasks = [asyncio.create_task(answers_of(each)) for each in others]
        late = asyncio.create_task(answers_of(TranslationRequest(text="late")))
        await asyncio.sleep(0)
        late.cancel()
        slow.goes_on.set()
        answers = await asyncio.gather(large, *tasks, late, return_exceptions=True)
        runs.cancel()
        assert not queue.jobs
        return answers

    large, small, greedy, broken, late = asyncio.run(talk())
    assert [each.text[:2] for each in large] == ["AA", "BB", "CC"]
    assert ([each.text for each in small], [each.text for each in greedy]) == (["SMALL"], ["X", "Y"])
    assert (type(broken), type(late)) == (RuntimeError, asyncio.CancelledError)
    assert len(slow.batches) == 6  # three of the large request, none of the late one
    assert slow.batches[2] == ["x", "y"]  # in turns: the least work left, and the oldest request
    assert slow.batches[4:] == [["broken"], ["small"]]


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def test_requests_that_are_too_many_or_too_late_or_too_large_are_refused():
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from seq2seq.export.server import Limits, make_app

    slow = Slow()
    app = make_app(slow, {}, "", Limits(requests=1, seconds=0.3))
    with TestClient(app, raise_server_exceptions=False) as client:
        with ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(client.post, "/translate", json={"text": "a"}) for _ in range(2)]
            answers = sorted(each.result().status_code for each in asked)
        slow.goes_on.set()
        assert answers == [503, 504]
        assert client.post("/translate", json={"text": "broken"}).status_code == 500
        assert client.post("/translate", json={"text": "a"}).json()["translations"][0]["text"] == "A"
        assert client.post("/translate", content=iter([b"{}", b" " * 10**6])).status_code == 413
        for content, kind, status in (
            (b'{"text": "a"', "application/json", 422), (b'{"text": "caf\xe9"}', "application/json", 400),
            (b'{"text": "\\ud800"}', "application/json", 422), (b'{"text": "a"}', "text/plain", 422),
        ):  # fmt: skip
            refused = client.post("/translate", content=content, headers={"Content-Type": kind})
            assert (refused.status_code, type(refused.json()["detail"])) == (status, str)
            assert ("with the header" in refused.json()["detail"]) == (kind == "text/plain")
        narrow = client.post("/translate", json={"text": "a", "beam_size": 1, "alternatives": 5})
        assert (narrow.status_code, "beam_size" in narrow.json()["detail"]) == (422, True)
        assert client.post("/translate", json={"text": "a", "alternatives": 8}).status_code == 200
        for body in ('{"text": null}', '{"text": 5}', '{"text": "a", "beam_size": true}'):
            refused = client.post("/translate", content=body, headers={"Content-Type": "application/json"})
            assert (refused.status_code, refused.json()["detail"][:5]) == (422, "body.")
    schema = app.openapi()
    assert schema["info"]["title"] == "seq2seq"
    assert "attention" in schema["components"]["schemas"]["Answer"]["properties"]


def test_the_request_of_a_client_that_has_gone_leaves_the_queue():
    pytest.importorskip("fastapi")
    import uvicorn

    from seq2seq.export.server import Limits, make_app

    slow = Slow()
    app = make_app(slow, {}, "", Limits(requests=1, seconds=300), batch_size=1)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    with ThreadPoolExecutor(2) as pool:
        runs = pool.submit(server.run)
        try:
            wait_for(lambda: server.started)
            address = server.servers[0].sockets[0].getsockname()
            with socket.create_connection(address) as client:
                body = b'{"text": ["first", "second"]}'
                client.sendall(b"POST /translate HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
                               b"Content-Length: %d\r\n\r\n%b" % (len(body), body))  # fmt: skip
                wait_for(lambda: slow.batches)
            wait_for(lambda: not app.state.queue.jobs)
            assert not app.state.queue.jobs  # while its first batch is translated
            url = f"http://{address[0]}:{address[1]}/translate"
            request = Request(url, b'{"text": "next"}', {"Content-Type": "application/json"})
            answer = pool.submit(urlopen, request)  # not refused: no other request is open
            slow.goes_on.set()
            assert json.loads(answer.result().read())["translations"][0]["text"] == "NEXT"
            assert slow.batches == [["first"], ["next"]]
        finally:
            slow.goes_on.set()
            server.should_exit = True
            runs.result()


def test_requests_that_are_open_when_a_server_ends_are_refused(caplog):
    pytest.importorskip("fastapi")
    import uvicorn

    from seq2seq.export.server import make_app

    slow = Slow()
    config = uvicorn.Config(make_app(slow, {}, ""), port=0, log_config=None, timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as stack:
        runs = pool.submit(server.run)
        try:
            wait_for(lambda: server.started)
            address = server.servers[0].sockets[0].getsockname()
            clients = [stack.enter_context(socket.create_connection(address, timeout=30)) for _ in range(2)]
            for client, body in zip(
                clients, (b"{", b'{"text": "a"}'), strict=True
            ):  # half of one, and a whole one
                client.sendall(b"POST /translate HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
                               b"Content-Length: 13\r\n\r\n" + body)  # fmt: skip
            wait_for(lambda: slow.batches)
            server.should_exit = True
            for client in clients:
                answer = HTTPResponse(client)
                answer.begin()
                assert (answer.status, "detail" in json.load(answer)) == (503, True)
        finally:
            slow.goes_on.set()
            server.should_exit = True
            runs.result()
    assert not [record for record in caplog.records if record.exc_info]


def test_an_answer_with_attention_is_as_its_schema_says():
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from seq2seq.decoding.translator import Translator
    from seq2seq.export.server import make_app

    with TestClient(make_app(Translator.load("grammar-en-fr"), {}, "")) as client:
        (found,) = client.post("/translate", json={"text": "I see it.", "weights": True}).json()[
            "translations"
        ]
    assert len(found["attention"]) == len(found["target_tokens"]) > 1
    assert {len(row) for row in found["attention"]} == {len(found["source_tokens"])}


def test_a_server_refuses_wrong_options(tmp_path, program):
    pytest.importorskip("fastapi")
    for wrong in ("--device=none", "--port=80", "--batch-size=0", "--timeout=0"):
        done = program("serve", "grammar-en-fr", wrong, script=COMMAND, cwd=tmp_path, check=2)
        assert done.text.startswith("error: ")
        assert done.text.count("\n") == 1


def test_the_dockerfile_has_what_it_copies():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [name for line in lines if line.startswith("COPY") for name in line.split()[1:-1]]
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert sorted(copied) == sorted(line[1:] for line in sent if line.startswith("!"))
    assert all((ROOT / name).exists() for name in copied)


def test_the_container_serves_a_model_that_is_named_or_mounted(tmp_path, program):
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    started, usual = (
        json.loads(re.search(rf"^{key} (.*)", text, re.MULTILINE)[1]) for key in ("ENTRYPOINT", "CMD")
    )
    assert started[0] == "seq2seq"
    assert usual[0] in SHIPPED
    done = program(*started[1:], "/no/model", script=COMMAND, cwd=tmp_path, check=2)
    assert done.text.startswith("error: /no/model")
