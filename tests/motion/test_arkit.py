"""32 weights and ARKit's 52 shapes: complete, documented, invertible within what was merged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpu_engine.motion.arkit import ARKIT, ARKIT_INDEX, FACS, MATRIX, UNUSED, from_arkit, to_arkit
from gpu_engine.motion.vocabulary import WEIGHT_INDEX, WEIGHTS

pytestmark = pytest.mark.unit

DOCUMENT = Path(__file__).parents[2] / "docs/motion.md"


def table() -> str:
    """The documented matrix, made from the code."""
    rows = ["| weight | FACS | ARKit shapes |", "| --- | --- | --- |"]
    for i, weight in enumerate(WEIGHTS):
        shapes = [
            f"{ARKIT[j]}" + (f" × {MATRIX[i, j]:g}" if MATRIX[i, j] != 1 else "") for j in np.nonzero(MATRIX[i])[0]
        ]  # fmt: skip
        rows.append(f"| {weight} | {FACS[weight]} | {', '.join(shapes)} |")
    return "\n".join(rows)


def test_fifty_two_different_names_and_a_row_for_every_weight() -> None:
    assert len(set(ARKIT)) == 52
    assert MATRIX.shape == (32, 52)
    assert MATRIX.dtype == np.float32
    assert [w for w, row in zip(WEIGHTS, MATRIX, strict=True) if not row.any()] == []
    assert set(FACS) == set(WEIGHTS)


def test_no_shape_belongs_to_two_weights_and_the_unused_are_lateral() -> None:
    assert (np.count_nonzero(MATRIX, axis=0) <= 1).all()
    assert UNUSED == ("jawLeft", "jawRight", "mouthLeft", "mouthRight")


def test_the_host_looking_left_turns_the_left_eye_out_and_the_right_eye_in() -> None:
    weights = np.zeros(32, dtype=np.float32)
    weights[WEIGHT_INDEX["eyeLookLeft"]] = 1.0
    shapes = to_arkit(weights)
    assert {ARKIT[i] for i in np.nonzero(shapes)[0]} == {"eyeLookOutLeft", "eyeLookInRight"}


def test_the_document_shows_the_matrix() -> None:
    assert table() in DOCUMENT.read_text(encoding="utf-8")


@given(hnp.arrays(np.float32, 32, elements=st.floats(0, 1, width=32)))
def test_our_weights_survive_the_round_trip(weights: np.ndarray) -> None:
    np.testing.assert_allclose(from_arkit(to_arkit(weights)), weights, atol=1e-6)


@given(hnp.arrays(np.float32, 52, elements=st.floats(0, 1, width=32)))
def test_a_capture_comes_back_within_what_its_sides_differ_by(shapes: np.ndarray) -> None:
    back = to_arkit(from_arkit(shapes))
    for row in MATRIX:
        used = np.nonzero(row)[0]
        if len(used) == 2 and (row[used] == 1).all():
            assert np.abs(back[used] - shapes[used]).max() <= abs(shapes[used[0]] - shapes[used[1]]) / 2 + 1e-6
        elif len(used) == 1:
            assert back[used[0]] == pytest.approx(shapes[used[0]], abs=1e-6)
    smile, dimple = ARKIT_INDEX["mouthSmileLeft"], ARKIT_INDEX["mouthDimpleLeft"]
    assert abs(back[smile] - shapes[smile]) <= 0.25 * abs(shapes[dimple] - 0.25 * shapes[smile]) + 1e-6
    assert not back[[ARKIT_INDEX[name] for name in UNUSED]].any()


@given(hnp.arrays(np.float32, 52, elements=st.floats(width=32)))
def test_any_floats_give_lawful_weights(shapes: np.ndarray) -> None:
    weights = from_arkit(shapes)
    assert np.isfinite(weights).all()
    assert weights.min() >= 0.0
    assert weights.max() <= 1.0


def test_not_a_number_counts_as_nothing_on_the_way_out() -> None:
    weights = np.full(32, np.nan, dtype=np.float32)
    assert not to_arkit(weights).any()


def test_a_frame_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="51 blend shapes"):
        from_arkit(np.zeros(51, dtype=np.float32))
