"""The CPU renderer: baked plates, a morphing mesh and supersampled eyes and mouth, on one core, without OpenGL."""

from __future__ import annotations

import time

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar import raster
from gpu_engine.avatar.layers import PlateLayer
from gpu_engine.avatar.pack import AvatarPack, Framing
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.skeleton import place_joints
from gpu_engine.motion.vocabulary import WEIGHT_COUNT, WEIGHT_INDEX, MotionFrame, rest_frame

F32 = NDArray[np.float32]
STAGES = ("pose", "back", "skin", "eyes", "mouth", "front")
MOUTH_PARTS = ("teeth_upper", "teeth_lower", "tongue", "throat")


class _Box:
    """A region of the face drawn at 2x2 samples: the triangles that can reach it and the vertices that bound it."""

    def __init__(
        self,
        skin: NDArray[np.int32],
        bound: NDArray[np.int64],
        opaque: NDArray[np.int32],
        blend: NDArray[np.int32],
        size: tuple[int, int],
    ) -> None:
        self.skin, self.bound, self.opaque, self.blend = skin, bound, opaque, blend
        self.max_w, self.max_h = size
        self.colour = np.zeros((2 * size[1], 2 * size[0], 3), np.uint8)
        self.depth = np.zeros((2 * size[1], 2 * size[0]), np.float32)


class CpuRenderer:
    """Draws a pack's host over a BGR canvas; implements ``AvatarRenderer``.

    Attributes:
        stage_ms: milliseconds of the last frame by stage (``STAGES``), for the bench.
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
        if width % 2 or height % 2 or not (160 <= width <= 4096 and 160 <= height <= 4096):
            raise AvatarError(f"canvas {width}x{height}: the avatar needs even sides between 160 and 4096 px")
        name = framing or ("16:9" if width >= height else "9:16")
        if name not in pack.framings:
            raise AvatarError(f"avatar pack '{pack.name}' has no framing '{name}' (has: {', '.join(pack.framings)})")
        self.pack, self.width, self.height = pack, width, height
        self._frame(pack.framings[name])
        self._textures()
        self._parts()
        self._buffers()
        self.stage_ms = dict.fromkeys(STAGES, 0.0)

    def _frame(self, framing: Framing) -> None:
        camera = self.pack.camera
        self.scale = self.height / framing.height_px * framing.scale
        tx = round(self.width * framing.centre_x) - camera.canvas[0] / 2 * self.scale
        ty = framing.top_px * self.height / framing.height_px
        self.lens = np.array(
            [
                camera.focal_px * self.scale,
                *camera.eye,
                tx + camera.principal[0] * self.scale,
                ty + camera.principal[1] * self.scale,
            ],
            np.float32,
        )
        layers = {p.name: PlateLayer(p, self.scale, tx, ty) for p in self.pack.plates}
        self._back = [layers[p.name] for p in self.pack.plates if p.layer == "under"]
        self._front = [layers[p.name] for p in self.pack.plates if p.layer == "front"]

    def _textures(self) -> None:
        # Pre-shrunk once so that bilinear sampling neither aliases nor blurs at this size (face texels ≈ 4.5 per canvas px).
        self._tex: dict[int, NDArray[np.uint32]] = {}
        uv = self.pack.uv.copy()
        lit = {self.pack.materials[p.material].lit for p in self.pack.parts}
        skin = self.pack.materials[self.pack.part("skin").material].lit
        for key in lit:
            image = self.pack.textures[key]
            ratio = min(1.0, (0.62 if key == skin else 1.1) * max(self.scale, 0.4))
            shrunk = cv2.resize(image, None, fx=ratio, fy=ratio, interpolation=cv2.INTER_AREA) if ratio < 0.95 else image
            self._tex[key] = np.ascontiguousarray(shrunk, np.uint8).view(np.uint32)[..., 0]
            for part in self.pack.parts:
                if self.pack.materials[part.material].lit == key:
                    run = slice(*part.verts)
                    uv[run] = self.pack.uv[run] * np.array([shrunk.shape[1], shrunk.shape[0]], np.float32)
        self._uv = np.ascontiguousarray(uv, np.float32)
        self._skin_tex = self._tex[skin]
        self._feature_tex = self._tex[self.pack.materials[self.pack.part("eye_l").material].lit]

    def _parts(self) -> None:
        pack = self.pack
        skin = pack.part("skin")
        tris, rest = pack.tris, pack.rest
        runs = {p.name: np.arange(p.tris[0], p.tris[1], dtype=np.int32) for p in pack.parts}
        self._skin = runs["skin"]
        eyes = {s: pack.eye(s) for s in ("l", "r")}
        self._eye_runs = np.array([pack.part(f"eye_{s}").verts for s in ("l", "r")], np.int64)
        self._eye_centres = np.array([eyes[s][0] for s in ("l", "r")], np.float32)
        self._eye_turns = np.zeros((2, 3, 3), np.float32)
        self._lids = [pack.part(f"lash_{s}_upper").verts[0] + np.arange(pack.manifest["lash_columns"]) for s in ("l", "r")]
        self._boxes: list[_Box] = []
        covered = np.zeros(len(self._skin), bool)
        corner = rest[tris[self._skin]][..., :2]
        skin_rest = rest[skin.verts[0] : skin.verts[1]]

        def box(low: F32, high: F32, opaque: list[str], blend: list[str]) -> _Box:
            inside = ((skin_rest[:, :2] > low[:2]) & (skin_rest[:, :2] < high[:2])).all(1) & (skin_rest[:, 2] > low[2])
            bound = np.nonzero(inside)[0].astype(np.int64)
            wide_low, wide_high = low[:2] - (high - low)[:2] * 0.3, high[:2] + (high - low)[:2] * 0.3
            near = np.any(np.all((corner > wide_low) & (corner < wide_high), axis=2), axis=1)
            # What lies well inside is drawn at 2x2 only; the box is wholly covered by its own triangles.
            inner = (high - low)[:2] * 0.12
            covered[np.all(np.all((corner > low[:2] + inner) & (corner < high[:2] - inner), axis=2), axis=1)] = True
            px = (high - low)[:2] * self.lens[0] / (self.lens[3] - 1.0) + 6
            size = (int(px[0] * 1.7) + 12, int(px[1] * 1.9) + 12)
            drawn, mixed = (np.concatenate([np.zeros(0, np.int32), *(runs[n] for n in names)]) for names in (opaque, blend))
            return _Box(np.ascontiguousarray(self._skin[near]), bound, drawn, mixed, size)

        for s in ("l", "r"):
            c, r = eyes[s][0], np.float32(eyes[s][1])
            low, high = c + np.array([-1.25, -0.85, 0], np.float32) * r, c + np.array([1.25, 1.0, 0], np.float32) * r
            self._boxes.append(box(low, high, [f"eye_{s}"], [f"glint_{s}", f"lash_{s}_lower", f"lash_{s}_upper"]))
        teeth = pack.part("teeth_upper").verts
        mouth_y = float(rest[teeth[0] : teeth[1], 1].min())
        low = np.array([-0.34, mouth_y - 0.17, 0.8], np.float32)
        high = np.array([0.34, mouth_y + 0.21, 9.0], np.float32)
        self._boxes.append(box(low, high, list(MOUTH_PARTS), []))
        self._skin = np.ascontiguousarray(self._skin[~covered])
        self._shade = pack.shade.copy()
        self._mouth_runs = [slice(*pack.part(n).verts) for n in MOUTH_PARTS]

    def _buffers(self) -> None:
        n = len(self.pack.rest)
        self._local, self._screen = np.zeros((n, 3), np.float32), np.zeros((n, 3), np.float32)
        self._joints = np.zeros((22, 3, 4), np.float32)
        self._depth = np.full((self.height, self.width), -1e9, np.float32)
        self._weights = np.zeros(WEIGHT_COUNT, np.float32)

    def warm_up(self) -> None:
        """Draw one rest frame off-screen, so that the first live frame pays for no compilation or page faults."""
        self.render(rest_frame(), np.zeros((self.height, self.width, 3), np.uint8))

    def _set_weights(self, weights: F32) -> None:
        w, i = self._weights, WEIGHT_INDEX
        np.clip(weights, 0.0, 1.0, out=w)
        # Lids close once: squint, cheeks and a lowered gaze already bring them part of the way.
        for side in ("Left", "Right"):
            blink = w[i[f"eyeBlink{side}"]]
            if blink > 0:
                w[i[f"eyeBlink{side}"]] = blink
        shut = max(w[i["eyeBlinkLeft"]], w[i["eyeBlinkRight"]])
        for name in ("eyeWide", "eyeSquint", "eyeLookDown", "eyeLookUp"):
            w[i[name]] *= 1.0 - shut

    def _set_gaze(self, raw: F32) -> None:
        gain = self.pack.manifest["gaze"]["degrees_per_unit"]
        i = WEIGHT_INDEX
        yaw = np.radians(gain["horizontal"]) * (raw[i["eyeLookLeft"]] - raw[i["eyeLookRight"]])
        pitch = np.radians(gain["down"]) * raw[i["eyeLookDown"]] - np.radians(gain["up"]) * raw[i["eyeLookUp"]]
        cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
        turn = np.array([[cy, sy * sp, sy * cp], [0, cp, -sp], [-sy, cy * sp, cy * cp]], np.float32)
        self._eye_turns[0] = turn
        self._eye_turns[1] = turn

    def _set_shade(self) -> None:
        """Lids shade the eyeball beneath them; a mouth barely open is dark inside."""
        for e in range(2):
            run = slice(int(self._eye_runs[e, 0]), int(self._eye_runs[e, 1]))
            lid = self._local[self._lids[e]]
            lid_y = np.interp(self._local[run, 0], lid[:, 0], lid[:, 1]).astype(np.float32)
            t = np.clip((lid_y - self._local[run, 1]) / 0.085, 0.0, 1.0)
            self._shade[run] = self.pack.shade[run] * (0.46 + 0.54 * t)
        w, i = self._weights, WEIGHT_INDEX
        gap = w[i["jawOpen"]] * (1 - w[i["mouthClose"]]) + 0.35 * (w[i["mouthUpperUp"]] + w[i["mouthLowerDown"]])
        light = np.float32(0.36 + 0.64 * min(1.0, float(gap) / 0.22))
        for run in self._mouth_runs:
            self._shade[run] = self.pack.shade[run] * light

    def _draw_box(self, box: _Box, canvas: NDArray[np.uint8]) -> None:
        pts = self._screen[box.bound]
        x0, y0 = int(pts[:, 0].min()) - 2, int(pts[:, 1].min()) - 2
        x1, y1 = int(pts[:, 0].max()) + 3, int(pts[:, 1].max()) + 3
        x0, y0 = max(0, x0), max(0, y0)
        width, height = min(x1, self.width, x0 + box.max_w) - x0, min(y1, self.height, y0 + box.max_h) - y0
        if width <= 0 or height <= 0:
            return
        raster.open_box(box.colour, box.depth, canvas, x0, y0, width, height)
        tris, ox, oy, zoom = self.pack.tris, np.float32(x0), np.float32(y0), np.float32(2)
        args = (box.colour, box.depth, ox, oy, zoom, 2 * height, 2 * width)
        raster.raster(self._screen, self._uv, self._shade, tris, box.skin, self._skin_tex, *args, True, False)
        raster.raster(self._screen, self._uv, self._shade, tris, box.opaque, self._feature_tex, *args, False, False)
        raster.raster(self._screen, self._uv, self._shade, tris, box.blend, self._feature_tex, *args, False, True)
        raster.close_box(box.colour, canvas, x0, y0, width, height)

    def _draw_skin(self, canvas: NDArray[np.uint8]) -> None:
        run = self._screen[: self.pack.part("skin").verts[1]]
        x0, y0 = max(0, int(run[:, 0].min()) - 1), max(0, int(run[:, 1].min()) - 1)
        x1, y1 = min(self.width, int(run[:, 0].max()) + 2), min(self.height, int(run[:, 1].max()) + 2)
        self._depth[y0:y1, x0:x1] = -1e9
        raster.raster(
            self._screen, self._uv, self._shade, self.pack.tris, self._skin, self._skin_tex, canvas, self._depth,
            np.float32(0), np.float32(0), np.float32(1), self.height, self.width, True, False,
        )  # fmt: skip
        raster.soften_edges(canvas, self._depth, x0, y0, x1, y1, np.float32(0.25))

    def render(self, frame: MotionFrame, canvas: NDArray[np.uint8]) -> None:
        """Composite the host over ``canvas`` (uint8[height, width, 3], BGR, C-contiguous) in place.

        Raises:
            AvatarError: ``canvas`` has another size or layout.
        """
        if canvas.shape != (self.height, self.width, 3) or canvas.dtype != np.uint8 or not canvas.flags.c_contiguous:
            raise AvatarError(
                f"canvas must be contiguous uint8[{self.height}, {self.width}, 3], is {canvas.dtype}{list(canvas.shape)}"
            )
        marks = [time.perf_counter()]
        self._set_weights(frame.weights)
        place_joints(frame.joints, self.pack.joints, self.pack.limits_deg, self._joints)
        self._set_gaze(np.clip(frame.weights, 0.0, 1.0))
        pack = self.pack
        raster.pose(
            pack.rest, pack.morph_index, pack.morph_delta, pack.morph_offset, self._weights, pack.joint_index,
            pack.joint_weights, self._joints,
            self._eye_runs, self._eye_centres, self._eye_turns, self.lens, self._local, self._screen,
        )  # fmt: skip
        self._set_shade()
        marks.append(time.perf_counter())
        for layer in self._back:
            layer.draw(self._joints, self.lens, canvas)
        marks.append(time.perf_counter())
        self._draw_skin(canvas)
        marks.append(time.perf_counter())
        self._draw_box(self._boxes[0], canvas)
        self._draw_box(self._boxes[1], canvas)
        marks.append(time.perf_counter())
        self._draw_box(self._boxes[2], canvas)
        marks.append(time.perf_counter())
        for layer in self._front:
            layer.draw(self._joints, self.lens, canvas)
        marks.append(time.perf_counter())
        for name, a, b in zip(STAGES, marks[:-1], marks[1:], strict=True):
            self.stage_ms[name] = (b - a) * 1000
