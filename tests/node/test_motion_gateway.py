"""The agent's motion gateway: a child with the platform's public keys, replaced when it dies, never in a show's way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gpu_engine.dmcp.client import DmcpClient, Refused
from gpu_engine.dmcp.token import SigningKey, jwk_set
from gpu_engine.motion.live import OUT_RING
from tests.dmcp.harness import eventually
from tests.fakes.fake_platform import FakePlatform, until
from tests.node.test_agent import agent_of, alive, assign, live
from workers.contracts.motion import GATEWAY_FACT
from workers.node.motion_gateway import host_and_port

pytestmark = pytest.mark.process

KEY = SigningKey.generate()


@pytest.fixture
async def platform() -> AsyncIterator[FakePlatform]:
    async with FakePlatform().running() as made:
        made.motion_keys = jwk_set(KEY)
        yield made


def token(session: str = "ses_a", key: SigningKey = KEY) -> str:
    return key.issue(session=session, tenant="ten_a", role="watch", life_s=60)[0]


def start_body(run_dir: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tests.fakes.fake_motion_body", str(run_dir)], stdout=subprocess.DEVNULL)


async def test_a_node_with_keys_serves_its_sessions_and_replaces_a_gateway_that_dies(
    tmp_path: Path, platform: FakePlatform
) -> None:
    root = tmp_path / "node"
    run_dir = root / "sessions" / "ses_a.1"
    body = start_body(run_dir)
    try:
        async with agent_of(root, platform, motion_listen="127.0.0.1:0") as agent:
            assert agent.gateway is not None
            gateway = agent.gateway
            url = platform.hellos[0].hardware[GATEWAY_FACT]
            await eventually(lambda: gateway.pid, "the gateway is started", 20)
            await eventually(lambda: (run_dir / OUT_RING).exists(), "the body has rings", 20)
            async with DmcpClient.connect(url, "ses_a", token(), role="watch") as watcher:
                assert (await watcher.next_motion()).weights.max() == pytest.approx(0.125, abs=1e-4)
            with pytest.raises(Refused, match="4004"):
                async with DmcpClient.connect(url, "ses_a", token(key=SigningKey.generate()), role="watch"):
                    pass

            first = gateway.pid
            os.kill(first, signal.SIGKILL)
            await eventually(lambda: gateway.pid not in (0, first), "another one takes its place", 20)
            # The agent holds the socket: who connects meanwhile waits and is not refused.
            async with DmcpClient.connect(url, "ses_a", token(), role="watch") as watcher:
                await watcher.next_motion()
            second = gateway.pid
        assert not alive(second)
    finally:
        body.kill()
        body.wait()
    assert '"d"' not in (root / "motion-keys.json").read_text()


async def test_shows_run_without_a_gateway_when_its_port_is_taken(tmp_path: Path, platform: FakePlatform) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        async with agent_of(tmp_path / "node", platform, motion_listen=listen) as agent:
            assert GATEWAY_FACT not in platform.hellos[0].hardware
            assign(platform, agent, "ses_a")
            await live(platform, "ses_a")


async def test_a_platform_without_keys_starts_none(tmp_path: Path, platform: FakePlatform) -> None:
    platform.motion_keys = {}
    async with agent_of(tmp_path / "node", platform, motion_listen="127.0.0.1:0") as agent:
        await until(lambda: bool(platform.hellos))
        assert agent.gateway is not None
        assert agent.gateway.pid == 0
        assert not (tmp_path / "node" / "motion-keys.json").exists()


@pytest.mark.parametrize("listen", ["8770", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000"])
def test_an_address_is_a_host_and_a_port(listen: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        host_and_port(listen)
    assert host_and_port("[::1]:0") == ("::1", 0)
