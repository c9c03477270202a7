"""A web server that behaves as badly as a test wants."""

from contextlib import suppress
from http.server import BaseHTTPRequestHandler


class Files(BaseHTTPRequestHandler):
    """Serves `server.content` of a path, as badly as `server.faults` say, one fault a request."""

    def do_GET(self):
        content = self.server.content.get(self.path)
        fault = self.server.faults.pop(0) if self.server.faults else ""
        self.server.requests.append((self.path, self.headers.get("Range")))
        if content is None or fault.isdigit():
            self.send_error(int(fault or 404))
            return
        start = 0 if fault == "no range" else self.start_of_range()
        if start and start >= len(content):
            self.send_error(416)
            return
        if fault == "no headers":
            self.drip(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if fault != "endless":
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.send_body(content[start:], fault)

    def start_of_range(self):
        return int((self.headers.get("Range") or "bytes=0-").split("=")[1].rstrip("-"))

    def send_body(self, body, fault):
        if fault == "wrong bytes":
            body = bytes(byte ^ 1 for byte in body)
        if fault in {"truncated", "slow"}:
            body = body[: len(body) // 2]
        if fault == "dripping":
            body = b""
        self.wfile.write(body)
        self.wfile.flush()
        if fault == "slow":
            self.server.released.wait(10)
        if fault in {"endless", "dripping"}:
            self.drip(b"x" * 100_000 if fault == "endless" else b"x")

    def drip(self, data):
        """Never end, as long as somebody reads."""
        with suppress(OSError):
            while not self.server.released.wait(0.001 if len(data) > 1000 else 0.05):
                self.wfile.write(data)

    def log_message(self, *arguments):
        pass
