"""One connection with clocks of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.dmcp import connection as module
from gpu_engine.dmcp.connection import Connection
from gpu_engine.dmcp.gateway import Gateway, KeyFile
from gpu_engine.dmcp.motion import Motion
from gpu_engine.dmcp.room import Room
from gpu_engine.dmcp.token import Claims, SigningKey, jwk_set
from gpu_engine.motion.live import LiveMotion
from gpu_engine.motion.ring import MOTION_RECORD, RingReader
from gpu_engine.motion.vocabulary import rest_frame
from tests.dmcp.frames import WHOLE

pytestmark = pytest.mark.unit


class Clocks:
    """``time``, with a wall clock that can be stepped."""

    def __init__(self) -> None:
        self.mono_ns, self.wall_ns = 5_000_000_000_000, 1_800_000_000_000_000_000

    def pass_ms(self, ms: int) -> None:
        self.mono_ns += ms * 1_000_000
        self.wall_ns += ms * 1_000_000

    def time(self) -> float:
        return self.wall_ns / 1e9

    def time_ns(self) -> int:
        return self.wall_ns

    def monotonic(self) -> float:
        return self.mono_ns / 1e9

    def monotonic_ns(self) -> int:
        return self.mono_ns


@pytest.mark.parametrize("step_s", [-3_600, 3_600])
def test_a_step_of_the_wall_clock_is_not_taken_for_the_senders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: int
) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(jwk_set(SigningKey.generate())))
    runs = tmp_path / "runs"
    (runs / "ses_a").mkdir(parents=True)
    body = LiveMotion(runs / "ses_a")
    gateway = Gateway(runs, KeyFile(keys))
    clocks: Any = Clocks()
    monkeypatch.setattr(module, "time", clocks)
    driver = Connection(gateway)
    driver.claims = Claims("ses_a", "ten_a", "control", 0, 0, "n")
    driver.room = Room("ses_a", runs, gateway.limits)
    driver.room.take(driver, force=False)
    frames = RingReader(runs / "ses_a" / "dmcp-in.ring", MOTION_RECORD)
    sender_ms = 1_700_000_000_000
    driver._control(module.m.Ping(1, sender_ms))
    rest = rest_frame()

    clocks.wall_ns += step_s * 1_000_000_000
    for n in range(3):
        clocks.pass_ms(40)
        driver._motion(Motion(sender_ms + 40 * (n + 1), n, WHOLE, rest.weights, rest.joints), clocks.monotonic())

    written = frames.read().records
    assert len(written) == 3
    assert [int(a) - int(t) for a, t in zip(written["arrived_ns"], written["timestamp_ns"], strict=True)] == pytest.approx(
        [0, 0, 0], abs=1e6
    )
    del body
