"""RTP packets of H.264 and Opus, made once for all viewers (RFC 3550, RFC 6184 packetisation mode 1, RFC 7587, RFC 4588)."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass

from gpu_engine.outputs.hub import AUDIO_CLOCK_HZ, VIDEO_CLOCK_HZ, AccessUnit

MAX_PAYLOAD_BYTES = 1_200
_STAP_A, _FU_A = 24, 28
_NTP_EPOCH_OFFSET_S = 2_208_988_800
_HEADER = struct.Struct(">BBHII")


def packetise_h264(nals: Iterable[bytes]) -> list[bytes]:
    """RTP payloads of one access unit: small NAL units aggregated (STAP-A), large ones cut into equal fragments (FU-A)."""
    payloads: list[bytes] = []
    group: list[bytes] = []
    group_bytes = 1
    for nal in nals:
        fits_group = group_bytes + 2 + len(nal) <= MAX_PAYLOAD_BYTES
        if group and not fits_group:
            payloads.append(_aggregate(group))
            group, group_bytes = [], 1
        if len(nal) + 3 > MAX_PAYLOAD_BYTES:
            payloads += [nal] if len(nal) <= MAX_PAYLOAD_BYTES else _fragment(nal)
        else:
            group.append(nal)
            group_bytes += 2 + len(nal)
    if group:
        payloads.append(_aggregate(group))
    return payloads


def _aggregate(nals: list[bytes]) -> bytes:
    if len(nals) == 1:
        return nals[0]
    importance = max(nal[0] & 0x60 for nal in nals)
    return bytes([importance | _STAP_A]) + b"".join(struct.pack(">H", len(nal)) + nal for nal in nals)


def _fragment(nal: bytes) -> list[bytes]:
    body = nal[1:]
    count = -(-len(body) // (MAX_PAYLOAD_BYTES - 2))
    # All of one size but the last, a little smaller: what segmentation offload can send in one call.
    size = -(-len(body) // count)
    indicator, kind = nal[0] & 0xE0 | _FU_A, nal[0] & 0x1F
    return [
        bytes([indicator, kind | (0x80 if at == 0 else 0) | (0x40 if at + size >= len(body) else 0)]) + body[at : at + size]
        for at in range(0, len(body), size)
    ]


def header(payload_type: int, *, marker: bool, sequence: int, timestamp: int, ssrc: int) -> bytes:
    """A 12-byte RTP header; sequence and timestamp wrap."""
    return _HEADER.pack(0x80, payload_type | (0x80 if marker else 0), sequence & 0xFFFF, timestamp & 0xFFFFFFFF, ssrc)


def retransmission(original: bytes, *, payload_type: int, sequence: int, ssrc: int) -> bytes:
    """An RTX packet (RFC 4588): the original's sequence number in front of its payload."""
    first, second, old_sequence, timestamp, _ = _HEADER.unpack_from(original)
    return (
        _HEADER.pack(first, (second & 0x80) | payload_type, sequence & 0xFFFF, timestamp, ssrc)
        + struct.pack(">H", old_sequence)
        + original[12:]
    )


@dataclass(frozen=True, slots=True)
class MediaInstant:
    """A point of the viewers' timeline, in the clocks of both tracks."""

    video_ticks: int
    audio_ticks: int
    ntp: int


class RtpTimeline:
    """One timeline for both tracks across restarts of the body, tied to wall time at one point.

    RTP timestamps go on by the wall time that passed when media time starts anew; the shift is whole milliseconds, so it is
    exact in both clocks. Sender reports of both tracks are computed from the one (NTP, media time) anchor (RFC 3550 §6.4.1).
    """

    def __init__(self) -> None:
        self._incarnation: int | None = None
        self._shift_ms = 0
        self._anchor_wall_ns = 0
        self._anchor_ms = 0
        self._anchor_unix_ns = 0

    def ticks(self, unit: AccessUnit) -> int:
        """The packet's time on this timeline, in its own clock (90 kHz pictures, 48 kHz sound), not wrapped."""
        if unit.info.incarnation != self._incarnation:
            self._start(unit)
        return unit.packet.pts + self._shift_ms * (90 if unit.is_video else 48)

    def ntp_of(self, ticks: int, clock_hz: int) -> int:
        """64-bit NTP time at which ``ticks`` of a track's clock is due."""
        since_anchor_ns = ticks * 1_000_000_000 // clock_hz - self._anchor_ms * 1_000_000
        unix_ns = self._anchor_unix_ns + since_anchor_ns
        seconds, rest_ns = divmod(unix_ns, 1_000_000_000)
        return (seconds + _NTP_EPOCH_OFFSET_S) << 32 | (rest_ns << 32) // 1_000_000_000

    def _start(self, unit: AccessUnit) -> None:
        first = self._incarnation is None
        self._incarnation = unit.info.incarnation
        if first:
            self._anchor_ms = unit.media_ms
            self._anchor_wall_ns = unit.packet.wall_ns
            self._anchor_unix_ns = time.time_ns() - (time.monotonic_ns() - unit.packet.wall_ns)
            return
        passed_ms = (unit.packet.wall_ns - self._anchor_wall_ns) // 1_000_000
        self._shift_ms = self._anchor_ms + passed_ms - unit.media_ms


def clock_hz(unit: AccessUnit) -> int:
    """The RTP clock of a packet's track."""
    return VIDEO_CLOCK_HZ if unit.is_video else AUDIO_CLOCK_HZ
