import hashlib
import re
import socket

import pytest

from seq2seq.errors import InputError
from seq2seq.text.download import Checksum, Patience, download

CONTENT = bytes(range(256)) * 1000
MOST = 300_000
RIGHT = Checksum("sha256", hashlib.sha256(CONTENT).hexdigest(), MOST)
HASTY = Patience(attempts=3, pause=0.01, timeout=1)


@pytest.fixture
def fetch(file_server, tmp_path):
    file_server.content["/f.gz"] = CONTENT
    reports = []

    def call(*faults, checksum=RIGHT, path="/f.gz"):
        file_server.faults[:] = faults
        target = tmp_path / "f.gz"
        download(
            file_server.address + path,
            target,
            checksum,
            progress=lambda have, total: reports.append((have, total)),
            patience=HASTY,
        )
        return target.read_bytes()

    call.reports = reports
    return call


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_with_progress_and_nothing_beside_it(fetch, tmp_path):
    assert fetch() == CONTENT
    assert names(tmp_path) == ["f.gz"]
    assert fetch.reports[-1] == (len(CONTENT), len(CONTENT))
    assert [have for have, _ in fetch.reports] == sorted({have for have, _ in fetch.reports})


@pytest.mark.parametrize("fault", ["truncated", "slow"])
def test_what_ended_early_is_continued_where_it_ended(fetch, file_server, fault):
    assert fetch(fault) == CONTENT
    ranges = [header for _, header in file_server.requests]
    assert ranges[:2] == [None, f"bytes={len(CONTENT) // 2}-"]


def test_a_server_that_cannot_continue_sends_the_whole(fetch):
    assert fetch("truncated", "no range") == CONTENT


@pytest.mark.parametrize("code", ["503", "429", "500"])
def test_a_passing_trouble_of_the_server_is_waited_for(fetch, code):
    assert fetch(code, code) == CONTENT


def refusal(call, *arguments, **options):
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_trouble_that_does_not_pass_is_an_error_and_leaves_the_part_to_continue(fetch, tmp_path):
    message = refusal(fetch, "truncated", "503", "503")
    assert "cannot be fetched after 3 attempts (503 Service Unavailable): check the n" in message
    assert names(tmp_path) == [".f.gz.part"]
    assert fetch() == CONTENT
    assert names(tmp_path) == ["f.gz"]


def test_a_file_that_is_not_there_is_an_error_at_once(fetch, file_server, tmp_path):
    assert "/g.gz cannot be fetched (404 Not Found)" in refusal(fetch, path="/g.gz")
    assert len(file_server.requests) == 1
    assert names(tmp_path) == []


def test_wrong_bytes_are_an_error_that_names_file_and_both_sums(fetch, file_server, tmp_path):
    found = hashlib.sha256(bytes(byte ^ 1 for byte in CONTENT)).hexdigest()
    message = refusal(fetch, "wrong bytes")
    assert f"{file_server.address}/f.gz: its SHA256 is {found}, expected {RIGHT.digest}" in message
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "left", [b"not a beginning of it", CONTENT[::-1], CONTENT + b"more"], ids=len
)
def test_a_part_that_is_no_beginning_of_the_file_is_fetched_anew(fetch, tmp_path, left):
    (tmp_path / ".f.gz.part").write_bytes(left)
    assert fetch() == CONTENT
    assert names(tmp_path) == ["f.gz"]


def test_a_part_that_is_whole_is_taken_as_it_is(fetch, file_server, tmp_path):
    (tmp_path / ".f.gz.part").write_bytes(CONTENT)
    assert fetch() == CONTENT
    assert file_server.requests == [("/f.gz", f"bytes={len(CONTENT)}-")]


def test_an_endless_answer_is_read_no_further_than_the_file_can_be(fetch, tmp_path):
    assert "its SHA256 is" in refusal(fetch, "endless")
    assert MOST < fetch.reports[-1][0] < MOST + 200_000
    assert names(tmp_path) == []


@pytest.mark.parametrize("fault", ["dripping", "no headers"])
def test_an_answer_that_comes_too_slowly_is_given_up(fetch, monkeypatch, fault):
    monkeypatch.setattr("tests.text.test_download.HASTY", Patience(2, 0.01, 0.3))
    message = refusal(fetch, *[fault] * 2)
    assert "cannot be fetched after 2 attempts" in message


def test_a_part_that_is_longer_than_the_file_can_be_is_fetched_anew(fetch, file_server, tmp_path):
    with (tmp_path / ".f.gz.part").open("wb") as part:
        part.truncate(10**12)
    assert fetch() == CONTENT
    assert file_server.requests == [("/f.gz", None)]


def test_a_server_that_is_never_right_after_a_part_ends_in_an_error(fetch, tmp_path):
    (tmp_path / ".f.gz.part").write_bytes(b"wrong")
    assert "its SHA256 is" in refusal(fetch, "", "wrong bytes")
    assert names(tmp_path) == []


def test_a_user_who_interrupts_keeps_the_part(fetch, file_server, tmp_path):
    def interrupt(have, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(
            f"{file_server.address}/f.gz",
            tmp_path / "f.gz",
            RIGHT,
            progress=interrupt,
            patience=HASTY,
        )
    assert names(tmp_path) == [".f.gz.part"]
    assert fetch() == CONTENT


def test_a_server_that_is_not_there_is_named(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/f"
        message = refusal(
            download,
            address,
            tmp_path / "f",
            RIGHT,
            progress=lambda *_: None,
            patience=HASTY,
        )
    assert re.search(r"/f cannot be fetched after 3 attempts \(Connection refused\)", message)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://x/f", "train.en.gz"])
def test_only_the_web_is_fetched_from(address, tmp_path):
    message = refusal(
        download, address, tmp_path / "f", RIGHT, progress=lambda *_: None, patience=HASTY
    )
    assert message == f"{address} is no address to fetch from: give one that begins https://"


@pytest.mark.parametrize("name", [".f.gz.part", "f.gz"])
def test_a_file_is_fetched_through_no_link(fetch, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / name).symlink_to(elsewhere)
    assert fetch("truncated") == CONTENT
    assert elsewhere.read_text() == "mine"
