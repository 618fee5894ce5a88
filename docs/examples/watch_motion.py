"""Signs in to a Lumihost platform, asks for a motion token and watches the live show's host for ten seconds.

.venv/bin/python docs/examples/watch_motion.py http://127.0.0.1:8000 EMAIL PASSWORD
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

import httpx

from gpu_engine.dmcp.client import DmcpClient
from gpu_engine.motion.vocabulary import WEIGHT_INDEX


def motion_token(url: str, email: str, password: str) -> dict[str, str]:
    """What ``motion-token`` answers for the first live session of the first tenant."""
    api = httpx.Client(base_url=f"{url}/api/v1", timeout=20)
    api.headers["X-CSRFToken"] = api.get("/auth/session").json()["csrf_token"]
    api.post("/auth/login", json={"email": email, "password": password}).raise_for_status()
    signed_in = api.get("/auth/session").json()
    api.headers["X-CSRFToken"] = signed_in["csrf_token"]
    tenant = f"/tenants/{signed_in['memberships'][0]['tenant']['id']}"
    live = [s for s in api.get(f"{tenant}/sessions").json()["items"] if s["state"] == "live"]
    if not live:
        sys.exit("no session is live: start one in the console")
    answer = api.post(f"{tenant}/sessions/{live[0]['id']}/motion-token", json={"role": "watch"})
    answer.raise_for_status()
    return dict(answer.json())


async def watch(url: str, session: str, token: str) -> None:
    """Print how far the mouth is open, as it comes."""
    async with DmcpClient.connect(url, session, token) as host:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(10):
                async for motion in host:
                    print(f"{motion.ts_ms}  {'#' * round(40 * float(motion.weights[WEIGHT_INDEX['jawOpen']]))}")
        print(f"{host.reception.received} frames, {host.reception.lost} lost")


if __name__ == "__main__":
    given = motion_token(*sys.argv[1:4])
    asyncio.run(watch(given["url"], given["session"], given["token"]))
