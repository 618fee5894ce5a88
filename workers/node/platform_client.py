"""HTTP to the platform's node endpoints (``/nodes/v1``): the spec of a session, recordings up, usage when no socket is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from workers.contracts.node import Usage

_CHUNK_BYTES = 256 * 1024


class PlatformUnavailable(ConnectionError):
    """The platform does not answer, or not now; try again."""


class SpecRefused(PermissionError):
    """The platform will never give this spec to this node: the epoch is old, the session is over or belongs elsewhere."""


class UploadRefused(PermissionError):
    """The platform will never take this file."""


class PlatformClient:
    """One connection pool with the node's token."""

    def __init__(self, base_url: str, token: str, *, timeout_s: float = 10.0) -> None:
        self._http = httpx.AsyncClient(
            base_url=base_url.rstrip("/") + "/nodes/v1/", headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_s, trust_env=False,
        )  # fmt: skip

    async def spec(self, session: str, epoch: int) -> dict[str, Any]:
        """The engine's show file for (session, epoch).

        Raises:
            SpecRefused: 403, 404, 409 or 410. PlatformUnavailable: anything else.
        """
        try:
            response = await self._http.get(f"sessions/{session}/spec", params={"epoch": epoch})
        except httpx.HTTPError as error:
            raise PlatformUnavailable(f"GET spec of {session}: {type(error).__name__}: {error}") from error
        if response.status_code in (403, 404, 409, 410):
            raise SpecRefused(f"spec of {session} epoch {epoch}: {response.status_code} {response.text[:200]}")
        if response.status_code != 200:
            raise PlatformUnavailable(f"GET spec of {session}: {response.status_code}")
        spec: dict[str, Any] = response.json()
        return spec

    async def upload_recording(self, session: str, epoch: int, path: Path, *, duration_s: float) -> None:
        """Stream a finished recording up; memory stays at one chunk.

        Raises:
            UploadRefused: 4xx. PlatformUnavailable: anything else (also 401: a token can be renewed, a recording that is
                given up is lost), or the platform counted other bytes than we sent.
        """
        size = path.stat().st_size
        try:
            response = await self._http.put(
                f"sessions/{session}/recordings/{path.name}", params={"epoch": epoch, "duration_s": f"{duration_s:.3f}"},
                content=_chunks(path), headers={"Content-Type": "video/mp4", "Content-Length": str(size)},
                timeout=httpx.Timeout(30.0, read=120.0),
            )  # fmt: skip
        except httpx.HTTPError as error:
            raise PlatformUnavailable(f"PUT {path.name}: {type(error).__name__}: {error}") from error
        if 400 <= response.status_code < 500 and response.status_code not in (401, 408, 429):
            raise UploadRefused(f"{path.name}: {response.status_code} {response.text[:200]}")
        if response.status_code not in (200, 201):
            raise PlatformUnavailable(f"PUT {path.name}: {response.status_code}")
        if response.json().get("bytes") != size:
            raise PlatformUnavailable(f"PUT {path.name}: the platform stored {response.json().get('bytes')} of {size} bytes")

    async def post_usage(self, usage: Usage) -> int:
        """Deliver segments over HTTP; the highest sequence number now in the ledger.

        Raises:
            PlatformUnavailable: not delivered.
        """
        try:
            response = await self._http.post(
                "usage", content=msgspec.json.encode(usage), headers={"Content-Type": "application/json"}
            )
        except httpx.HTTPError as error:
            raise PlatformUnavailable(f"POST usage: {type(error).__name__}: {error}") from error
        if response.status_code != 200:
            raise PlatformUnavailable(f"POST usage: {response.status_code} {response.text[:200]}")
        return int(response.json()["seq"])

    async def close(self) -> None:
        """Close the pool."""
        await self._http.aclose()


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
            yield chunk
