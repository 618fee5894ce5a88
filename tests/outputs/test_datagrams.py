"""Batches of datagrams through a real socket pair."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_engine.outputs.datagrams import DatagramBatch, runs

pytestmark = pytest.mark.unit


@given(st.lists(st.integers(1, 1_300), max_size=150))
def test_runs_keep_order_and_the_rules_of_segmentation(sizes: list[int]) -> None:
    # Given packets of any sizes, Then runs hold them in order, equal in size but for a smaller last one, within limits.
    packets = [bytes([n % 256]) * size for n, size in enumerate(sizes)]
    found = list(runs(packets))
    assert [packet for run in found for packet in run] == packets
    for run in found:
        assert len({len(packet) for packet in run[:-1]}) <= 1
        assert len(run[-1]) <= len(run[0])
        assert len(run) <= 60
        assert sum(map(len, run)) <= 60_000


@pytest.mark.parametrize("can_segment", [True, False])
def test_a_batch_arrives_as_the_datagrams_it_was_made_of(can_segment: bool) -> None:
    # Given two sockets on loopback, and a kernel with or without segmentation.
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
    ):
        for one in (sender, receiver):
            one.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        batch = DatagramBatch(sender.fileno(), receiver.getsockname())
        batch._can_segment = can_segment
        packets = [bytes([n]) * size for n, size in enumerate([1200] * 8 + [700, 90, 1200, 1200, 5])]
        # When a batch is sent, Then each packet arrives by itself, in order, from the transport's own port.
        assert batch.send(packets) is True
        received = [receiver.recvfrom(2048) for _ in packets]
        assert [data for data, _ in received] == packets
        assert {address for _, address in received} == {sender.getsockname()}
        batch.close()
        # And closing the batch leaves the transport's socket open.
        sender.sendto(b"still here", receiver.getsockname())
        assert receiver.recv(100) == b"still here"
