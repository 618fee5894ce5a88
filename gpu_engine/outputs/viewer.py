"""One WebRTC viewer: aiortc does ICE, DTLS and RTCP parsing; what it sends are our shared, already encoded packets."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiortc import RTCRtpSender, RTCRtpTransceiver
from aiortc.codecs import is_rtx
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpparameters import RTCRtpSendParameters
from aiortc.rtp import (
    RTCP_PSFB_FIR,
    RTCP_PSFB_PLI,
    RTCP_RTPFB_NACK,
    AnyRtcpPacket,
    RtcpByePacket,
    RtcpPsfbPacket,
    RtcpRtpfbPacket,
    RtcpSdesPacket,
    RtcpSenderInfo,
    RtcpSourceInfo,
    RtcpSrPacket,
)

from gpu_engine.outputs import rtp
from gpu_engine.outputs.datagrams import DatagramBatch

HISTORY_PACKETS = 2_048
RETRANSMIT_BURST = 1_024
"""Packets a viewer may have sent again at once; more are earned one by one with packets sent. One request can ask for
thousands, so a hostile viewer could otherwise take the whole process."""


@dataclass
class Counters:
    """What a sender did, for metrics and tests."""

    packets: int = 0
    octets: int = 0
    retransmitted: int = 0
    nack_missed: int = 0
    keyframe_requests: int = 0


class PacketSender(RTCRtpSender):
    """Replaces aiortc's sender of one transceiver: no encoder, no task, no packetiser of its own.

    ``on_ready`` is called once DTLS is up; ``on_keyframe`` when the receiver asks for one (PLI or FIR, RFC 4585, RFC 5104).
    """

    def __init__(
        self, kind: str, transport: RTCDtlsTransport, *, on_ready: Callable[[], None], on_keyframe: Callable[[], None]
    ) -> None:
        super().__init__(kind, transport)
        self._on_ready = on_ready
        self._on_keyframe = on_keyframe
        self._payload_type: int | None = None
        self._rtx_payload_type: int | None = None
        self._cname = ""
        # The lower half: a receiver that misses the first packets must not see the sequence wrap at once (RFC 3711 §3.3.1).
        self._sequence = random.randrange(32_768)
        self._rtx_sequence = random.randrange(32_768)
        self._timestamp_origin = random.getrandbits(32)
        self._history: list[tuple[int, bytes, bytes] | None] = [None] * HISTORY_PACKETS
        self._last_ticks = 0
        self._retransmit_budget = RETRANSMIT_BURST
        self._batch: DatagramBatch | None = None
        self._path: tuple[Any, tuple[str, int]] | None = None
        self.counters = Counters()
        self.last_heard_s = time.monotonic()

    @classmethod
    def install(
        cls, transceiver: RTCRtpTransceiver, *, on_ready: Callable[[], None], on_keyframe: Callable[[], None]
    ) -> PacketSender:
        """Put a new sender in the place of the transceiver's own."""
        old = transceiver.sender
        sender = cls(transceiver.kind, old.transport, on_ready=on_ready, on_keyframe=on_keyframe)
        sender._stream_id = old._stream_id
        # aiortc offers no door for another sender class; the name is that of RTCRtpTransceiver's private attribute.
        vars(transceiver)["_RTCRtpTransceiver__sender"] = sender
        transceiver.receiver._set_rtcp_ssrc(sender._ssrc)
        return sender

    @property
    def ready(self) -> bool:
        """Packets can be sent."""
        return self._payload_type is not None

    async def send(self, parameters: RTCRtpSendParameters) -> None:
        """aiortc calls this when the transport is connected."""
        if self.ready:
            return
        self._cname = parameters.rtcp.cname or ""
        self.transport._register_rtp_sender(self, parameters)
        codec = parameters.codecs[0]
        self._payload_type = codec.payloadType
        for other in parameters.codecs:
            if is_rtx(other) and other.parameters.get("apt") == codec.payloadType:
                self._rtx_payload_type = other.payloadType
                break
        self.last_heard_s = time.monotonic()
        self._on_ready()

    async def stop(self) -> None:
        """Say goodbye (RTCP BYE) and leave the transport."""
        if not self.ready:
            return
        self._payload_type = None
        self._close_batch()
        self.transport._unregister_rtp_sender(self)
        await self._send_rtcp([RtcpByePacket(sources=[self._ssrc])])

    def forward(self, payloads: list[bytes], ticks: int, *, first: int, last: int, marker: bool) -> bool:
        """Send payloads ``first`` to ``last`` (excluded) of an access unit; False when the transport cannot take them.

        ``marker`` sets the marker bit on the unit's last payload.
        """
        outlet = self._datagram_outlet()
        payload_type = self._payload_type
        if outlet is None or payload_type is None:
            return False
        batch, protect = outlet
        protected: list[bytes] = []
        timestamp = ticks + self._timestamp_origin
        for index in range(first, last):
            payload = payloads[index]
            head = rtp.header(
                payload_type,
                marker=marker and index == len(payloads) - 1,
                sequence=self._sequence,
                timestamp=timestamp,
                ssrc=self._ssrc,
            )
            # The payload is shared by all viewers: a history of whole packets would take 2.4 MB for each.
            self._history[self._sequence % HISTORY_PACKETS] = (self._sequence, head, payload)
            protected.append(protect(head + payload))
            self._sequence = (self._sequence + 1) & 0xFFFF
            self.counters.packets += 1
            self.counters.octets += len(payload)
        self._last_ticks = ticks
        self._retransmit_budget = min(RETRANSMIT_BURST, self._retransmit_budget + len(protected))
        return batch.send(protected)

    def _datagram_outlet(self) -> tuple[DatagramBatch, Callable[[bytes], bytes]] | None:
        """The nominated pair's datagram socket and this transport's SRTP session, without aiortc's await chain per packet."""
        dtls: Any = self.transport
        pair = dtls.transport._connection._nominated.get(1)
        if not self.ready or pair is None or dtls._tx_srtp is None or dtls.state != "connected":
            return None
        datagrams, address = pair.protocol.transport, pair.remote_addr
        if datagrams is None or datagrams.is_closing():
            return None
        if self._batch is None or self._path != (datagrams, address):
            self._close_batch()
            self._path = (datagrams, address)
            self._batch = DatagramBatch(datagrams.get_extra_info("socket").fileno(), address)
        return self._batch, dtls._tx_srtp.protect

    def _close_batch(self) -> None:
        if self._batch is not None:
            self._batch.close()
            self._batch = None

    def sender_report(self, timeline: rtp.RtpTimeline, clock_hz: int) -> list[AnyRtcpPacket]:
        """SR and SDES of this track; empty before the first packet."""
        if not self.ready or not self.counters.packets:
            return []
        report = RtcpSrPacket(
            ssrc=self._ssrc,
            sender_info=RtcpSenderInfo(
                ntp_timestamp=timeline.ntp_of(self._last_ticks, clock_hz),
                rtp_timestamp=(self._last_ticks + self._timestamp_origin) & 0xFFFFFFFF,
                packet_count=self.counters.packets & 0xFFFFFFFF,
                octet_count=self.counters.octets & 0xFFFFFFFF,
            ),
        )
        name = RtcpSourceInfo(ssrc=self._ssrc, items=[(1, self._cname.encode())])
        return [report, RtcpSdesPacket(chunks=[name])]

    async def _handle_rtcp_packet(self, packet: AnyRtcpPacket) -> None:
        self.last_heard_s = time.monotonic()
        if isinstance(packet, RtcpRtpfbPacket) and packet.fmt == RTCP_RTPFB_NACK:
            for sequence in packet.lost:
                self._send_again(sequence)
        elif isinstance(packet, RtcpPsfbPacket) and packet.fmt in (RTCP_PSFB_FIR, RTCP_PSFB_PLI):
            self.counters.keyframe_requests += 1
            self._on_keyframe()

    def _send_again(self, sequence: int) -> None:
        entry = self._history[sequence % HISTORY_PACKETS]
        outlet = self._datagram_outlet()
        if entry is None or entry[0] != sequence or outlet is None or self._retransmit_budget <= 0:
            self.counters.nack_missed += 1
            return
        self._retransmit_budget -= 1
        packet = entry[1] + entry[2]
        if self._rtx_payload_type is not None:
            packet = rtp.retransmission(
                packet, payload_type=self._rtx_payload_type, sequence=self._rtx_sequence, ssrc=self._rtx_ssrc
            )
            self._rtx_sequence = (self._rtx_sequence + 1) & 0xFFFF
        batch, protect = outlet
        self.counters.retransmitted += batch.send([protect(packet)])

    async def _send_rtcp(self, packets: list[AnyRtcpPacket]) -> None:
        # A viewer that has just left needs no report; its departure is noticed by its transport's state.
        with contextlib.suppress(ConnectionError):
            await self.transport._send_rtp(b"".join(bytes(packet) for packet in packets))
