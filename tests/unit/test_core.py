"""Ids, money, secrets, environment, encryption, problems."""

from __future__ import annotations

import json
import os
import stat
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st

from lumihost.config import env
from lumihost.config.secret_files import read_or_create
from lumihost.core import crypto
from lumihost.core.crypto import CryptoError, KeyRing, Place, decrypt, encrypt
from lumihost.core.ids import ALPHABET, new_id
from lumihost.core.money import minor_digits, render, to_major, to_minor
from lumihost.core.problems import TITLES, Conflict, Problem, register

pytestmark = pytest.mark.unit


def test_ids_name_their_kind_and_do_not_repeat() -> None:
    ids = {new_id("ses") for _ in range(1000)}

    assert len(ids) == 1000
    assert all(i.startswith("ses_") and len(i) == 24 and set(i[4:]) <= set(ALPHABET) for i in ids)


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [("19.9", "CNY", 1990), ("1299.00", "CNY", 129900), ("500", "JPY", 500), ("1.234", "KWD", 1234), ("0", "USD", 0)],
)
def test_amounts_become_minor_units(amount: str, currency: str, minor: int) -> None:
    assert to_minor(Decimal(amount), currency) == minor


@pytest.mark.parametrize(("amount", "currency"), [("9.999", "CNY"), ("0.5", "JPY")])
def test_amounts_are_never_rounded(amount: str, currency: str) -> None:
    with pytest.raises(ValueError, match="decimal places"):
        to_minor(Decimal(amount), currency)


@given(st.integers(0, 10**14), st.sampled_from(["CNY", "JPY", "KWD", "USD"]))
def test_minor_units_survive_the_way_to_major_and_back(minor: int, currency: str) -> None:
    assert to_minor(to_major(minor, currency), currency) == minor
    assert -to_major(minor, currency).as_tuple().exponent == minor_digits(currency)  # type: ignore[operator]


def test_money_for_people() -> None:
    assert (render(129900, "CNY"), render(500, "JPY"), render(5, "USD")) == ("¥1,299.00", "¥500", "$0.05")


def test_secrets_are_made_once_and_private(tmp_path: Path) -> None:
    file = tmp_path / "secrets" / "key"
    start, values = threading.Barrier(8), []

    def read() -> None:
        start.wait()
        values.append(read_or_create(file))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(values)) == 1
    assert len(values[0]) >= 64
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert [p.name for p in file.parent.iterdir()] == ["key"]


def test_environment_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_FLAG", "Yes")
    monkeypatch.setenv("X_NUMBER", "7")
    monkeypatch.setenv("X_WORDS", "a, b,,c")
    assert env.flag("X_FLAG", False) is True
    assert env.number("X_NUMBER", 1) == 7
    assert env.words("X_WORDS") == ["a", "b", "c"]
    assert (env.flag("X_NONE", True), env.number("X_NONE", 3), env.words("X_NONE", ("d",))) == (True, 3, ["d"])


@pytest.mark.parametrize(("reader", "value"), [(env.flag, "maybe"), (env.number, "seven"), (env.number, "-1")])
def test_wrong_environment_is_refused_by_name(reader: object, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_WRONG", value)
    with pytest.raises(ImproperlyConfigured, match="X_WRONG"):
        reader("X_WRONG", 0)  # type: ignore[operator]


def test_a_needed_variable_that_is_missing_is_named() -> None:
    with pytest.raises(ImproperlyConfigured, match="X_MISSING"):
        env.text("X_MISSING")


PLACE = Place("ten_a", "live_destination", "stream_key", "dst_1")


@given(st.text(max_size=200))
def test_secrets_open_where_they_were_stored(text: str) -> None:
    stored = encrypt(text, PLACE)
    assert decrypt(stored, PLACE) == text
    assert stored != encrypt(text, PLACE)


@pytest.mark.parametrize(
    "other",
    [
        Place("ten_b", "live_destination", "stream_key", "dst_1"),
        Place("ten_a", "live_source", "stream_key", "dst_1"),
        Place("ten_a", "live_destination", "url", "dst_1"),
        Place("ten_a", "live_destination", "stream_key", "dst_2"),
        Place("ten_a", "live_destination", "stream", "key|dst_1"),
    ],
)
def test_secrets_moved_elsewhere_stay_shut(other: Place) -> None:
    with pytest.raises(CryptoError):
        decrypt(encrypt("key", PLACE), other)


def test_changed_secrets_stay_shut_and_are_not_repeated() -> None:
    stored = encrypt("secret-stream-key", PLACE)
    for broken in (stored[:-4] + "AAAA", "v2" + stored[2:], "nonsense", "", stored.replace(".k1.", ".k9.")):
        with pytest.raises(CryptoError) as caught:
            decrypt(broken, PLACE)
        assert "secret-stream-key" not in str(caught.value)


def test_old_keys_still_open_after_rotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys.json"
    ring = KeyRing(file)
    monkeypatch.setattr(crypto, "_ring", lambda: ring)
    stored = encrypt("old", PLACE)
    content = json.loads(file.read_text())
    content["keys"]["k2"] = content["keys"]["k1"][::-1].replace("=", "A")[:43] + "="
    content["active"] = "k2"
    file.write_text(json.dumps(content))
    rotated = KeyRing(file)
    monkeypatch.setattr(crypto, "_ring", lambda: rotated)

    assert decrypt(stored, PLACE) == "old"
    assert encrypt("new", PLACE).startswith("v1.k2.")


def test_problem_titles_are_in_both_languages() -> None:
    from django.utils import translation

    problem = Problem(409, "duplicate", "SKU 'x' exists", ())
    with translation.override("zh-hans"):
        assert problem.as_dict("req_1")["title"] == "已存在"
    with translation.override("en"):
        assert problem.as_dict("req_1")["title"] == "It exists already"
    assert all(zh and en for zh, en in TITLES.values())


def test_a_problem_code_has_one_meaning() -> None:
    assert register("duplicate", *TITLES["duplicate"]) == "duplicate"
    with pytest.raises(ValueError, match="duplicate"):
        register("duplicate", "别的", "Something else")
    assert Conflict("x", pointer="/sku").as_problem().as_dict("r")["errors"] == [
        {"pointer": "/sku", "code": "conflict", "detail": "x"}
    ]
