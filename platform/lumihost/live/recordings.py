"""Recordings: where they are stored, and taking one in from a node."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import transaction

from lumihost.core import audit
from lumihost.core.audit import Actor
from lumihost.core.problems import DomainError, Invalid, register
from lumihost.live.models import LiveSession, Recording

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}\.mp4")
_KEEP_FREE_BYTES = 500_000_000
BAD_NAME = register("bad_recording_name", "录像文件名无效", "Not a name for a recording")
CUT_SHORT = register("upload_cut_short", "上传中断", "The upload was cut short")
DISK_FULL = register("disk_full", "磁盘空间不足", "The disk is full")


class NoSpace(DomainError):
    """507: the file does not fit."""

    status = 507
    code = DISK_FULL


def storage_key(session: LiveSession, epoch: int, name: str) -> str:
    """Key below MEDIA_ROOT; the tenant comes first, so one tenant's files are one folder. A node of a later epoch cannot
    overwrite what an earlier one has delivered.

    Raises:
        Invalid: the name is not a plain ``….mp4``.
    """
    if not _NAME.fullmatch(name):
        raise Invalid(f"recording name {name[:80]!r}: use letters, digits, '.', '_' and '-', ending in .mp4", code=BAD_NAME)
    return f"t/{session.tenant_id}/recordings/{session.pk}/{epoch}/{name}"


def path_of(recording: Recording) -> Path:
    """The stored file."""
    return Path(settings.MEDIA_ROOT) / recording.file


def receive(
    session: LiveSession, epoch: int, name: str, chunks: Iterator[bytes], expected_bytes: int | None
) -> tuple[str, int]:
    """Write an upload next to its final place, then rename: a reader never sees half a file. No transaction is open here.

    Returns:
        (storage key, bytes).

    Raises:
        Invalid: bad name, or fewer bytes than announced. NoSpace: it would not fit.
    """
    key = storage_key(session, epoch, name)
    target = Path(settings.MEDIA_ROOT) / key
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if shutil.disk_usage(target.parent).free < (expected_bytes or 0) + _KEEP_FREE_BYTES:
        raise NoSpace(
            f"{name} of {expected_bytes} bytes does not fit on the platform's disk: free space under {settings.MEDIA_ROOT}"
        )
    partial = target.with_name(f".{name}.{secrets.token_hex(4)}.part")
    size = 0
    try:
        with partial.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
                size += len(chunk)
            file.flush()
            os.fsync(file.fileno())
        if expected_bytes is not None and size != expected_bytes:
            raise Invalid(f"{name}: {size} of {expected_bytes} bytes arrived: send it again", code=CUT_SHORT)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return key, size


@transaction.atomic
def register_recording(
    *, session_id: str, epoch: int, name: str, key: str, size: int, duration_s: float, actor: Actor
) -> Recording:  # fmt: skip
    """Make a stored file a recording of its session; the same upload again changes nothing but its size and duration."""
    session = LiveSession.objects.select_for_update().get(pk=session_id)
    recording: Recording | None = Recording.objects.filter(session=session, epoch=epoch, name=name).first()
    if recording is None:
        recording = Recording(session=session, epoch=epoch, name=name, part=_part(name))
    recording.file, recording.bytes, recording.duration_s, recording.finished = key, size, duration_s, True
    recording.save()
    audit.record(actor=actor, action="recording.stored", target=recording, after={"name": name, "bytes": size})
    return recording


def _part(name: str) -> int:
    """``<session>.<epoch>.<start>[…].mp4``: which start of the engine wrote it; 0 for a name of another kind."""
    pieces = name.split(".")
    return int(pieces[2]) if len(pieces) > 3 and pieces[2].isdigit() and len(pieces[2]) < 7 else 0
