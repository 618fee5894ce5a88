"""Every shipped presenter on the GPU renderer against committed pictures; drivers may differ in rounding and antialiasing."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from gpu_engine.avatar.pack import shipped_packs
from gpu_engine.avatar.renderer import AvatarError
from tests.gl.make_references import FOLDER, FRAMES, draw

pytestmark = pytest.mark.gl


@pytest.mark.parametrize("name", shipped_packs())
def test_the_picture_is_the_reference(name: str) -> None:
    try:
        pictures = draw(name)
    except AvatarError as error:
        pytest.skip(str(error))
    for pose in FRAMES:
        reference = cv2.imread(str(FOLDER / f"{name}-{pose}.png"))
        assert reference is not None, f"no reference for {name} {pose}: python -m tests.gl.make_references, and look at it"
        apart = np.abs(pictures[pose][:, : reference.shape[1]].astype(int) - reference)
        assert apart.mean() < 1.0
        assert np.quantile(apart, 0.995) < 24
