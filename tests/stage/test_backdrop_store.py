"""Backdrops on disk: the same picture, painted once, whatever happens to the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpu_engine.stage import backdrop
from gpu_engine.stage.backdrop_store import stored_backdrop

pytestmark = pytest.mark.unit


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    calls: list[tuple[int, int]] = []
    real = backdrop.backdrop

    def count(width: int, height: int, host_x: float) -> np.ndarray:
        calls.append((width, height))
        return real(width, height, host_x)

    monkeypatch.setattr(backdrop, "backdrop", count)
    return calls


def test_a_second_start_reads_what_the_first_painted(tmp_path: Path, painted: list[tuple[int, int]]) -> None:
    first = stored_backdrop(320, 180, 0.37, tmp_path)
    second = stored_backdrop(320, 180, 0.37, tmp_path)

    assert painted == [(320, 180)]
    assert (first == second).all()


def test_a_damaged_file_is_painted_again(tmp_path: Path, painted: list[tuple[int, int]]) -> None:
    first = stored_backdrop(320, 180, 0.37, tmp_path)
    (kept,) = tmp_path.glob("backdrop-*.png")
    kept.write_bytes(b"not a picture")

    assert (stored_backdrop(320, 180, 0.37, tmp_path) == first).all()
    assert len(painted) == 2


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, painted: list[tuple[int, int]]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")

    assert stored_backdrop(320, 180, 0.37, blocked / "cache").shape == (180, 320, 3)
