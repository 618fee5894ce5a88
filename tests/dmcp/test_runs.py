"""Which run directory is a session's, and that a dead body's link never leads into another show."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpu_engine.dmcp.runs import SessionRings, run_directory
from gpu_engine.motion.live import IN_RING, OUT_RING, LiveMotion
from gpu_engine.motion.ring import MOTION_RECORD, RingError, RingReader, RingWriter

pytestmark = pytest.mark.unit


def body(run_dir: Path) -> LiveMotion:
    run_dir.mkdir()
    return LiveMotion(run_dir)


def test_the_newest_epoch_with_a_running_body_is_the_sessions(tmp_path: Path) -> None:
    kept = [body(tmp_path / name) for name in ("ses_a", "ses_a.2", "ses_a.10", "ses_a.x", "ses_ab.99")]
    (tmp_path / "ses_a.11").mkdir()
    (tmp_path / "ses_a.12").mkdir()
    (tmp_path / "ses_a.12" / OUT_RING).symlink_to("/proc/1999999999/fd/3")

    assert run_directory(tmp_path, "ses_a") == tmp_path / "ses_a.10"
    assert run_directory(tmp_path, "ses_ab") == tmp_path / "ses_ab.99"
    assert run_directory(tmp_path, "ses_none") is None
    assert len(kept) == 5


@pytest.mark.parametrize("name", ["", "..", "../x", "ses_a/..", "*", "ses_[a]", "ses a", "x" * 65, "ses_a.2"])
def test_a_name_that_is_no_plain_id_is_nobody(tmp_path: Path, name: str) -> None:
    kept = body(tmp_path / "ses_a.2")

    assert run_directory(tmp_path, name) is None
    assert kept is not None


def test_a_dead_bodys_link_that_leads_to_another_shows_ring_is_not_followed(tmp_path: Path) -> None:
    """As when a process id is used again: A's link stays and names the process that is now B's."""
    b = body(tmp_path / "ses_b.1")
    (tmp_path / "ses_a.1").mkdir()
    for ring in (IN_RING, OUT_RING):
        (tmp_path / "ses_a.1" / ring).symlink_to(os.readlink(tmp_path / "ses_b.1" / ring))

    with pytest.raises(RingError, match="another show"):
        SessionRings(tmp_path / "ses_a.1")
    with pytest.raises(RingError, match="another show"):
        RingReader(tmp_path / "ses_a.1" / OUT_RING, MOTION_RECORD)
    assert SessionRings(tmp_path / "ses_b.1").current
    assert b is not None


def test_a_link_to_something_else_is_no_ring(tmp_path: Path) -> None:
    (tmp_path / "ses_a").mkdir()
    for target in ("/dev/null", "/proc/self/status"):
        link = tmp_path / "ses_a" / IN_RING
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        with pytest.raises(RingError):
            RingWriter.join(link, MOTION_RECORD)
