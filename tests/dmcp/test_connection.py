"""One connection with clocks of our own."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from gpu_engine.dmcp import connection as module
from gpu_engine.dmcp.connection import Connection
from gpu_engine.dmcp.gateway import Gateway, KeyFile
from gpu_engine.dmcp.limits import Limits
from gpu_engine.dmcp.messages import Ping
from gpu_engine.dmcp.motion import Motion
from gpu_engine.dmcp.room import Room
from gpu_engine.dmcp.token import Claims, SigningKey, jwk_set
from gpu_engine.motion.live import IN_RING, LiveMotion
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


def gateway_in(folder: Path, limits: Limits | None = None) -> Gateway:
    """A gateway that serves no socket, for the run directories in ``folder``."""
    keys = folder / "motion-keys.json"
    keys.write_text(json.dumps(jwk_set(SigningKey.generate())))
    return Gateway(folder, KeyFile(keys), limits)


@pytest.mark.parametrize("step_s", [-3_600, 3_600])
def test_a_step_of_the_wall_clock_is_not_taken_for_the_senders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: int
) -> None:
    (tmp_path / "ses_a").mkdir()
    body = LiveMotion(tmp_path / "ses_a")
    gateway = gateway_in(tmp_path)
    clocks: Any = Clocks()
    monkeypatch.setattr(module, "time", clocks)
    driver = Connection(gateway)
    driver.claims = Claims("ses_a", "ten_a", "control", 0, 0, "n")
    driver.room = Room("ses_a", tmp_path, gateway.limits)
    driver.room.take(driver, force=False)
    frames = RingReader(tmp_path / "ses_a" / IN_RING, MOTION_RECORD)
    sender_ms = 1_700_000_000_000
    driver._control(Ping(1, sender_ms))
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


def test_a_fault_of_ours_stands_in_the_log_without_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = gateway_in(tmp_path)

    def broken(token: str) -> Claims:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(gateway, "verify", broken)
    hello = b'{"type":"hello","token":"sec.re.t","sid":"ses_a","role":"watch","clock_ms":0}'
    with capture_logs() as logs, pytest.raises(RuntimeError):
        Connection(gateway)._take(True, hello)

    assert [(line["event"], line["log_level"]) for line in logs] == [("message not handled", "error")]
    assert "sec.re.t" not in str(logs)


@pytest.mark.parametrize("limits", [Limits(strangers=1), Limits(connections=1)])
def test_a_gateway_that_is_full_upgrades_nobody(tmp_path: Path, limits: Limits) -> None:
    gateway = gateway_in(tmp_path, limits)
    request = SimpleNamespace(path=b"/dmcp", headers={"Sec-WebSocket-Protocol": "dmcp.1.2"})

    assert int(gateway._on_request(request).response.status) == 101  # type: ignore[arg-type]
    gateway.arrived(Connection(gateway))
    refused = gateway._on_request(request).response  # type: ignore[arg-type]

    assert int(refused.status) == 503
    assert json.loads(refused.body)["code"] == 4010
