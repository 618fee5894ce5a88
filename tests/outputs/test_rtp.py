"""RTP payloads and timelines: against aiortc's depacketiser, through every wrap, and between both tracks."""

from __future__ import annotations

import random

import pytest
from aiortc.codecs import h264_depayload
from aiortc.rtp import RtpPacket, unwrap_rtx
from hypothesis import given
from hypothesis import strategies as st

from gpu_engine.outputs import h264, rtp
from gpu_engine.outputs.hub import AUDIO_CLOCK_HZ, VIDEO_CLOCK_HZ, AccessUnit
from gpu_engine.session.packets import Media, Packet, StreamInfo
from tests.fakes.fake_body import Encoders

pytestmark = pytest.mark.unit

INFO = StreamInfo(1, 320, 180, 25, 400, 48_000, b"\x11\x88", "{}")
SECOND_NS = 1_000_000_000


def nal(kind: int, size: int) -> bytes:
    """A NAL unit without start codes inside."""
    return bytes([0x60 | kind]) + bytes([0xAB]) * (size - 1)


@given(st.lists(st.tuples(st.sampled_from([1, 5, 6, 7, 8]), st.integers(2, 6_000)), min_size=1, max_size=12))
def test_any_access_unit_comes_out_of_a_depacketiser_as_it_went_in(shapes: list[tuple[int, int]]) -> None:
    # Given NAL units of any sizes, When they are packetised, Then no payload is too large for a datagram,
    nals = [nal(kind, size) for kind, size in shapes]
    payloads = rtp.packetise_h264(nals)
    assert max(map(len, payloads)) <= rtp.MAX_PAYLOAD_BYTES
    # And an independent depacketiser gives the same units back.
    annexb = b"".join(h264_depayload(payload) for payload in payloads)
    assert h264.split_nals(annexb) == nals


def test_real_key_frame_round_trips() -> None:
    # Given a real encoder's key frame, Then its parameter sets and slices survive.
    key = Encoders(noise=True, bitrate_kbps=3000).tick(force_key=True, wall_ns=0)[0]
    nals = h264.split_nals(key.data)
    assert h264.split_nals(b"".join(h264_depayload(p) for p in rtp.packetise_h264(nals))) == nals
    assert h264.parameter_sets(nals) is not None


def test_fragments_are_of_equal_size() -> None:
    # Given a large slice, Then its fragments are equal but for the last, which is no tiny rest.
    sizes = [len(payload) for payload in rtp.packetise_h264([nal(5, 10_000)])]
    assert len(set(sizes[:-1])) == 1
    assert 0 <= sizes[0] - sizes[-1] < len(sizes)


def test_headers_and_retransmissions_are_read_by_an_independent_parser() -> None:
    # Given a packet past the sequence and timestamp limits.
    head = rtp.header(102, marker=True, sequence=65_536 + 5, timestamp=2**32 + 9, ssrc=0xDEADBEEF)
    packet = RtpPacket.parse(head + b"payload")
    assert (packet.sequence_number, packet.timestamp, packet.ssrc, packet.marker) == (5, 9, 0xDEADBEEF, 1)
    # When it is sent again, Then RTX carries it whole.
    again = rtp.retransmission(head + b"payload", payload_type=103, sequence=70_000, ssrc=7)
    repeated = RtpPacket.parse(again)
    assert (repeated.payload_type, repeated.sequence_number, repeated.ssrc) == (103, 70_000 - 65_536, 7)
    original = unwrap_rtx(repeated, payload_type=102, ssrc=0xDEADBEEF)
    assert (original.sequence_number, original.payload, original.timestamp) == (5, b"payload", 9)


def unit(media: Media, media_s: float, *, wall_s: float = 0.0, info: StreamInfo = INFO) -> AccessUnit:
    """A packet at a media time, due at a wall time."""
    hz = VIDEO_CLOCK_HZ if media is Media.H264 else AUDIO_CLOCK_HZ
    return AccessUnit(info, Packet(media, round(media_s * hz), True, round(wall_s * SECOND_NS), b""))


def test_sender_reports_of_both_tracks_agree_at_every_instant_of_a_day() -> None:
    # Given a timeline anchored by a picture.
    timeline = rtp.RtpTimeline()
    timeline.ticks(unit(Media.H264, 1.0, wall_s=50.0))
    source = random.Random(5)
    for _ in range(1_000):
        # When a picture and a sound of the same media time are reported, Then their NTP times differ by under a microsecond.
        media_s = round(source.uniform(1, 90_000), 2)
        pictures, sounds = timeline.ticks(unit(Media.H264, media_s)), timeline.ticks(unit(Media.OPUS, media_s))
        difference = timeline.ntp_of(pictures, VIDEO_CLOCK_HZ) - timeline.ntp_of(sounds, AUDIO_CLOCK_HZ)
        assert abs(difference) < 2**32 / 1e6


def test_a_new_body_continues_both_tracks_by_the_wall_time_that_passed() -> None:
    # Given 10 s of the first body.
    timeline = rtp.RtpTimeline()
    first = timeline.ticks(unit(Media.H264, 1.0, wall_s=100.0))
    last = timeline.ticks(unit(Media.H264, 11.0, wall_s=110.0))
    # When another starts 3 s later with its own media time.
    second = StreamInfo(2, 320, 180, 25, 400, 48_000, b"", "{}")
    pictures = timeline.ticks(unit(Media.H264, 1.0, wall_s=113.0, info=second))
    sounds = timeline.ticks(unit(Media.OPUS, 1.0, wall_s=113.0, info=second))
    # Then the viewers' clock shows 3 s more, in both tracks.
    assert (last - first, pictures - last) == (10 * VIDEO_CLOCK_HZ, 3 * VIDEO_CLOCK_HZ)
    assert sounds * VIDEO_CLOCK_HZ == pictures * AUDIO_CLOCK_HZ
