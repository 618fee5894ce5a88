"""The web server's memory: it grows neither with a slow download nor with an upload, and large bodies are refused."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lumihost.web.daphne_server import MAX_BODY_BYTES
from tests.fakes import bulk_app

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]
MB = 1_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[int, psutil.Process]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "lumihost.web.daphne_server",
        "-b",
        "127.0.0.1",
        "-p",
        str(port),
        "tests.fakes.bulk_app:application",
    ]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'platform'}"}
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield port, psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()


def test_a_slow_download_waits_in_the_application_not_in_memory(server: tuple[int, psutil.Process]) -> None:
    port, process = server
    before = process.memory_info().rss
    with socket.create_connection(("127.0.0.1", port), 10) as link:
        link.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received, most = len(link.recv(65_536)), 0
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline:
            most = max(most, process.memory_info().rss)
            time.sleep(0.05)
        while piece := link.recv(1_048_576):
            received += len(piece)
            most = max(most, process.memory_info().rss)
    assert most - before < 40 * MB
    assert received >= bulk_app.PIECES * len(bulk_app.PIECE)


def test_an_upload_passes_through_without_staying(server: tuple[int, psutil.Process]) -> None:
    port, process = server
    before, most, pieces = process.memory_info().rss, 0, 200
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    client.putrequest("PUT", "/nodes/v1/sessions/s/recordings/r.mp4")
    client.putheader("Content-Length", str(pieces * MB))
    client.endheaders()
    for _ in range(pieces):
        client.send(b"y" * MB)
        most = max(most, process.memory_info().rss)
    assert client.getresponse().read() == str(pieces * MB).encode()
    most = max(most, process.memory_info().rss)
    assert most - before < 40 * MB


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_over_the_limit_is_refused(server: tuple[int, psutil.Process], announced: bool) -> None:
    port, _ = server
    size = MAX_BODY_BYTES + 1
    length = f"Content-Length: {size}" if announced else "Transfer-Encoding: chunked"
    with socket.create_connection(("127.0.0.1", port), 10) as link:
        link.sendall(f"POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n".encode())
        if not announced:
            with contextlib.suppress(OSError):
                link.sendall(f"{size:x}\r\n".encode() + b"z" * size + b"\r\n0\r\n\r\n")
        assert link.recv(1024).startswith(b"HTTP/1.1 413 ")


def test_a_body_within_the_limit_arrives_whole(server: tuple[int, psutil.Process]) -> None:
    port, _ = server
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for size in (0, 1, 262_144, 1_000_003):
        client.request("POST", "/api/", body=b"z" * size)
        assert client.getresponse().read() == str(size).encode()
