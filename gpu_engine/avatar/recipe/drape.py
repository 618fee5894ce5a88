"""Cloth simulation of a garment shell: sewn on lifted arms, then the arms come down and real folds form.

Runs in the ``bpy`` wheel. Decimetres, y up, in and out; the simulation itself works in metres.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
import rig

FRAMES_DOWN = 18
KEYS = 7
"""Collider poses between lifted and rest arms."""


@dataclass(frozen=True)
class Cloth:
    """How a fabric hangs. Lengths in decimetres, stiffness in Blender's cloth units.

    Attributes:
        ease: distance of the shell from the body at the torso before it falls.
        sleeve_ease: the same for sleeves.
        extra: surplus of fabric, 0.05 = 5 % longer than the shell.
        sleeve_extra: surplus of the sleeves.
        smooth: smoothing steps of the shell: how little of the body's shape the cut shows.
        body_ease: distance of the form it falls on from the body.
        press: the same for sleeves, when the fall is loaded.
        shoulder_hold: how firmly the shoulder keeps its cut (padding).
        iron: smoothing steps of the body's part after the fall.
        hold: how firmly chest and back are held in shape, 0 to 1 (interfacing of a jacket).
    """

    ease: float = 0.09
    sleeve_ease: float = 0.13
    extra: float = 0.02
    sleeve_extra: float = 0.06
    tension: float = 15.0
    bending: float = 4.0
    mass: float = 0.15
    smooth: int = 4
    body_ease: float = 0.0
    hold: float = 0.0
    shoulder_hold: float = 0.3
    iron: int = 1
    press: int = 2
    settle: int = 14


def lifted(degrees: float) -> dict[str, np.ndarray]:
    """Arms held away from the body and a little forward."""
    return {
        "left_shoulder": rig.turn((0, 0, 1), degrees), "right_shoulder": rig.turn((0, 0, 1), -degrees),
        "left_elbow": rig.turn((1, 0, 0), 0.35 * degrees), "right_elbow": rig.turn((1, 0, 0), 0.35 * degrees),
    }  # fmt: skip


def _object(name: str, verts: np.ndarray, faces: np.ndarray) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(to_metres(verts).tolist(), [], faces.tolist())
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def to_metres(v: np.ndarray) -> np.ndarray:
    """Decimetres y-up to metres z-up."""
    return np.stack([v[:, 0], -v[:, 2], v[:, 1]], 1) * 0.1


def from_metres(v: np.ndarray) -> np.ndarray:
    """Metres z-up to decimetres y-up."""
    return np.stack([v[:, 0], v[:, 2], -v[:, 1]], 1) * 10.0


def _animate(obj: bpy.types.Object, poses: list[np.ndarray]) -> None:
    """Absolute shape keys from the first pose to the last over ``FRAMES_DOWN`` frames."""
    for pose in poses:
        key = obj.shape_key_add(name="pose", from_mix=False)
        key.data.foreach_set("co", to_metres(pose).astype(np.float32).ravel())
    keys = obj.data.shape_keys
    keys.use_relative = False
    for frame, value in ((1, keys.key_blocks[0].frame), (1 + FRAMES_DOWN, keys.key_blocks[-1].frame)):
        keys.eval_time = value
        keys.keyframe_insert("eval_time", frame=frame)


def drape(
    shell: list[np.ndarray],
    quads: np.ndarray,
    pinned: np.ndarray,
    extra: np.ndarray,
    body: list[np.ndarray],
    body_tris: np.ndarray,
    cloth: Cloth,
) -> np.ndarray:
    """Let a shell fall on ``body``; both are lists of poses float[n, 3], first lifted, last rest.

    Pinned vertices follow the shell's own poses.

    Args:
        pinned: float[n] in [0, 1], how firmly a vertex is held.
        extra: float[n], surplus of fabric per vertex, 0.1 = 10 % longer.

    Returns:
        float64[n, 3] after the arms have come down and the cloth has settled.
    """
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 1 + FRAMES_DOWN + cloth.settle
    collider = _object("body", body[0], body_tris)
    _animate(collider, body)
    collide = collider.modifiers.new("collision", "COLLISION")
    collide.settings.thickness_outer = 0.002
    collide.settings.cloth_friction = 12.0
    obj = _object("shell", shell[0], quads)
    _animate(obj, shell)
    pins = obj.vertex_groups.new(name="pins")
    for level in np.unique(np.round(pinned, 2)):
        if level > 0:
            pins.add(np.nonzero(np.abs(pinned - level) < 0.006)[0].tolist(), float(level), "REPLACE")
    slack = obj.vertex_groups.new(name="slack")
    top = max(float(extra.max()), 1e-3)
    for level in np.unique(np.round(extra / top, 2)):
        slack.add(np.nonzero(np.abs(extra / top - level) < 0.006)[0].tolist(), float(level), "REPLACE")
    mod = obj.modifiers.new("cloth", "CLOTH")
    s = mod.settings
    s.quality, s.mass, s.air_damping = 7, cloth.mass, 2.0
    s.tension_stiffness = s.compression_stiffness = cloth.tension
    s.shear_stiffness, s.bending_stiffness = cloth.tension * 0.6, cloth.bending
    s.bending_model = "ANGULAR"
    s.tension_damping = s.compression_damping = s.shear_damping = 15.0
    s.bending_damping = 1.0
    s.vertex_group_mass, s.pin_stiffness = "pins", 1.0
    s.vertex_group_shrink, s.shrink_min, s.shrink_max = "slack", 0.0, -top
    c = mod.collision_settings
    c.distance_min, c.collision_quality, c.use_self_collision = 0.0015, 3, False
    mod.point_cache.frame_start, mod.point_cache.frame_end = 1, scene.frame_end
    for frame in range(1, scene.frame_end + 1):
        scene.frame_set(frame)
    graph = bpy.context.evaluated_depsgraph_get()
    out = np.empty(len(shell[0]) * 3, np.float32)
    obj.evaluated_get(graph).data.vertices.foreach_get("co", out)
    return from_metres(out.reshape(-1, 3).astype(np.float64))
