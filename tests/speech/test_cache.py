"""The speech cache: what went in comes out, and a damaged file is a miss."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.speech.cache import CachedClause, SpeechCache, clause_key
from gpu_engine.speech.engine import PhonemeSpan

pytestmark = pytest.mark.unit

CLAUSE = CachedClause(np.arange(-500, 500, dtype=np.int16), (PhonemeSpan("a", 50.0, 100.0), PhonemeSpan("ʨ", 100.0, 150.5)))
KEY = clause_key(spoken="你好", lang="zh", voice="zf_xiaoxiao", speed=1.0, engine="kokoro/1")


def test_a_clause_survives_a_restart(tmp_path: Path) -> None:
    SpeechCache(tmp_path).put(KEY, CLAUSE)
    found = SpeechCache(tmp_path).get(KEY)
    assert found is not None
    assert np.array_equal(found.pcm, CLAUSE.pcm)
    assert found.phonemes == CLAUSE.phonemes


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-7], lambda raw: raw[:60] + b"x" + raw[61:], lambda raw: b"", lambda raw: b"no"]
)
def test_a_damaged_entry_is_a_miss_and_goes_away(tmp_path: Path, damage: object) -> None:
    cache = SpeechCache(tmp_path)
    cache.put(KEY, CLAUSE)
    path = next(tmp_path.glob("*.clause"))
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(KEY) is None
    assert (cache.damaged, cache.total_bytes, list(tmp_path.iterdir())) == (1, 0, [])


def test_every_part_of_the_key_matters() -> None:
    base = {"spoken": "a", "lang": "zh", "voice": "v", "speed": 1.0, "engine": "e"}
    changed = [
        base | {"spoken": "b"},
        base | {"lang": "en"},
        base | {"voice": "w"},
        base | {"speed": 1.1},
        base | {"engine": "f"},
    ]
    assert len({clause_key(**fields) for fields in [base, *changed]}) == 6  # type: ignore[arg-type]


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    cache = SpeechCache(tmp_path, limit_bytes=6_600)
    for key in ("k1", "k2", "k3"):
        cache.put(key, CLAUSE)
    assert cache.get("k1") is not None
    cache.put("k4", CLAUSE)
    assert [key in cache for key in ("k1", "k2", "k3", "k4")] == [True, False, True, True]
    assert cache.total_bytes == sum(p.stat().st_size for p in tmp_path.iterdir()) <= 6_600


def test_use_is_remembered_over_a_restart(tmp_path: Path) -> None:
    cache = SpeechCache(tmp_path)
    for number, key in enumerate(("k1", "k2")):
        cache.put(key, CLAUSE)
        os.utime(tmp_path / f"{key}.clause", (1000 + number, 1000 + number))
    cache.get("k1")
    again = SpeechCache(tmp_path, limit_bytes=4_400)
    again.put("k3", CLAUSE)
    assert [key in again for key in ("k1", "k2", "k3")] == [True, False, True]


def test_a_clause_bigger_than_the_cache_is_refused(tmp_path: Path) -> None:
    cache = SpeechCache(tmp_path, limit_bytes=100)
    assert not cache.put(KEY, CLAUSE)
    assert list(tmp_path.iterdir()) == []


def test_a_half_written_file_of_a_dead_writer_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "dead.part").write_bytes(b"half")
    SpeechCache(tmp_path)
    assert list(tmp_path.iterdir()) == []
