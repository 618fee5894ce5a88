"""A lock-free ring of small timestamped records in shared memory: one writer, any number of readers.

Live sources of motion (a takeover microphone's visemes, motion control over the network) write it, the body reads it and
waits for nobody. Every slot carries a sequence number, odd while it is being written (a seqlock: Lameter 2005), so a
reader sees a whole record or knows that it was overtaken. This relies on stores becoming visible in order, as on x86-64.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.visemes import VISEME_INDEX, VISEMES
from gpu_engine.motion.vocabulary import JOINT_COUNT, WEIGHT_COUNT

_MAGIC = 0x314E_524D_4F54_494D
_HEADER = np.dtype([("magic", "<u8"), ("item_bytes", "<u4"), ("capacity", "<u4"), ("written", "<u8"), ("_pad", "V40")])

VISEME_RECORD = np.dtype([("timestamp_ns", "<i8"), ("viseme", "<u4"), ("confidence", "<f4")])
"""A viseme heard at a time (time.monotonic_ns of the media clock): index into ``VISEMES``, confidence in [0, 1]."""

MOTION_RECORD = np.dtype([("timestamp_ns", "<i8"), ("weights", "<f4", (WEIGHT_COUNT,)), ("joints", "<f4", (JOINT_COUNT, 4))])
"""A whole motion frame of a live source, fields as in ``MotionFrame``."""


class RingError(RuntimeError):
    """The ring's file is missing, damaged or holds other records; the message names it and the way out."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a read returned: ``records`` in order of writing, ``lost`` overwritten before they could be read."""

    records: NDArray[np.void]
    lost: int


def viseme_record(timestamp_ns: int, viseme: str, confidence: float) -> NDArray[np.void]:
    """One ``VISEME_RECORD``; ``KeyError`` for a name that is no viseme."""
    record: NDArray[np.void] = np.zeros((), dtype=VISEME_RECORD)
    record["timestamp_ns"], record["viseme"], record["confidence"] = timestamp_ns, VISEME_INDEX[viseme], confidence
    return record


def viseme_name(record: NDArray[np.void]) -> str:
    """Viseme of a ``VISEME_RECORD``."""
    return VISEMES[int(record["viseme"])]


def _slot_dtype(item: np.dtype[np.void]) -> np.dtype[np.void]:
    return np.dtype([("sequence", "<u8"), ("item", item)], align=False)


class _Mapping:
    def __init__(self, path: Path, item: np.dtype[np.void], create_capacity: int | None) -> None:
        slot = _slot_dtype(item)
        flags = os.O_RDWR | (os.O_CREAT | os.O_TRUNC if create_capacity else 0)
        try:
            handle = os.open(path, flags | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RingError(f"motion ring {path}: {error.strerror}: start its writer first") from error
        try:
            if create_capacity:
                os.ftruncate(handle, _HEADER.itemsize + slot.itemsize * create_capacity)
            size = os.fstat(handle).st_size
            if size < _HEADER.itemsize:
                raise RingError(f"motion ring {path}: {size} bytes hold no header: start its writer first")
            self._memory = mmap.mmap(handle, size)
        finally:
            os.close(handle)
        self.header = np.frombuffer(self._memory, dtype=_HEADER, count=1)
        if create_capacity:
            self.header["item_bytes"], self.header["capacity"] = item.itemsize, create_capacity
            self.header["magic"] = _MAGIC
        if int(self.header["magic"][0]) != _MAGIC or int(self.header["item_bytes"][0]) != item.itemsize:
            held = int(self.header["item_bytes"][0])
            raise RingError(f"motion ring {path}: holds records of {held} bytes, {item.itemsize} expected: remove the file")
        self.capacity = int(self.header["capacity"][0])
        if size < _HEADER.itemsize + slot.itemsize * self.capacity:
            raise RingError(f"motion ring {path}: cut off at {size} bytes: remove the file")
        self.slots = np.frombuffer(self._memory, dtype=slot, count=self.capacity, offset=_HEADER.itemsize)


class RingWriter:
    """The single producer. Creating it empties the ring."""

    def __init__(self, path: Path, item: np.dtype[np.void], capacity: int = 256) -> None:
        """Create the ring's file (put it on a memory file system) for ``capacity`` records of type ``item``.

        Raises:
            ValueError: capacity below 2.
            RingError: the file cannot be created.
        """
        if capacity < 2:
            raise ValueError(f"ring of {capacity} records: at least 2 are needed")
        self._map = _Mapping(path, item, capacity)
        self._written = 0

    def write(self, record: NDArray[np.void]) -> None:
        """Append one record; never waits, overwrites the oldest."""
        slot = self._map.slots[self._written % self._map.capacity : self._written % self._map.capacity + 1]
        slot["sequence"] = 2 * self._written + 1
        slot["item"] = record
        slot["sequence"] = 2 * self._written + 2
        self._written += 1
        self._map.header["written"] = self._written


class RingReader:
    """One consumer with its own position; starts at the newest record there is."""

    def __init__(self, path: Path, item: np.dtype[np.void]) -> None:
        """Open a ring.

        Raises:
            RingError: no such ring, or one of other records.
        """
        self._item = item
        self._map = _Mapping(path, item, None)
        self._next = int(self._map.header["written"][0])

    def read(self) -> Batch:
        """Everything written since the last read. Never waits; records overtaken by the writer are counted as lost."""
        written = int(self._map.header["written"][0])
        if written < self._next:
            self._next = 0  # the writer was restarted
        first = max(self._next, written - self._map.capacity)
        lost = first - self._next
        whole: list[NDArray[np.void]] = []
        for number in range(first, written):
            record = self._one(number)
            if record is None:
                lost += 1
            else:
                whole.append(record)
        self._next = written
        return Batch(np.array(whole, dtype=self._item), lost)

    def latest(self) -> NDArray[np.void] | None:
        """The newest whole record, or ``None`` when the ring is empty; the position of :meth:`read` does not move."""
        for _ in range(8):
            written = int(self._map.header["written"][0])
            if written == 0:
                return None
            record = self._one(written - 1)
            if record is not None:
                return record
        return None

    def _one(self, number: int) -> NDArray[np.void] | None:
        slot = self._map.slots[number % self._map.capacity]
        expected = 2 * number + 2
        if int(slot["sequence"]) != expected:
            return None
        record = np.array(slot["item"], dtype=self._item)
        return record if int(slot["sequence"]) == expected else None
