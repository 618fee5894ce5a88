"""Which addresses merchants may have the platform's machines connect to (stream destinations, comment sources).

Embedded, the merchant owns the machine and may name a server on it or on its network; in production such an address would reach
the operator's own. Link-local addresses are refused everywhere: nobody streams there, and clouds keep credentials there.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from django.conf import settings

_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".intranet", ".corp")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(ValueError):
    """The platform does not connect there; the text says why."""


def check_host(url: str) -> None:
    """Refuse what can be refused without asking a name server: addresses written as numbers in any of their spellings, and
    names that are private by convention.

    Raises:
        AddressRefused: it is one.
    """
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    literal = _literal(host)
    if literal is not None:
        _check(literal, host)
    elif not settings.PRIVATE_ADDRESSES_ALLOWED and ("." not in host or host.endswith(_PRIVATE_SUFFIXES)):
        raise AddressRefused(f"'{host}' is a name of a private network: use a public address")


def check_resolved(url: str) -> None:
    """:func:`check_host`, and every address the name stands for now. Asks a name server: never inside a transaction.

    Raises:
        AddressRefused: the name is unknown, or one of its addresses is refused.
    """
    check_host(url)
    host = urlsplit(url).hostname or ""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        if settings.PRIVATE_ADDRESSES_ALLOWED:
            return
        raise AddressRefused(f"'{host}' has no address now") from None
    for text in found:
        _check(ipaddress.ip_address(str(text).partition("%")[0]), host)


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        # 127.1, 0x7f000001, 2130706433: what the C library takes for an address, so do we.
        return ipaddress.IPv4Address(socket.inet_aton(host)) if host[:1].isdigit() else None
    except OSError:
        return None


def _check(address: Address, host: str) -> None:
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address.sixtofour or _nat64(address) or address
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        raise AddressRefused(f"'{host}' is no address a stream can go to or come from")
    if not settings.PRIVATE_ADDRESSES_ALLOWED and not address.is_global:
        raise AddressRefused(f"'{host}' lies in a private network: use a public address")


def _nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in ipaddress.ip_network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
