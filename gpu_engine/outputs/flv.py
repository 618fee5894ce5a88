"""FLV tag bodies and files (Adobe Flash Video File Format 10.1, annex E), shared by RTMP and by the recorder's header.

RTMP messages of type 8 (audio), 9 (video) and 18 (data) carry FLV tag bodies unchanged.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from gpu_engine.session.packets import StreamInfo

AUDIO, VIDEO, DATA = 8, 9, 18
AmfValue = float | bool | str | None | Mapping[str, "AmfValue"]


def amf0(value: AmfValue) -> bytes:
    """One AMF0 value: number, boolean, string (long form over 65,535 bytes), null or object."""
    if value is None:
        return b"\x05"
    if isinstance(value, bool):
        return b"\x01" + bytes([value])
    if isinstance(value, int | float):
        return b"\x00" + struct.pack(">d", value)
    if isinstance(value, str):
        raw = value.encode()
        return b"\x02" + struct.pack(">H", len(raw)) + raw if len(raw) < 65_536 else b"\x0c" + struct.pack(">I", len(raw)) + raw
    return b"\x03" + _amf0_properties(value)


def amf0_array(values: Mapping[str, AmfValue]) -> bytes:
    """An AMF0 ECMA array, the form that metadata takes."""
    return b"\x08" + struct.pack(">I", len(values)) + _amf0_properties(values)


def _amf0_properties(values: Mapping[str, AmfValue]) -> bytes:
    body = b"".join(struct.pack(">H", len(key.encode())) + key.encode() + amf0(value) for key, value in values.items())
    return body + b"\x00\x00\x09"


class AmfError(ValueError):
    """Bytes that are not AMF0."""


def read_amf0(data: bytes) -> list[object]:
    """All AMF0 values in ``data``; objects and arrays become dicts, dates numbers.

    Raises:
        AmfError: truncated, nested over 16 levels, or a type that RTMP commands do not use.
    """
    values: list[object] = []
    at = 0
    while at < len(data):
        try:
            value, at = _read_value(data, at, 0)
        except (struct.error, IndexError) as error:
            raise AmfError(f"AMF0 value truncated at byte {at} of {len(data)}") from error
        values.append(value)
    return values


def _read_value(data: bytes, at: int, depth: int) -> tuple[object, int]:
    if depth > 16:
        raise AmfError("AMF0 value nested over 16 levels")
    kind, at = data[at], at + 1
    if kind == 0x00:
        return struct.unpack_from(">d", data, at)[0], at + 8
    if kind == 0x01:
        return bool(data[at]), at + 1
    if kind in (0x02, 0x0C):
        length, at = (
            (struct.unpack_from(">H", data, at)[0], at + 2) if kind == 0x02 else (struct.unpack_from(">I", data, at)[0], at + 4)
        )
        if at + length > len(data):
            raise IndexError
        return data[at : at + length].decode(errors="replace"), at + length
    if kind in (0x05, 0x06):
        return None, at
    if kind in (0x03, 0x08):
        at += 4 if kind == 0x08 else 0
        return _read_properties(data, at, depth)
    if kind == 0x0A:
        count, at = struct.unpack_from(">I", data, at)[0], at + 4
        items: list[object] = []
        for _ in range(count):
            item, at = _read_value(data, at, depth + 1)
            items.append(item)
        return items, at
    if kind == 0x0B:
        return struct.unpack_from(">d", data, at)[0], at + 10
    raise AmfError(f"AMF0 type 0x{kind:02x} is not one that RTMP commands use")


def _read_properties(data: bytes, at: int, depth: int) -> tuple[dict[str, object], int]:
    result: dict[str, object] = {}
    while True:
        length, at = struct.unpack_from(">H", data, at)[0], at + 2
        key, at = data[at : at + length].decode(errors="replace"), at + length
        if data[at] == 0x09:
            return result, at + 1
        result[key], at = _read_value(data, at, depth + 1)


def video_sequence_header(avc_configuration: bytes) -> bytes:
    """Body that carries an AVCDecoderConfigurationRecord."""
    return b"\x17\x00\x00\x00\x00" + avc_configuration


def video_body(avcc: bytes, *, key: bool) -> bytes:
    """Body of one AVC sample; composition time 0, for there are no B-frames."""
    return (b"\x17" if key else b"\x27") + b"\x01\x00\x00\x00" + avcc


def audio_sequence_header(aac_config: bytes) -> bytes:
    """Body that carries an AudioSpecificConfig. The rate and channel bits are fixed for AAC by the format."""
    return b"\xaf\x00" + aac_config


def audio_body(aac: bytes) -> bytes:
    """Body of one raw AAC access unit."""
    return b"\xaf\x01" + aac


def metadata(info: StreamInfo) -> dict[str, AmfValue]:
    """onMetaData of a stream, with the implicit AI-content label (GB 45438-2025 annex E) under the key ``AIGC``."""
    return {
        "width": float(info.width),
        "height": float(info.height),
        "framerate": float(info.fps),
        "videocodecid": 7.0,
        "videodatarate": float(info.bitrate_kbps),
        "audiocodecid": 10.0,
        "audiosamplerate": float(info.sample_rate_hz),
        "audiosamplesize": 16.0,
        "encoder": "Lumihost",
        "AIGC": info.aigc,
    }


def file_bytes(tags: Iterable[tuple[int, int, bytes]]) -> bytes:
    """A whole FLV file of (tag type, timestamp in ms, body)."""
    out = bytearray(b"FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00")
    for kind, time_ms, body in tags:
        header = struct.pack(">I", kind << 24 | len(body)) + struct.pack(">I", time_ms & 0xFFFFFF)[1:]
        header += bytes([time_ms >> 24 & 0xFF]) + b"\x00\x00\x00"
        out += header + body + struct.pack(">I", len(header) + len(body))
    return bytes(out)
