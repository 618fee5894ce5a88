"""Motion tokens: who may watch or drive which session, until when. A JWT signed with Ed25519 (RFC 7519, RFC 8037).

Whoever issues tokens holds the private key; a gateway holds public keys only (a JWK set, RFC 7517), so that it can check
tokens and make none. Only ``EdDSA`` is accepted, whatever a token's header says.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

Role = Literal["control", "watch"]
AUDIENCE = "dmcp"
LEEWAY_S = 5.0
MAX_TOKEN_CHARS = 2_048
MAX_LIFE_S = 24 * 3600.0
"""A token that says it lives longer is not honoured: it was not made to be short-lived."""


class TokenRefused(ValueError):
    """The token opens nothing; ``expired`` when only its time is over."""

    def __init__(self, detail: str, *, expired: bool = False) -> None:
        super().__init__(detail)
        self.expired = expired


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token says. ``expires_s`` and ``issued_s`` are Unix times; ``nonce`` names the token in logs and audit."""

    session: str
    tenant: str
    role: Role
    expires_s: int
    issued_s: int
    nonce: str


class _Header(msgspec.Struct):
    alg: str
    kid: str
    typ: str = "JWT"


class _Body(msgspec.Struct):
    aud: str
    sid: str
    tid: str
    role: Role
    exp: int
    iat: int
    jti: str


class SigningKey:
    """The private half, with the name its public half goes by."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self._public = private.public_key().public_bytes_raw()
        self.key_id = _b64(hashlib.sha256(self._public).digest())[:16]

    @classmethod
    def generate(cls) -> SigningKey:
        """A new key."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_text(cls, text: str) -> SigningKey:
        """Read what :meth:`to_text` wrote.

        Raises:
            ValueError: no private Ed25519 key.
        """
        try:
            jwk = msgspec.json.decode(text.encode(), type=dict[str, str])
            return cls(Ed25519PrivateKey.from_private_bytes(_unb64(jwk["d"])))
        except (msgspec.DecodeError, KeyError, ValueError) as error:
            raise ValueError(f"not a private Ed25519 key in JWK form: {error}") from error

    def to_text(self) -> str:
        """A private JWK, for a file that only its owner may read."""
        jwk = {**self.public_jwk(), "d": _b64(self._private.private_bytes_raw())}
        return msgspec.json.encode(jwk).decode()

    def public_jwk(self) -> dict[str, str]:
        """The public half as a JWK."""
        return {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": self.key_id, "x": _b64(self._public)}

    def issue(self, *, session: str, tenant: str, role: Role, life_s: float, now_s: float | None = None) -> tuple[str, Claims]:
        """A new token and what it says.

        Raises:
            ValueError: it would live longer than ``MAX_LIFE_S``.
        """
        if not 0 < life_s <= MAX_LIFE_S:
            raise ValueError(f"a token that lives {life_s:g} s: use 1 to {MAX_LIFE_S:g}")
        now = int(time.time() if now_s is None else now_s)
        claims = Claims(session, tenant, role, now + int(life_s), now, secrets.token_hex(8))
        body = _Body(AUDIENCE, session, tenant, role, claims.expires_s, now, claims.nonce)
        head = _b64(msgspec.json.encode(_Header("EdDSA", self.key_id)))
        signed = f"{head}.{_b64(msgspec.json.encode(body))}"
        return f"{signed}.{_b64(self._private.sign(signed.encode()))}", claims


class VerifyingKeys:
    """Public keys by name.

    Args:
        jwks: ``{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": …, "x": …}, …]}``.

    Raises:
        ValueError: a key is private, of another kind or malformed.
    """

    def __init__(self, jwks: Mapping[str, Any]) -> None:
        self._keys: dict[str, Ed25519PublicKey] = {}
        keys = jwks.get("keys")
        if not isinstance(keys, list):
            raise ValueError('a key file holds {"keys": […]} (JWK set)')
        for jwk in keys:
            if not isinstance(jwk, dict) or jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
                raise ValueError("every key is an Ed25519 JWK (kty OKP, crv Ed25519)")
            if "d" in jwk:
                raise ValueError("a private key: a gateway is given public keys only (`dmcp keygen` writes both files)")
            try:
                self._keys[str(jwk["kid"])] = Ed25519PublicKey.from_public_bytes(_unb64(jwk["x"]))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"key '{jwk.get('kid', '?')}' is no Ed25519 public key: {error}") from error

    def __len__(self) -> int:
        return len(self._keys)

    def verify(self, token: str, now_s: float) -> Claims:
        """What the token says, once its signature, audience and time have been checked.

        Raises:
            TokenRefused: it opens nothing.
        """
        if len(token) > MAX_TOKEN_CHARS or token.count(".") != 2:
            raise TokenRefused("not a token")
        signed, _, signature = token.rpartition(".")
        head, _, body = signed.partition(".")
        try:
            header = msgspec.json.decode(_unb64(head), type=_Header)
            key = self._keys.get(header.kid)
            if header.alg != "EdDSA" or key is None:
                raise TokenRefused(f"signed with a key that is not known here ('{header.kid[:24]}', {header.alg[:12]})")
            key.verify(_unb64(signature), signed.encode())
            claims = msgspec.json.decode(_unb64(body), type=_Body)
        except InvalidSignature:
            raise TokenRefused("the signature is not that of its key") from None
        except (msgspec.DecodeError, binascii.Error, UnicodeEncodeError, ValueError) as error:
            if isinstance(error, TokenRefused):
                raise
            raise TokenRefused("not a token") from None
        if claims.aud != AUDIENCE:
            raise TokenRefused("made for something else than DMCP")
        if claims.exp - claims.iat > MAX_LIFE_S or claims.iat > now_s + 60.0:
            raise TokenRefused("its times are not those of a short-lived token")
        if now_s > claims.exp + LEEWAY_S:
            raise TokenRefused(f"expired {now_s - claims.exp:.0f} s ago: ask for a new one", expired=True)
        return Claims(claims.sid, claims.tid, claims.role, claims.exp, claims.iat, claims.jti)


def jwk_set(*keys: SigningKey) -> dict[str, Any]:
    """The public halves as a JWK set."""
    return {"keys": [key.public_jwk() for key in keys]}


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unb64(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
