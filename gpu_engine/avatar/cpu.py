"""The CPU renderer: baked light, a morphing and skinned mesh, bending hair plates, supersampled eyes and mouth. One core, no
OpenGL.

A frame is drawn in this order: opaque triangles of layer ``mesh`` (z-buffer), plates ``under`` where no triangle is, outlines
smoothed, eyes and mouth at 2x2 samples, plates ``front``, triangles of layer ``over`` (depth-tested against the mesh).
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar import raster
from gpu_engine.avatar.framing import lens_for
from gpu_engine.avatar.layers import PlateLayer
from gpu_engine.avatar.pack import AvatarPack, Part
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.scene_parts import Run, Texture, apart, base_ratio, by_level, densities, outlines
from gpu_engine.avatar.skeleton import place_joints
from gpu_engine.motion.vocabulary import WEIGHT_COUNT, WEIGHT_INDEX, MotionFrame, rest_frame

F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
STAGES = ("pose", "mesh", "under", "outline", "eyes", "mouth", "front", "over")
INNER_MOUTH = ("teeth_upper", "teeth_lower", "tongue", "throat")
HOLD_DM, STEP_DM = np.float32(0.09), np.float32(0.02)
BOX_SLACK_DM = np.float32(0.04)
"""Outlines: how far depth beside an edge may differ from it, and how far behind its background must lie."""
BAND_DM = 0.12
"""Triangles are drawn in bands of this height."""
NO_FACING, NO_TILES = np.zeros(0, np.uint8), np.zeros((0, 0), np.float32)


class _Pass:
    """Triangles of one layer with their outlines."""

    def __init__(self, runs: list[Run], edges: U32, facing: U8) -> None:
        self.runs, self.edges, self.facing = runs, edges, facing


class _Box:
    """A region of the face drawn at 2x2 samples: the triangles that can reach it and the vertices that bound it."""

    def __init__(self, skin: list[Run], bound: NDArray[np.int64], within: list[Run], size: tuple[int, int]) -> None:
        self.skin, self.bound, self.within = skin, bound, within
        self.max_w, self.max_h = size
        self.colour = np.zeros((2 * size[1], 2 * size[0], 3), np.uint8)
        self.depth = np.zeros((2 * size[1], 2 * size[0]), np.float32)
        self.tiles = np.zeros((size[1] // 4 + 1, size[0] // 4 + 1), np.float32)


class CpuRenderer:
    """Draws a pack's host over a BGR canvas; implements ``AvatarRenderer``.

    Attributes:
        stage_ms: CPU milliseconds of the last frame by stage (``STAGES``), for the bench.
    """

    def __init__(self, pack: AvatarPack, width: int, height: int, framing: str | None = None) -> None:
        """
        Args:
            pack: a loaded pack.
            width, height: canvas size in pixels, even, 160 to 4096.
            framing: name of a framing of the pack; by default 16:9 for landscape and 9:16 for portrait.

        Raises:
            AvatarError: the size or the framing cannot be drawn.
        """
        self.pack, self.width, self.height = pack, width, height
        self.lens, self.scale = lens_for(pack, width, height, framing)
        self._buffers()
        self._textures()
        self._parts()
        self._plates()
        self.stage_ms = dict.fromkeys(STAGES, 0.0)

    def _buffers(self) -> None:
        n = len(self.pack.rest)
        self._local, self._vertices = np.zeros((n, 3), np.float32), np.zeros((n, 8), np.float32)
        self._joints = np.zeros((len(self.pack.joints), 3, 4), np.float32)
        self._depth = np.full((self.height, self.width), raster.FAR, np.float32)
        self._dirty, self._extent = (0, 0, 0, 0), np.zeros(4, np.float32)
        self._weights = np.zeros(WEIGHT_COUNT, np.float32)
        self._morph_index = np.ascontiguousarray(self.pack.morph_index, np.uint32)

    def _textures(self) -> None:
        self._tex: dict[int, Texture] = {}
        pack = self.pack
        self._px_per_dm = float(self.lens[0]) / (pack.camera.eye[2] - 0.5)
        for key in sorted({pack.materials[p.material].lit for p in pack.parts}):
            users = [p for p in pack.parts if pack.materials[p.material].lit == key]
            image = pack.textures[key]
            # Eyes and mouth are drawn at twice the density.
            fine = 2.0 if any(p.name.startswith("eye_") for p in users) else 1.0
            ratio = base_ratio(pack, users, (image.shape[1], image.shape[0]), self._px_per_dm * fine)
            self._tex[key] = Texture(image, ratio)
        self._vertices[:, 3:5] = pack.uv
        self._vertices[:, 5] = pack.shade

    def _split(self, part: Part, tris: U32, zoom: float) -> list[tuple[U32, int]]:
        """The triangles of ``part`` by the level of its texture they are drawn from."""
        material = self.pack.materials[part.material]
        texture = self._tex[material.lit]
        if material.blend:
            return [(tris, 0)]
        density, _ = densities(self.pack.rest, self.pack.uv, tris, texture.sizes[0], self._px_per_dm * zoom)
        masks = by_level(density, len(texture.levels))
        # Neighbours on the screen follow each other, so that canvas, depth and texture stay in the cache.
        centre = self.pack.rest[tris].mean(1)
        order = np.lexsort((centre[:, 0], -np.floor(centre[:, 1] / BAND_DM)))
        return [(np.ascontiguousarray(tris[order][mask[order]]), level) for level, mask in enumerate(masks) if mask.any()]

    def _run(self, part: Part, tris: U32, level: int, facing: U8 = NO_FACING) -> Run:
        material = self.pack.materials[part.material]
        texture = self._tex[material.lit]
        shaded = bool((self.pack.shade[slice(*part.verts)] < 1).any()) or part.name.startswith(("eye_", "teeth_", "tongue"))
        mode = raster.MIXED if material.blend else raster.SOLID
        return Run(tris, facing, texture.levels[level], texture.stretches[level], not material.two_sided, shaded, mode)

    def _tris(self, part: Part) -> U32:
        return self.pack.tris[slice(*part.tris)].astype(np.uint32)

    def _pass(self, parts: list[tuple[Part, U32]], joined: U32) -> _Pass:
        """Runs of ``parts`` (opaque first); ``joined`` are further triangles that only close their outlines."""
        cut = [
            (part, piece, level, self.pack.materials[part.material].blend)
            for part, tris in parts
            for piece, level in self._split(part, tris, 1.0)
        ]
        cut.sort(key=lambda c: c[3])
        opaque = [tris for _, tris, _, blend in cut if not blend]
        every = np.concatenate([*opaque, joined]) if opaque or len(joined) else np.zeros((0, 3), np.uint32)
        facing = np.ones(len(every), np.uint8)
        runs, start = [], 0
        for part, tris, level, blend in cut:
            runs.append(self._run(part, tris, level, NO_FACING if blend else facing[start : start + len(tris)]))
            start += 0 if blend else len(tris)
        return _Pass(runs, outlines(self.pack.rest, every) if len(every) else np.zeros((0, 6), np.uint32), facing)

    def _parts(self) -> None:
        pack = self.pack
        self._eye_runs = np.array([pack.part(f"eye_{s}").verts for s in ("l", "r")], np.int64)
        eyes = {s: pack.eye(s) for s in ("l", "r")}
        self._eye_centres = np.array([eyes[s][0] for s in ("l", "r")], np.float32)
        self._eye_turns = np.zeros((2, 3, 3), np.float32)
        columns = pack.manifest["lash_columns"]
        self._lids = [
            pack.part(f"lash_{s}_upper").verts[0] + np.arange(columns) if columns and pack.has(f"lash_{s}_upper") else None
            for s in ("l", "r")
        ]
        self._mouth_runs = [slice(*pack.part(n).verts) for n in INNER_MOUTH]
        skin = self._tris(pack.part("skin"))
        covered = self._face_boxes(skin, eyes)
        boxed = {*INNER_MOUTH, *(f"{n}_{s}" for n in ("eye", "glint") for s in ("l", "r"))}
        mesh = [(pack.part("skin"), skin[~covered])]
        over: list[tuple[Part, U32]] = []
        for part in pack.parts:
            if part.name != "skin" and part.name not in boxed and not part.name.startswith("lash_"):
                (over if part.layer == "over" else mesh).append((part, self._tris(part)))
        # Clothes first: the skin they hide then fails the depth test before it costs anything.
        mesh.sort(key=lambda p: p[0].mesh != "clothes")
        self._mesh = self._pass(mesh, skin[covered])
        # A torso's armhole is no outline: smoothed, it would let the wall through between torso and sleeve.
        self._mesh.edges = apart(pack.rest, self._mesh.edges, [tris for _, tris in over])
        self._over = self._pass(over, np.zeros((0, 3), np.uint32))

    def _face_boxes(self, skin: U32, eyes: dict[str, tuple[F32, float]]) -> NDArray[np.bool_]:
        """Build the eye and mouth boxes; returns which of the skin triangles are drawn in them alone."""
        pack, rest = self.pack, self.pack.rest
        self._boxes: list[_Box] = []
        covered = np.zeros(len(skin), bool)
        corner = rest[skin][..., :2]
        low_v, high_v = pack.part("skin").verts
        skin_rest = rest[low_v:high_v]

        def box(low: F32, high: F32, names: list[str]) -> _Box:
            inside = ((skin_rest[:, :2] > low[:2]) & (skin_rest[:, :2] < high[:2])).all(1) & (skin_rest[:, 2] > low[2])
            bound = low_v + np.nonzero(inside)[0].astype(np.int64)
            wide = (high - low)[:2] * 0.22
            near = np.any(np.all((corner > low[:2] - wide) & (corner < high[:2] + wide), axis=2), axis=1)
            # What lies well inside is drawn at 2x2 only; the box is wholly covered by its own triangles.
            inner = (high - low)[:2] * 0.12
            covered[np.all(np.all((corner > low[:2] + inner) & (corner < high[:2] - inner), axis=2), axis=1)] = True
            px = (high - low)[:2] * self.lens[0] / (self.lens[3] - 1.0) + 6
            size = (int(px[0] * 1.7) + 12, int(px[1] * 1.9) + 12)
            skin_part = pack.part("skin")
            under = [self._run(skin_part, tris, level) for tris, level in self._split(skin_part, skin[near], 2.0)]
            within = [pack.part(n) for n in names if pack.has(n)]
            runs = [self._run(part, tris, level) for part in within for tris, level in self._split(part, self._tris(part), 2.0)]
            runs.sort(key=lambda r: r.mode)
            return _Box(under, bound, runs, size)

        for s in ("l", "r"):
            c, r = eyes[s][0], np.float32(eyes[s][1])
            low, high = c + np.array([-1.25, -0.85, 0], np.float32) * r, c + np.array([1.25, 1.0, 0], np.float32) * r
            self._boxes.append(box(low, high, [f"eye_{s}", f"glint_{s}", f"lash_{s}_lower", f"lash_{s}_upper"]))
        teeth = pack.part("teeth_upper").verts
        mouth_y = float(rest[teeth[0] : teeth[1], 1].min())
        low = np.array([-0.31, mouth_y - 0.15, 0.8], np.float32)
        high = np.array([0.31, mouth_y + 0.13, 9.0], np.float32)
        self._boxes.append(box(low, high, list(INNER_MOUTH)))
        return covered

    def _plates(self) -> None:
        """Bend front plates over the surface they cover at rest, which one drawing of the mesh shows."""
        self._pose(rest_frame())
        self._draw(self._mesh, np.zeros((self.height, self.width, 3), np.uint8))
        under, front = ([p for p in self.pack.plates if p.layer == layer] for layer in ("under", "front"))
        self._front = [PlateLayer(p, self.scale, self.lens, self._depth, []) for p in front]
        self._under = [PlateLayer(p, self.scale, self.lens, self._depth, self._front) for p in under]

    def warm_up(self) -> None:
        """Draw one rest frame off-screen, so that the first live frame pays for no compilation or page faults."""
        self.render(rest_frame(), np.zeros((self.height, self.width, 3), np.uint8))

    def _set_weights(self, weights: F32) -> None:
        w, i = self._weights, WEIGHT_INDEX
        np.clip(np.nan_to_num(weights, nan=0.0), 0.0, 1.0, out=w)
        # Lids close once: squint, cheeks and a lowered gaze already bring them part of the way.
        shut = max(w[i["eyeBlinkLeft"]], w[i["eyeBlinkRight"]])
        for name in ("eyeWide", "eyeSquint", "eyeLookDown", "eyeLookUp"):
            w[i[name]] *= 1.0 - shut

    def _set_gaze(self, raw: F32) -> None:
        gain = self.pack.manifest["gaze"]["degrees_per_unit"]
        i = WEIGHT_INDEX
        yaw = np.radians(gain["horizontal"]) * (raw[i["eyeLookLeft"]] - raw[i["eyeLookRight"]])
        pitch = np.radians(gain["down"]) * raw[i["eyeLookDown"]] - np.radians(gain["up"]) * raw[i["eyeLookUp"]]
        cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
        self._eye_turns[:] = np.array([[cy, sy * sp, sy * cp], [0, cp, -sp], [-sy, cy * sp, cy * cp]], np.float32)

    def _set_shade(self) -> None:
        """Lids shade the eyeball beneath them; a mouth barely open is dark inside."""
        for e, lashes in enumerate(self._lids):
            if lashes is None:
                continue
            run = slice(int(self._eye_runs[e, 0]), int(self._eye_runs[e, 1]))
            lid = self._local[lashes]
            lid_y = np.interp(self._local[run, 0], lid[:, 0], lid[:, 1]).astype(np.float32)
            t = np.clip((lid_y - self._local[run, 1]) / np.float32(0.085), 0.0, 1.0)
            self._vertices[run, 5] = self.pack.shade[run] * (np.float32(0.46) + np.float32(0.54) * t)
        w, i = self._weights, WEIGHT_INDEX
        gap = w[i["jawOpen"]] * (1 - w[i["mouthClose"]]) + 0.35 * (w[i["mouthUpperUp"]] + w[i["mouthLowerDown"]])
        light = np.float32(0.36 + 0.64 * min(1.0, float(gap) / 0.22))
        for run in self._mouth_runs:
            self._vertices[run, 5] = self.pack.shade[run] * light

    def _draw_box(self, box: _Box, canvas: U8) -> None:
        if not len(box.bound):
            return
        pts = self._vertices[box.bound]
        x0, y0 = max(0, int(pts[:, 0].min()) - 2), max(0, int(pts[:, 1].min()) - 2)
        x1, y1 = int(pts[:, 0].max()) + 3, int(pts[:, 1].max()) + 3
        width, height = min(x1, self.width, x0 + box.max_w) - x0, min(y1, self.height, y0 + box.max_h) - y0
        if width <= 0 or height <= 0:
            return
        raster.open_box(box.colour, box.depth, canvas, self._depth, BOX_SLACK_DM, x0, y0, width, height)

        def draw(run: Run, tiles: F32) -> None:
            if run.mode == raster.SOLID:
                raster.fill_solid(
                    self._vertices, run.tris, run.facing, run.texture, box.colour, box.depth, tiles, np.float32(x0),
                    np.float32(y0), np.float32(2), 2 * height, 2 * width, run.cull, run.shaded, run.stretch,
                )  # fmt: skip
                return
            raster.fill(
                self._vertices, run.tris, run.facing, run.texture, box.colour, box.depth, tiles, np.float32(x0), np.float32(y0),
                np.float32(2), 2 * height, 2 * width, run.cull, run.shaded, run.mode, run.stretch,
            )  # fmt: skip

        for run in box.skin:
            draw(run, NO_TILES)
        raster.tile_depths(box.depth, box.tiles, 2 * height, 2 * width)
        for run in box.within:
            draw(run, box.tiles)
        raster.close_box(box.colour, box.depth, canvas, self._depth, x0, y0, width, height)

    def _draw(self, layer: _Pass, canvas: U8) -> None:
        zero, one = np.float32(0), np.float32(1)
        for run in layer.runs:
            if run.mode == raster.SOLID:
                raster.fill_solid(
                    self._vertices, run.tris, run.facing, run.texture, canvas, self._depth, NO_TILES, zero, zero, one,
                    self.height, self.width, run.cull, run.shaded, run.stretch,
                )  # fmt: skip
                continue
            raster.fill(
                self._vertices, run.tris, run.facing, run.texture, canvas, self._depth, NO_TILES, zero, zero, one, self.height,
                self.width, run.cull, run.shaded, run.mode, run.stretch,
            )  # fmt: skip

    def _outline(self, layer: _Pass, canvas: U8) -> None:
        raster.smooth_outline(self._vertices, layer.edges, layer.facing, canvas, self._depth, HOLD_DM, STEP_DM)

    def _clear(self) -> None:
        """Forget the last frame's depths and note where this one's will lie."""
        x0, y0, x1, y1 = self._dirty
        self._depth[y0:y1, x0:x1] = raster.FAR
        raster.extent(self._vertices, self._extent)
        left, top, right, bottom = (int(v) for v in self._extent)
        self._dirty = (
            min(max(left - 1, 0), self.width), min(max(top - 1, 0), self.height),
            min(max(right + 2, 0), self.width), min(max(bottom + 2, 0), self.height),
        )  # fmt: skip

    def _pose(self, frame: MotionFrame) -> None:
        """Put every vertex where ``frame`` has it and forget the last frame's depths."""
        pack = self.pack
        self._set_weights(frame.weights)
        place_joints(frame.joints, pack.joints, pack.limits_deg, self._joints)
        self._set_gaze(np.clip(np.nan_to_num(frame.weights, nan=0.0), 0.0, 1.0))
        raster.pose(
            pack.rest, self._morph_index, pack.morph_delta, pack.morph_offset, self._weights, pack.joint_index,
            pack.joint_weights, self._joints, self._eye_runs, self._eye_centres, self._eye_turns, self.lens, self._local,
            self._vertices,
        )  # fmt: skip
        self._set_shade()
        self._clear()

    def render(self, frame: MotionFrame, canvas: U8) -> None:
        """Composite the host over ``canvas`` (uint8[height, width, 3], BGR, C-contiguous) in place.

        Raises:
            AvatarError: ``canvas`` has another size or layout.
        """
        if canvas.shape != (self.height, self.width, 3) or canvas.dtype != np.uint8 or not canvas.flags.c_contiguous:
            raise AvatarError(
                f"canvas must be contiguous uint8[{self.height}, {self.width}, 3], is {canvas.dtype}{list(canvas.shape)}"
            )
        marks = [time.thread_time()]
        self._pose(frame)
        marks.append(time.thread_time())
        self._draw(self._mesh, canvas)
        marks.append(time.thread_time())
        for plate in self._under:
            plate.draw(self._joints, self.lens, self._depth, canvas)
        marks.append(time.thread_time())
        self._outline(self._mesh, canvas)
        marks.append(time.thread_time())
        self._draw_box(self._boxes[0], canvas)
        self._draw_box(self._boxes[1], canvas)
        marks.append(time.thread_time())
        self._draw_box(self._boxes[2], canvas)
        marks.append(time.thread_time())
        for plate in self._front:
            plate.draw(self._joints, self.lens, self._depth, canvas)
        marks.append(time.thread_time())
        self._draw(self._over, canvas)
        self._outline(self._over, canvas)
        marks.append(time.thread_time())
        for name, a, b in zip(STAGES, marks[:-1], marks[1:], strict=True):
            self.stage_ms[name] = (b - a) * 1000
