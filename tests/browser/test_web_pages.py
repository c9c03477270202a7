"""Web pages of others: one that imports the module of `export js`, and one that calls `serve` from another origin."""

import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Error, expect

import seq2seq
from seq2seq.export.web import export_js

SENTENCE = "The young woman sees the cat."
CALL = """
async (address) => {
  const body = JSON.stringify({ text: "The young woman sees the cat." });
  const answer = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return (await answer.json()).translations[0].text;
}
"""


@contextmanager
def served(folder):
    """A web server of a folder; gives its address."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def wanted():
    (translation,) = seq2seq.load("grammar-en-fr").translate([SENTENCE], beam_size=5)
    return translation.text


def test_the_example_page_translates(chromium, tmp_path, wanted):
    export_js("grammar-en-fr", tmp_path)
    page = chromium.new_page()
    with served(tmp_path) as address:
        page.goto(f"{address}/example.html")
        page.locator("textarea").fill(SENTENCE)
        expect(page.locator("output")).to_have_text(wanted)
    page.close()


def test_a_page_of_an_allowed_origin_calls_the_server_and_no_other(chromium, tmp_path, wanted):
    (tmp_path / "index.html").write_text("<!doctype html>")
    with served(tmp_path) as own, served(tmp_path) as other:
        command = [sys.executable, "-m", "seq2seq", "serve", "grammar-en-fr", "--allow-origin", own]
        with subprocess.Popen([*command, "--port", "18432"], stdout=subprocess.PIPE, text=True) as server:
            try:
                address = f"{server.stdout.readline().split()[0]}/translate"
                page = chromium.new_page()
                page.goto(f"{own}/index.html")
                assert page.evaluate(CALL, address) == wanted
                page.goto(f"{other}/index.html")
                with pytest.raises(Error, match="Failed to fetch"):
                    page.evaluate(CALL, address)
                page.close()
            finally:
                server.terminate()
