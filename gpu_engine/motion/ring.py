"""A lock-free ring of small timestamped records in shared memory: one writer, any number of readers.

Live sources of motion (a takeover microphone's visemes, motion control over the network) write it, the body reads it and
waits for nobody. Every slot carries a sequence number, odd while it is being written (a seqlock: Lameter 2005), so a
reader sees a whole record or knows that it was overtaken. This relies on stores becoming visible in order, as on x86-64.
"""

from __future__ import annotations

import enum
import hashlib
import mmap
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.visemes import VISEME_INDEX, VISEMES
from gpu_engine.motion.vocabulary import JOINT_COUNT, WEIGHT_COUNT

_MAGIC = 0x314E_524D_4F54_494D
_HEADER = np.dtype(
    [("magic", "<u8"), ("item_bytes", "<u4"), ("capacity", "<u4"), ("written", "<u8"), ("owner", "<u8"), ("_pad", "V32")]
)

VISEME_RECORD = np.dtype([("timestamp_ns", "<i8"), ("viseme", "<u4"), ("confidence", "<f4")])
"""A viseme heard at a time (time.monotonic_ns of the media clock): index into ``VISEMES``, confidence in [0, 1]."""

MOTION_RECORD = np.dtype(
    [
        ("timestamp_ns", "<i8"),
        ("arrived_ns", "<i8"),
        ("sequence", "<u4"),
        ("flags", "<u4"),
        ("weights", "<f4", (WEIGHT_COUNT,)),
        ("joints", "<f4", (JOINT_COUNT, 4)),
    ]
)
"""A whole motion frame, fields as in ``MotionFrame``.

``timestamp_ns``: when the pose was captured or is shown; ``arrived_ns``: when a live source's frame reached this machine (both
time.monotonic_ns); ``sequence``: the writer's own count; ``flags``: see :class:`MotionFlag`.
"""


class MotionFlag(enum.IntFlag):
    """What a motion frame says about itself. Neither SPEECH nor SILENT: whoever reads it judges by how the mouth moves."""

    SPEECH = 1
    """Live source: its mouth speaks. Telemetry: the host is speaking."""
    SILENT = 2
    """Live source: its mouth does not speak; a clip keeps the lips."""
    FACE = 4
    """``weights`` are given."""
    POSE = 8
    """All 21 ``joints`` are given."""
    HEAD = 16
    """Only the joints ``neck`` and ``head`` are given."""
    RELEASE = 32
    """Live source: it lets go of the host; nothing else in the record counts."""
    LIVE = 64
    """Telemetry: a live source drives the host, wholly or in part."""


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
    """An open ring file."""

    def __init__(self, path: Path, item: np.dtype[np.void]) -> None:
        slot = _slot_dtype(item)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise RingError(f"motion ring {path}: {error.strerror}: start its writer first") from error
        try:
            size = os.fstat(handle).st_size
            if size < _HEADER.itemsize:
                raise RingError(f"motion ring {path}: {size} bytes hold no header: remove the file")
            memory = mmap.mmap(handle, size)
        finally:
            os.close(handle)
        self.header = np.frombuffer(memory, dtype=_HEADER, count=1)
        held = int(self.header["item_bytes"][0])
        if int(self.header["magic"][0]) != _MAGIC or held != item.itemsize:
            raise RingError(f"motion ring {path}: holds records of {held} bytes, {item.itemsize} expected: remove the file")
        owner = int(self.header["owner"][0])
        if owner and owner != _owner(path):
            # A process id is used again: the link of a body that died may lead to another show's ring.
            raise RingError(f"motion ring {path}: leads to another show's ring: start its writer first")
        self.capacity = int(self.header["capacity"][0])
        if size < _HEADER.itemsize + slot.itemsize * self.capacity:
            raise RingError(f"motion ring {path}: cut off at {size} bytes: remove the file")
        self.slots = np.frombuffer(memory, dtype=slot, count=self.capacity, offset=_HEADER.itemsize)


def _create(path: Path, item: np.dtype[np.void], capacity: int) -> None:
    """Put a new empty ring in place of ``path`` at once: who has the old file mapped keeps it whole."""
    header = np.zeros(1, dtype=_HEADER)
    header["magic"], header["item_bytes"], header["capacity"] = _MAGIC, item.itemsize, capacity
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            file.write(header.tobytes())
            file.truncate(_HEADER.itemsize + _slot_dtype(item).itemsize * capacity)
        fresh.chmod(0o600)
        fresh.replace(path)
    except OSError as error:
        raise RingError(f"motion ring {path}: {error.strerror}: give a folder that can be written") from error


def _owner(path: Path) -> int:
    """What a ring in memory is known by: run directory and ring, never 0."""
    digest = hashlib.sha256(f"{path.parent.name}/{path.name}".encode()).digest()
    return int.from_bytes(digest[:8], "little") | 1


def create_in_memory(path: Path, item: np.dtype[np.void], capacity: int = 256) -> int:
    """Make a new empty ring in anonymous memory and point ``path`` at it; returns the descriptor that keeps it alive.

    The body of a show does this: a ring in a file would let the disk's write-back stop its next store, and a ring in memory
    is gone with the process, so that others see that it died. ``path`` becomes a link to ``/proc/<pid>/fd/<n>``, which
    processes of the same user on the same machine can open.

    Raises:
        RingError: the folder cannot be written.
    """
    header = np.zeros(1, dtype=_HEADER)
    header["magic"], header["item_bytes"], header["capacity"] = _MAGIC, item.itemsize, capacity
    header["owner"] = _owner(path)
    descriptor = os.memfd_create(path.name, os.MFD_CLOEXEC)
    link = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        os.ftruncate(descriptor, _HEADER.itemsize + _slot_dtype(item).itemsize * capacity)
        os.pwrite(descriptor, header.tobytes(), 0)
        link.unlink(missing_ok=True)
        link.symlink_to(f"/proc/{os.getpid()}/fd/{descriptor}")
        link.replace(path)
    except OSError as error:
        os.close(descriptor)
        raise RingError(f"motion ring {path}: {error.strerror}: give a folder that can be written") from error
    return descriptor


class RingWriter:
    """The single producer. A restarted writer goes on where the last one stopped, so readers need not know."""

    def __init__(self, path: Path, item: np.dtype[np.void], capacity: int = 256) -> None:
        """Open or create the ring's file (put it on a memory file system) for ``capacity`` records of type ``item``.

        Raises:
            ValueError: capacity below 2.
            RingError: the file cannot be created.
        """
        if capacity < 2:
            raise ValueError(f"ring of {capacity} records: at least 2 are needed")
        try:
            opened: _Mapping | None = _Mapping(path, item)
        except RingError:
            opened = None
        if opened is None or opened.capacity != capacity:
            _create(path, item, capacity)
            opened = _Mapping(path, item)
        self._map = opened
        self._written = int(self._map.header["written"][0])

    @classmethod
    def join(cls, path: Path, item: np.dtype[np.void]) -> RingWriter:
        """Write to a ring that its reader has made.

        Raises:
            RingError: no such ring (the reader is gone), or one of other records.
        """
        writer = cls.__new__(cls)
        writer._map = _Mapping(path, item)
        writer._written = int(writer._map.header["written"][0])
        return writer

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
        self._map = _Mapping(path, item)
        self._next = int(self._map.header["written"][0])

    def read(self) -> Batch:
        """Everything written since the last read. Never waits; records overtaken by the writer are counted as lost."""
        written = int(self._map.header["written"][0])
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

    @property
    def written(self) -> int:
        """How many records were ever written; changes when there is something new."""
        return int(self._map.header["written"][0])

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
