"""The RTMP publisher against servers of all manners, while another destination keeps flowing."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import itertools
import random
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gpu_engine.outputs import flv
from gpu_engine.outputs.rtmp import RtmpError, RtmpUrl
from gpu_engine.outputs.rtmp_push import RtmpPush
from gpu_engine.session.spec import RtmpOutput
from tests.fakes.fake_body import Encoders
from tests.outputs.fake_rtmp import FakeRtmpServer, Manner
from tests.outputs.feed import Feed
from tests.outputs.harness import Notes, eventually

pytestmark = pytest.mark.media


def push(feed: Feed, server: FakeRtmpServer, output_id: str, key: str = "s3cretkey", **options: object) -> RtmpPush:
    """A push with short patience."""
    limits: dict[str, object] = {"open_limit_s": 1.0, "send_age_limit_s": 1.0, "random_source": random.Random(1)}
    return RtmpPush(RtmpOutput(id=output_id, url=server.url(key)), feed.hub, feed.notes, **(limits | options))  # type: ignore[arg-type]


async def test_a_publisher_says_what_a_server_needs_in_order() -> None:
    # Given a good server and a stream.
    feed = Feed(Notes())
    async with FakeRtmpServer() as server, feed.flowing(push(feed, server, "a", "k1?sign=xyz")):
        # When a second of it has arrived.
        await eventually(lambda: len(server.of(flv.VIDEO)) > 25, "a second of video")
    # Then metadata with the AI label comes first, then both decoder configurations, then a key frame at time zero.
    assert server.keys == ["k1?sign=xyz"]
    kinds = [kind for kind, _, _ in server.messages[:4]]
    assert kinds == [flv.DATA, flv.AUDIO, flv.VIDEO, flv.VIDEO]
    data = flv.read_amf0(server.of(flv.DATA)[0][1])
    assert data[:2] == ["@setDataFrame", "onMetaData"]
    assert isinstance(data[2], dict)
    assert data[2]["AIGC"] == feed.encoders.info.aigc
    assert (data[2]["width"], data[2]["height"], data[2]["framerate"]) == (320.0, 180.0, 25.0)
    assert server.of(flv.AUDIO)[0][1] == b"\xaf\x00" + feed.encoders.info.aac_config
    assert server.of(flv.VIDEO)[0][1][:6] == b"\x17\x00\x00\x00\x00\x01"
    assert server.of(flv.VIDEO)[1][1][:5] == b"\x17\x01\x00\x00\x00"
    assert server.of(flv.VIDEO)[1][0] == 0
    # And pictures are 40 ms apart, sound follows its own clock, pings are answered, bytes acknowledged, the end is polite.
    times = [timestamp for timestamp, _ in server.of(flv.VIDEO)[1:]]
    assert times == [n * 40 for n in range(len(times))]
    sound = [timestamp for timestamp, _ in server.of(flv.AUDIO)[1:]]
    assert {b - a for a, b in itertools.pairwise(sound)} <= {21, 22}
    assert server.pongs == 1
    assert server.closed_politely
    assert feed.notes.of("a") == ["connecting", "up", "finished"]
    assert feed.notes.drops == []


@pytest.mark.parametrize("manner", [Manner.SILENT, Manner.DEAF])
async def test_a_peer_that_hangs_harms_nobody_else(manner: Manner) -> None:
    # Given one destination that hangs and one that is well, on a stream heavy enough to fill the hanging one's buffers.
    feed = Feed(Notes(), width=640, height=360, noise=True, bitrate_kbps=6000)
    async with FakeRtmpServer(manner) as bad, FakeRtmpServer() as good:
        bad_push, good_push = push(feed, bad, "bad"), push(feed, good, "good")
        async with feed.flowing(bad_push, good_push):
            # When the bad one has been found out twice.
            await eventually(lambda: feed.notes.of("bad").count("retrying") >= 2, "the hang is noticed twice", limit_s=20)
    # Then the good one has every picture from its first on, nothing was dropped, and the loop never stood still.
    sent = [unit.packet.pts for unit in feed.video]
    taken = [unit.packet.pts for unit in feed.notes.taken["good"] if unit.is_video]
    assert taken == sent[len(sent) - len(taken) :]
    assert len(taken) >= 25
    assert good.connections == 1
    assert not [drop for drop in feed.notes.drops if drop[0] == "good"]
    assert feed.latest_s < 0.9
    assert bad.connections >= 2
    details = [detail for name, state, detail in feed.notes.states if name == "bad" and state == "retrying"]
    assert "s3cretkey" not in str(feed.notes.states)
    assert ("handshake within 1 s" if manner is Manner.SILENT else "taken nothing for 1 s") in details[0]


async def test_the_end_of_the_show_does_not_wait_for_a_silent_peer() -> None:
    # Given a push that waits for a silent peer, with much patience.
    feed = Feed(Notes())
    async with FakeRtmpServer(Manner.SILENT) as server:
        waiting = asyncio.create_task(push(feed, server, "a", open_limit_s=60.0).run())
        feed.hub.body_connected(feed.encoders.info)
        await eventually(lambda: server.connections, "it waits")
        # When the show ends, Then the push is finished at once.
        feed.hub.end()
        await asyncio.wait_for(waiting, 2)
    assert feed.notes.of("a") == ["connecting", "finished"]


@pytest.mark.parametrize(
    ("manner", "state", "words"),
    [
        (Manner.BUSY, "busy", "in use"),
        (Manner.REFUSING, "down", "check the key, it may have expired"),
        (Manner.DROPPING, "down", "wrong, expired or still in use"),
        (Manner.APP_REJECTED, "down", "check the server address"),
    ],
)
async def test_refusals_are_told_apart_in_words_without_the_key(manner: Manner, state: str, words: str) -> None:
    # Given a server that will not have us, and repeats our key in its answer.
    feed = Feed(Notes())
    async with FakeRtmpServer(manner) as server, feed.flowing(push(feed, server, "a")):
        # When it has answered, Then the state and the text fit,
        await eventually(lambda: state in feed.notes.of("a"), f"the output is {state}")
        # And when it changes its mind, the stream comes by itself.
        server.manner = Manner.GOOD
        await eventually(lambda: server.messages, "media arrives")
    detail = next(detail for _, found, detail in feed.notes.states if found == state)
    assert words in detail
    assert "s3cretkey" not in str(feed.notes.states)
    assert feed.notes.of("a")[-2:] == ["up", "finished"]


async def test_a_server_that_restarts_gets_a_key_frame_first_and_times_from_zero() -> None:
    # Given a stream that flows into a server.
    feed = Feed(Notes(), gop_s=10)
    server = FakeRtmpServer()
    async with server, feed.flowing(push(feed, server, "a")):
        await eventually(lambda: len(server.of(flv.VIDEO)) > 10, "media arrives")
        # When the server goes and returns at the same address.
        await server.__aexit__()
        await eventually(lambda: "retrying" in feed.notes.of("a"), "the loss is noticed")
        server.messages.clear()
        await server.__aenter__()
        await eventually(lambda: len(server.of(flv.VIDEO)) > 10, "media arrives again")
    # Then it starts again with configurations and a key frame at time zero.
    assert server.of(flv.VIDEO)[0][1][:2] == b"\x17\x00"
    assert server.of(flv.VIDEO)[1][1][:2] == b"\x17\x01"
    assert server.of(flv.VIDEO)[1][0] == 0
    assert feed.notes.drops == []


async def test_the_next_body_continues_the_timestamps_of_an_open_connection() -> None:
    # Given a connection in use.
    feed = Feed(Notes())
    async with FakeRtmpServer() as server, feed.flowing(push(feed, server, "a")):
        await eventually(lambda: len(server.of(flv.VIDEO)) > 10, "media arrives")
        # When the body is replaced by one whose media time starts anew.
        last = server.of(flv.VIDEO)[-1][0]
        feed.encoders = Encoders(incarnation=2)
        count = len(server.of(flv.VIDEO))
        await eventually(lambda: len(server.of(flv.VIDEO)) > count + 10, "media of the new body arrives")
    # Then time goes on, and the configurations are sent again on the same connection.
    times = [timestamp for timestamp, _ in server.of(flv.VIDEO)]
    assert times == sorted(times)
    assert times[-1] > last
    assert server.connections == 1
    assert len(server.of(flv.DATA)) == 2


async def test_timestamps_pass_the_24_bit_limit_of_rtmp() -> None:
    # Given a stream that began 16,777 s ago: its connection's clock is about to pass 2**24 ms.
    feed = Feed(Notes())
    async with FakeRtmpServer() as server, feed.flowing(push(feed, server, "a")):
        await eventually(lambda: len(server.of(flv.VIDEO)) > 5, "media arrives")
        # When media time jumps there (as if all that time had passed).
        feed.encoders = Encoders(start_s=16_777.0 + 1.0, noise=True, bitrate_kbps=4000)
        await eventually(lambda: server.of(flv.VIDEO)[-1][0] > 0xFFFFFF + 200, "the limit is passed", limit_s=5)
    # Then times go on in steps of 40 ms through the escape, in messages of many chunks too.
    times = [timestamp for timestamp, _ in server.of(flv.VIDEO) if timestamp > 16_700_000]
    frames = [b - a for a, b in itertools.pairwise(times) if b != a]
    assert set(frames) == {40}
    assert times[0] < 0xFFFFFF < times[-1]


async def test_rtmps_with_a_trusted_certificate_works_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    # Given a server with a certificate of its own making.
    server_side, trusting = _certificate(tmp_path)
    feed = Feed(Notes())
    async with (
        FakeRtmpServer(tls=server_side) as server,
        feed.flowing(push(feed, server, "trusting", tls=trusting), push(feed, server, "careful")),
    ):
        # When one client trusts it and one does not.
        await eventually(lambda: server.of(flv.VIDEO), "media arrives over TLS")
        await eventually(lambda: "retrying" in feed.notes.of("careful"), "the unknown certificate is refused")
    # Then only the first publishes.
    assert feed.notes.of("trusting") == ["connecting", "up", "finished"]
    assert "up" not in feed.notes.of("careful")
    assert any("certificate" in detail for name, _, detail in feed.notes.states if name == "careful")


async def test_an_address_that_is_none_is_down_at_once() -> None:
    # Given addresses that cannot be used, Then each is told, and none is tried.
    for url in ("http://h/app/key", "rtmp://h/onlyapp", "rtmp:///a/b", "rtmp://h:99999/a/b", ""):
        notes = Notes()
        output = RtmpPush(RtmpOutput(id="a", url=url), notes.hub(), notes)
        await asyncio.wait_for(output.run(), 1)
        assert notes.of("a") == ["down"]


@pytest.mark.parametrize("answer", ["shrinking message", "stream number NaN"])
async def test_a_server_that_breaks_the_protocol_is_an_error_in_words_and_tried_again(answer: str) -> None:
    # Given a server whose answers cannot be right.
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readexactly(1537)
        writer.write(b"\x03" + b"S" * 1536 + b"T" * 1536)
        if answer == "shrinking message":
            head = b"\x00\x00\x00" + (200).to_bytes(3, "big") + b"\x14" + b"\x00" * 4
            again = b"\x43" + b"\x00\x00\x00" + (50).to_bytes(3, "big") + b"\x14"
            writer.write(b"\x03" + head + b"x" * 128 + again)
        else:
            for body in (
                flv.amf0("_result") + flv.amf0(1.0),
                flv.amf0("_result") + flv.amf0(4.0) + flv.amf0(None) + flv.amf0(float("nan")),
            ):
                writer.write(b"\x03\x00\x00\x00" + len(body).to_bytes(3, "big") + b"\x14" + b"\x00" * 4 + body)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"rtmp://127.0.0.1:{server.sockets[0].getsockname()[1]}/live/s3cretkey"
    feed = Feed(Notes())
    output = RtmpPush(RtmpOutput(id="a", url=address), feed.hub, feed.notes, open_limit_s=2.0, random_source=random.Random(1))
    # When it is pushed to, Then the destination is retried and says why, without the key.
    async with feed.flowing(output):
        await eventually(lambda: connections >= 2, "tried again")
    server.close()
    assert feed.notes.of("a")[:2] == ["connecting", "retrying"]
    assert "s3cret" not in str(feed.notes.states)


def test_addresses_are_taken_apart_and_shown_without_their_key() -> None:
    # Given the shapes that platforms give out.
    url = RtmpUrl.parse("rtmps://push.example.com/third/stream-123?expire=1&sign=ab")
    # Then the key is the last part with its query, and no representation shows it.
    assert (url.host, url.port, url.app, url.key) == ("push.example.com", 443, "third", "stream-123?expire=1&sign=ab")
    assert str(url) == "rtmps://push.example.com/third"
    assert "stream-123" not in repr(url)
    assert RtmpUrl.parse("rtmp://[::1]:2000/a/b/c").tc_url == "rtmp://[::1]:2000/a/b"
    assert url.redact("key stream-123?expire=1&sign=ab or stream-123") == "key … or …"
    with pytest.raises(RtmpError, match="rtmp://host/app/key"):
        RtmpUrl.parse("srt://x/y/z")


def test_back_off_doubles_to_its_limit_with_bounded_jitter() -> None:
    # Given a push, Then its waits are 0.25, 0.5 … 15 s, each at most a fifth longer.
    notes = Notes()
    output = RtmpPush(RtmpOutput(id="a", url="rtmp://h/a/b"), notes.hub(), notes, random_source=random.Random(3))
    for failures, base in ((1, 0.25), (2, 0.5), (3, 1), (4, 2), (5, 4), (6, 8), (7, 15), (50, 15)):
        assert base <= output.backoff_s(failures) <= base * 1.2


def _certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server context with a self-signed certificate for 127.0.0.1, and a client context that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    client = ssl.create_default_context(cadata=certificate.public_bytes(serialization.Encoding.PEM).decode())
    return server, client
