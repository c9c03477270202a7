"""The parts of the viewer that need no browser, in node: what is asked for, kept and named."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tensorboard_attention import page

STATIC = Path(page.__file__).with_name("static")

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

SERVER = """
const asked = [];
const size = %(size)d, broken = new Set(%(broken)s), all = [...Array(%(steps)d).keys()];
const ask = async (step) => {
  asked.push(step);
  const wanted = step ?? all.at(-1);
  const tried = all.filter((each) => Math.abs(each - wanted) <= %(around)d);
  const known = { score: null, bleu: null, source: ["a"], target: ["b"] };
  const weights = () => new Float64Array(size).fill(0.5);
  const good = tried.filter((each) => !broken.has(each));
  const frames = good.map((step) => ({ ...known, step, weights: weights() }));
  const problems = tried.filter((each) => broken.has(each)).map((each) => `step ${each}`);
  const steps = all.filter((each) => %(promised)s || !tried.includes(each) || !broken.has(each));
  return { steps, frames, problems };
};
const series = new Series(ask);
const at = (step) => series.placeOf((frames) => nearestFrame(frames, step));
"""


def answer_of(script, steps=6, size=1, around=0, broken=(), *, promised=False):
    """What a script tells by `tell`, as JSON; it has a `series` on a server that is made up."""
    facts = {"steps": steps, "size": size, "around": around, "broken": list(broken)}
    server = SERVER % (facts | {"promised": str(promised).lower()})
    return told_by(
        "import { Series, frameOfShown, kindName, nearestFrame, selectionOf, servedSource } "
        f"from '{STATIC}/data.js';",
        server,
        script,
    )


def told_by(*lines):
    tell = "const tell = (value) => console.log(JSON.stringify(value));"
    found = subprocess.run(
        ["node", "--no-warnings", "--input-type=module", "--experimental-default-type=module"],
        input="\n".join([*lines[:-1], tell, lines[-1]]),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_what_comes_in_one_answer_is_asked_for_once():
    script = """
    await series.fetch(null);
    for (const step of [5, 0, 3]) await at(step);
    tell([asked, series.frames.map(({ weights }) => weights.length)]);
    """
    assert answer_of(script, around=9) == [[None], [1] * 6]


def test_steps_are_asked_for_when_they_are_wanted():
    script = """
    await series.fetch(null);
    const places = [];
    for (const step of [5, 4, 1, 4, 0]) places.push(await at(step));
    tell([asked, places, series.frames.map(({ weights }) => Boolean(weights))]);
    """
    has = [True, True, False, False, True, True]
    assert answer_of(script) == [[None, 4, 1, 0], [5, 4, 1, 4, 0], has]


def test_of_large_frames_the_latest_are_kept_and_of_the_others_the_figures():
    script = """
    await series.fetch(null);
    for (const step of [4, 3, 2, 4]) await at(step);
    const has = ({ step, weights, figures }) => [step, Boolean(weights), Boolean(figures)];
    tell([asked, series.frames.map(has)]);
    """
    asked, frames = answer_of(script, size=7_000_000)
    assert asked == [None, 4, 3, 2, 4]
    assert frames == [
        [0, False, False],
        [1, False, False],
        [2, True, False],
        [3, False, True],
        [4, True, False],
        [5, False, True],
    ]


@pytest.mark.parametrize("promised", [False, True])
@pytest.mark.parametrize("around", [0, 1, 9])
def test_steps_that_cannot_be_read_are_passed_over(around, promised):
    script = """
    await series.fetch(3);
    const place = await at(3);
    tell([series.frames[place].step, asked.length, series.problems.length]);
    """
    broken = [2, 3, 4]
    found, num_asked, num_problems = answer_of(script, around=around, broken=broken, promised=promised)
    assert found in {1, 5}
    assert num_asked <= 6
    assert num_problems == 3


def test_where_nothing_can_be_read_there_is_no_place():
    assert answer_of("await series.fetch(null); tell(await at(2));", broken=range(6)) == -1


def map_of(shape, name):
    """The names of all maps and their layers, and the frame of one of them."""
    weights = np.arange(np.prod(shape)) * 100
    frame = {"step": 1, "source": 0, "target": 0, "alignment": 0, "score": None, "bleu": None}
    frame["weights"] = base64.b64encode(weights.astype("<u2").tobytes()).decode()
    view = {"sources": [["a", "b", "c"]], "targets": [["d", "e"]], "alignments": [None]}
    view |= {"problems": [], "steps": [1], "frames": [frame | {"maps": list(shape[:-2])}]}
    script = f"""
    globalThis.fetch = async () => ({{ ok: true, json: async () => ({json.dumps(view)}) }});
    const {{ frames: [frame] }} = await servedSource("http://here/").view("r", "t", null);
    const {{ map, weights }} = frameOfShown(frame, {{ map: {json.dumps(name)} }});
    tell([frame.maps.map(({{ name, layer }}) => [name, layer]), map, [...weights]]);
    """
    maps, chosen, found = answer_of(script)
    return maps, chosen, np.reshape(found, (2, 3)), weights.reshape(shape) / 65535


@pytest.mark.parametrize("name", [None, "head 9", "__proto__"])
def test_of_several_heads_their_mean_comes_first(name):
    maps, chosen, found, weights = map_of((2, 2, 2, 3), name)
    heads = [[f"layer {n + 1} {part}", n] for n in (0, 1) for part in ("mean", "head 1", "head 2")]
    assert maps == [["mean", None], *heads]
    assert chosen == "mean"
    np.testing.assert_allclose(found, weights.mean(axis=(0, 1)))


@pytest.mark.parametrize(
    ("maps", "name", "place"),
    [
        ((2, 2), "layer 2 head 1", (1, 0)),
        ((1, 3), "head 3", (0, 2)),
        ((3, 1), "layer 2", (1, 0)),
        ((2, 2), "layer 2 mean", 1),
        ((1, 1), "head 1", (0, 0)),
    ],
)
def test_a_head_is_found_by_its_name(maps, name, place):
    _, chosen, found, weights = map_of((*maps, 2, 3), name)
    assert chosen == name
    np.testing.assert_allclose(found, np.reshape(weights[place], (-1, 2, 3)).mean(axis=0))


def test_one_matrix_has_no_heads():
    maps, chosen, found, weights = map_of((2, 3), None)
    assert (maps, chosen) == ([], None)
    np.testing.assert_allclose(found, weights)


def test_a_step_is_asked_for_as_a_number_or_not_at_all():
    script = """
    const seen = [];
    globalThis.fetch = async (url) => {
      if (url.pathname === "/view") seen.push(url.search);
      const none = { frames: [], problems: [], sources: [], targets: [], alignments: [] };
      return { ok: true, json: async () => ({ ...none, steps: [] }) };
    };
    const source = servedSource("http://here/");
    for (const step of [null, 5, "7", "-1", "one", "1.5", ""]) await source.view("r", "t", step);
    tell(seen);
    """
    bare = "?run=r&tag=t"
    assert answer_of(script) == [
        bare, f"{bare}&step=5", f"{bare}&step=7", f"{bare}&step=-1", bare, bare, bare,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("times", "wanted", "expected"),
    [([1, 3, 2], None, "b"), ([1, 3, 2], "a", "a"), ([1, 3, 2], "gone", "b"), ([None, 2, None], None, "b"),
     ([None, None, None], None, "a")],
)  # fmt: skip
def test_the_run_that_was_written_last_is_shown_unless_another_is_wanted(times, wanted, expected):
    tags = [
        {"tag": "t", "sentence": "s", "kind": "k", "rank": 0, "text": "", "wall_time": time} for time in times
    ]
    runs = [{"run": run, "tags": [tag]} for run, tag in zip("abc", tags, strict=True)]
    state = {"run": wanted, "sentence": None, "kind": None, "rank": None}
    script = f"tell(selectionOf({json.dumps({'runs': runs})}, {json.dumps(state)}).run);"
    assert answer_of(script) == expected


@pytest.mark.parametrize("kind", ["constructor", "__proto__", "toString", "head 1", "greedy"])
def test_a_kind_is_named_by_its_own_text_whatever_it_is(kind):
    script = f"""
    const tag = {{ tag: "t", sentence: {kind!r}, kind: {kind!r}, rank: 0, text: "x" }};
    const index = {{ runs: [{{ run: {kind!r}, tags: [tag] }}] }};
    const found = selectionOf(index, {{ run: null, sentence: null, kind: null, rank: null }});
    tell([kindName({kind!r}), found.kind, found.texts.get({kind!r})]);
    """
    assert answer_of(script) == [kind, kind, "x"]


ENTRY = "http://here:6006/data/plugin_entry.html?name=attention"
"""Where TensorBoard serves the tab without its page, with a base that an address must not be relative to."""


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("file:///page.html", ["file:///page.html#step=5"]),
        (ENTRY, [f"{ENTRY}#step=5"]),
        (f"{ENTRY}#step=4&run=a", [f"{ENTRY}#step=5"]),
        ("about:srcdoc", []),
    ],
)
def test_a_page_in_a_frame_of_a_notebook_has_no_address_to_write(address, written):
    script = """
    globalThis.matchMedia = () => ({ matches: false });
    const written = [];
    globalThis.location = new URL("%s");
    const replaceState = (...given) => {
      if (location.protocol === "about:") throw new Error("SecurityError");
      written.push(given[2]);
    };
    globalThis.history = { replaceState };
    pageHost().write(new URLSearchParams({ step: 5 }));
    """
    imported = f"import {{ pageHost }} from '{STATIC}/data.js';"
    assert told_by(imported, script % address, "tell(written);") == written


def in_charts(names, *lines):
    """What a script tells that uses functions of the charts, which draw nothing here."""
    nobody = "globalThis.document = { createElement: () => ({ getContext: () => ({}) }) };"
    return told_by(nobody, f"const {{ {names} }} = await import('{STATIC}/charts.js');", *lines)


EVEN = [0.24, 0.26, 0.25, 0.25]
PEAKED = [0.05, 0.9, 0.05, 0.0]
BROAD = [0.4, 0.1, 0.4, 0.1] + [0.0] * 8


@pytest.mark.parametrize(
    ("kind", "values", "expected", "end"),
    [
        ("unit", PEAKED, PEAKED, "1"),
        ("max", PEAKED, np.divide(PEAKED, 0.9), "0.9"),
        ("log", [1, 0.01, 1e-4, 0], [1, 0.5, 0, 0], "1"),
        ("fit", PEAKED, PEAKED, "1"),
        ("fit", BROAD, np.divide(BROAD, 0.4), "0.4"),
        ("fit", EVEN, np.divide(EVEN, 0.75), "0.75"),
        ("uniform", [0.5, 0.25, 0.25, 0], None, None),
    ],
)
def test_a_scale_says_what_share_of_the_colors_a_weight_has(kind, values, expected, end):
    values = np.array(values, dtype=float)
    script = f"""
    const values = Float64Array.from({values.tolist()});
    const scale = scaleOf("{kind}", [{{ values, columns: {len(values)} }}]);
    tell([[...scale.shares(values, {len(values)})], scale.ticks.at(-1), scale.isTwoSided]);
    """
    shares, (_, label), is_two_sided = in_charts("scaleOf", script)
    assert is_two_sided == (kind == "uniform")
    if kind == "uniform":  # three weights: a third each is even
        doublings = np.log2(values[:3] * 3)
        wanted = (doublings / np.abs(doublings).max() + 1) / 2
        np.testing.assert_allclose(shares, [*wanted, -1])
    else:
        np.testing.assert_allclose(shares, expected, atol=1e-12)
        assert label == end


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([4, 1, -0.04, -0.2], [1, 0.25, 0, -1]),  # by a fiftieth of the maximum a word may rise
        ([2, 1, -0.04, 0], [1, 0.5, -1, 0]),
        ([-0.01, -0.3], [-1, -1]),  # all rise, by however little
        ([0, -0.01], [0, -1]),
        ([0, 0], [0, 0]),
    ],
)
def test_effects_have_the_colors_of_heatmaps(effects, expected):
    script = f"const values = {effects}; tell(effectScale([{{ values, columns: 2 }}]).shares(values));"
    found = in_charts("effectScale", script)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("tokens", "place", "word"),
    [
        (["▁under", "stand", "ing", "▁it"], 1, "understanding"),
        (["▁under", "stand", "ing", "▁it"], 3, None),
        (["un", "##der", "it"], 0, "under"),
        (["un@@", "der", "it"], 1, "under"),
        (["it", "Ġun", "der"], 2, "under"),
        (["▁it", "</s>"], 1, None),
    ],
)
def test_a_subword_belongs_to_a_word(tokens, place, word):
    assert in_charts("wordOf", f"tell(wordOf({json.dumps(tokens)}, {place}));") == word


def test_the_statistics_of_a_head():
    weights = np.array([[1, 0, 0, 0], [0.25] * 4, [0, 0, 0, 1.0]])
    script = f"""
    const frame = {{ source: ["a", "b", "c", "d"], target: ["e", "f", "g"] }};
    tell(statisticsOf(frame, {{ weights: Float64Array.from({weights.ravel().tolist()}) }}));
    """
    found = told_by(f"import {{ statisticsOf }} from '{STATIC}/data.js';", script)
    expected = {"entropy": 1 / 3, "peak": 2.25 / 3, "diagonal": 2.5 / 3, "first": 1.25 / 3, "last": 1.25 / 3}
    assert found == pytest.approx(expected)
