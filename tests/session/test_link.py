"""The local links: framing, bounds, and a peer that goes away."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from gpu_engine.session.link import MAX_FRAME_BYTES, NonBlockingLink, socket_path

pytestmark = pytest.mark.unit


def pair(limit: int = 1024 * 1024) -> tuple[NonBlockingLink, NonBlockingLink]:
    left, right = socket.socketpair()
    return NonBlockingLink(left, max_queued_bytes=limit), NonBlockingLink(right, max_queued_bytes=limit)


def test_frames_arrive_whole_and_in_order_whatever_their_size() -> None:
    left, right = pair()
    sent = [b"", b"a", b"b" * 70_000, b"c" * 300_000]
    for frame in sent:
        assert left.send(frame)
    received: list[bytes] = []
    while len(received) < len(sent):
        list(left.pump())
        received += right.pump()
    assert received == sent
    assert left.queued_bytes == 0


def test_a_peer_that_does_not_read_fills_the_queue_and_then_send_refuses() -> None:
    left, _right = pair(limit=100_000)
    accepted = 0
    for _ in range(1000):
        list(left.pump())
        if not left.send(b"x" * 10_000):
            break
        accepted += 1
    assert 0 < accepted < 1000
    assert left.queued_bytes <= 100_000


def test_a_closed_peer_closes_the_link() -> None:
    left, right = pair()
    right.close()
    list(left.pump())
    assert left.closed
    assert not left.send(b"x")


def test_an_absurd_length_closes_the_link() -> None:
    left_sock, right_sock = socket.socketpair()
    right = NonBlockingLink(right_sock, max_queued_bytes=1000)
    left_sock.sendall((MAX_FRAME_BYTES + 1).to_bytes(4, "big"))
    assert list(right.pump()) == []
    assert right.closed


def test_a_long_directory_still_gives_a_usable_socket_address(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(socket_path(deep / "a.sock"))
    server.listen(1)
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(socket_path(deep / "a.sock"))
    assert (deep / "a.sock").exists()
    client.close()
    server.close()


def test_a_long_directory_that_was_made_anew_is_found_and_descriptors_stay_few(tmp_path: Path) -> None:
    def bind_in(directory: Path) -> None:
        directory.mkdir()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind(socket_path(directory / "a.sock"))
        assert (directory / "a.sock").exists()

    deep = tmp_path / ("d" * 120)
    bind_in(deep)
    deep.rename(tmp_path / "old")
    bind_in(deep)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(200):
        bind_in(tmp_path / f"{number:0120}")

    assert len(os.listdir("/proc/self/fd")) - before <= 64
