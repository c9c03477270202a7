"""The Attention tab as TensorBoard serves it, with both of its loaders, and the page without."""

import base64
import json
import logging
import math
import os
import re
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.summary.writer.record_writer import RecordWriter
from torch.utils.tensorboard import SummaryWriter

from tensorboard_attention import event_files, views
from tensorboard_attention import export_html as export_run
from tensorboard_attention.colors import difference_colors, weight_colors
from tensorboard_attention.event_files import read_log_folder
from tensorboard_attention.page import MODULES, STATIC_FILES, bundle, html_page, static_file, viewer_modules
from tensorboard_attention.plugin import AttentionLoader
from tensorboard_attention.record import AttentionRecord, encode_record, quantized
from tensorboard_attention.writer import add_attention

NUM_STEPS = 600
"""More than TensorBoard keeps of a tag that it does not know."""

RECORD_OF_ONE = AttentionRecord(("a",), ("b",), quantized([[1.0]]))
HOSTILE = ["<script>alert(1)</script>", "</script>", "<!--", "<img src=x onerror=alert(2)>"]


@pytest.fixture(scope="module")
def log_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for run in ("one", "two"):
        with SummaryWriter(str(folder / run)) as writer:
            for step in range(1, NUM_STEPS + 1):
                weights = np.array([[step / NUM_STEPS, 0.0]])
                add_attention(writer, "attention/0", weights, ["a", "b"], ["c"], step)
            for rank in (1, 0):
                add_attention(writer, "attention/10", weights, ["a", "b"], ["c"], 3, kind="beam", rank=rank)
            add_attention(writer, "attention/2", np.eye(4), HOSTILE, HOSTILE, 5, kind="greedy")
            writer.add_scalar("loss", 1.0, 1)
    return folder


@pytest.fixture(scope="module")
def client(serve, log_folder):
    return serve(log_folder)


ROUTE = "/data/plugin/attention"


def view(client, run="one", tag="attention/0/forced", **more):
    return client.get(f"{ROUTE}/view", query_string={"run": run, "tag": tag, **more})


def weights_in(view, frame):
    weights = np.frombuffer(base64.b64decode(frame["weights"]), "<u2") / 65535
    target, source = view["targets"][frame["target"]], view["sources"][frame["source"]]
    return weights.reshape(len(target), len(source))


def test_tensorboard_finds_the_tab_by_its_entry_point():
    (found,) = entry_points(group="tensorboard_plugins", name="attention")
    assert found.load() is AttentionLoader


def test_the_tab_is_listed_and_active_where_there_are_records(client):
    listing = client.get("/data/plugins_listing").json
    assert listing["attention"]["enabled"]
    assert listing["attention"]["tab_name"] == "Attention"
    assert listing["attention"]["loading_mechanism"]["module_path"].endswith("/tab.js")


def test_numbers_in_names_are_sorted_by_their_value_however_long():
    names = [
        "s",
        "s 0",
        "s 9",
        "s 010",
        "s 11",
        f"s {9 * '9'}",
        f"s {19 * '9'}",
        f"s 1{19 * '0'}",
        f"s {5000 * '9'}",
        "s a",
    ]
    assert sorted(set(names), key=views.natural) == names


def test_reading_a_log_folder_leaves_the_level_of_a_logger_as_it_was(tmp_path):
    add_attention(tmp_path, "s", [[1.0]], ["a"], ["b"], 1)
    logger = logging.getLogger("tensorboard")
    before = logger.level
    try:
        logger.setLevel(logging.DEBUG)
        export_run(tmp_path)
        assert logger.level == logging.DEBUG
        event_files.read_steps(tmp_path, "s/forced", most=1, most_bytes=1)
        with pytest.raises(ValueError, match="no attention records"):
            export_run(tmp_path / "nothing")
        assert logger.level == logging.DEBUG
    finally:
        logger.setLevel(before)


def test_the_index_names_runs_sentences_kinds_and_ranks_in_order(client):
    index = client.get(f"{ROUTE}/index").json
    assert [run["run"] for run in index["runs"]] == ["one", "two"]
    tags = index["runs"][0]["tags"]
    names = [f"attention/{name}" for name in ("0/forced", "2/greedy", "10/beam", "10/beam/1")]
    assert [tag["tag"] for tag in tags] == names
    assert tags[3] | {"wall_time": 0} == {
        "tag": "attention/10/beam/1", "sentence": "attention/10", "kind": "beam", "rank": 1, "text": "a b",
        "max_step": 3, "wall_time": 0,
    }  # fmt: skip
    assert index["problems"] == []
    assert len(index["colors"]) == 192


def test_a_sentence_of_pieces_is_listed_as_text(tmp_path):
    weights = [[0.2, 0.2, 0.5, 0.1]]
    add_attention(tmp_path, "s", weights, ["▁the", "▁hap", "py", "<eos>"], ["a"], 1)
    assert "the happy" in export_run(tmp_path)


def test_every_step_is_kept_without_flags(client):
    answer = view(client).json
    assert [frame["step"] for frame in answer["frames"]] == list(range(1, NUM_STEPS + 1))
    assert answer["sources"] == [["a", "b"]]
    for frame in answer["frames"]:
        expected = [[frame["step"] / NUM_STEPS, 0]]
        np.testing.assert_allclose(weights_in(answer, frame), expected, atol=1e-5)


def test_a_bound_of_the_user_is_respected(serve, log_folder):
    bounded = serve(log_folder, "--samples_per_plugin=attention=5")
    assert len(view(bounded).json["frames"]) == 5


def test_a_path_prefix_moves_every_route(serve, log_folder):
    moved = serve(log_folder, "--path_prefix=/some/where")
    for route in ("index", "tab.js", "viewer.css"):
        assert moved.get(f"/some/where{ROUTE}/{route}").status_code == 200
    assert moved.get(f"{ROUTE}/index").status_code == 404


def test_the_files_of_the_viewer_are_served_as_what_they_are(client):
    for name in STATIC_FILES:
        answer = client.get(f"{ROUTE}/{name}")
        assert answer.status_code == 200
        assert answer.mimetype == ("text/css" if name.endswith("css") else "text/javascript")
        assert answer.text == static_file(name)


PATHS = [
    "../plugin.py", "plugin.py", "pyproject.toml", "..%2fplugin.py", "%2e%2e/plugin.py", "%2e%2e%2f%2e%2e%2frecord.py",
    "..\\plugin.py", "..%5cplugin.py", "static/../../plugin.py", "./tab.js/../../plugin.py", "//etc/passwd",
    "%2fetc%2fpasswd", "tab.js%00", "TAB.JS", "",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_hostile_path_is_not_found(client, path):
    assert client.get(f"{ROUTE}/{path}").status_code == 404


@pytest.mark.parametrize(
    "query",
    ["", "run=one", "tag=attention/0/forced", "run=one&run=two&tag=attention/0/forced", "run=one&tag=a&tag=b",
     "run=" + "a" * 5000 + "&tag=b"],
    ids=["nothing", "no tag", "no run", "two runs", "two tags", "long"],
)  # fmt: skip
def test_bad_parameters_are_refused(client, query):
    assert client.get(f"{ROUTE}/view?{query}").status_code == 400


@pytest.mark.parametrize(
    ("run", "tag"), [("three", "attention/0/forced"), ("one", "loss"), ("../one", "x"), ("", "")]
)
def test_what_is_not_there_is_not_found(client, run, tag):
    assert view(client, run, tag).status_code == 404


def test_a_token_that_is_markup_is_served_as_json_text(client):
    answer = view(client, tag="attention/2/greedy")
    assert answer.mimetype == "application/json"
    assert answer.json["targets"] == [HOSTILE]


GOOD = b'{"version":5,"sentence":"s","kind":"k","rank":0,"text":""}'
RECORD = encode_record(RECORD_OF_ONE)
BROKEN = {
    "foreign": (b"\x00foreign", [b"garbage"], 1.0),
    "later": (b'{"version":9}', [b"garbage"], 1.0),
    "incomplete": (b'{"version":5}', [b"garbage"], 1.0),
    "damaged": (GOOD, [b"garbage"], 1.0),
    "none": (GOOD, [], 1.0),
    "two": (GOOD, [RECORD, RECORD], 1.0),
    "never": (GOOD, [b"record"], math.nan),
    "ever": (GOOD, [b"record"], math.inf),
}
"""Tag -> description, strings and time of a tensor that is no record."""


@pytest.fixture(scope="module")
def broken_folder(tmp_path_factory):
    """A good record beside tensors that are none, and files that are no event files."""
    folder = tmp_path_factory.mktemp("broken")
    with SummaryWriter(str(folder / "run")) as writer:
        add_attention(writer, "good", [[1.0]], ["a"], ["b"], 1)
        for name, (content, strings, wall_time) in BROKEN.items():
            data = SummaryMetadata(
                plugin_data=SummaryMetadata.PluginData(plugin_name="attention", content=content), data_class=2
            )
            value = Summary.Value(tag=name, metadata=data, tensor=TensorProto(dtype=7, string_val=strings))
            event = Event(step=1, wall_time=wall_time, summary=Summary(value=[value]))
            writer.file_writer.event_writer.add_event(event)
    (folder / "other").mkdir()
    (folder / "other" / "events.out.tfevents.1.host").write_bytes(b"\x00\x01 no event file")
    (folder / "events.out.tfevents.2.host").write_bytes(b"")
    return folder


def test_what_is_no_record_is_named_and_the_rest_is_shown(serve, broken_folder):
    broken = serve(broken_folder)
    index = json.loads(broken.get(f"{ROUTE}/index").text, parse_constant=pytest.fail)
    (run,) = index["runs"]
    shown = {tag["tag"] for tag in run["tags"]}
    assert {"good/forced", "damaged", "none", "two"} <= shown <= {"good/forced", *BROKEN}
    problems = " ".join(index["problems"])
    for tag in ("foreign", "later", "incomplete"):
        assert f"run, {tag}: not" in problems or f"run, {tag}: its" in problems
        assert tag not in shown
    for tag in shown:
        answer = view(broken, "run", tag)
        assert answer.status_code == 200
        is_good = tag == "good/forced"
        assert [len(answer.json[key]) for key in ("frames", "problems")] == [is_good, not is_good]
    assert view(broken, "run", "damaged").json["problems"] == ["step 1: not an attention record"]


def test_the_page_leaves_out_what_is_no_record(broken_folder):
    with pytest.warns(UserWarning, match="events.out.tfevents.1.host is damaged"):
        data = read_log_folder(broken_folder)
    assert data["index"] == json.loads(json.dumps(data["index"], allow_nan=False))
    frames = {view["tag"]: len(view["frames"]) for view in data["views"]}
    assert frames == {"good/forced": 1} | dict.fromkeys(("damaged", "none", "two", "never", "ever"), 0)


def steps_of(answer):
    return [frame["step"] for frame in answer["frames"]]


@pytest.mark.parametrize("step", [1, 7, 300, 599, 600, -5, 10**18, None])
def test_an_answer_is_bounded_and_holds_the_steps_around_the_wanted_one(client, monkeypatch, step):
    monkeypatch.setattr(views, "ANSWER_BYTES", 2_000)
    answer = view(client, **({} if step is None else {"step": step}))
    assert answer.json["steps"] == list(range(1, NUM_STEPS + 1))
    found = steps_of(answer.json)
    assert 5 < len(found) < 20
    assert found == list(range(found[0], found[-1] + 1))
    wanted = NUM_STEPS if step is None else min(max(step, 1), NUM_STEPS)
    assert wanted in found
    assert abs((wanted - found[0]) - (found[-1] - wanted)) <= 1 or found[0] == 1 or found[-1] == 600
    assert len(json.dumps(answer.json["frames"])) < 2_000


def test_a_frame_that_is_larger_than_an_answer_comes_alone(client, monkeypatch):
    monkeypatch.setattr(views, "ANSWER_BYTES", 0)
    assert steps_of(view(client, step=77).json) == [77]


def test_a_megabyte_of_records_is_no_half_gigabyte_of_answer(serve, tmp_path):
    tokens = [str(number) for number in range(2048)]
    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(5):
            add_attention(writer, "s", np.zeros((2048, 2048)), tokens, tokens, step)
    answer = view(serve(tmp_path), ".", "s/forced")
    assert answer.json["steps"] == [0, 1, 2, 3, 4]
    assert len(answer.data) < 1.5 * 4 / 3 * 2 * 2048**2


@pytest.mark.parametrize("step", ["", "one", "1.5", "1e3", "9" * 20, "1&step=x y"])
def test_a_step_that_is_no_number_is_refused(client, step):
    answer = client.get(f"{ROUTE}/view?run=one&tag=attention/0/forced&step={step}")
    assert answer.status_code == (200 if step.startswith("1&") else 400)


def test_of_damaged_records_only_so_many_are_looked_at():
    damaged = dict.fromkeys(range(1000), b"no record")
    found = views.frames_of("run", "tag", damaged, range(1000), 100)
    assert len(found["problems"]) == views.MAX_PROBLEMS
    assert found["steps"] == list(range(views.MAX_PROBLEMS, 1000))


def test_a_page_is_bounded_and_keeps_steps_of_the_whole_training(log_folder, monkeypatch):
    whole = {view["tag"]: view for view in read_log_folder(log_folder)["views"]}
    assert len(whole["attention/0/forced"]["frames"]) == NUM_STEPS
    monkeypatch.setattr(event_files, "PAGE_BYTES", 40_000)
    data = read_log_folder(log_folder)
    assert len(json.dumps(data["views"])) < 40_000
    for found in data["views"]:
        assert found["steps"] == steps_of(found)
        if found["tag"] == "attention/0/forced":
            assert found["steps"][-1] == NUM_STEPS
            assert np.diff([0, *found["steps"]]).max() <= 2 * NUM_STEPS / len(found["steps"])
            assert f"of {NUM_STEPS} steps are left out of this page" in found["problems"][0]
        else:
            assert found["problems"] == []
    monkeypatch.setattr(event_files, "PAGE_BYTES", 0)
    for found in read_log_folder(log_folder)["views"]:
        assert found["frames"] == []
        assert "are left out of this page" in found["problems"][0]


def test_the_tags_of_a_page_share_it(tmp_path, monkeypatch):
    monkeypatch.setattr(event_files, "PAGE_BYTES", 20_000)
    with SummaryWriter(str(tmp_path)) as writer:
        for tag in range(10):
            for step in range(50):
                add_attention(writer, f"s{tag}", [[1.0]], ["a"], ["b"], step)
    found = read_log_folder(tmp_path)["views"]
    assert len(json.dumps(found)) < 20_000
    assert min(len(view["frames"]) for view in found) > 5


def test_a_folder_without_records_has_an_empty_index(serve, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 1.0, 1)
    empty = serve(tmp_path)
    assert empty.get(f"{ROUTE}/index").json["runs"] == []
    assert not empty.get("/data/plugins_listing").json["attention"]["enabled"]


def test_the_later_of_two_records_of_a_step_counts(serve, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        for weight in (0.25, 0.75):
            add_attention(writer, "s", [[weight]], ["a"], ["b"], 1)
    answer = view(serve(tmp_path), ".", "s/forced").json
    assert [weights_in(answer, frame).item() for frame in answer["frames"]] == [pytest.approx(0.75, abs=1e-5)]


def test_what_a_resumed_run_overwrote_is_hidden(serve, tmp_path):
    """Also steps that the resumed run has not reached, as TensorBoard purges them from scalars."""
    for steps, weight in ((range(10, 100, 10), 0.25), (range(50, 70, 10), 0.75)):
        with SummaryWriter(str(tmp_path)) as writer:
            for step in steps:
                add_attention(writer, "s", [[weight]], ["a"], ["b"], step)
    (exported,) = read_log_folder(tmp_path)["views"]
    for answer in (view(serve(tmp_path), ".", "s/forced").json, exported):
        assert answer["steps"] == [10, 20, 30, 40, 50, 60]
        found = [weights_in(answer, frame).item() for frame in answer["frames"]]
        np.testing.assert_allclose(found, [0.25] * 4 + [0.75] * 2, atol=1e-5)


def test_what_a_continued_run_has_not_reached_yet_is_hidden_too(serve, tmp_path):
    """The later run has written a loss, and no attention yet."""
    for steps, purge_step in ((range(10, 100, 10), None), ((), 41)):
        with SummaryWriter(str(tmp_path), purge_step=purge_step) as writer:
            writer.add_scalar("loss", 1.0, purge_step or 1)
            for step in steps:
                add_attention(writer, "s", [[0.5]], ["a"], ["b"], step)
    assert view(serve(tmp_path), ".", "s/forced").json["steps"] == [10, 20, 30, 40]


def test_what_is_no_event_file_disturbs_nobody(serve, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        add_attention(writer, "s", [[0.5]], ["a"], ["b"], 1)
    client = serve(tmp_path)
    (tmp_path / "xtfevents").mkdir()
    os.mkfifo(tmp_path / "events.out.tfevents.9999999998")
    with (tmp_path / "events.out.tfevents.9999999999").open("wb") as file:
        RecordWriter(file).write(b"\xff\xff damaged")
    assert view(client, ".", "s/forced").json["steps"] == [1]
    with pytest.raises(ValueError, match="is a pipe"):
        read_log_folder(tmp_path)


def test_a_reference_is_served_once(serve, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        for step, reference in ((1, "r"), (2, "r"), (3, None)):
            add_attention(writer, "s", [[1.0]], ["a"], ["b"], step, reference=reference)
    answer = view(serve(tmp_path), ".", "s/forced").json
    assert answer["references"] == ["r"]
    assert [frame.get("reference") for frame in answer["frames"]] == [0, 0, None]


def test_fifty_requests_at_once_are_answered_alike(client):
    tags = ("attention/0/forced", "attention/2/greedy", "x", HOSTILE[0])
    queries = list(zip(("one", "two", "none", "../one"), tags, strict=True))
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda number: view(client, *queries[number % 4]), range(50)))
    assert [answer.status_code for answer in answers[:4]] == [200, 200, 404, 404]
    for number, answer in enumerate(answers):
        assert answer.data == answers[number % 4].data


def test_the_page_holds_what_the_tab_would_show(client, log_folder):
    content = export_run(log_folder)
    (text,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', content, re.DOTALL)
    data = json.loads(text)
    index = client.get(f"{ROUTE}/index").json
    assert {run["run"] for run in data["index"]["runs"]} == {run["run"] for run in index["runs"]}
    served = view(client).json
    (embedded,) = (v for v in data["views"] if (v["run"], v["tag"]) == ("one", "attention/0/forced"))
    assert embedded["frames"] == served["frames"]


def test_the_title_of_a_page_is_text_whatever_its_folder_is_called():
    content = html_page({}, title="</title><script>\udcff")
    assert "<title>&lt;/title&gt;&lt;script&gt;\ufffd</title>" in content
    content.encode()


def test_tokens_cannot_end_the_data_of_the_page(log_folder):
    content = html_page(read_log_folder(log_folder), title="</title><script>alert(3)</script>")
    assert content.count("</script>") == 2
    assert content.count("<script") == 2
    assert "<!--" not in content
    assert "onerror" in content


def test_the_page_asks_nobody_and_allows_no_other_script(log_folder):
    content = export_run(log_folder)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', content)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"(src|href)=", content.split("<body>")[0])
    assert set(re.findall(r"https?://[^\s\"'`]+", content)) == {"http://www.w3.org/2000/svg"}


def test_the_modules_fit_into_one_script():
    script = bundle(viewer_modules())
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|const|class|let) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names)), "two modules declare the same name"


def test_a_module_imports_only_from_those_before_it():
    for place, name in enumerate(MODULES):
        imported = re.findall(r'from "\./([^"]+)"', static_file(name))
        assert set(imported) <= set(MODULES[:place]), name


def test_no_module_parses_text_as_markup():
    for name in STATIC_FILES:
        assert not re.search(
            r"(inner|outer)HTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function",
            static_file(name),
        ), name


def test_a_folder_without_records_is_no_page(tmp_path):
    with pytest.raises(ValueError, match="holds no attention records"):
        export_run(tmp_path)


def oklab(colors):
    """OKLab coordinates of 8-bit sRGB colors (…, 3): Ottosson, "A perceptual color space for image processing", 2020."""
    cones = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
             [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
    axes = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip
    encoded = np.asarray(colors) / 255
    linear = np.where(encoded > 0.04045, ((encoded + 0.055) / 1.055) ** 2.4, encoded / 12.92)
    return np.cbrt(linear @ np.transpose(cones)) @ np.transpose(axes)


def test_colors_grow_darker_evenly_and_those_of_differences_from_the_middle():
    weights, colors = oklab(weight_colors()), oklab(difference_colors())
    assert len(colors) % 2 == 1
    middle = len(colors) // 2
    assert colors[:, 0].argmax() == middle
    assert (np.diff(weights[:, 0]) < 0).all()
    for side in (weights, colors[: middle + 1], colors[middle:]):
        steps = np.linalg.norm(np.diff(side, axis=0), axis=1)
        assert steps.max() < 1.6 * steps.mean()
    assert colors[0, 2] > 0 > colors[-1, 2]
