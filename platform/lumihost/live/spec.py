"""From a session's rows to the engine's show file (the shape of gpu_engine.session.spec.SessionSpec, as plain values)."""

from __future__ import annotations

import logging
import zlib
from typing import Any

from lumihost.config import env
from lumihost.core import crypto
from lumihost.core.addresses import AddressRefused, check_resolved
from lumihost.knowledge.selectors import engine_knowledge
from lumihost.live.models import Destination, LiveSession

log = logging.getLogger(__name__)

CURSOR_KEYS = ("loop", "segment_index", "line_index", "sentence_index")


def stream_key_place(destination: Destination) -> crypto.Place:
    """Where a destination's stream key is stored; part of what its encryption authenticates."""
    return crypto.Place(destination.tenant_id, "live_destination", "stream_key_encrypted", destination.pk)


def build(session: LiveSession) -> dict[str, Any]:
    """Everything the engine needs for the session's current epoch, stream keys in clear. Runs in the tenant's scope.

    ``outputs[].path`` of the recording is a bare name: the node decides where it lies. A segment whose product has been
    deleted goes on without its card rather than keeping the show from starting.
    """
    show = session.show
    knowledge = engine_knowledge(session.tenant)
    known = {product["id"] for product in knowledge["products"]}
    return {
        "session_id": session.pk,
        "tenant_id": session.tenant_id,
        "epoch": session.epoch,
        "seed": zlib.crc32(session.pk.encode()),
        "lang": show.language,
        "avatar": show.avatar,
        "backdrop": show.backdrop,
        "voice": {"zh": show.voice_zh, "en": show.voice_en, "speed": show.speed},
        "knowledge": knowledge,
        "show": {
            "id": show.pk,
            "title": show.title,
            "segments": [_segment(segment, known) for segment in show.segments],
            "loop": show.loop,
        },
        "cursor": _cursor(session),
        "outputs": _outputs(session),
        "feeds": _feeds(session),
        "producer": {"content_producer": "Lumihost", "produce_id": session.pk},
    }


def _segment(segment: dict[str, Any], known: set[str]) -> dict[str, Any]:
    if segment.get("product_id") in known or segment.get("product_id") is None:
        return segment
    return {**segment, "product_id": None}


def _cursor(session: LiveSession) -> dict[str, int]:
    stored = session.cursor or {}
    return {key: int(stored.get(key, 0)) for key in CURSOR_KEYS}


def _outputs(session: LiveSession) -> list[dict[str, Any]]:
    addresses = env.words("LUMIHOST_WEBRTC_ADDRESSES", ("127.0.0.1",))
    outputs: list[dict[str, Any]] = [{"kind": "webrtc", "id": "webrtc", "host_addresses": addresses}]
    if session.record:
        outputs.append({"kind": "recording", "id": "recording", "path": "recording.mp4"})
    if session.channel is not None:
        for destination in session.channel.destinations.filter(enabled=True):
            if not _may_connect(session, destination.url):
                continue
            outputs.append({"kind": "rtmp", "id": destination.pk, "url": _push_url(destination)})
    return outputs


def _push_url(destination: Destination) -> str:
    if not destination.stream_key_encrypted:
        return destination.url
    key = crypto.decrypt(destination.stream_key_encrypted, stream_key_place(destination))
    return f"{destination.url.rstrip('/')}/{key}"


def _feeds(session: LiveSession) -> list[dict[str, Any]]:
    if session.channel is None:
        return []
    sources = session.channel.sources.filter(enabled=True)
    return [{"kind": "websocket", "id": s.pk, "url": s.url} for s in sources if _may_connect(session, s.url)]


def _may_connect(session: LiveSession, url: str) -> bool:
    """Asked at every start, because a name may point elsewhere than when it was entered. The rest of the show goes on."""
    try:
        check_resolved(url)
    except AddressRefused as refusal:
        log.error("session %s starts without an address of its channel: %s", session.pk, refusal)
        return False
    return True
