"""The page that translates, in a browser: what is typed and asked is what Python answers."""

import numpy as np
import pytest
from playwright.sync_api import expect

from seq2seq.data.text import SentencePair
from seq2seq.decoding.search import search_from_options
from seq2seq.export.translating_page import export_page
from seq2seq.models.folder import SavedModel, save_model_folder
from seq2seq.models.limits import LengthLimits
from tests.browser.conftest import HOSTILE, tensorboard
from tests.browser.test_viewer import labels, shown_weights
from tests.export.translating import rounded, steps_of
from tests.small import model_of, tokenizers_of

FIRST = "The young woman doesn't like the red cars."
SENTENCES = (FIRST, "Is it as big as the house?", "I see the cat.", HOSTILE[0])
BEAM = search_from_options(beam_size=5, length_penalty="average")


@pytest.fixture(scope="module")
def folder(trained):
    return trained / "seed_1"


@pytest.fixture(scope="module")
def content(folder):
    return export_page(folder, FIRST)


@pytest.fixture(scope="module")
def translator(folder, content):
    return rounded(folder, content)


@pytest.fixture(scope="module")
def address(content, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(content, "utf-8")
    return path.as_uri()


def words_of(page):
    return page.locator(".word bdi").all_text_contents()


def choose(page, place):
    """Have a word chosen; its place. A model that has hardly been trained may say few."""
    place = min(place, page.locator(".word").count() - 1)
    word = page.locator(".word").nth(place)
    if word.get_attribute("aria-pressed") == "false":
        word.click()
    return place


def scroll_to(part):
    """Have a part of the page below the controls, which stay where they are."""
    part.evaluate("part => scrollBy(0, part.getBoundingClientRect().top - 80)")


def assert_shows(page, expected):
    expect(page.locator(".said")).to_have_text(expected.text)
    assert words_of(page) == list(expected.target_tokens)
    assert labels(page, "row") == list(expected.target_tokens)
    assert labels(page, "column") == list(expected.source_tokens)


def test_what_is_typed_is_translated_with_its_attention(open_page, address, translator):
    page = open_page(address)
    line = page.get_by_label("sentence to translate")
    expect(line).to_have_value(FIRST)
    for sentence in SENTENCES:
        line.fill(sentence)
        for name, search in (("greedy", search_from_options(beam_size=1)), ("beam", BEAM)):
            page.get_by_role("radio", name=name).click()
            [expected] = translator.translate([sentence], search=search)
            assert_shows(page, expected)
            choose(page, 1)
            np.testing.assert_allclose(shown_weights(page), expected.weights[1], atol=1e-3)
    line.fill("")
    expect(page.locator("figure")).to_have_count(0)
    assert words_of(page) == []


def test_several_sentences_are_translated_one_by_one_and_one_of_them_is_asked(open_page, address, translator):
    page, texts = open_page(address), SENTENCES[:3]
    page.get_by_label("sentence to translate").fill(f"{texts[0]} {texts[1]}\n\n{texts[2]}")
    expected = translator.translate(texts, search=search_from_options(beam_size=1))
    said = page.locator(".said")
    expect(said.locator("span")).to_have_text([each.text for each in expected])
    assert said.text_content() == f"{expected[0].text} {expected[1].text}\n\n{expected[2].text}"
    said.locator("span").nth(1).click()
    expect(page.locator(".word bdi")).to_have_text(list(expected[1].target_tokens))
    choose(page, 0)
    page.locator(".likely button").nth(1).click()
    expect(page.locator(".alone b")).to_have_text(expected[1].text)
    assert said.locator("span").nth(1).text_content() != expected[1].text
    expect(said.locator("span").nth(2)).to_have_text(expected[2].text)


def test_hostile_words_stay_text_and_the_link_keeps_them(open_page, address):
    page = open_page(address)
    page.get_by_label("sentence to translate").fill(f"{HOSTILE[1]} the cat")
    expect(page.locator(".asks .message")).to_contain_text("Unknown to the model")
    assert page.locator("img").count() == 0
    again = open_page(page.url)
    expect(again.get_by_label("sentence to translate")).to_have_value(f"{HOSTILE[1]} the cat")


def test_text_of_arabic_runs_from_right_to_left(open_page, tmp_path):
    pairs = [SentencePair("החתול ישן.", "القطة تنام."), SentencePair("הכלב רץ.", "الكلب يركض.")]
    tokenizers = tokenizers_of(pairs, ("he", "ar"))
    sizes = (each.vocab_size for each in tokenizers)
    model = model_of(**dict(zip(("source_vocab_size", "target_vocab_size"), sizes, strict=True)))
    model.decoder.output.bias.data[:4] -= 9  # of the special tokens
    save_model_folder(tmp_path / "model", SavedModel(model.float(), *tokenizers, LengthLimits()))
    (tmp_path / "page.html").write_text(export_page(tmp_path / "model", pairs[0].source), "utf-8")
    page = open_page((tmp_path / "page.html").as_uri())
    expect(page.locator(".word").first).to_be_visible()
    for part in (".sides textarea", ".said", ".words"):
        assert page.locator(part).evaluate("part => getComputedStyle(part).direction") == "rtl", part


def test_nothing_can_be_asked_of_anybody_and_no_text_becomes_code(chromium, address):
    page = chromium.new_page()  # which may complain
    page.goto(address)
    refused = page.evaluate(
        "async () => Promise.all([fetch('https://example.org/').catch(() => 'no request'),"
        "new Promise((done) => setTimeout(() => {"
        "try { done(new Function('return 1')()) } catch { done('no code') } }))])"
    )
    assert refused == ["no request", "no code"]
    page.close()


def numbers_of(text):
    return [float(part) for part in text.replace("\N{MINUS SIGN}", "-").split()]


def likely(page):
    """What the panel says could come: tokens with their probabilities."""
    words = page.locator(".likely button bdi").all_text_contents()
    numbers = page.locator(".likely .number").all_text_contents()
    return words, numbers_of(" ".join(numbers))


def assert_likely(page, step, tokens):
    order = np.argsort(-step["log_probabilities"], kind="stable")[:10]
    words, probabilities = likely(page)
    np.testing.assert_allclose(probabilities, np.exp(step["log_probabilities"][order]), atol=1e-3)
    assert words[0] == tokens[order[0]]


def test_weights_that_are_set_change_what_is_said_as_in_python(open_page, address, translator, screenshot):
    page = open_page(address)
    [alone] = translator.translate([FIRST], beam_size=1)
    tokens, length = translator._target_tokenizer.vocabulary, len(alone.source_tokens)
    prefix = translator._target_tokenizer.ids(alone.target_tokens[:2])
    choose(page, 2)
    place = 7
    erased = np.where(np.arange(length) == place, 0, alone.weights[2].double().numpy())
    buttons = {
        f"attend only to this: {alone.source_tokens[place]}": np.eye(length)[place],
        f"do not attend to this: {alone.source_tokens[place]}": erased / erased.sum(),
        "uniform weights": np.full(length, 1 / length),
    }
    for name, weights in buttons.items():
        original = page.get_by_role("button", name="original weights")
        if original.is_enabled():
            original.click()
        page.get_by_role("button", name=name, exact=True).click()
        given = {2: weights.astype(np.float32).tolist()}
        steps = steps_of(translator, FIRST, prefix, given, count=60)
        expect(page.locator("figcaption b").first).to_have_text("changed")
        assert_likely(page, steps[2], tokens)
        assert words_of(page)[:60] == [tokens[step["token"]] for step in steps]
        np.testing.assert_allclose(shown_weights(page), weights, atol=1e-3)
        expect(page.locator(".alone b")).to_have_text(alone.text)
    screenshot(page, "viewing_page")
    page.get_by_role("button", name="start again").click()
    assert_shows(page, alone)
    slider = page.get_by_label(f"weight of {alone.source_tokens[place]}", exact=True)
    slider.press("End")
    steps = steps_of(translator, FIRST, prefix, {2: np.eye(length, dtype="f")[place]}, count=60)
    assert_likely(page, steps[2], tokens)


@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_a_word_that_is_set_is_kept_and_the_rest_goes_on(open_page, address, translator, kind):
    page = open_page(address)
    page.get_by_role("radio", name=kind).click()
    search = BEAM if kind == "beam" else search_from_options(beam_size=1)
    [alone] = translator.translate([FIRST], search=search)
    choose(page, 1)
    other = likely(page)[0][3]
    page.locator(".likely button").nth(3).click()
    expect(page.locator(".word.set bdi")).to_have_text(other)
    start = translator._target_tokenizer.text([alone.target_tokens[0], other])
    [expected] = translator.translate([FIRST], search=search, prefixes=[start])
    assert_shows(page, expected)
    page.get_by_label("another word").fill("Le")
    page.keyboard.press("Enter")
    start = translator._target_tokenizer.text([alone.target_tokens[0], "Le"])
    [expected] = translator.translate([FIRST], search=search, prefixes=[start])
    assert_shows(page, expected)
    page.get_by_label("another word").fill(HOSTILE[1])
    page.keyboard.press("Enter")
    expect(page.locator(".asks .message")).to_contain_text("Not in the vocabulary")


def test_a_step_under_the_glass_is_the_decoder_number_by_number(open_page, address, translator, screenshot):
    page = open_page(address)
    place = choose(page, 3)
    page.get_by_text("Details of the decoder step").click()
    step = steps_of(translator, FIRST)[place]
    names = {"reset": "reset gate", "update": "update gate"}
    for name in ("query", "context", "reset", "update", "candidate", "state", "features"):
        line = page.locator(f"details[data-vector='{names.get(name, name)}']")
        line.locator("summary").click()
        expect(line.locator(".numbers")).not_to_be_empty()
        np.testing.assert_allclose(numbers_of(line.locator(".numbers").text_content()), step[name], atol=1e-3)
    table = [numbers_of(row) for row in page.locator(".steps-of tr td:nth-child(2)").all_text_contents()]
    np.testing.assert_allclose(np.ravel(table), step["scores"], atol=1e-3)
    table = [numbers_of(row) for row in page.locator(".steps-of tr td:nth-child(5)").all_text_contents()]
    np.testing.assert_allclose(np.ravel(table), step["weights"], atol=1e-3)
    shut = page.locator("details[data-vector][open] summary")
    while shut.count():
        shut.first.click()
    scroll_to(page.locator("details.more").first)
    screenshot(page, "viewing_glass")


def test_the_tree_shows_every_step_of_the_beam(open_page, address, translator, screenshot):
    page = open_page(address)
    page.get_by_role("radio", name="beam").click()
    choose(page, 3)
    page.get_by_text("Search tree").click()
    [best] = translator.translate([FIRST], search=BEAM)
    path = page.locator(".tree .node[data-best]")
    expect(path).to_have_count(len(best.target_tokens) + 1)
    last = path.last.locator("title").text_content()
    assert f"log-probability \N{MINUS SIGN}{-best.score:.4f}" in last
    rank = best.score / len(best.target_tokens)
    assert f"divided by the length penalty \N{MINUS SIGN}{-rank:.4f}" in last
    assert page.locator(".tree .node.ended").count() >= 1
    scroll_to(page.locator("details.more").last)
    screenshot(page, "viewing_tree")


def test_everything_is_asked_by_keys_on_a_phone_in_the_dark(open_page, address):
    page = open_page(address, color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(":root")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("sentence to translate").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".panel")).to_be_visible()
    expect(page.locator(".word").nth(1)).to_have_attribute("aria-pressed", "true")
    page.locator(".likely button").nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".word.set")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".word").nth(1).focus()
    page.keyboard.press("Escape")
    expect(page.locator(".panel")).to_be_hidden()


def test_in_the_tab_the_model_of_a_run_translates_what_is_typed(trained, open_page):
    with tensorboard(trained) as url:
        page = open_page(f"{url}#attention&p.attention.run=seed_2")
        tab = page.frame_locator("iframe[src*='plugin_entry']")
        expect(tab.locator("figure svg").first).to_be_visible(timeout=30_000)
        recorded, before = labels(tab, "row"), page.url
        line = tab.get_by_label("sentence for the model of this run")
        line.fill(SENTENCES[1])
        line.press("Enter")
        translator = rounded(trained / "seed_2", export_page(trained / "seed_2", ""))
        [expected] = translator.translate([SENTENCES[1]])
        own = tab.frame_locator("iframe")
        expect(own.locator(".said")).to_have_text(expected.text, timeout=60_000)
        assert words_of(own) == labels(own, "row") == list(expected.target_tokens)
        choose(own, 1)
        np.testing.assert_allclose(shown_weights(own), expected.weights[1], atol=1e-3)
        own.get_by_label("sentence to translate").fill(SENTENCES[2])
        [expected] = translator.translate([SENTENCES[2]])
        expect(own.locator(".said")).to_have_text(expected.text)
        assert page.url == before
        tab.get_by_role("button", name="back to the records").click()
        expect(tab.locator("iframe")).to_have_count(0)
        assert labels(tab, "row") == recorded
