"""H.264 byte formats: Annex B access units split into NAL units, AVCC samples, the decoder configuration record."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

NAL_IDR = 5
NAL_SPS = 7
NAL_PPS = 8
NAL_AUD = 9
_START_CODE = b"\x00\x00\x01"


class ParameterSets(NamedTuple):
    """The first SPS and PPS of an access unit, without start codes."""

    sps: bytes
    pps: bytes


def split_nals(annexb: bytes) -> list[bytes]:
    """NAL units of an Annex B access unit (ITU-T H.264 Annex B), without start codes, in order."""
    nals: list[bytes] = []
    start = annexb.find(_START_CODE)
    while start != -1:
        start += 3
        following = annexb.find(_START_CODE, start)
        end = len(annexb) if following == -1 else following
        # Zero bytes before a start code belong to the byte stream, never to the NAL unit, which ends in a stop bit.
        nal = annexb[start:end].rstrip(b"\x00") if following != -1 else annexb[start:end]
        if nal:
            nals.append(nal)
        start = following
    return nals


def parameter_sets(nals: Iterable[bytes]) -> ParameterSets | None:
    """SPS and PPS among these NAL units, or ``None`` unless both are there."""
    sps = pps = b""
    for nal in nals:
        kind = nal[0] & 0x1F
        if kind == NAL_SPS and not sps:
            sps = nal
        elif kind == NAL_PPS and not pps:
            pps = nal
    return ParameterSets(sps, pps) if len(sps) >= 4 and pps else None


def to_avcc(nals: Iterable[bytes]) -> bytes:
    """An AVC sample (ISO/IEC 14496-15): each NAL unit behind its 4-byte length; parameter sets and delimiters left out."""
    return b"".join(struct.pack(">I", len(nal)) + nal for nal in nals if nal[0] & 0x1F not in (NAL_SPS, NAL_PPS, NAL_AUD))


def decoder_configuration(sets: ParameterSets) -> bytes:
    """AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3.1) with 4-byte lengths, one SPS and one PPS."""
    sps, pps = sets
    return (
        bytes([1, sps[1], sps[2], sps[3], 0xFF, 0xE1])
        + struct.pack(">H", len(sps))
        + sps
        + b"\x01"
        + struct.pack(">H", len(pps))
        + pps
    )
