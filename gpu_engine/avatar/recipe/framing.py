"""The bake camera: one pinhole looking along -z, shared by plates, skin bake and the pack's manifest."""

from __future__ import annotations

CANVAS_W, CANVAS_H = 1280, 1360
FOCAL_PX = 5460.0
CAMERA_Y, CAMERA_Z = 5.90, 27.0
PRINCIPAL = (640.0, 368.0)
"""Canvas pixel on the camera's axis. 210 px/dm in the plane of the face; row 1080 is the bottom of a 16:9 frame."""
