"""The bake camera (one pinhole looking along -z, shared by plates, skin bake and the pack), framings and joint limits."""

from __future__ import annotations

CANVAS_W, CANVAS_H = 1280, 1360
FOCAL_PX = 5460.0
CAMERA_Y, CAMERA_Z = 5.90, 27.0
PRINCIPAL = (640.0, 368.0)
"""Canvas pixel on the camera's axis. 210 px/dm in the plane of the face; row 1080 is the bottom of a 16:9 frame."""

FRAMINGS = {
    "16:9": {"height_px": 1080, "scale": 1.0, "centre_x": 0.37, "top_px": 0},
    "9:16": {"height_px": 1920, "scale": 1.32, "centre_x": 0.5, "top_px": 128},
}
"""Where canvas pixels land in a frame (docs/avatar-pack.md); the 16:9 framing leaves the right third to the product."""


def framings(headroom: int) -> dict[str, dict[str, float]]:
    """``FRAMINGS`` for a host whose hair stands ``headroom`` pixels higher (of 1080 lines) than most."""
    lowered = {"16:9": headroom, "9:16": headroom // 2}
    return {name: {**where, "top_px": where["top_px"] + lowered[name]} for name, where in FRAMINGS.items()}


LIMITS_DEG = {
    "pelvis": 0.0, "spine1": 6.0, "spine2": 6.0, "spine3": 6.0, "neck": 9.0, "head": 16.0,
    "left_collar": 20.0, "right_collar": 20.0, "left_shoulder": 120.0, "right_shoulder": 120.0,
    "left_elbow": 150.0, "right_elbow": 150.0, "left_wrist": 80.0, "right_wrist": 80.0,
    "left_hip": 90.0, "right_hip": 90.0, "left_knee": 120.0, "right_knee": 120.0,
    "left_ankle": 45.0, "right_ankle": 45.0, "left_foot": 30.0, "right_foot": 30.0,
}  # fmt: skip
"""Largest angle each joint is drawn at: hair plates bend so far and no further, arms as far as sleeves hold their shape."""

GAZE_DEG = {"horizontal": 24.0, "up": 18.0, "down": 20.0}
