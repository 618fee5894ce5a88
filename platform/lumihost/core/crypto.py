"""Encryption of stored secrets (stream keys): AES-256-GCM under a key of the tenant, bound to the row it is stored in.

A tenant's key is derived from the installation's master key (HKDF-SHA-256, RFC 5869), so the file holds one key per generation
and a ciphertext moved to another tenant, table, column or row does not open.
"""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from lumihost.config.secret_files import read_or_create

VERSION = "v1"
NONCE_BYTES = 12
KEY_BYTES = 32


class CryptoError(ValueError):
    """A ciphertext cannot be opened; the message never contains it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a secret is stored; part of what is authenticated."""

    tenant: str
    table: str
    column: str
    pk: str

    def associated_data(self) -> bytes:
        """The place as unambiguous bytes (JSON list)."""
        return json.dumps([self.tenant, self.table, self.column, self.pk], ensure_ascii=True).encode()


def _new_key_file() -> str:
    return json.dumps({"active": "k1", "keys": {"k1": base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}})


class KeyRing:
    """Master keys by id; the active one encrypts, all of them decrypt.

    Args:
        file: JSON ``{"active": id, "keys": {id: base64 of 32 bytes}}``; made on first use.
    """

    def __init__(self, file: Path) -> None:
        content = json.loads(read_or_create(file, _new_key_file))
        self.active: str = content["active"]
        self._keys = {key_id: base64.b64decode(text) for key_id, text in content["keys"].items()}
        if self.active not in self._keys or any(len(key) != KEY_BYTES for key in self._keys.values()):
            raise CryptoError(f"{file}: 'active' must name one of 'keys', each 32 bytes in base64")

    def tenant_key(self, key_id: str, tenant: str) -> bytes:
        """The tenant's own 32-byte key."""
        try:
            master = self._keys[key_id]
        except KeyError:
            raise CryptoError(f"the key ring has no key '{key_id}': restore it to the key file") from None
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"lumihost/tenant/" + tenant.encode()).derive(master)


_rings: dict[Path, KeyRing] = {}


def _ring() -> KeyRing:
    file = Path(settings.MASTER_KEYS_FILE)
    if file not in _rings:
        _rings[file] = KeyRing(file)
    return _rings[file]


def encrypt(plaintext: str, place: Place) -> str:
    """``v1.<key id>.<base64 of nonce and sealed text>`` for storage at ``place``."""
    ring = _ring()
    nonce = secrets.token_bytes(NONCE_BYTES)
    sealed = AESGCM(ring.tenant_key(ring.active, place.tenant)).encrypt(nonce, plaintext.encode(), place.associated_data())
    return f"{VERSION}.{ring.active}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"


def decrypt(stored: str, place: Place) -> str:
    """The plaintext of what :func:`encrypt` stored at the same ``place``.

    Raises:
        CryptoError: it was changed, moved from another place, or its key is gone.
    """
    try:
        version, key_id, body = stored.split(".")
        raw = base64.urlsafe_b64decode(body.encode())
    except ValueError:
        raise CryptoError(f"{place.table}.{place.column} of '{place.pk}' holds no ciphertext of ours") from None
    if version != VERSION:
        raise CryptoError(f"{place.table}.{place.column} of '{place.pk}' has the unknown format '{version}'")
    try:
        opened = AESGCM(_ring().tenant_key(key_id, place.tenant)).decrypt(
            raw[:NONCE_BYTES], raw[NONCE_BYTES:], place.associated_data()
        )
    except InvalidTag:
        raise CryptoError(
            f"{place.table}.{place.column} of '{place.pk}' does not open: changed, or moved from another row"
        ) from None
    return opened.decode()
