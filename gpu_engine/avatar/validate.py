"""Checks a pack file and names everything that is wrong with it, each with its place and the way out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpu_engine.avatar.contents import Contents, examine
from gpu_engine.avatar.glb import GlbError, read_glb


@dataclass(frozen=True, slots=True)
class Verdict:
    """``problems`` is empty when the pack is valid; ``summary`` then says in one line what it holds."""

    problems: tuple[str, ...]
    summary: str = ""


def validate(source: Path | bytes) -> Verdict:
    """Examine a file or its bytes; never raises for what is in it."""
    try:
        glb = read_glb(source)
    except GlbError as error:
        return Verdict((str(error),))
    contents, problems = examine(glb)
    return Verdict(tuple(problems), "" if problems else _summary(contents, glb.blob.nbytes))


def _summary(contents: Contents, blob_bytes: int) -> str:
    meshes = [p for p in contents.primitives if not p.mesh.startswith("plate.")]
    extension = contents.extension
    targets = {name for p in meshes for name, (rows, _) in p.targets.items() if len(rows)}
    return (
        f"{extension['name']}: version {extension['version']}, valid: {sum(len(p.verts) for p in meshes)} vertices, "
        f"{sum(len(p.tris) for p in meshes)} triangles in {len(meshes)} primitives, {len(targets)} targets that move, "
        f"{len(extension['plates'])} plates, {len(contents.pictures)} pictures, {blob_bytes / 1e6:.1f} MB"
    )
