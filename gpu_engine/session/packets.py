"""The wire between body and outlet: encoded access units one way, requests the other."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Media(StrEnum):
    """Kinds of encoded packet the body makes, one of each for all outputs."""

    H264 = "h264"
    OPUS = "opus"
    AAC = "aac"


class StreamInfo(msgspec.Struct, frozen=True, tag="info"):
    """First message on every connection. ``incarnation`` counts starts of the body; media time starts at 1 s in each."""

    incarnation: int
    width: int
    height: int
    fps: int
    bitrate_kbps: int
    sample_rate_hz: int
    aac_config: bytes
    aigc: str


class Packet(msgspec.Struct, frozen=True, tag="packet"):
    """One access unit.

    ``pts`` counts 90 kHz ticks for H.264 (Annex B, SPS/PPS before each key frame, no B-frames so dts = pts) and 48 kHz
    samples for Opus (20 ms, mono or stereo) and AAC (raw access unit, no ADTS, 1,024 samples). Both clocks are zero at
    the same instant. ``wall_ns`` is time.monotonic_ns() when the frame was due.
    """

    media: Media
    pts: int
    key: bool
    wall_ns: int
    data: bytes


class EndOfStream(msgspec.Struct, frozen=True, tag="eos"):
    """The body stops on purpose: finish files, close connections politely."""

    reason: str


BodyPacket = StreamInfo | Packet | EndOfStream


class KeyframeRequest(msgspec.Struct, frozen=True, tag="keyframe"):
    """A receiver needs a key frame; the body answers at most once a second."""

    reason: str


OutletMessage = KeyframeRequest
