"""Finished clauses on the node's disk, one folder a tenant, bounded, least recently used first out.

The key holds everything that decides the sound, so an entry cannot go stale. One process writes a folder. A file carries its
own sha256: a torn or altered one counts as a miss and is removed.
"""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from gpu_engine.speech.engine import PhonemeSpan

_MAGIC = b"LHS1"
_HEAD = len(_MAGIC) + 32
_SUFFIX = ".clause"


@dataclass(frozen=True, slots=True)
class CachedClause:
    """PCM int16[n] at 48 kHz and the clause's phonemes."""

    pcm: NDArray[np.int16]
    phonemes: tuple[PhonemeSpan, ...]


def clause_key(*, spoken: str, lang: str, voice: str, speed: float, engine: str) -> str:
    """Hex key of one clause; ``engine`` is name and version together."""
    parts = "\x1f".join((spoken, lang, voice, f"{speed:.3f}", engine))
    return hashlib.sha256(parts.encode()).hexdigest()


class SpeechCache:
    """Thread-safe within the one writing process.

    Args:
        folder: this tenant's folder; made when missing.
        limit_bytes: upper bound of all entries together.
    """

    def __init__(self, folder: Path, limit_bytes: int = 512 * 1024 * 1024) -> None:
        self._folder = folder
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0
        self.damaged = 0
        folder.mkdir(parents=True, exist_ok=True)
        for leftover in folder.glob("*.part"):
            leftover.unlink(missing_ok=True)
        entries = sorted((p.stat().st_mtime_ns, p.stat().st_size, p.stem) for p in folder.glob(f"*{_SUFFIX}"))
        # dict order is the order of use: oldest first.
        self._sizes: dict[str, int] = {key: size for _, size, key in entries}
        self._total = sum(self._sizes.values())

    @property
    def total_bytes(self) -> int:
        """Bytes of all entries."""
        return self._total

    def __contains__(self, key: str) -> bool:
        with self._lock:
            return key in self._sizes

    def get(self, key: str) -> CachedClause | None:
        """The clause, or ``None`` when it is absent or its file is damaged (then it is removed)."""
        # The disk is read and written outside the lock: the event loop asks ``in`` while the worker stores.
        with self._lock:
            if key not in self._sizes:
                self.misses += 1
                return None
        path = self._path(key)
        try:
            found = _unpack(path.read_bytes())
            os.utime(path)
        except (OSError, ValueError, msgspec.DecodeError):
            with self._lock:
                self.misses += 1
                if key in self._sizes:
                    self.damaged += 1
                    self._forget(key)
            return None
        with self._lock:
            if key in self._sizes:
                self._sizes[key] = self._sizes.pop(key)
            self.hits += 1
        return found

    def put(self, key: str, clause: CachedClause) -> bool:
        """Store a whole clause; false when it is too big for the cache or the disk refuses (speech goes on without)."""
        raw = _pack(clause)
        if len(raw) > self._limit:
            return False
        part = self._path(key).with_suffix(f".{threading.get_ident()}.part")
        try:
            part.write_bytes(raw)
            with self._lock:
                part.replace(self._path(key))
                self._total += len(raw) - self._sizes.pop(key, 0)
                self._sizes[key] = len(raw)
                while self._total > self._limit:
                    self._forget(next(iter(self._sizes)))
        except OSError:
            part.unlink(missing_ok=True)
            return False
        return True

    def _forget(self, key: str) -> None:
        self._total -= self._sizes.pop(key)
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}{_SUFFIX}"


def _pack(clause: CachedClause) -> bytes:
    spans = [(s.symbol, s.start_ms, s.end_ms) for s in clause.phonemes]
    body = msgspec.msgpack.encode((spans, clause.pcm.astype("<i2").tobytes()))
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(raw: bytes) -> CachedClause:
    body = raw[_HEAD:]
    if raw[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != raw[len(_MAGIC) : _HEAD]:
        raise ValueError("entry is damaged")
    spans, pcm = msgspec.msgpack.decode(body, type=tuple[list[tuple[str, float, float]], bytes])
    return CachedClause(np.frombuffer(pcm, dtype="<i2").astype(np.int16), tuple(PhonemeSpan(*span) for span in spans))
