"""The platform's own checks of the doctor: each says what is wrong and the way out."""

from __future__ import annotations

import importlib.metadata
import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lumihost.cli import doctor

pytestmark = pytest.mark.unit


def test_both_onnxruntimes_at_once_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.31" if name.startswith("onnxruntime") else real(name))
    finding = doctor._onnxruntime()
    assert finding["status"] == "fail"
    assert "onnxruntime and onnxruntime-gpu" in finding["detail"]
    assert "pip uninstall" in finding["way_out"]


def test_no_onnxruntime_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: "")
    assert (doctor._onnxruntime()["status"], "[cpu]" in doctor._onnxruntime()["way_out"]) == ("fail", True)


@pytest.mark.parametrize(("free", "status"), [(1_000_000_000, "warn"), (50_000_000_000, "ok")])
def test_little_room_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: str) -> None:
    monkeypatch.setattr(doctor, "_var", lambda: tmp_path)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: type("Usage", (), {"free": free})())
    assert doctor._folder()["status"] == status


def test_a_path_too_long_for_sockets_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_var", lambda: tmp_path / ("x" * 120))
    finding = doctor._folder()
    assert (finding["status"], "LUMIHOST_VAR" in finding["way_out"]) == ("fail", True)


def test_a_damaged_database_is_a_finding_not_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_var", lambda: tmp_path)
    monkeypatch.setattr(doctor, "_engine", list)
    (tmp_path / "db.sqlite3").write_bytes(b"not a database at all" * 100)
    with pytest.raises(sqlite3.DatabaseError):
        doctor._database()
    finding = next(f for f in doctor.examine(8000) if f["check"] == "database")
    assert finding["status"] == "fail"


@pytest.mark.parametrize(
    ("stdout", "expected"),
    [
        (json.dumps([{"check": "GPU", "status": "ok", "detail": "none", "way_out": ""}]), ("GPU", "ok")),
        ("", ("engine", "fail")),
        ("Traceback …", ("engine", "fail")),
    ],
)
def test_the_engines_report_is_taken_and_its_silence_reported(
    monkeypatch: pytest.MonkeyPatch, stdout: str, expected: tuple[str, str]
) -> None:
    def run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, 0, stdout, "ImportError: libx264")

    monkeypatch.setattr(doctor.subprocess, "run", run)
    found = doctor._engine()[0]
    assert (found["check"], found["status"]) == expected
