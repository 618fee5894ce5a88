"""What the console's renderer was given by the engine is what the engine says today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gpu_engine.dmcp.motion import BINARY_BYTES, Motion, decode_binary
from gpu_engine.motion.vocabulary import JOINT_INDEX, WEIGHT_INDEX

pytestmark = pytest.mark.unit

FRONTEND = Path(__file__).parents[2] / "frontend"
SAMPLE = FRONTEND / "src" / "shared" / "avatar" / "assets" / "sample.dmcp"


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"frontend_{name}", FRONTEND / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def frames() -> list[Motion]:
    data = SAMPLE.read_bytes()
    return [decode_binary(data[at : at + BINARY_BYTES]) for at in range(0, len(data), BINARY_BYTES)]


def test_the_browsers_tables_are_the_engines() -> None:
    tables = tool("motion_tables")

    assert tables.TARGET.read_text(encoding="utf-8") == tables.tables(), "run python frontend/tools/motion_tables.py"


def test_the_sample_speaks_blinks_and_moves_its_hands() -> None:
    motions = frames()
    weights = np.array([m.weights for m in motions])
    joints = np.array([m.joints for m in motions])

    assert (len(motions), [m.ts_ms for m in motions[:3]]) == (200, [0, 40, 80])
    assert weights[:, WEIGHT_INDEX["jawOpen"]].max() > 0.25
    assert weights[:, WEIGHT_INDEX["eyeBlinkLeft"]].max() > 0.9
    elbow = 2 * np.degrees(np.arccos(np.abs(joints[:, JOINT_INDEX["right_elbow"], 3]).clip(0, 1)))
    assert elbow.max() > 40


def test_the_sample_loops_without_a_jump() -> None:
    motions = frames()
    lips = np.array([m.weights for m in motions])
    inner = np.abs(np.diff(lips, axis=0)).max(axis=1)
    joints = np.array([m.joints for m in motions])

    assert np.abs(lips[0] - lips[-1]).max() < np.percentile(inner, 75)
    assert np.abs(np.sum(joints[0] * joints[-1], axis=1)).min() > np.cos(np.radians(2) / 2)
