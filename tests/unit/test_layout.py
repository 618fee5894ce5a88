"""`platform/` is a source folder: the standard library's `platform` wins however the product is started."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
STDLIB = Path(os.__file__).parent
BIN = Path(sys.executable).parent
SHOW = "import platform, lumihost; print(platform.__file__); print(lumihost.__file__)"


def run(*command: str, cwd: Path = ROOT, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "DJANGO"))}
    done = subprocess.run(command, cwd=cwd, env=clean | environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_stdlib(output: str) -> bool:
    return Path(output.split("\n")[0]) == STDLIB / "platform.py"


def test_the_folder_holds_no_package_marker() -> None:
    assert not (ROOT / "platform" / "__init__.py").exists()
    assert sorted(p.name for p in (ROOT / "platform").iterdir() if p.is_dir() and p.name != "__pycache__") == ["lumihost"]


def test_pytest_sees_the_standard_library() -> None:
    assert Path(platform.__file__) == STDLIB / "platform.py"
    assert importlib.util.find_spec("lumihost") is not None


def test_a_marker_is_reported_by_the_system_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lumihost.config import checks

    (tmp_path / "platform").mkdir()
    monkeypatch.setattr(checks, "PACKAGE", tmp_path / "platform" / "lumihost")
    assert checks.platform_folder_is_no_package(None) == []
    (tmp_path / "platform" / "__init__.py").touch()
    assert [error.id for error in checks.platform_folder_is_no_package(None)] == ["config.E001"]


@pytest.mark.process
def test_python_c_from_the_root() -> None:
    assert is_stdlib(run(sys.executable, "-c", SHOW))


@pytest.mark.process
def test_python_m_platform() -> None:
    assert run(sys.executable, "-m", "platform").strip() == platform.platform()


@pytest.mark.process
def test_manage_py_without_an_installation(tmp_path: Path) -> None:
    # -S leaves site-packages' .pth files out, so only manage.py itself can find lumihost; the path gives it Django back.
    site = subprocess.run(
        [sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    output = run(
        sys.executable, "-S", "manage.py", "shell", "--no-imports", "-c", SHOW,
        PYTHONPATH=site, LUMIHOST_VAR=str(tmp_path), DJANGO_SETTINGS_MODULE="lumihost.config.settings.embedded",
    )  # fmt: skip
    assert is_stdlib(output)
    assert Path(output.split("\n")[1]) == ROOT / "platform" / "lumihost" / "__init__.py"


@pytest.mark.process
@pytest.mark.parametrize("program", ["celery", "daphne"])
def test_programs_of_others(program: str, tmp_path: Path) -> None:
    # The console script's own start, up to the import of our application.
    target = {"celery": "lumihost.config.celery", "daphne": "lumihost.config.asgi"}[program]
    code = f"import {program}, runpy, sys, importlib; importlib.import_module({target!r}); {SHOW}"
    output = run(
        sys.executable,
        "-c",
        code,
        cwd=ROOT,
        LUMIHOST_VAR=str(tmp_path),
        DJANGO_SETTINGS_MODULE="lumihost.config.settings.embedded",
    )
    assert is_stdlib(output)
    assert (BIN / program).is_file()


@pytest.mark.process
def test_celery_reports(tmp_path: Path) -> None:
    output = run(str(BIN / "celery"), "-A", "lumihost.config.celery", "report", LUMIHOST_VAR=str(tmp_path))
    assert "filesystem" in output


@pytest.mark.process
@pytest.mark.timeout(300)
def test_an_installed_wheel(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    built = subprocess.run(
        [*pip, "wheel", "--no-deps", "-w", str(tmp_path / "dist"), str(ROOT)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    wheel = next((tmp_path / "dist").glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {"lumihost", "tenants", "workers", "gpu_engine"} <= tops
    assert not tops & {"platform", "tests"}
    assert "lumihost/web/templates/web/console.html" in names
    assert any(name.startswith("lumihost/knowledge/demo/") for name in names)

    subprocess.run(
        [*pip, "install", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)],
        check=True,
        capture_output=True,
        timeout=120,
    )
    output = run(sys.executable, "-c", SHOW, cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))
    assert is_stdlib(output)
    assert Path(output.split("\n")[1]) == tmp_path / "site" / "lumihost" / "__init__.py"
