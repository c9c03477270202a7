"""The Attention tab in a browser: what is chosen, pointed at and compared is what shows."""

import base64
import json
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect
from torch.utils.tensorboard import SummaryWriter

from tensorboard_attention import add_attention, export_html, show
from tests.browser.conftest import (
    ARABIC,
    CHINESE,
    EFFECTS,
    HEADS_SOURCE,
    HEADS_TARGET,
    HOSTILE,
    LASTING,
    LAYERS,
    lasting_weights,
    tensorboard,
)

TAG = "attention/1/forced"  # the first that is no question


def tab_of(page):
    """The frame of the tab, once it shows something."""
    tab = page.frame_locator("iframe[src*='plugin_entry']")
    expect(tab.locator("figure svg").first).to_be_visible(timeout=30_000)
    return tab


@pytest.fixture
def open_tab(open_page, address):
    """Opens the tab in a state."""

    def open_in(colors="light", **state):
        link = "".join(f"&p.attention.{key}={value}" for key, value in state.items())
        page = open_page(f"{address}#attention{link}", color_scheme=colors)
        return page, tab_of(page)

    return open_in


def labels(tab, side, figure=0):
    texts = tab.locator("figure").nth(figure).locator(f"text[data-{side}]")
    return texts.all_text_contents()


def weights_of(view, place):
    frame = view["frames"][place]
    weights = np.frombuffer(base64.b64decode(frame["weights"]), "<u2") / 65535
    return weights.reshape(len(view["targets"][frame["target"]]), -1)


def shown_weights(tab):
    return [float(text) for text in tab.locator(".weights .number").all_text_contents()]


def shown_numbers(tab):
    texts = tab.locator(".weights .number").all_text_contents()
    return [float(text.replace("−", "-")) for text in texts]


def point_at(tab, side, number, figure=0):
    tab.locator("figure").nth(figure).locator(f"text[data-{side}='{number}']").hover()


def move_to_cell(page, tab, row, column, figure=0):
    """Point at a cell: level with the label of its row, above the bottom end of its column's."""
    pad = tab.locator("figure").nth(figure)
    y = pad.locator(f"text[data-row='{row}']").bounding_box()
    first = pad.locator(".cells").bounding_box()
    count = pad.locator("text[data-column]").count()
    x = first["x"] + (column + 0.5) * first["width"] / count
    page.mouse.move(x, y["y"] + y["height"] / 2)


def test_the_tab_shows_every_token_of_the_latest_step(open_tab, data):
    _, tab = open_tab(run="seed_1")
    view = data["seed_1", TAG]
    frame = view["frames"][-1]
    assert labels(tab, "column") == view["sources"][frame["source"]]
    assert labels(tab, "row") == view["targets"][frame["target"]]
    expect(tab.locator(".time:not(.beside) .step b")).to_have_text(f"step {frame['step']:,}")


def test_the_slider_replays_training(open_tab, data):
    page, tab = open_tab(run="seed_1")
    steps = [frame["step"] for frame in data["seed_1", TAG]["frames"]]
    slider = tab.locator(".time:not(.beside) input[type=range]")
    said = tab.locator(".time:not(.beside) .step b")
    last = tab.locator(".cells").first.inner_html()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 8, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, middle, steps=4)
    page.mouse.move(box["x"] + 4, middle, steps=4)
    page.mouse.up()
    expect(said).to_have_text(f"step {steps[0]:,}")
    assert tab.locator(".cells").first.inner_html() != last
    tab.locator(".play").click()
    expect(said).to_have_text(f"step {steps[-1]:,}", timeout=10_000)
    assert tab.locator(".cells").first.inner_html() == last


def test_steps_come_when_they_are_looked_at_and_no_answer_is_large(open_page, address):
    answers = []
    page = open_page("about:blank")
    page.on("response", lambda answer: "/view?" in answer.url and answers.append(answer))
    page.goto(f"{address}#attention&p.attention.run=lasting")
    tab = tab_of(page)
    said = tab.locator(".time:not(.beside) .step b")
    expect(said).to_have_text(f"step {LASTING - 1:,}")
    slider = tab.locator(".time:not(.beside) input[type=range]")
    for key, step in (("Home", 0), ("ArrowRight", 1), ("End", LASTING - 1)):
        slider.press(key)
        expect(said).to_have_text(f"step {step:,}")
        point_at(tab, "row", 5)
        np.testing.assert_allclose(shown_weights(tab), lasting_weights(step)[5], atol=5.1e-5)
    assert 2 <= len(answers) <= 6
    assert max(len(answer.body()) for answer in answers) < 1 << 24


def test_pointing_at_a_token_shows_its_exact_weights(open_tab, data):
    _, tab = open_tab(run="seed_1")
    expected = weights_of(data["seed_1", TAG], -1)
    point_at(tab, "row", 2)
    np.testing.assert_allclose(shown_weights(tab), expected[2], atol=5.1e-5)
    expect(tab.locator(".weights h3")).to_contain_text("attends to")
    point_at(tab, "column", 1)
    np.testing.assert_allclose(shown_weights(tab), expected[:, 1], atol=5.1e-5)
    expect(tab.locator(".weights h3")).to_contain_text("is attended to by")


def test_pointing_at_a_cell_shows_its_tokens_and_weight(open_tab, data):
    page, tab = open_tab(run="seed_1")
    view = data["seed_1", TAG]
    move_to_cell(page, tab, 1, 3)
    weight = weights_of(view, -1)[1, 3]
    text = f"{view['targets'][0][1]} → {view['sources'][0][3]}{weight:.4f}"
    expect(tab.locator(".tip").first).to_have_text(text)


def test_kind_sentence_and_run_are_chosen(open_tab, data):
    _, tab = open_tab()
    tab.get_by_label("run", exact=True).select_option("seed_2")
    tab.get_by_label("sentence", exact=True).select_option("attention/1")
    tab.get_by_role("radio", name="greedy").click()
    view = data["seed_2", "attention/1/greedy"]
    expect(tab.locator("figcaption")).to_contain_text("seed_2")
    expect(tab.locator("figcaption")).to_contain_text("attention/1, greedy")
    frame = view["frames"][-1]
    assert labels(tab, "row") == view["targets"][frame["target"]]
    bleu = tab.locator("td[data-figure=bleu]")
    expect(bleu).to_have_text(f"{frame['bleu']:.1f}")
    expect(tab.locator("td[data-figure=score]")).to_have_text(f"−{-frame['score']:.2f}")


def test_two_runs_side_by_side_with_their_difference(open_tab, data, screenshot):
    page, tab = open_tab(run="seed_1")
    tab.get_by_role("button", name="compare").click()
    tab.get_by_label("beside", exact=True).select_option("seed_2")
    expect(tab.locator("figure")).to_have_count(3)
    expect(tab.locator("figcaption b")).to_have_text(["A  seed_1", "B  seed_2", "A − B"])
    first, second = (weights_of(data[run, TAG], -1) for run in ("seed_1", "seed_2"))
    move_to_cell(page, tab, 2, 2, figure=2)
    difference = first[2, 2] - second[2, 2]
    sign = "+" if difference > 0 else ""
    number = f"{sign}{difference:.4f}".replace("-", "−")
    expect(tab.locator(".tip b").nth(2)).to_have_text(number)
    entropies = tab.locator("td[data-figure=entropy]").all_text_contents()
    expected = [
        np.mean([-(row * np.log(row.clip(1e-12))).sum() / np.log(len(row)) for row in weights])
        for weights in (first, second)
    ]
    np.testing.assert_allclose([float(text) for text in entropies], expected, atol=2e-3)
    screenshot(page, "viewing_two_runs")


def test_two_steps_of_one_run_side_by_side(open_tab, data):
    _, tab = open_tab(run="seed_1", compare="on")
    steps = [frame["step"] for frame in data["seed_1", TAG]["frames"]]
    said = tab.locator(".beside .step b")
    expect(said).to_have_text(f"step {steps[0]:,}")
    tab.locator(".beside input[type=range]").press("ArrowRight")
    expect(said).to_have_text(f"step {steps[1]:,}")
    expect(tab.locator("figure")).to_have_count(3)


def test_runs_with_other_tokens_have_no_difference_map_and_say_so(open_tab):
    _, tab = open_tab(run="seed_1", sentence="attention/0", compare="on", **{"with": "hostile"})
    expect(tab.locator("figure")).to_have_count(2)
    expect(tab.locator(".message")).to_contain_text("the tokens differ")


def test_ribbons_join_the_same_tokens(open_tab, data, screenshot):
    page, tab = open_tab(run="seed_1")
    tab.get_by_role("radio", name="ribbons").click()
    view = data["seed_1", TAG]
    assert labels(tab, "row") == view["targets"][0]
    ribbons = tab.locator(".ribbons path")
    assert ribbons.count() == (weights_of(view, -1) >= 0.01).sum()
    screenshot(page, "viewing_ribbons")
    point_at(tab, "row", 0)
    faint = tab.locator(".ribbons path[opacity='0.05']")
    assert 0 < faint.count() < ribbons.count()


def test_gold_links_lie_over_the_weights(open_tab, data):
    page, tab = open_tab(run="seed_1")
    links = data["seed_1", TAG]["alignments"][0]
    assert links
    rings = tab.locator(".gold rect")
    expect(rings).to_have_count(len(links))
    page.keyboard.press("g")  # the tab has no focus yet: nothing happens
    tab.locator("figcaption").click()
    page.keyboard.press("g")
    expect(rings).to_have_count(0)


def test_everything_is_reached_by_keys(open_tab, data):
    page, tab = open_tab(run="seed_1", sentence="attention/0")
    view = data["seed_1", "attention/0/forced"]
    caption = tab.locator("figcaption")
    caption.click()
    page.keyboard.press("n")
    expect(caption).to_contain_text("attention/1,")
    page.keyboard.press("p")
    page.keyboard.press("k")
    expect(caption).to_contain_text("attention/0, greedy")
    page.keyboard.press("k")
    page.keyboard.press(",")
    expect(caption).to_contain_text(f"step {view['frames'][-2]['step']:,}")
    tab.locator("aside").click()
    page.keyboard.press("ArrowLeft")
    expect(caption).to_contain_text(f"step {view['frames'][-3]['step']:,}")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("v")
    expect(tab.locator(".ribbons")).to_be_visible()
    page.keyboard.press("v")
    tab.locator(".stage").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    weight = weights_of(view, -2)[1, 1]
    expect(tab.locator(".voice")).to_contain_text(f": {weight:.4f}")
    page.keyboard.press("Escape")
    expect(tab.locator(".weights")).to_have_count(0)


def test_a_link_opens_the_same_view_again(open_tab, open_page, data):
    page, tab = open_tab(run="seed_1")
    tab.get_by_label("sentence", exact=True).select_option("attention/2")
    tab.get_by_role("radio", name="ribbons").click()
    tab.get_by_role("button", name="compare").click()
    tab.get_by_label("beside", exact=True).select_option("seed_2")
    expect(tab.locator("figure")).to_have_count(3)
    tab.locator(".time:not(.beside) input[type=range]").press("Home")
    first = data["seed_1", TAG]["frames"][0]["step"]  # steps are loaded when they are asked for
    expect(tab.locator("figcaption").nth(0)).to_contain_text(f"seed_1step {first},")
    expect(tab.locator("figcaption").nth(1)).to_contain_text(f"seed_2step {first},")
    captions = tab.locator("figcaption").all_text_contents()
    assert "#attention&p.attention.run=seed_1" in page.url
    again = tab_of(open_page(page.url))
    expect(again.locator("figcaption")).to_have_text(captions)
    expect(again.get_by_label("sentence", exact=True)).to_have_value("attention/2")
    expect(again.locator(".ribbons").first).to_be_visible()


def downloaded(page, tab, name, folder):
    tab.locator(".menu summary", has_text="export").click()
    with page.expect_download() as waiting:
        tab.get_by_role("button", name=name, exact=True).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_a_view_is_exported_as_picture_drawing_and_data(open_tab, data, tmp_path):
    page, tab = open_tab(run="seed_1")
    view = data["seed_1", TAG]
    png = downloaded(page, tab, "PNG", tmp_path).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 5_000
    svg = ElementTree.parse(downloaded(page, tab, "SVG", tmp_path)).getroot()
    texts = {element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {*view["sources"][0], *view["targets"][0], "seed_1"} <= texts
    exported = json.loads(downloaded(page, tab, "JSON", tmp_path).read_text("utf-8"))
    (shown,) = exported["views"]
    assert shown["step"] == view["frames"][-1]["step"]
    assert shown["target"] == view["targets"][0]
    np.testing.assert_allclose(shown["weights"], weights_of(view, -1), atol=1e-5)


def test_of_several_heads_one_is_chosen_by_pointer_and_keys(open_tab, tmp_path, screenshot):
    page, tab = open_tab(run="heads")
    maps, checked = tab.get_by_role("radiogroup", name="heads"), "[aria-checked=true]"
    heads = LAYERS["one layer"]

    def expect_shown(name, weights):
        expect(maps.locator(checked)).to_have_text(name)
        expect(tab.locator("figcaption")).to_contain_text(name)
        point_at(tab, "row", 3)
        np.testing.assert_allclose(shown_weights(tab), weights[3], atol=6e-5)

    expect(maps.get_by_role("radio")).to_have_text(["mean", *(f"head {n}" for n in range(1, 5))])
    expect_shown("mean", heads.mean(axis=0))
    maps.get_by_role("radio", name="head 3").click()
    expect_shown("head 3", heads[2])
    screenshot(page, "viewing_heads")
    page.keyboard.press("ArrowLeft")
    expect_shown("head 2", heads[1])
    page.keyboard.press("h")
    expect_shown("head 3", heads[2])
    expect(maps.locator(checked)).to_be_focused()
    exported = json.loads(downloaded(page, tab, "JSON", tmp_path).read_text("utf-8"))
    assert exported["views"][0]["map"] == "head 3"
    np.testing.assert_allclose(exported["views"][0]["weights"], heads[2], atol=1e-4)


def test_layers_are_rows_and_a_link_opens_the_head_again(open_tab, open_page):
    page, tab = open_tab(run="heads", sentence="two%20layers")
    rows = tab.locator(".rows > div")
    expect(rows).to_have_count(3)
    mean = rows.nth(0).get_by_role("radio")
    mean.focus()
    for key, name in (
        ("ArrowDown", "layer 1 mean"),
        ("ArrowRight", "layer 1 head 1"),
        ("ArrowRight", "layer 1 head 2"),
        ("ArrowDown", "layer 2 head 2"),
    ):
        page.keyboard.press(key)
        expect(tab.locator(".maps :focus")).to_have_attribute("aria-label", name)
    again = tab_of(open_page(page.url))
    expect(again.locator("figcaption")).to_contain_text("layer 2 head 2")
    point_at(again, "row", 2)
    np.testing.assert_allclose(shown_weights(again), LAYERS["two layers"][1][1][2], atol=6e-5)
    again.get_by_label("run", exact=True).select_option("seed_1")
    expect(again.locator(".maps")).to_be_hidden()


def test_hostile_tokens_are_text(open_tab, tmp_path):
    page, tab = open_tab(run="hostile")
    assert labels(tab, "row") == [text.replace(" ", "␣") for text in HOSTILE]
    assert tab.locator("b", has_text="bold").count() == 0
    assert tab.locator("main img, main script").count() == 0
    point_at(tab, "row", 1)
    expect(tab.locator(".weights h3 bdi")).to_have_text(HOSTILE[1].replace(" ", "␣"))
    drawing = ElementTree.parse(downloaded(page, tab, "SVG", tmp_path))
    names = {element.tag.rpartition("}")[2] for element in drawing.iter()}
    assert names <= {"svg", "rect", "g", "path", "text"}


def test_sixty_tokens_and_every_script_keep_their_cells(open_tab, screenshot):
    page, tab = open_tab(run="wide", sentence="long")
    assert len(labels(tab, "row")) == 60
    boxes = [tab.locator(f"text[data-row='{row}']").bounding_box()["y"] for row in (0, 1, 59)]
    cell = round(boxes[1] - boxes[0])
    assert boxes[2] - boxes[0] == pytest.approx(59 * cell, abs=0.5)
    screenshot(page, "viewing_sixty_tokens")
    tab.get_by_label("sentence", exact=True).select_option("scripts")
    expect(tab.locator("text[data-row='0']")).to_have_text(ARABIC[0])
    assert (labels(tab, "row"), labels(tab, "column")) == (ARABIC, CHINESE)
    point_at(tab, "row", 2)
    screenshot(page, "viewing_scripts")


def test_the_tab_is_dark_where_tensorboard_is(open_tab, screenshot):
    page, tab = open_tab(colors="dark", run="seed_1")
    expect(tab.locator(":root")).to_have_attribute("data-theme", "dark")
    point_at(tab, "row", 1)
    screenshot(page, "viewing_dark")


def test_what_training_adds_appears(open_page, tmp_path):
    with SummaryWriter(str(tmp_path / "growing")) as writer, tensorboard(tmp_path) as url:
        add_attention(writer, "s", [[0.5, 0.5]], ["a", "b"], ["c"], 1)
        writer.flush()
        page = open_page(f"{url}#attention")
        tab = tab_of(page)
        said = tab.locator(".step b").first
        expect(said).to_have_text("step 1")
        add_attention(writer, "s", [[0.9, 0.1]], ["a", "b"], ["c"], 2)
        writer.flush()
        expect(said).to_have_text("step 2", timeout=30_000)


def test_the_slow_loader_behind_a_path_prefix_shows_the_same(open_page, log_folder, data):
    with tensorboard(log_folder, "--load_fast=false", "--path_prefix=/some/where") as url:
        page = open_page(f"{url}#attention&p.attention.run=seed_1")
        tab = tab_of(page)
        expect(tab.locator("figcaption")).to_contain_text("seed_1")  # which may be read later
        assert labels(tab, "row") == data["seed_1", TAG]["targets"][0]


def test_a_folder_without_records_shows_what_to_do(open_page, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 1.0, 1)
    with tensorboard(tmp_path) as url:
        page = open_page(f"{url}data/plugin_entry.html?name=attention")
        expect(page.locator("h2")).to_contain_text("No attention has been recorded")
        expect(page.locator("pre")).to_contain_text("add_attention(writer")


def test_the_page_shows_the_same_from_disk(open_page, log_folder, data, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(export_html(log_folder), "utf-8")
    page = open_page(f"{path.as_uri()}#run=seed_1")
    expect(page.locator("figure svg")).to_be_visible()
    assert labels(page, "row") == data["seed_1", TAG]["targets"][0]
    page.get_by_label("run", exact=True).select_option("hostile")
    expect(page.locator("text[data-row='3']")).to_have_text(HOSTILE[3])
    assert downloaded(page, page, "PNG", tmp_path).read_bytes().startswith(b"\x89PNG")
    assert page.url.endswith("#run=hostile")


def test_without_tensorboards_page_the_address_can_be_loaded_again(open_page, address):
    page = open_page(f"{address}data/plugin_entry.html?name=attention")
    page.get_by_label("run", exact=True).select_option("heads")
    page.get_by_role("radio", name="head 2").click()
    page.locator("text[data-row='3']").click()
    expect(page.locator(".weights h3")).to_contain_text("attends to")
    for again in (page, open_page(page.url)):
        again.reload()
        expect(again.locator("figcaption")).to_contain_text("head 2")
        expect(again.locator(".weights h3")).to_contain_text(HEADS_TARGET[3])


def test_a_drawing_has_what_is_selected(open_tab, tmp_path):
    page, tab = open_tab(run="heads", at="2,1")
    drawing = downloaded(page, tab, "SVG", tmp_path)
    bold = [
        text.text for text in ElementTree.parse(drawing).getroot().iter() if text.get("font-weight") == "700"
    ]
    assert bold == [HEADS_TARGET[2], HEADS_SOURCE[1]]


def test_the_help_closes_by_escape_and_by_a_click_elsewhere(open_tab):
    page, tab = open_tab(run="seed_1")
    table = tab.locator(".keys table")
    for close in (lambda: page.keyboard.press("Escape"), lambda: tab.locator("figcaption").click()):
        tab.get_by_label("keys", exact=True).click()
        expect(table).to_be_visible()
        close()
        expect(table).to_be_hidden()


def test_effects_are_not_listed_beside_weights(open_page, tmp_path):
    words, weights = ["a", "b", "c"], np.eye(3) * 0.7 + 0.1
    add_attention(str(tmp_path), "x/0", np.full((3, 3), 1 / 3), words, words, 0)
    add_attention(str(tmp_path), "x/0", weights, words, words, 100, effect=np.eye(3) * 4 + 1)
    path = tmp_path / "page.html"
    path.write_text(export_html(str(tmp_path)), "utf-8")
    page = open_page(f"{path.as_uri()}#show=effect&compare=on&at=0,")
    expect(page.locator("figure svg").first).to_be_visible()
    listed = page.locator(".weights").inner_text()
    assert "5.0000" in listed
    assert "0.3333" not in listed


def test_one_sentence_has_no_control_that_does_nothing(open_page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(show(np.eye(2), ["a", "b"], ["c", "d"]).page, "utf-8")
    page = open_page(path.as_uri())
    expect(page.locator("figure svg")).to_be_visible()
    for label in ("run", "sentence"):
        expect(page.get_by_label(label, exact=True)).to_be_hidden()
    page.get_by_label("keys", exact=True).click()
    expect(page.locator(".keys tr:visible th")).to_have_text(["← → ↑ ↓", "v", "s", "Esc"])
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    assert "effect" not in page.url
    for name in ("gold", "compare", "replay"):
        expect(page.get_by_role("button", name=name)).to_be_hidden()


@pytest.mark.parametrize("width", [700, 1280, 1920])
def test_a_matrix_that_fits_has_no_scroll_bar_and_a_title_without_a_step(width, open_page, tmp_path):
    path = tmp_path / "page.html"
    words = ["saves", "the", "document", "and", "closes", "the", "window", ".", "<eos>"]
    for source, target in ((words, words), ([*"abcdefghijkl", "internationalization"], ["rechtsschutzversicherung"]),
                           ([*"abcdefgh"], [f"word{number}" for number in range(70)])):  # fmt: skip
        weights = np.full((len(target), len(source)), 1 / len(source))
        shown = show(weights, source, target, title="Attention of mine", kind="beam search")
        path.write_text(shown.page, "utf-8")
        page = open_page(path.as_uri())
        page.set_viewport_size({"width": width, "height": 800})
        page.reload()
        expect(page.locator("figcaption b")).to_have_text("Attention of mine")
        expect(page.locator("figcaption span")).to_have_text("Beam search")
        assert page.locator(".pad").evaluate("node => node.scrollWidth <= node.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_scale_is_chosen_and_its_legend_says_which(open_tab):
    page, tab = open_tab(run="heads")
    before = tab.locator(".cells").inner_html()
    tab.get_by_label("colors", exact=True).select_option("uniform")
    expect(tab.locator("figure svg")).to_contain_text("times the weight of an even row")
    assert tab.locator(".cells").inner_html() != before
    assert "scale=uniform" in page.url


def test_kinds_and_heads_stand_beside_each_other(open_tab):
    _, tab = open_tab(run="seed_1", compare="on", withKind="greedy")
    expect(tab.locator("figcaption").nth(1)).to_contain_text("greedy")
    _, tab = open_tab(run="heads", compare="on", map="head 1", withMap="head 3")
    expect(tab.locator("figure")).to_have_count(3)
    point_at(tab, "row", 3)
    numbers = np.reshape(shown_weights(tab), (-1, 2))
    heads = LAYERS["one layer"]
    np.testing.assert_allclose(numbers, np.stack([heads[0, 3], heads[2, 3]], axis=1), atol=6e-5)


def test_a_switch_shows_the_effect_and_the_address_keeps_it(open_tab, open_page, tmp_path):
    page, tab = open_tab(run="tested", compare="off")
    before = tab.locator(".cells").inner_html()
    tab.get_by_role("radio", name="effect").click()
    expect(tab.locator("figure svg")).to_contain_text("fall of log-probability")
    assert tab.locator(".cells").inner_html() != before
    for each in (tab, tab_of(open_page(page.url))):
        point_at(each, "row", 3)
        np.testing.assert_allclose(shown_numbers(each), 3 * EFFECTS[3], atol=1e-3)
    exported = json.loads(downloaded(page, tab, "JSON", tmp_path).read_text("utf-8"))
    np.testing.assert_allclose(exported["views"][0]["effect"], 3 * EFFECTS, atol=1e-3)
    tab.get_by_role("button", name="compare").click()
    expect(tab.locator("figure")).to_have_count(3)
    expect(tab.locator("figure").nth(2)).to_contain_text("difference of effects")
    tab.get_by_role("radio", name="head 2").click()
    expect(tab.locator("figcaption").first).to_contain_text("head 2")
    tab.get_by_label("run", exact=True).select_option("seed_1")
    expect(tab.get_by_role("radio", name="ribbons")).to_be_visible()


def test_a_step_without_effects_shows_weights_and_says_so(open_tab):
    _, tab = open_tab(run="heads", show="effect")
    expect(tab.locator(".message")).to_contain_text("no effects")
    point_at(tab, "row", 3)
    np.testing.assert_allclose(shown_weights(tab), LAYERS["one layer"].mean(axis=0)[3], atol=6e-5)
    _, tab = open_tab(run="tested", show="effect", step="1")
    point_at(tab, "row", 3)
    for number in tab.locator(".weights .number").all():  # "−1.6868", too
        assert number.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_an_alarm_lies_on_the_slider(open_tab):
    _, tab = open_tab(run="tested", step="1")
    alarm = tab.locator(".alarm")
    expect(alarm).to_have_count(1)
    expect(alarm).to_have_attribute("title", "step 2: it has not formed")
    track, dot = (each.bounding_box() for each in (tab.locator(".time:not(.beside) .above"), alarm))
    assert dot["x"] + dot["width"] / 2 == pytest.approx(track["x"] + track["width"] / 2, abs=2)
    expect(tab.locator(".message")).to_be_hidden()
    tab.locator(".time:not(.beside) input[type=range]").press("ArrowRight")
    expect(tab.locator(".message")).to_have_text("it has not formed")


def test_the_statistics_of_heads_are_sorted_and_choose_one(open_tab):
    _, tab = open_tab(run="heads")
    tab.get_by_text("statistics of the heads").click()
    table = tab.locator(".statistics table")
    table.get_by_role("button", name="peak weight").click()
    peaks = [float(text) for text in table.locator("tr td:nth-of-type(3)").all_text_contents()]
    assert peaks == sorted(peaks, reverse=True)
    table.get_by_role("button", name="head 2").click()
    expect(tab.locator("figcaption")).to_contain_text("head 2")


def test_twelve_layers_of_twelve_heads_fit_beside_the_matrix(open_tab, screenshot):
    page, tab = open_tab(run="layers", colors="dark", map="layer 3 head 4", at="3,")
    expect(tab.locator(".rows > div")).to_have_count(13)
    last = tab.get_by_role("radio", name="layer 12 head 12", exact=True).bounding_box()
    figure = tab.locator("figure svg").bounding_box()
    assert last["x"] + last["width"] < figure["x"]
    assert last["y"] + last["height"] <= 800
    screenshot(page, "viewing_layers")


def test_an_axis_without_labels_has_numbers(open_tab):
    _, tab = open_tab(run="frames")
    assert labels(tab, "column")[:3] == ["0", "5", "10"]
    assert labels(tab, "row") == list("abcd")
    expect(tab.locator(".sentence")).to_contain_text("150 positions")


def test_the_tab_itself(open_tab, screenshot):
    page, tab = open_tab(run="seed_1")
    point_at(tab, "row", 2)
    expect(tab.locator(".weights h3")).to_contain_text("attends to")
    first, last = (tab.locator(f".tools header {end}") for end in ("select >> nth=0", ".keys summary"))
    assert last.bounding_box()["y"] == pytest.approx(first.bounding_box()["y"], abs=2)
    screenshot(page, "viewing_pointing")
    tab.get_by_role("radio", name="effect").click()
    point_at(tab, "row", 2)
    expect(tab.locator(".weights h3")).to_contain_text("depends on")
    screenshot(page, "viewing_effect")


def named_heads(tokens):
    """Twelve layers of twelve heads of causal self-attention, four of which look at the token before."""
    size = len(tokens)
    weights = np.tril(np.random.default_rng(1).dirichlet(np.ones(size), (12, 12, size)))
    weights /= weights.sum(axis=-1, keepdims=True)
    for layer, head in ((0, 3), (2, 7), (5, 0), (11, 11)):
        weights[layer, head] = 0.1 * weights[layer, head] + 0.9 * np.eye(size, k=-1)
        weights[layer, head, 0] = np.eye(size)[0]
    return weights


@pytest.mark.parametrize("width", [1280, 390])
def test_heads_have_names_that_filter_their_table(width, open_page, tmp_path):
    tokens = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", *"abcdefghijklmnop"]
    add_attention(tmp_path / "run", "s", named_heads(tokens), tokens, tokens, 0, kind="self-attention")
    (tmp_path / "page.html").write_text(export_html(tmp_path / "run"), encoding="utf-8")
    page = open_page((tmp_path / "page.html").as_uri())  # where a token that runs is an error
    page.set_viewport_size({"width": width, "height": 800})
    page.reload()
    page.get_by_text("statistics of the heads").click()
    table = page.locator(".statistics table")
    expect(table.locator("tr")).to_have_count(1 + 1 + 12 + 144)
    page.get_by_label("show heads", exact=True).select_option("previous token")
    found = table.get_by_role("button", name="layer").all_text_contents()
    assert found == ["layer 1 head 4", "layer 3 head 8", "layer 6 head 1", "layer 12 head 12"]
    assert {*table.locator(".called span").all_text_contents()} == {"previous token"}
    table.get_by_role("button", name="layer 3 head 8").click()
    expect(page.locator("figcaption")).to_contain_text("layer 3 head 8")
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_names_of_heads_are_curves_over_the_steps(open_page, tmp_path):
    tokens = [*"abcdefghijklmnop", "<img src=x onerror=alert(1)>"]
    late = named_heads(tokens)
    early = np.broadcast_to(late[0, 0], late.shape)  # has no name
    steps = {0: early, 10: early, 20: late, 30: late}
    for step, weights in steps.items():
        add_attention(tmp_path / "run", "s", weights, tokens, tokens, step, kind="self-attention")
    with tensorboard(tmp_path) as address:  # which answers with one step at a time
        page = open_page(address)
        tab = tab_of(page)
        curves = tab.get_by_role("table", name="names over the steps")
        expect(curves.locator("tr")).to_have_count(0)
        tab.get_by_text("statistics of the heads").click()
        row = curves.get_by_role("row").filter(has_text="previous token")
        expect(row).to_contain_text("0 → 4 heads")
        points = [each.split(",") for each in row.locator("polyline").get_attribute("points").split()]
        heights = [float(y) for _, y in points]
        assert [float(x) for x, _ in points] == pytest.approx([0, 53.3, 106.7, 160], abs=0.1)
        assert heights[0] == heights[1] > heights[2] == heights[3]
