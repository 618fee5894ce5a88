"""The GPU renderer: PBR skin and cloth, image-based light baked every frame, one shadow map, MSAA; implements AvatarRenderer.

Correct on Mesa's software rasteriser, where it is far too slow for a show. Runs on any OpenGL 4.3 driver with EGL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.framing import lens_for
from gpu_engine.avatar.gl.context import open_context
from gpu_engine.avatar.gl.geometry import VERTEX, VERTEX_FORMAT, VERTEX_INPUTS, morph_entries, plate_rows, vertex_rows
from gpu_engine.avatar.gl.light_bake import LightBake, source
from gpu_engine.avatar.gl.lights import LightRig, irradiance, rig_before
from gpu_engine.avatar.gl.readback import ReadBack
from gpu_engine.avatar.gl.visibility import fit_visibility, orthographic
from gpu_engine.avatar.pack import AvatarPack, Material, Part
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.avatar.skeleton import JOINT_NUMBER, place_joints
from gpu_engine.motion.vocabulary import WEIGHT_INDEX, MotionFrame, rest_frame

if TYPE_CHECKING:
    import moderngl

SHADOW_PX = 1024
VISIBILITY_PX = 320
MOUTH_OPEN = np.array([0.85, 0, 0, 0], np.float32)
ALL_OPEN = np.array([[1, 0, 0, 0]], np.float32)
MOUTH_PARTS = ("teeth_upper", "teeth_lower", "tongue", "throat")
PLATE_NORMAL = np.array([[0.0, 0.25, 0.97]])
"""Plates face the viewer; their baked light is scaled by what arrives along this direction."""


def _matrix(program: moderngl.Program, name: str, value: bytes) -> None:
    uniform: Any = program[name]
    uniform.write(value)


@dataclass(frozen=True, slots=True)
class _Draw:
    part: Part
    vao: moderngl.VertexArray
    shadow: moderngl.VertexArray
    texture: moderngl.Texture
    material: Material
    eye: int


@dataclass(frozen=True, slots=True)
class _Sheet:
    layer: str
    vao: moderngl.VertexArray
    shadow: moderngl.VertexArray
    texture: moderngl.Texture


class GlRenderer:
    """Draws a pack's host. Not thread-safe; the context belongs to the thread that made it.

    Attributes:
        device: what it runs on.
        rig: the light of the next frame; change it at any time.
    """

    def __init__(
        self, pack: AvatarPack, width: int, height: int, *, framing: str | None = None, samples: int = 4, delay: int = 0,
        device_index: int | None = None, tint_from_background: bool = False,
    ) -> None:  # fmt: skip
        """
        Args:
            pack: a loaded pack.
            width, height: as for the CPU renderer; the width a multiple of 4.
            samples: MSAA, capped to what the driver offers; 0 for none.
            tint_from_background: colour the light around by the first picture :meth:`render` is given.
            delay: pictures by which :meth:`pull` trails :meth:`submit`; :meth:`render` always waits.

        Raises:
            AvatarError: no OpenGL, a driver that refuses our shaders or buffers, or a size or framing that cannot be drawn.
        """
        self.lens, self._scale = lens_for(pack, width, height, framing)
        if width % 4:
            raise AvatarError(f"canvas {width}x{height}: the GPU renderer needs a width that is a multiple of 4")
        self.pack, self.width, self.height = pack, width, height
        self.rig = LightRig()
        self._tint_from_background = tint_from_background
        self.context, self.device = open_context(device_index)
        try:
            self._prepare(samples, delay)
        except Exception as error:
            # Drivers fail in many ways; whatever it is, the context must not stay behind.
            self.context.release()
            raise AvatarError(f"the GPU renderer does not start on {self.device.renderer}: {error}") from error

    def _prepare(self, samples: int, delay: int) -> None:
        gl, pack = self.context, self.pack
        self._bake = LightBake(gl)
        self._host = gl.program(source("environment.glsl", "deform.glsl", "host.vert"), source("environment.glsl", "host.frag"))
        self._shadow_program = gl.program(source("deform.glsl", "shadow.vert"), source("shadow.frag"))
        self._screen = gl.program(source("screen.vert"), source("screen.frag"))
        self._nv12 = gl.compute_shader(source("nv12.comp"))
        self._textures: dict[int, moderngl.Texture] = {}
        self._load_geometry()
        self._targets(min(samples, self.device.samples))
        self._middle = pack.joints[JOINT_NUMBER["head"]] + np.array([0.0, -0.6, 0.3])
        self._measure_visibility()
        self._read = ReadBack(gl, self.width * self.height * 4, 0)
        self._read_nv12 = ReadBack(gl, self.width * self.height * 3 // 2, delay)
        # Plates were baked under the studio the recipe lights, which LightRig's default stands for.
        studio = LightRig()
        reference = (irradiance(studio, PLATE_NORMAL)[0] + self._key_on_plates(studio)) * studio.exposure
        self._plate_reference = tuple(float(v) for v in reference)

    def _key_on_plates(self, rig: LightRig) -> NDArray[np.float64]:
        key = rig.key
        facing = 0.0 if key is None else max(float(PLATE_NORMAL[0] @ key.unit), 0.0)
        return rig.key_irradiance() * facing

    def _texture(self, key: int) -> moderngl.Texture:
        if key not in self._textures:
            image = self.pack.textures[key]
            texture = self.context.texture((image.shape[1], image.shape[0]), 4, np.ascontiguousarray(image).tobytes())
            texture.swizzle = "BGRA"
            texture.build_mipmaps()
            texture.anisotropy = 8.0
            self._textures[key] = texture
        return self._textures[key]

    def _arrays(
        self, vertices: moderngl.Buffer, visible: moderngl.Buffer, indices: NDArray[np.int32]
    ) -> tuple[moderngl.VertexArray, moderngl.VertexArray]:
        gl = self.context
        index = gl.buffer(np.ascontiguousarray(indices, np.int32).tobytes())
        full = gl.vertex_array(self._host, [(vertices, VERTEX_FORMAT, *VERTEX_INPUTS), (visible, "4f", "in_visible")], index)
        # What the shadow program does not read the driver drops; its place in the record must be stepped over.
        used = [name if name in self._shadow_program else None for name in VERTEX_INPUTS]
        sizes = [VERTEX[name].itemsize for name in VERTEX.names or ()]
        layout = " ".join(f if n else f"{size}x" for f, n, size in zip(VERTEX_FORMAT.split(), used, sizes, strict=True))
        shadow = gl.vertex_array(self._shadow_program, [(vertices, layout, *[n for n in used if n])], index)
        return full, shadow

    def _load_geometry(self) -> None:
        pack, gl = self.pack, self.context
        first, entries = morph_entries(pack)
        self._morphs = gl.buffer(entries.tobytes() or bytes(32))
        vertices = gl.buffer(vertex_rows(pack, first).tobytes())
        self._visible = gl.buffer(ALL_OPEN.repeat(len(pack.rest), 0).tobytes())
        self._draws: list[_Draw] = []
        for part in pack.parts:
            if part.name.startswith("glint"):
                continue  # the clear coat reflects the real lights
            material = pack.materials[part.material]
            vao, shadow = self._arrays(vertices, self._visible, pack.tris[part.tris[0] : part.tris[1]])
            key = material.lit if material.albedo is None else material.albedo
            eye = {"eye_l": 0, "eye_r": 1}.get(part.name, -1)
            self._draws.append(_Draw(part, vao, shadow, self._texture(key), material, eye))
        self._sheets: list[_Sheet] = []
        for plate in pack.plates:
            rows, tris = plate_rows(plate)
            if not len(tris):
                continue
            visible = gl.buffer(ALL_OPEN.repeat(len(rows), 0).tobytes())
            vao, shadow = self._arrays(gl.buffer(rows.tobytes()), visible, tris)
            texture = gl.texture((plate.image.shape[1], plate.image.shape[0]), 4, np.ascontiguousarray(plate.image).tobytes())
            texture.swizzle = "BGRA"
            texture.repeat_x = texture.repeat_y = False
            texture.build_mipmaps()
            self._sheets.append(_Sheet(plate.layer, vao, shadow, texture))
        self._pose = gl.buffer(reserve=(22 * 16 + 32 + 2 * 16) * 4)
        self._joints = np.zeros((22, 3, 4), np.float32)

    def _targets(self, samples: int) -> None:
        gl, size = self.context, (self.width, self.height)
        self._picture = gl.texture(size, 4)
        self._resolved = gl.framebuffer([self._picture], gl.depth_renderbuffer(size))
        self._samples = samples
        self._multi = (
            gl.framebuffer([gl.renderbuffer(size, 4, samples=samples)], gl.depth_renderbuffer(size, samples=samples))
            if samples > 1
            else self._resolved
        )
        self._depth = gl.depth_texture((SHADOW_PX, SHADOW_PX))
        self._depth.compare_func = "<="
        self._depth.filter = (gl.LINEAR, gl.LINEAR)
        self._shadow = gl.framebuffer(depth_attachment=self._depth)
        self._background = gl.texture(size, 3, alignment=1)
        self._screen_array = gl.vertex_array(self._screen, [])
        self._overlay = gl.buffer(reserve=self.width * self.height * 4)
        self._planes = gl.buffer(reserve=self.width * self.height * 3 // 2)

    def _make_current(self) -> None:
        # Two renderers in one process have two contexts; OpenGL calls go to the one that is current.
        self.context.__enter__()

    def set_background(self, canvas: NDArray[np.uint8]) -> None:
        """What is behind the host from now on: uint8[height, width, 3] BGR."""
        self._make_current()
        self._background.write(np.ascontiguousarray(canvas).tobytes())

    def set_overlay(self, overlay: NDArray[np.uint8]) -> None:
        """What :meth:`submit` lays over the picture: uint8[height, width, 4] BGRA, premultiplied."""
        self._make_current()
        if overlay.shape != (self.height, self.width, 4):
            raise AvatarError(f"overlay {overlay.shape} on a picture of {self.width}x{self.height}: sizes must agree")
        self._overlay.write(np.ascontiguousarray(overlay).tobytes())

    def _light_view(self) -> NDArray[np.float32]:
        """Orthographic view float32[4, 4] from the key light over head and chest."""
        key = self.rig.key
        towards = key.unit if key is not None else np.array([0.0, 0.0, 1.0])
        return orthographic(towards, self._middle, 3.0, 5.0)

    def _measure_visibility(self) -> None:
        self._write_pose(rest_frame())
        depth = self.context.depth_texture((VISIBILITY_PX, VISIBILITY_PX))
        target = self.context.framebuffer(depth_attachment=depth)

        def depth_map(view: NDArray[np.float32]) -> NDArray[np.float32]:
            self._draw_shadow(np.ascontiguousarray(view.T).tobytes(), target)
            return np.frombuffer(depth.read(), np.float32).reshape(VISIBILITY_PX, VISIBILITY_PX)

        visible = fit_visibility(self.pack.rest, self.pack.normals, self._middle, depth_map)
        # A mouth shut at rest sees nothing; how much light an open one lets in is the mouth uniform's to say.
        for name in MOUTH_PARTS:
            if self.pack.has(name):
                visible[slice(*self.pack.part(name).verts)] = MOUTH_OPEN
        self._visible.write(visible.tobytes())
        target.release()
        depth.release()

    def _write_pose(self, frame: MotionFrame) -> None:
        place_joints(frame.joints, self.pack.joints, self.pack.limits_deg, self._joints)
        matrices = np.zeros((22, 4, 4), np.float32)
        matrices[:, :3], matrices[:, 3, 3] = self._joints, 1.0
        weights = np.clip(np.nan_to_num(frame.weights), 0.0, 1.0).astype(np.float32)
        raw = weights.copy()
        shut = max(weights[WEIGHT_INDEX["eyeBlinkLeft"]], weights[WEIGHT_INDEX["eyeBlinkRight"]])
        for name in ("eyeWide", "eyeSquint", "eyeLookDown", "eyeLookUp"):
            weights[WEIGHT_INDEX[name]] *= 1.0 - shut
        eyes = np.zeros((2, 4, 4), np.float32)
        turn = self._gaze(raw)
        for i, side in enumerate(("l", "r")):
            centre, _ = self.pack.eye(side)
            eyes[i, :3, :3], eyes[i, :3, 3], eyes[i, 3, 3] = turn, centre - turn @ centre, 1.0
        columns = [m.transpose(0, 2, 1).ravel() for m in (matrices, eyes)]
        self._pose.write(np.concatenate([columns[0], weights, columns[1]]).astype(np.float32).tobytes())
        self._pose.bind_to_uniform_block(2)
        self._morphs.bind_to_storage_buffer(1)
        at = WEIGHT_INDEX
        gap = weights[at["jawOpen"]] * (1 - weights[at["mouthClose"]])
        gap += 0.35 * (weights[at["mouthUpperUp"]] + weights[at["mouthLowerDown"]])
        self._mouth_light = 0.36 + 0.64 * min(1.0, float(gap) / 0.22)

    def _gaze(self, raw: NDArray[np.float32]) -> NDArray[np.float32]:
        gain, at = self.pack.manifest["gaze"]["degrees_per_unit"], WEIGHT_INDEX
        yaw = np.radians(gain["horizontal"]) * (raw[at["eyeLookLeft"]] - raw[at["eyeLookRight"]])
        pitch = np.radians(gain["down"]) * raw[at["eyeLookDown"]] - np.radians(gain["up"]) * raw[at["eyeLookUp"]]
        cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
        return np.array([[cy, sy * sp, sy * cp], [0, cp, -sp], [-sy, cy * sp, cy * cp]], np.float32)

    def _draw_shadow(self, view: bytes, target: moderngl.Framebuffer) -> None:
        gl, program = self.context, self._shadow_program
        target.use()
        target.clear(depth=1.0)
        gl.enable_only(gl.DEPTH_TEST)
        _matrix(program, "light_view", view)
        program["colour"] = 0
        for draw in self._draws:
            if draw.material.blend:
                continue
            program["eye"], program["cutout"] = draw.eye, 0.0
            draw.texture.use(0)
            draw.shadow.render()
        for sheet in self._sheets:
            program["eye"], program["cutout"] = -1, 0.55
            sheet.texture.use(0)
            sheet.shadow.render()

    def _uniforms(self, view: bytes) -> None:
        program, key = self._host, self.rig.key
        camera = self.pack.camera.eye
        program["lens"] = (float(self.lens[0]), *camera)
        program["picture"] = (float(self.lens[4]), float(self.lens[5]), float(self.width), float(self.height))
        _matrix(program, "light_view", view)
        program["key_direction"] = tuple(float(v) for v in key.unit) if key else (0.0, 0.0, 1.0)
        program["key_irradiance"] = tuple(float(v) for v in self.rig.key_irradiance())
        program["key_width"] = float(np.sin(np.radians(key.radius_deg))) if key else 0.0
        program["plate_reference"] = self._plate_reference
        program["plate_alpha"] = 1.0
        program["reflection_levels"] = self._bake.levels
        self._depth.use(1)
        self._bake.irradiance.use(2)
        self._bake.reflection.use(3)
        for unit, name in enumerate(("shadow_map", "irradiance_map", "reflection_map"), 1):
            program[name] = unit
        program["colour"] = 0

    def _draw_part(self, draw: _Draw) -> None:
        program, material = self._host, draw.material
        program["kind"], program["eye"] = 0, draw.eye
        coat = 1.0 if draw.eye >= 0 else 0.35 if draw.part.name.startswith(("teeth", "tongue")) else 0.0
        program["surface"] = (max(material.roughness, 0.08), material.specular, coat, 1.0 / SHADOW_PX)
        # How far light wraps past the terminator grows with the mean free path; 3.7 mm of red is skin.
        program["scatter"] = tuple(min(1.0, mm / 3.7) for mm in material.subsurface_mm)
        program["mouth"] = self._mouth_light if draw.part.name in MOUTH_PARTS else 1.0
        program["two_sided"], program["translucent"] = material.two_sided, material.blend
        draw.texture.use(0)
        draw.vao.render()

    def _draw_sheets(self, layer: str) -> None:
        self._host["kind"], self._host["eye"], self._host["mouth"] = 1, -1, 1.0
        for sheet in self._sheets:
            if sheet.layer == layer:
                sheet.texture.use(0)
                sheet.vao.render()

    def draw(self, frame: MotionFrame) -> None:
        """Bake the light and draw one frame over the background, into the renderer's own picture."""
        self._make_current()
        gl = self.context
        self._bake.bake(self.rig)
        self._write_pose(frame)
        view = np.ascontiguousarray(self._light_view().T).tobytes()
        self._draw_shadow(view, self._shadow)
        self._multi.use()
        self._multi.clear()
        gl.enable_only(gl.NOTHING)
        self._screen["colour"] = 0
        self._background.use(0)
        self._screen_array.render(gl.TRIANGLE_STRIP, vertices=4)
        self._uniforms(view)
        gl.enable_only(gl.BLEND)
        gl.blend_func = gl.ONE, gl.ONE_MINUS_SRC_ALPHA
        self._draw_sheets("under")
        gl.enable_only(gl.DEPTH_TEST)
        for draw in self._draws:
            if not draw.material.blend and draw.part.layer != "over":
                self._draw_part(draw)
        gl.enable_only(gl.DEPTH_TEST | gl.BLEND)
        for draw in self._draws:
            if draw.material.blend:
                self._draw_part(draw)
        gl.enable_only(gl.BLEND)
        self._draw_sheets("front")
        gl.enable_only(gl.DEPTH_TEST)
        for draw in self._draws:
            if not draw.material.blend and draw.part.layer == "over":
                self._draw_part(draw)
        if self._multi is not self._resolved:
            gl.copy_framebuffer(self._resolved, self._multi)

    def render(self, frame: MotionFrame, canvas: NDArray[np.uint8]) -> None:
        """Composite the host over ``canvas`` (uint8[height, width, 3], BGR) in place; waits for the GPU."""
        self._make_current()
        if canvas.shape != (self.height, self.width, 3) or canvas.dtype != np.uint8:
            raise AvatarError(f"canvas must be uint8[{self.height}, {self.width}, 3], is {canvas.dtype}{list(canvas.shape)}")
        if self._tint_from_background:
            self.rig, self._tint_from_background = rig_before(canvas, self.rig), False
        self.set_background(canvas)
        self.draw(frame)
        self._read.push_framebuffer(self._resolved)
        pixels = self._read.pull()
        assert pixels is not None
        canvas[:] = pixels.reshape(self.height, self.width, 4)[::-1, :, 2::-1]

    def submit(self, frame: MotionFrame) -> None:
        """Draw a frame, lay the overlay over it, convert to NV12 on the GPU and queue the planes; never waits."""
        self._make_current()
        self.draw(frame)
        self._nv12["size"] = (self.width, self.height)
        self._picture.use(0)
        self._overlay.bind_to_storage_buffer(3)
        self._planes.bind_to_storage_buffer(4)
        self._nv12.run(-(-self.width // 64), -(-self.height // 32))
        self.context.memory_barrier()
        self._read_nv12.push_buffer(self._planes, self.context)

    def pull(self) -> NDArray[np.uint8] | None:
        """NV12 uint8[height * 3 // 2, width] of the frame submitted ``delay`` frames ago; ``None`` while the ring fills."""
        self._make_current()
        planes = self._read_nv12.pull()
        return None if planes is None else planes.reshape(self.height * 3 // 2, self.width)

    def release(self) -> None:
        """Free the context and everything in it."""
        self._make_current()
        self.context.release()
