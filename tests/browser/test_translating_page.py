"""The page that translates, in a browser: what is typed and asked is what Python answers."""

import numpy as np
import pytest
from playwright.sync_api import expect

from seq2seq.decoding.search import search_from_options
from seq2seq.tensorboard.translating_page import export_page
from tests.browser.conftest import HOSTILE
from tests.translating import rounded

FIRST = "The young woman doesn't like the red cars."
SENTENCES = (FIRST, "Is it as big as the house?", "I see the cat.", HOSTILE[0])
BEAM = search_from_options(beam=5, length_penalty="average")


@pytest.fixture(scope="module")
def folder(trained):
    return trained / "seed_1"


@pytest.fixture(scope="module")
def translator(folder):
    return rounded(folder)


@pytest.fixture(scope="module")
def address(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(export_page(folder, FIRST), "utf-8")
    return path.as_uri()


def words_of(page):
    return page.locator(".word bdi").all_text_contents()


def labels(page, side):
    return page.locator("figure").first.locator(f"text[data-{side}]").all_text_contents()


def shown_weights(page):
    return [float(text) for text in page.locator(".weights .number").all_text_contents()]


def choose(page, place):
    word = page.locator(".word").nth(place)
    if word.get_attribute("aria-pressed") == "false":
        word.click()


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
        for name, search in (("greedy", search_from_options(beam=1)), ("beam", BEAM)):
            page.get_by_role("radio", name=name).click()
            [expected] = translator.translate([sentence], search=search)
            assert_shows(page, expected)
            choose(page, 1)
            np.testing.assert_allclose(shown_weights(page), expected.weights[1], atol=1e-3)
    line.fill("")
    expect(page.locator("figure")).to_have_count(0)
    assert words_of(page) == []


def test_hostile_words_stay_text_and_the_link_keeps_them(open_page, address):
    page = open_page(address)
    page.get_by_label("sentence to translate").fill(f"{HOSTILE[1]} the cat")
    expect(page.locator(".asks .message")).to_contain_text("The model does not know")
    assert page.locator("img").count() == 0
    again = open_page(page.url)
    expect(again.get_by_label("sentence to translate")).to_have_value(f"{HOSTILE[1]} the cat")


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
