"""``lumihost doctor``: what this machine can run, what is missing, and the way out. One line a check."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lumihost.cli.terminal import coloured, say

Finding = dict[str, str]
"""{check, status: ok | warn | fail, detail, way_out}; the engine's doctor speaks the same."""

_SIGNS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}
_ENGINE_TIMEOUT_S = 180
_MIN_FREE_BYTES = 2_000_000_000
_MAX_SOCKET_PATH_BYTES = 107


def run_doctor(*, as_json: bool, port: int) -> int:
    """Print every finding; exit code 1 when one fails."""
    findings = examine(port)
    if as_json:
        say(json.dumps(findings, ensure_ascii=False))
    else:
        for finding in findings:
            sign, colour = _SIGNS[finding["status"]]
            say(f"{coloured(sign, colour)} {finding['check']:<16} {finding['detail']}")
            if finding["way_out"] and finding["status"] != "ok":
                say(f"  → {finding['way_out']}")
    return 1 if any(finding["status"] == "fail" for finding in findings) else 0


def examine(port: int) -> list[Finding]:
    """The platform's own checks, then the engine's. A check that breaks is itself a finding."""
    findings: list[Finding] = []
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("python", _python),
        ("packages", _packages),
        ("onnxruntime", _onnxruntime),
        ("folder", _folder),
        ("database", _database),
        ("port", lambda: _port(port)),
        ("console", _console),
    ]
    for name, check in checks:
        try:
            findings.append(check())
        except Exception as error:  # noqa: BLE001 - the doctor reports whatever is broken
            findings.append(_finding(name, "fail", f"{type(error).__name__}: {error}", "install again: make demo"))
    known = {finding["check"] for finding in findings}
    return findings + [finding for finding in _engine() if finding["check"] not in known]


def _finding(check: str, status: str, detail: str, way_out: str = "") -> Finding:
    return {"check": check, "status": status, "detail": detail, "way_out": way_out}


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 11) or sys.version_info >= (3, 14):
        return _finding("python", "fail", version, "install Python 3.11, 3.12 or 3.13 and run `make demo PYTHON=python3.11`")
    import platform

    if not hasattr(platform, "system"):
        return _finding("python", "fail", "the folder platform/ hides the standard library's module",
                        "delete platform/__init__.py: it must not exist")  # fmt: skip
    return _finding("python", "ok", version)


def _packages() -> Finding:
    """Whether what the project says it needs is installed in versions it accepts."""
    from packaging.requirements import Requirement

    wrong = []
    for text in importlib.metadata.requires("lumihost") or []:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is missing")
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version} is not {requirement.specifier}")
    if wrong:
        return _finding("packages", "fail", "; ".join(wrong[:5]), "run `make demo` again: it installs what is missing")
    return _finding("packages", "ok", f"lumihost {importlib.metadata.version('lumihost')} and its dependencies")


def _onnxruntime() -> Finding:
    """onnxruntime and onnxruntime-gpu install the same module; with both, the files of one are overwritten by the other's."""
    names = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml")
    found = [name for name in names if _version(name)]
    if len(found) > 1:
        return _finding("onnxruntime", "fail", f"{' and '.join(found)} are both installed and overwrite each other",
                        f"pip uninstall -y {' '.join(found)} && pip install 'lumihost[cpu]' (or [gpu])")  # fmt: skip
    if not found:
        return _finding(
            "onnxruntime", "fail", "not installed", "pip install 'lumihost[cpu]', or 'lumihost[gpu]' on an NVIDIA machine"
        )
    return _finding("onnxruntime", "ok", f"{found[0]} {_version(found[0])}")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _var() -> Path:
    from lumihost.config.settings.base import VAR

    return VAR


def _folder() -> Finding:
    """Where everything is written: writable, roomy, and short enough for sockets."""
    var = _var()
    probe = next(path for path in (var, *var.parents) if path.exists())
    if not os.access(probe, os.W_OK):
        return _finding("folder", "fail", f"{probe} cannot be written", "set LUMIHOST_VAR to a folder of yours")
    length = len(os.fsencode(var / "node" / "agent.sock"))
    if length > _MAX_SOCKET_PATH_BYTES:
        return _finding("folder", "fail", f"{var} is too long for sockets ({length} of {_MAX_SOCKET_PATH_BYTES} bytes)",
                        "set LUMIHOST_VAR to a shorter path")  # fmt: skip
    free = shutil.disk_usage(probe).free
    detail = f"{var}, {free / 1e9:.1f} GB free"
    if free < _MIN_FREE_BYTES:
        return _finding(
            "folder", "warn", detail, "a recording takes 1.1 GB an hour: free space or set LUMIHOST_VAR to a larger disk"
        )
    return _finding("folder", "ok", detail)


def _database() -> Finding:
    import sqlite3

    if sqlite3.sqlite_version_info < (3, 31):
        return _finding(
            "database", "fail", f"SQLite {sqlite3.sqlite_version}", "Lumihost needs SQLite 3.31: use a newer Python"
        )
    file = _var() / "db.sqlite3"
    if not file.exists():
        return _finding("database", "ok", f"SQLite {sqlite3.sqlite_version}; none yet, `lumihost up` makes it")
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5) as connection:
        answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if answer != "ok":
        return _finding("database", "fail", f"{file} is damaged: {answer}", "stop Lumihost and restore it from a backup")
    return _finding("database", "ok", f"SQLite {sqlite3.sqlite_version}, {file.stat().st_size / 1e6:.1f} MB")


def _port(port: int) -> Finding:
    from lumihost.cli.ports import why_not_free

    problem = why_not_free("127.0.0.1", port)
    if problem:
        fact, _, way_out = problem.partition(": ")
        return _finding("port", "warn", fact, way_out)
    return _finding("port", "ok", f"{port} is free")


def _console() -> Finding:
    spec = importlib.util.find_spec("lumihost.web")
    folder = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    if not (folder / "static" / "app" / ".vite" / "manifest.json").exists():
        way_out = "run `make demo` again, or `npm ci && npm run build` in frontend/"
        return _finding("console", "warn", "the web console has not been built", way_out)
    return _finding("console", "ok", "built")


def _engine() -> list[Finding]:
    """What ``python -m gpu_engine doctor --json`` says, in its own process: a broken library must not take this one down."""
    command = [sys.executable, "-m", "gpu_engine", "doctor", "--json"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_ENGINE_TIMEOUT_S, check=False)
        findings: list[Finding] = json.loads(result.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return [
            _finding(
                "engine", "fail", f"its doctor did not answer within {_ENGINE_TIMEOUT_S} s", "run `python -m gpu_engine doctor`"
            )
        ]
    except (IndexError, ValueError):
        words = (result.stderr.strip().splitlines() or ["no output"])[-1]
        return [_finding("engine", "fail", words[:300], "run `python -m gpu_engine doctor`; install again with `make demo`")]
    return findings
