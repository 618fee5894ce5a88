"""A presenter's objects in Blender, by role: skin, eyes and teeth, clothes, hair."""

from __future__ import annotations

from pathlib import Path

import bpy
import cv2
import features
import groom
import numpy as np
import paint
import presenters
import source
import surface
from blender import add_mesh, principled
from hair import material as fibre


class Host:
    """All objects of one presenter, by role."""

    def __init__(self, data: Path, who: presenters.Presenter, out: Path) -> None:
        self.who, self.data, self.out = who, data, out
        self.mesh, self.units = source.presenter(data, who.name)
        self.eye = (self.mesh.joint("l-eye") + self.mesh.joint("r-eye")) / 2

    def _skin_material(self, painted: bool) -> bpy.types.Material:
        """Skin of one plain colour for the light bake, or painted for looking at."""
        skin = self.who.face.skin
        plain = tuple(float(v) for v in paint.srgb(*skin.base))
        mat = principled("skin", plain, Subsurface_Weight=1.0, Subsurface_Scale=0.0042, Specular_IOR_Level=skin.specular)
        tree = mat.node_tree
        node = tree.nodes["Principled BSDF"]
        node.inputs["Subsurface Radius"].default_value = (1.0, 0.36, 0.20)
        rough = tree.nodes.new("ShaderNodeAttribute")
        rough.attribute_name = "roughness"
        tree.links.new(rough.outputs["Fac"], node.inputs["Roughness"])
        picture = self.out / "skin_albedo.png"
        if painted and picture.exists():
            image = tree.nodes.new("ShaderNodeTexImage")
            image.image = bpy.data.images.load(str(picture))
            tree.links.new(image.outputs["Color"], node.inputs["Base Color"])
        return mat

    def _feature_objects(self, rest: np.ndarray, pose: dict[str, float]) -> list[bpy.types.Object]:
        """Eyes, teeth, tongue and lashes with the feature texture, as every renderer will show them."""
        picture = self.out / "features.png"
        rgba = features.texture(self.who.face)
        cv2.imwrite(str(picture), cv2.cvtColor(rgba, cv2.COLOR_RGBA2BGRA))
        image = bpy.data.images.load(str(picture))
        made = []
        for piece in features.pieces(self.mesh, self.units, rest, self.skin_units(), self.who.face):
            if piece.name.startswith("glint"):
                continue
            wet = piece.name.startswith(("eye", "teeth", "tongue"))
            mat = principled(piece.name, (1, 1, 1), Roughness=0.12 if wet else 0.6, Specular_IOR_Level=0.5 if wet else 0.1)
            tree, node = mat.node_tree, mat.node_tree.nodes["Principled BSDF"]
            tex, shade = tree.nodes.new("ShaderNodeTexImage"), tree.nodes.new("ShaderNodeAttribute")
            tex.image, shade.attribute_name = image, "shade"
            times = tree.nodes.new("ShaderNodeMix")
            times.data_type, times.blend_type, times.inputs["Factor"].default_value = "RGBA", "MULTIPLY", 1.0
            tree.links.new(tex.outputs["Color"], times.inputs["A"])
            tree.links.new(shade.outputs["Color"], times.inputs["B"])
            tree.links.new(times.outputs["Result"], node.inputs["Base Color"])
            if piece.blend:
                tree.links.new(tex.outputs["Alpha"], node.inputs["Alpha"])
            posed = piece.verts + sum((w * piece.units[k] for k, w in pose.items() if k in piece.units), 0 * piece.verts)
            obj = add_mesh(piece.name, posed, piece.tris, mat)
            layer = obj.data.uv_layers.new(name="uv")
            corner = piece.uv[piece.tris].reshape(-1, 2) / [features.TEX_W, features.TEX_H] * [1, -1] + [0, 1]
            layer.data.foreach_set("uv", corner.astype(np.float32).ravel())
            colour = obj.data.attributes.new("shade", "FLOAT", "POINT")
            colour.data.foreach_set("value", piece.shade.astype(np.float32))
            made.append(obj)
        return made

    def _clothes(self) -> list[tuple[bpy.types.Object, np.ndarray, np.ndarray]]:
        """Objects, vertices and triangles of ``clothes.npz``."""
        made = []
        if not (self.out / "clothes.npz").exists():
            print(f"{self.out / 'clothes.npz'}: missing, so {self.who.name} is bare; cloth_bake.py … pieces makes it")
            return made
        saved = np.load(self.out / "clothes.npz")
        picture = self.out / "cloth_albedo.png"
        for name in (str(p) for p in saved["parts"]):
            verts, tris = saved[f"{name}_verts"].astype(float), saved[f"{name}_tris"].astype(int)
            grey = tuple(float(v) for v in paint.srgb(*self.who.face.skin.base)) if "hand" in name else (0.10, 0.11, 0.13)
            mat = principled(name, grey, Roughness=0.75)
            obj = add_mesh(name, verts, tris, mat)
            if picture.exists():
                tex = mat.node_tree.nodes.new("ShaderNodeTexImage")
                tex.image = bpy.data.images.load(str(picture), check_existing=True)
                mat.node_tree.links.new(tex.outputs["Color"], mat.node_tree.nodes["Principled BSDF"].inputs["Base Color"])
            layer = obj.data.uv_layers.new(name="atlas")
            corner = saved[f"{name}_uv"][tris].reshape(-1, 2) * [1, -1] + [0, 1]
            layer.data.foreach_set("uv", corner.astype(np.float32).ravel())
            made.append((obj, verts, tris))
        return made

    def skin_units(self) -> dict[str, np.ndarray]:
        """Face units on the refined skin."""
        patch = paint.skin_patch(self.mesh)
        return {k: patch.step.matrix @ d[patch.used] for k, d in self.units.items()}

    def build(self, pose: dict[str, float], strands: int, painted: bool) -> None:
        """Create every object; ``pose`` adds face units to the skin before the light is baked."""
        mesh = self.mesh
        patch = paint.skin_patch(mesh)
        step, used, rest, uv = patch.step, patch.used, patch.verts, patch.uv
        posed = rest + sum((w * (step.matrix @ self.units[k][used]) for k, w in pose.items()), np.zeros_like(rest))
        self.skin = add_mesh("skin", posed, step.faces, self._skin_material(painted))
        layer = self.skin.data.uv_layers.new(name="atlas")
        flipped = uv.reshape(-1, 2) * [1, -1] + [0, 1]
        layer.data.foreach_set("uv", flipped.astype(np.float32).ravel())
        gloss = self.skin.data.attributes.new("roughness", "FLOAT", "POINT")
        gloss.data.foreach_set("value", paint.roughness(mesh, patch, self.data, self.who).astype(np.float32))
        self.pieces = self._feature_objects(rest, pose)
        self.cloth, solids_v, solids_n = [], [], []
        for obj, verts, faces in self._clothes():
            self.cloth.append(obj)
            solids_v.append(verts)
            solids_n.append(surface.vertex_normals(verts, faces))
        tris = surface.triangles(step.faces)
        normals = surface.vertex_normals(rest, tris)
        low = (rest[:, 1] < self.eye[1] + 0.1) & (rest[:, 1] > 3.6)
        solids_v.append(rest[low])
        solids_n.append(normals[low])
        solid = (np.concatenate(solids_v), np.concatenate(solids_n))
        hair = groom.grow(self.who.hair, (rest, tris), solid, self.eye[1], strands)
        self.groom = hair
        mat = fibre.hair_material(self.who.hair)
        top = np.clip((hair.points[..., 1] - (self.eye[1] - 0.25)) / 0.35, 0, 1)
        front, back = ~hair.back, hair.back
        self.hair_front = fibre.add_hair("hair_front", hair.points[front], hair.radius[front], hair.melanin[front], mat)
        self.hair_top = fibre.add_hair("hair_top", hair.points[back], (hair.radius * top)[back], hair.melanin[back], mat)
        self.hair_back = fibre.add_hair("hair_back", hair.points[back], hair.radius[back], hair.melanin[back], mat)

    def show(self, visible: set[str], holdout: set[str], absent: set[str]) -> None:
        """Roles drawn, cut out, or removed; anything else is hidden from the camera but still casts shadows."""
        roles = {
            "skin": [self.skin, *self.pieces], "cloth": self.cloth, "hair_front": [self.hair_front],
            "hair_top": [self.hair_top], "hair_back": [self.hair_back],
        }  # fmt: skip
        for role, objects in roles.items():
            for obj in objects:
                obj.hide_render = role in absent
                obj.is_holdout = role in holdout
                obj.visible_camera = role in visible or role in holdout
