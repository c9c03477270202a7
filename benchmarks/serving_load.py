"""Load a server of `seq2seq serve`: python -m benchmarks.serving_load [MODEL] [--clients 50] [--requests 20] [--kill]

Clients send sentences, lists, malformed JSON, texts of a megabyte and markup at the same time. Every request is to
have a clean answer: the translation, or a refusal as JSON. With --largest N, N more clients send the largest requests that
the server takes at the same time, again and again. Then the server is stopped by SIGTERM while it is under
load: requests that it has taken are answered or end as a closed connection, and no process stays. With --kill the
same by SIGKILL. After each a server on the same port has to answer again.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

SENTENCES = (
    "The red cat sees it.",
    "I don't see the cars.",
    "They buy a small house.",
    "The wild bears wait on Sundays.",
)
BAD = (
    (b'{"text": "I see', 422),
    (b"[1, 2]", 422),
    (b'{"text": 3}', 422),
    (b'{"text": "\\ud800"}', 422),
    (b'{"text": "I see it.", "beam_size": 1000}', 422),
    (b"\xff\xfe\x00", 400),
    (json.dumps({"text": "a" * 1_000_000}).encode(), 413),
    (json.dumps({"text": "word " * 20_000}).encode(), 422),
)


def start(model, port, log, *options, files=1024):
    """Start a server that writes into a file, for a pipe that nobody reads would stop it; return it when it answers."""
    command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "", sys.executable, "-m", "seq2seq", "serve"]
    command += [str(model), "--port", str(port), *options]
    with open(log, "w") as file:
        server = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
    end = time.monotonic() + 120
    while time.monotonic() < end and server.poll() is None:
        try:
            if ask(port, "GET", "/health")[0] == 200:
                return server
        except OSError:
            pass
        time.sleep(0.1)
    server.kill()
    raise AssertionError(f"no server after 120 s: {Path(log).read_text()}")


def ask(port, method, path, body=None, host="localhost"):
    """Send a request; return status and content."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json", "Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def client(port, number, requests, found, times):
    """Send requests, every fifth a wrong one; count and time the answers, and hold each against what was asked."""
    for turn in range(requests):
        place, started = number + turn, time.perf_counter()
        if turn % 5 == 4:
            body, expected = BAD[(number + turn // 5) % len(BAD)]
            try:
                status, content = ask(port, "POST", "/translate", body)
            except (BrokenPipeError, ConnectionResetError):  # refused before the megabyte was sent
                status, content = 413, b'{"detail": ""}'
            assert status == expected, (body[:40], status, content[:200])
            assert "detail" in json.loads(content)
            assert len(content) < 500
        elif turn % 5 == 3:
            markup = "<script>alert('1')</script> & \"the cat\""
            status, content = ask(port, "POST", "/translate", json.dumps({"text": markup}))
            assert status == 200
            assert len(json.loads(content)["translations"]) == 1
        else:
            texts = (
                [SENTENCES[place % 4], SENTENCES[(place + 1) % 4]] if turn % 5 == 2 else SENTENCES[place % 4]
            )
            body = {"text": texts, "beam_size": 1 + place % 3 * 2, "weights": turn % 5 == 1}
            status, content = ask(port, "POST", "/translate", json.dumps(body))
            assert status == 200, content[:200]
            answers = json.loads(content)["translations"]
            assert len(answers) == (2 if isinstance(texts, list) else 1)
            assert all(each["text"] for each in answers)
            assert ("attention" in answers[0]) == body["weights"]
        found[status] += 1
        times.append(time.perf_counter() - started)


def load(port, clients, requests, largest):
    """Have clients send requests at the same time; return counts by status, times of the answers, and seconds."""
    found, times, large, is_over = Counter(), [], Counter(), threading.Event()
    body = json.dumps({"text": [("word " * 400)[:2000]] * 64})

    def send_largest():
        while not is_over.is_set():
            large[ask(port, "POST", "/translate", body)[0]] += 1

    crowd = [threading.Thread(target=send_largest) for _ in range(largest)]
    for thread in crowd:
        thread.start()
    time.sleep(1 if crowd else 0)  # they are in the queue
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        for done in [pool.submit(client, port, number, requests, found, times) for number in range(clients)]:
            done.result()
    seconds = time.perf_counter() - started
    is_over.set()
    for thread in crowd:
        thread.join()
    return found, times, seconds, large


def stop_under_load(server, port, clients, number=signal.SIGTERM):
    """Stop a server while clients send requests; return counts of answers and closed connections."""
    found = Counter()

    def send():
        while True:
            try:
                status, content = ask(port, "POST", "/translate", json.dumps({"text": list(SENTENCES)}))
            except (OSError, HTTPException):
                found["closed"] += 1
                return
            json.loads(content)  # whole
            found[status] += 1

    threads = [threading.Thread(target=send) for _ in range(clients)]
    for each in threads:
        each.start()
    while found[200] < clients:
        time.sleep(0.01)
    os.killpg(server.pid, number) if number == signal.SIGINT else server.send_signal(number)  # as Ctrl-C does
    status = server.wait(timeout=60)
    for each in threads:
        each.join(timeout=60)
        assert not each.is_alive()
    return found, status


def alive(group, patience=10):
    """Return whether a process of a group is left after some seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


def main():
    """Load a server and print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", default="grammar-en-fr")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--port", type=int, default=8723)
    parser.add_argument("--largest", type=int, default=0, help="clients that send the largest requests")
    parser.add_argument("--kill", action="store_true", help="stop it by SIGKILL, too")
    options = parser.parse_args()
    log = tempfile.NamedTemporaryFile()
    server = start(options.model, options.port, log.name)
    try:
        ask(options.port, "POST", "/translate", json.dumps({"text": list(SENTENCES)}))
        found, times, seconds, large = load(options.port, options.clients, options.requests, options.largest)
        total = sum(found.values())
        print(
            f"{options.clients} clients, {total:,} requests in {seconds:.1f} s: {total / seconds:.0f} a second"
        )
        print("answers by status:", dict(sorted(found.items())))
        print(f"time of an answer: median {statistics.median(times):.2f} s, "
              f"95 of 100 within {statistics.quantiles(times, n=20)[-1]:.2f} s, longest {max(times):.2f} s")  # fmt: skip
        if options.largest:
            print("largest requests by status:", dict(large))
        body, started = json.dumps({"text": SENTENCES[0]}), time.perf_counter()
        for _ in range(50):
            ask(options.port, "POST", "/translate", body)
        print(f"one client: {(time.perf_counter() - started) / 50 * 1000:.0f} ms a request (beam 5)")
        for number in (signal.SIGTERM, signal.SIGKILL) if options.kill else (signal.SIGTERM,):
            found, status = stop_under_load(server, options.port, options.clients, number)
            left = alive(server.pid)
            print(f"{number.name} under load: exit status {status}, {dict(found)}, processes left: {left}")
            started = time.perf_counter()
            server = start(options.model, options.port, log.name)
            status, _ = ask(options.port, "POST", "/translate", body)
            print(f"started again: status {status} after {time.perf_counter() - started:.1f} s")
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
