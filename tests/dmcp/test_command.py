"""Keys and tokens on a machine without a platform."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest

from gpu_engine.__main__ import main
from gpu_engine.dmcp.token import VerifyingKeys

pytestmark = pytest.mark.unit


def test_keygen_and_token_make_what_a_gateway_believes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dmcp", "keygen", "--out", str(tmp_path)]) == 0
    secret, public = tmp_path / "motion-signing.jwk", tmp_path / "motion-keys.json"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    capsys.readouterr()

    assert main(["dmcp", "token", "--key", str(secret), "--session", "show1", "--role", "control", "--life", "60"]) == 0
    claims = VerifyingKeys(json.loads(public.read_text())).verify(capsys.readouterr().out.strip(), time.time())
    assert (claims.session, claims.tenant, claims.role) == ("show1", "local", "control")


def test_a_secret_key_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["dmcp", "keygen", "--out", str(tmp_path)])
    before = (tmp_path / "motion-signing.jwk").read_text()

    assert main(["dmcp", "keygen", "--out", str(tmp_path)]) == 2
    assert (tmp_path / "motion-signing.jwk").read_text() == before
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--keys FILE and --runs DIR"),
        (["--keys", "/none/keys.json", "--runs", "/tmp"], "/none/keys.json"),
        (["token", "--key", "/none/key", "--session", "x"], "/none/key"),
        (["token", "--key", "/dev/null", "--session", "x"], "not a private Ed25519 key"),
        (["watch", "--session", "x", "--token", "@/none/token"], "/none/token"),
        (["drive", "--session", "x", "--token", "t", "--fps", "0"], "use 1 to 60"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dmcp", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_gateway_is_not_given_the_secret_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["dmcp", "keygen", "--out", str(tmp_path)])
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps({"keys": [json.loads((tmp_path / "motion-signing.jwk").read_text())]}))

    assert main(["dmcp", "--keys", str(file), "--runs", str(tmp_path)]) == 2
    assert "public keys only" in capsys.readouterr().err
