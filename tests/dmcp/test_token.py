"""Tokens: what a gateway believes, and that it cannot be talked into more."""

from __future__ import annotations

import base64
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_engine.dmcp.token import MAX_LIFE_S, SigningKey, TokenRefused, VerifyingKeys, jwk_set

pytestmark = pytest.mark.unit

KEY = SigningKey.generate()
KEYS = VerifyingKeys(jwk_set(KEY))
NOW = 1_796_130_000.0
TOKEN, CLAIMS = KEY.issue(session="ses_a", tenant="ten_a", role="watch", life_s=900, now_s=NOW)


def b64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def opened(part: str) -> dict[str, object]:
    return dict(json.loads(base64.urlsafe_b64decode(part + "==")))


def test_a_token_says_what_it_was_issued_for() -> None:
    assert KEYS.verify(TOKEN, NOW) == CLAIMS
    assert (CLAIMS.session, CLAIMS.tenant, CLAIMS.role, CLAIMS.expires_s) == ("ses_a", "ten_a", "watch", int(NOW) + 900)
    assert opened(TOKEN.split(".")[0]) == {"alg": "EdDSA", "kid": KEY.key_id, "typ": "JWT"}


def test_two_tokens_have_two_nonces() -> None:
    again, claims = KEY.issue(session="ses_a", tenant="ten_a", role="watch", life_s=900, now_s=NOW)

    assert claims.nonce != CLAIMS.nonce and again != TOKEN


def test_its_time_ends() -> None:
    assert KEYS.verify(TOKEN, NOW + 904).session == "ses_a"
    with pytest.raises(TokenRefused, match="expired 6 s ago") as refused:
        KEYS.verify(TOKEN, NOW + 906)
    assert refused.value.expired


@pytest.mark.parametrize("changes", [{"sid": "ses_b"}, {"role": "control"}, {"exp": 2**40}, {"tid": "ten_b"}])
def test_a_changed_claim_is_noticed(changes: dict[str, object]) -> None:
    head, body, signature = TOKEN.split(".")

    with pytest.raises(TokenRefused, match="signature"):
        KEYS.verify(f"{head}.{b64(opened(body) | changes)}.{signature}", NOW)


@pytest.mark.parametrize("alg", ["none", "HS256", "ES256", "eddsa"])
def test_another_algorithm_is_not_believed(alg: str) -> None:
    _, body, signature = TOKEN.split(".")
    for last in (signature, ""):
        with pytest.raises(TokenRefused):
            KEYS.verify(f"{b64({'alg': alg, 'kid': KEY.key_id, 'typ': 'JWT'})}.{body}.{last}", NOW)


def test_another_key_under_our_keys_name_is_not_believed() -> None:
    stranger = SigningKey.generate()
    stranger.key_id = KEY.key_id
    forged, _ = stranger.issue(session="ses_a", tenant="ten_a", role="control", life_s=900, now_s=NOW)

    with pytest.raises(TokenRefused, match="signature"):
        KEYS.verify(forged, NOW)


def test_a_token_for_something_else_or_that_lives_too_long_opens_nothing() -> None:
    def signed(**changes: object) -> str:
        head, body, _ = TOKEN.split(".")
        text = f"{head}.{b64(opened(body) | changes)}"
        made = KEY._private.sign(text.encode())
        return f"{text}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"

    assert KEYS.verify(signed(), NOW) == CLAIMS
    for changes in ({"aud": "console"}, {"exp": int(NOW + MAX_LIFE_S + 1)}, {"iat": int(NOW) + 120, "exp": int(NOW) + 130}):
        with pytest.raises(TokenRefused):
            KEYS.verify(signed(**changes), NOW)
    with pytest.raises(ValueError):
        KEY.issue(session="s", tenant="t", role="watch", life_s=MAX_LIFE_S + 1)


@given(st.text(max_size=80) | st.builds(lambda a, b, c: f"{a}.{b}.{c}", *[st.text(max_size=20)] * 3))
def test_no_text_is_taken_for_a_token(text: str) -> None:
    with pytest.raises(TokenRefused):
        KEYS.verify(text, NOW)


def test_keys_survive_their_file_and_only_public_ones_reach_a_gateway() -> None:
    again = SigningKey.from_text(KEY.to_text())
    token, _ = again.issue(session="ses_a", tenant="ten_a", role="watch", life_s=60)

    assert KEYS.verify(token, time.time()).session == "ses_a"
    assert "d" not in jwk_set(KEY)["keys"][0]
    with pytest.raises(ValueError, match="public keys only"):
        VerifyingKeys({"keys": [json.loads(KEY.to_text())]})
    for bad in ({}, {"keys": [{"kty": "RSA"}]}, {"keys": [{**KEY.public_jwk(), "x": "AAAA"}]}):
        with pytest.raises(ValueError):
            VerifyingKeys(bad)
