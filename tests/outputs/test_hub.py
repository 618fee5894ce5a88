"""The hub: key frames, bounds, and who loses what."""

from __future__ import annotations

import asyncio

import pytest

from gpu_engine.outputs.hub import AccessUnit, media_ms
from gpu_engine.session.packets import Media, Packet, StreamInfo
from tests.outputs.harness import Notes

pytestmark = pytest.mark.unit

INFO = StreamInfo(1, 320, 180, 25, 400, 48_000, b"\x11\x88", "{}")


def picture(n: int, *, key: bool = False, size: int = 100, info: StreamInfo = INFO) -> AccessUnit:
    """Frame ``n`` of a stream at 25 fps that starts at 1 s."""
    return AccessUnit(info, Packet(Media.H264, 90_000 + n * 3_600, key, 0, b"v" * size))


def sound(n: int, media: Media = Media.AAC) -> AccessUnit:
    """Audio packet beside frame ``n``."""
    return AccessUnit(INFO, Packet(media, 48_000 + n * 1_920, True, 0, b"a"))


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def test_a_sink_starts_on_a_key_frame_and_gets_only_the_media_it_wants() -> None:
    # Given a sink that joins between key frames.
    notes = Notes()
    hub = notes.hub(Clock())
    queue = hub.subscribe("s", (Media.H264, Media.AAC))
    # When packets pass, the third picture being a key frame.
    units = [picture(0), sound(0), picture(1), picture(2, key=True), sound(2), sound(2, Media.OPUS), picture(3)]
    for unit in units:
        hub.publish(unit)
    hub.end()
    # Then it gets the key frame and what follows of its media, then the end; one key frame was asked for.
    assert await queue.get_batch() == [units[3], units[4], units[6]]
    assert await queue.get() is None
    assert notes.keyframe_requests == ["s starts"]


async def test_a_slow_sink_drops_to_the_next_key_frame_and_others_lose_nothing() -> None:
    # Given two sinks of one second each, of which one takes nothing.
    notes = Notes()
    hub = notes.hub(Clock())
    slow = hub.subscribe("slow", (Media.H264,), limit_ms=1_000)
    quick = hub.subscribe("quick", (Media.H264,), limit_ms=1_000)
    # When 40 frames pass with a key frame each 15.
    taken = []
    for n in range(40):
        hub.publish(picture(n, key=n % 15 == 0))
        taken += await quick.get_batch()
    # Then the slow one lost frames 0 to 26 at once, and starts again at the key frame 30.
    assert notes.drops == [("slow", 27)]
    assert slow.dropped == 27
    assert (await slow.get_batch())[0] == picture(30, key=True)
    assert taken == [picture(n, key=n % 15 == 0) for n in range(40)]
    assert quick.dropped == 0


async def test_bytes_are_bounded_too() -> None:
    # Given a sink of 1,000 bytes, When 1,100 bytes wait, Then they are dropped.
    notes = Notes()
    hub = notes.hub(Clock())
    hub.subscribe("s", (Media.H264,), limit_bytes=1_000)
    for n in range(11):
        hub.publish(picture(n, key=n == 0))
    assert notes.drops == [("s", 11)]


async def test_key_frames_are_asked_for_once_a_second_and_a_wish_is_not_forgotten() -> None:
    # Given a hub that has just asked for a key frame.
    clock, notes = Clock(), Notes()
    hub = notes.hub(clock)
    hub.request_keyframe("first")
    # When more wishes come within the second, Then none goes out,
    for _ in range(5):
        clock.now_s += 0.1
        hub.request_keyframe("more")
        hub.publish(picture(1))
    assert notes.keyframe_requests == ["first"]
    # But one does as soon as the second is over, and no more.
    clock.now_s += 0.6
    hub.publish(picture(2))
    hub.publish(picture(3))
    assert notes.keyframe_requests == ["first", "more"]
    # A key frame that comes meanwhile grants the wish.
    hub.request_keyframe("again")
    hub.publish(picture(4, key=True))
    clock.now_s += 5
    hub.publish(picture(5))
    assert notes.keyframe_requests == ["first", "more"]


async def test_a_new_body_is_asked_at_once_by_sinks_that_wait() -> None:
    # Given a sink whose request went to a body that then died.
    notes = Notes()
    hub = notes.hub(Clock())
    hub.subscribe("s", (Media.H264,))
    assert notes.keyframe_requests == ["s starts"]
    # When a body connects in the same second, Then it is asked anew.
    hub.body_connected(INFO)
    assert notes.keyframe_requests == ["s starts", "outlet connected"]


async def test_after_a_broken_link_a_sink_goes_on_at_a_key_frame() -> None:
    # Given a sink in mid-stream whose link to the body breaks.
    hub = Notes().hub(Clock())
    queue = hub.subscribe("s", (Media.H264,))
    hub.publish(picture(0, key=True))
    # When the same body is connected again and pictures have been missed.
    hub.body_connected(INFO)
    for unit in (picture(10), picture(11, key=True)):
        hub.publish(unit)
    # Then what refers to a missed picture is left out.
    assert await queue.get_batch() == [picture(0, key=True), picture(11, key=True)]


async def test_a_new_incarnation_starts_on_its_key_frame() -> None:
    # Given a sink in mid-stream.
    hub = Notes().hub(Clock())
    queue = hub.subscribe("s", (Media.H264,))
    hub.publish(picture(0, key=True))
    # When a new body's packets come, the first of which is no key frame.
    new = StreamInfo(2, 320, 180, 25, 400, 48_000, b"\x11\x88", "{}")
    for unit in (picture(0, info=new), picture(1, key=True, info=new)):
        hub.publish(unit)
    # Then that one is left out.
    assert await queue.get_batch() == [picture(0, key=True), picture(1, key=True, info=new)]


async def test_a_lossless_run_waits_for_room_and_goes_on() -> None:
    # Given a virtual-clock run whose sink has filled half its queue.
    hub = Notes().hub(Clock())
    queue = hub.subscribe("s", (Media.H264,), limit_ms=400)
    for n in range(6):
        hub.publish(picture(n, key=n == 0))
    # When the outlet waits for room, Then it waits until the sink has taken some.
    waiting = asyncio.create_task(hub.wait_for_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    await queue.get()
    await asyncio.wait_for(waiting, 1)


async def test_a_sink_that_leaves_with_a_full_queue_holds_up_no_lossless_run() -> None:
    # Given a virtual-clock run that waits for room in a sink.
    hub = Notes().hub(Clock())
    queue = hub.subscribe("s", (Media.H264,), limit_ms=400)
    for n in range(6):
        hub.publish(picture(n, key=n == 0))
    waiting = asyncio.create_task(hub.wait_for_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    # When the sink fails and is forgotten, Then the run goes on.
    hub.unsubscribe(queue)
    await asyncio.wait_for(waiting, 1)


def test_media_time_is_exact_after_a_day() -> None:
    # Given packets at the same instant 24 h in, Then both clocks name the same millisecond.
    day_ms = 86_400_000
    assert media_ms(Packet(Media.H264, day_ms * 90, False, 0, b"")) == day_ms
    assert media_ms(Packet(Media.AAC, day_ms * 48, False, 0, b"")) == day_ms
