"""Which addresses merchants may name, embedded and in production."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from django.test import override_settings

from lumihost.core.addresses import AddressRefused, check_host, check_resolved

pytestmark = pytest.mark.unit

PRIVATE = [
    "127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "10.0.0.8", "192.168.1.2", "172.16.0.1", "100.64.0.1",
    "[::1]", "[fd00::1]", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "localhost", "db", "nas.local",
    "redis.internal", "localhost.",
]  # fmt: skip
NOWHERE = ["169.254.169.254", "[fe80::1]", "0.0.0.0", "224.0.0.1", "[::ffff:169.254.169.254]", "2852039166"]
PUBLIC = ["live.example.com", "8.8.8.8", "[2606:4700::1111]", "push.example.cn:1935"]


@pytest.mark.parametrize("host", [*PRIVATE, *NOWHERE])
def test_production_connects_to_public_addresses_only(host: str) -> None:
    with override_settings(PRIVATE_ADDRESSES_ALLOWED=False), pytest.raises(AddressRefused):
        check_host(f"rtmp://{host}/live")


@pytest.mark.parametrize("host", PUBLIC)
def test_public_addresses_pass(host: str) -> None:
    with override_settings(PRIVATE_ADDRESSES_ALLOWED=False):
        check_host(f"rtmp://{host}/live")


@pytest.mark.parametrize("host", PRIVATE)
def test_an_embedded_installation_may_use_its_own_network(host: str) -> None:
    with override_settings(PRIVATE_ADDRESSES_ALLOWED=True):
        check_host(f"rtmp://{host}/live")


@pytest.mark.parametrize("host", NOWHERE)
def test_what_is_no_stream_address_is_refused_everywhere(host: str) -> None:
    with override_settings(PRIVATE_ADDRESSES_ALLOWED=True), pytest.raises(AddressRefused):
        check_host(f"ws://{host}/feed")


@pytest.mark.parametrize(
    ("answers", "passes"), [(["8.8.8.8"], True), (["8.8.8.8", "10.0.0.1"], False), (["::1"], False), ([], False)]
)
def test_every_address_of_a_name_must_be_public(answers: list[str], passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: Any, **__: Any) -> list[Any]:
        if not answers:
            raise socket.gaierror("no such name")
        return [(0, 0, 0, "", (answer, 0)) for answer in answers]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with override_settings(PRIVATE_ADDRESSES_ALLOWED=False):
        if passes:
            check_resolved("rtmp://live.example.com/app")
        else:
            with pytest.raises(AddressRefused):
                check_resolved("rtmp://live.example.com/app")
