"""Hair in Blender: curves from strands and the fibre's colour. Needs ``bpy``."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np


@dataclass(frozen=True)
class Fibre:
    """Principled-hair inputs; melanin comes with each strand."""

    absorption: tuple[float, float, float]
    roughness: float
    radial: float
    coat: float


FIBRES = {
    "lin": Fibre((0.70, 0.92, 1.20), 0.27, 0.34, 0.0),
    "marco": Fibre((0.68, 0.95, 1.28), 0.32, 0.42, 0.0),
    "amara": Fibre((0.72, 0.92, 1.14), 0.36, 0.50, 0.0),
}
"""Absorption (linear RGB) of one unit of melanin. Real eumelanin, (0.51, 0.84, 1.65), turns orange in a rim light; a
flatter curve stays brown."""


def hair_material(style: str) -> bpy.types.Material:
    """The fibre of ``style``; reads the curves' ``pigment`` attribute."""
    fibre = FIBRES[style]
    mat = bpy.data.materials.new(f"hair_{style}")
    mat.use_nodes = True
    tree = mat.node_tree
    tree.nodes.clear()
    out = tree.nodes.new("ShaderNodeOutputMaterial")
    node = tree.nodes.new("ShaderNodeBsdfHairPrincipled")
    node.parametrization = "ABSORPTION"
    values = {
        "Roughness": fibre.roughness, "Radial Roughness": fibre.radial,
        "Coat": fibre.coat, "Random Roughness": 0.15,
    }  # fmt: skip
    for key, value in values.items():
        if key in node.inputs:
            node.inputs[key].default_value = value
    melanin = tree.nodes.new("ShaderNodeAttribute")
    melanin.attribute_name = "pigment"
    scale = tree.nodes.new("ShaderNodeVectorMath")
    scale.operation = "SCALE"
    scale.inputs[0].default_value = fibre.absorption
    tree.links.new(melanin.outputs["Fac"], scale.inputs["Scale"])
    tree.links.new(scale.outputs[0], node.inputs["Absorption Coefficient"])
    tree.links.new(node.outputs[0], out.inputs[0])
    return mat


def add_hair(
    name: str, points: np.ndarray, radius: np.ndarray, melanin: np.ndarray, material: bpy.types.Material
) -> bpy.types.Object:
    """Curves object from strands f32[n, k, 3], radii f32[n, k] (dm) and melanin f32[n]."""
    data = bpy.data.hair_curves.new(name)
    n, k, _ = points.shape
    data.add_curves([k] * n)
    flat = points.reshape(-1, 3)
    blender = np.stack([flat[:, 0], -flat[:, 2], flat[:, 1]], 1) * 0.1
    data.attributes["position"].data.foreach_set("vector", blender.astype(np.float32).ravel())
    attr = data.attributes.get("radius") or data.attributes.new("radius", "FLOAT", "POINT")
    attr.data.foreach_set("value", (radius.ravel() * 0.1).astype(np.float32))
    # Melanin 0..1 is a share of white hair's light that is lost; absorption is its logarithm, as in the shader's own scale.
    pigment = -np.log(np.maximum(1.0 - melanin, 1e-4))
    data.attributes.new("pigment", "FLOAT", "CURVE").data.foreach_set("value", pigment.astype(np.float32))
    data.materials.append(material)
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    return obj
