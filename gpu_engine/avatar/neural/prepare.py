"""Five points of a face through a recording: found in every frame, or marked once and followed."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.neural.crops import similarity
from gpu_engine.avatar.neural.loop import read_frames
from gpu_engine.avatar.renderer import AvatarError

Points = NDArray[np.float32]

_WINDOW = (21, 21)
SURE = 0.6
LOST_PX = 1.5
"""A point that does not come back to where it was when followed backwards counts as lost in that frame."""


def parse_points(text: str) -> Points:
    """float32[5, 2] of ``x,y x,y x,y x,y x,y``.

    Raises:
        AvatarError: it is not five pairs.
    """
    try:
        points = np.array([[float(v) for v in pair.split(",")] for pair in text.split()], np.float32)
    except ValueError:
        points = np.zeros(0, np.float32)
    if points.shape != (5, 2):
        raise AvatarError(f"points '{text}': give five pairs 'x,y' parted by spaces")
    return points


def track_points(video: Path, marked: str | None) -> Points:
    """float32[frames, 5, 2] px: right eye, left eye, nose tip, right and left mouth corner, as the person's own sides.

    Raises:
        AvatarError: no face is found, or the points are lost.
    """
    return _follow(video, parse_points(marked)) if marked else _find(video)


def _follow(video: Path, first: Points) -> Points:
    """Optical flow from frame to frame; points that are lost move as the others do.

    Source: Bouguet 2000, "Pyramidal implementation of the Lucas Kanade feature tracker".
    """
    out = [first]
    before: NDArray[np.uint8] | None = None
    for number, picture in enumerate(read_frames(video)):
        grey = np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), np.uint8)
        if before is not None:
            at = out[-1].reshape(-1, 1, 2)
            there, found, _ = cv2.calcOpticalFlowPyrLK(before, grey, at, at.copy(), winSize=_WINDOW, maxLevel=3)
            back, found_back, _ = cv2.calcOpticalFlowPyrLK(grey, before, there, at.copy(), winSize=_WINDOW, maxLevel=3)
            error = np.linalg.norm((back - at).reshape(-1, 2), axis=1)
            good = (found.reshape(-1) == 1) & (found_back.reshape(-1) == 1) & (error < LOST_PX)
            if good.sum() < 3:
                raise AvatarError(f"{video}: the points are lost in frame {number}: mark a calmer recording")
            move = similarity(out[-1][good], there.reshape(-1, 2)[good])
            following = out[-1] @ move[:, :2].T + move[:, 2]
            following[good] = there.reshape(-1, 2)[good]
            out.append(following.astype(np.float32))
        before = grey
    return np.stack(out)


def _find(video: Path) -> Points:
    """The face landmark network of the onboarding on every frame, smoothed over three."""
    from gpu_engine.avatar.landmarks.detector import detect_faces
    from gpu_engine.avatar.landmarks.face import EYE_LEFT, EYE_RIGHT, find_points

    found: list[Points] = []
    for number, picture in enumerate(read_frames(video)):
        faces = [find_points(picture, seen) for seen in detect_faces(picture)]
        # The detector sees faces in vases too; the landmark network is harder to fool.
        faces = [face for face in faces if face.presence > SURE]
        if not faces:
            raise AvatarError(f"{video}: no face in frame {number}: record the face from the front, or mark the points")
        at = max(faces, key=lambda face: face.eye_distance).points[:, :2]
        eyes = [at[list(outline)].mean(axis=0) for outline in (EYE_RIGHT, EYE_LEFT)]
        found.append(np.stack([*eyes, at[4], at[61], at[291]]).astype(np.float32))
    stack = np.stack(found)
    padded = np.concatenate([stack[:1], stack, stack[-1:]])
    return np.asarray((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4, np.float32)
