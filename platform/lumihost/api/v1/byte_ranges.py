"""Serving a file or a part of it (RFC 9110 §14) without holding it in memory."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

CHUNK_BYTES = 256 * 1024
MAX_OPEN_RANGE_BYTES = 4 * 1024 * 1024
"""An open range ('bytes=N-', what players send) is answered with at most this much, and players ask for the next part: the web
server does not wait for slow readers, so a whole recording would pile up in its memory."""

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


class UnsatisfiableRange(ValueError):
    """The range lies outside the file."""


def parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """First and last byte (both included) that ``header`` asks for; None for the whole file.

    What we do not serve (several ranges, other units, nonsense) is ignored, as the standard allows.

    Raises:
        UnsatisfiableRange: a well-formed range outside the file.
    """
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None or match.groups() == ("", ""):
        return None
    first_text, last_text = match.groups()
    if not first_text:
        length = min(int(last_text), size)
        if length == 0:
            raise UnsatisfiableRange(header)
        return size - length, size - 1
    first = int(first_text)
    last = int(last_text) if last_text else first + MAX_OPEN_RANGE_BYTES - 1
    if last_text and last < first:
        return None
    if first >= size:
        raise UnsatisfiableRange(header)
    return first, min(last, size - 1)


def file_response(path: Path, content_type: str, range_header: str | None, name: str) -> HttpResponseBase:
    """200 with the file, 206 with a part of it, or 416."""
    size = path.stat().st_size
    try:
        part = parse_range(range_header, size)
    except UnsatisfiableRange:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}", "Accept-Ranges": "bytes"})
    first, last = part or (0, size - 1)
    response = StreamingHttpResponse(
        _chunks(path, first, last - first + 1), status=206 if part else 200, content_type=content_type
    )
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Content-Length"] = str(last - first + 1)
    response.headers["Cache-Control"] = "private, no-transform"
    response.headers["Content-Disposition"] = f'inline; filename="{name}"'
    if part:
        response.headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return response


async def _chunks(path: Path, first: int, length: int) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        file.seek(first)
        while length > 0:
            chunk = await asyncio.to_thread(file.read, min(CHUNK_BYTES, length))
            if not chunk:
                return
            length -= len(chunk)
            yield chunk
