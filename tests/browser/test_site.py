"""The home page of the website translates without a network, and takes attention that is set by hand."""

import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from playwright.sync_api import expect

from scripts.write_pages import write_pages
from tests.browser.conftest import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("zensical", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("website")
    write_pages(folder / "build/pages")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    for part in ("src", "packages"):
        (folder / part).symlink_to(ROOT / part)
    subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=folder, check=True)
    return folder / "site"


@pytest.mark.parametrize("name", ["attention", "attention.zh", "score", "training"])
def test_the_viewers_of_a_notebook_are_shown(name, site, open_page):
    handler = partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = open_page(f"http://127.0.0.1:{server.server_port}/tutorials/{name}.html")
        viewers = page.locator(".cell-output iframe")
        assert viewers.count()
        for number in range(viewers.count()):
            viewers.nth(number).scroll_into_view_if_needed()
            shown = page.frame_locator(".cell-output iframe").nth(number)
            expect(shown.get_by_text("<eos>").first).to_be_visible()
        server.shutdown()


def test_the_home_page_translates_offline_with_attention_set_by_hand(site, open_page):
    assert all(page.stat().st_size < 8_000_000 for page in (site / "live").iterdir())
    handler = partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = open_page(f"http://127.0.0.1:{server.server_port}/index.html")
        page.locator("iframe.live").scroll_into_view_if_needed()
        live = page.frame_locator("iframe.live")
        french = live.locator(".said").text_content()
        page.get_by_role("link", name="German").click()
        expect(live.locator(".said")).not_to_have_text(french)
        before = live.locator(".said").text_content()
        server.shutdown()
    page.context.set_offline(True)
    line = live.get_by_label("sentence to translate")
    line.fill(f"{line.input_value()} {line.input_value()}")
    expect(live.locator(".said")).not_to_have_text(before)
    live.locator(".word").nth(1).click()
    live.get_by_role("button", name="uniform weights", exact=True).click()
    expect(live.locator("figcaption b").first).to_have_text("changed")
    shown = [float(text) for text in live.locator(".weights .number").all_text_contents()]
    np.testing.assert_allclose(shown, np.full(len(shown), 1 / len(shown)), atol=1e-3)
    expect(live.locator(".alone b")).not_to_be_empty()
