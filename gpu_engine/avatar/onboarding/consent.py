"""The consent of the person in the photograph: without a complete record no head is made."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import date
from pathlib import Path
from typing import Any

from gpu_engine.avatar.renderer import AvatarError

MAX_RECORD_BYTES = 64 << 10
MAX_EVIDENCE_BYTES = 64 << 20
EXAMPLE = '{"who": "…", "statement": "…", "granted_on": "2026-05-31", "evidence": "signed.pdf"}'


class ConsentError(AvatarError):
    """The consent record is missing or incomplete; the message names the field."""


def _text(record: dict[str, Any], field: str, path: Path) -> str:
    value = record.get(field)
    if not isinstance(value, str) or not value.strip() or len(value) > 4000:
        raise ConsentError(f"{path}: field '{field}' must be a text of 1 to 4000 characters; the record looks like {EXAMPLE}")
    return value.strip()


def read_consent(path: Path | None, today: date) -> dict[str, Any]:
    """The pack's ``consent`` entry from a record file.

    Args:
        path: JSON with ``who`` (the person, or who may sign for them), ``statement`` (what was agreed to), ``granted_on``
            (YYYY-MM-DD, not in the future) and ``evidence``: a file beside the record (a signed form, a recorded statement),
            of which the SHA-256 goes into the pack, or that SHA-256 itself in hex.
        today: the current date.

    Raises:
        ConsentError: no record, unreadable, a field missing, a date in the future, or the evidence not there.
    """
    if path is None:
        raise ConsentError(f"a head of a real person needs that person's consent: give --consent FILE, a JSON like {EXAMPLE}")
    try:
        if path.stat().st_size > MAX_RECORD_BYTES:
            raise ConsentError(
                f"{path} is larger than {MAX_RECORD_BYTES >> 10} KiB: a consent record is a short JSON like {EXAMPLE}"
            )
        record = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConsentError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConsentError(f"{path} is not JSON ({str(error)[:80]}); it looks like {EXAMPLE}") from None
    if not isinstance(record, dict):
        raise ConsentError(f"{path} must be a JSON object like {EXAMPLE}")
    who, statement, granted_on = (_text(record, field, path) for field in ("who", "statement", "granted_on"))
    try:
        granted = date.fromisoformat(granted_on)
    except ValueError:
        raise ConsentError(f"{path}: granted_on is '{granted_on[:20]}', not a date; write YYYY-MM-DD") from None
    if granted > today:
        raise ConsentError(f"{path}: granted_on {granted} lies in the future; consent must be given before work starts")
    return {
        "subject": "person",
        "statement": statement,
        "granted_by": who,
        "granted_on": granted.isoformat(),
        "evidence_sha256": _evidence(_text(record, "evidence", path), path),
    }


def _evidence(evidence: str, record: Path) -> str:
    if re.fullmatch(r"[0-9a-fA-F]{64}", evidence):
        return evidence.lower()
    path = record.parent / evidence
    try:
        if path.stat().st_size > MAX_EVIDENCE_BYTES:
            raise ConsentError(
                f"{record}: evidence {evidence} is larger than {MAX_EVIDENCE_BYTES >> 20} MiB; give its SHA-256 instead"
            )
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConsentError(
            f"{record}: evidence '{evidence[:80]}' cannot be read ({why}); name a file beside the record, "
            "or give its SHA-256 in hex"
        ) from None
    if not raw:
        raise ConsentError(f"{record}: evidence {evidence} is empty; it must show that the person agreed")
    return hashlib.sha256(raw).hexdigest()
