"""Runs a head's network: shapes checked against the manifest at opening, values at every frame."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.neural.manifest import FileRef, Head
from gpu_engine.avatar.renderer import AvatarError
from gpu_engine.inference.onnx import InferenceError, open_session

Floats = NDArray[np.float32]
Image = NDArray[np.uint8]

_KEPT_INPUTS = 600
"""Prepared image inputs of loop frames that are kept: at 96x96 with reference 221 kB each."""
_KEPT_BYTES = 96 << 20


class NetworkFault(RuntimeError):
    """One frame could not be drawn: the network failed or gave values that are not finite. The show goes on without it."""


@dataclass(frozen=True, slots=True)
class Providers:
    """Where the network was asked to run, what this onnxruntime has, and where it runs."""

    configured: tuple[str, ...]
    available: tuple[str, ...]
    active: tuple[str, ...]


def _shape(entry: Any) -> list[int | None]:
    return [side if isinstance(side, int) and side > 0 else None for side in entry.shape]


def _agree(found: list[int | None], wanted: Sequence[int | None]) -> bool:
    return len(found) == len(wanted) and all(f is None or w is None or f == w for f, w in zip(found, wanted, strict=True))


def _told(shape: Sequence[int | None]) -> str:
    return "[" + ", ".join("batch" if side is None else str(side) for side in shape) + "]"


class HeadNetwork:
    """A head's network, with its VAE when it has one."""

    def __init__(self, head: Head, *, threads: int = 1, providers: Sequence[str] = ()) -> None:
        """
        Args:
            providers: execution providers in order of preference; none: CUDA where present, else the CPU.

        Raises:
            AvatarError: a network is missing, refused, or its inputs and output differ from the manifest.
        """
        import onnxruntime

        self.head = head
        self._session = self._open(head.network, threads, providers)
        image = head.image
        size = (image.latent.size, image.latent.size) if image.latent else (image.height, image.width)
        self._nchw = image.layout == "NCHW" or image.latent is not None
        face = [None, image.channels, *size] if self._nchw else [None, *size, image.channels]
        batches = [
            self._check(head.network, self._session.get_inputs(), image.name, face, "image"),
            self._check(head.network, self._session.get_inputs(), head.audio.name, [None, *head.audio.shape], "audio"),
        ]
        drawn = image.latent.channels if image.latent else 3
        output = [None, drawn, *size] if self._nchw else [None, *size, drawn]
        self._check(head.network, self._session.get_outputs(), head.output.name, output, "output")
        known = {image.name, head.audio.name}
        surplus = [i.name for i in self._session.get_inputs() if i.name not in known]
        if surplus:
            raise AvatarError(f"{head.path(head.network)} has inputs the manifest does not name: {', '.join(surplus)}")
        fixed = [b for b in batches if b is not None]
        self.fixed_batch = fixed[0] if fixed else None
        if self.fixed_batch not in (None, 1):
            raise AvatarError(
                f"{head.path(head.network)} takes batches of {self.fixed_batch} only: export it with a free batch, or 1"
            )
        self._encode = self._decode = None
        if image.latent:
            self._encode = self._open(image.latent.encoder, threads, providers)
            self._decode = self._open(image.latent.decoder, threads, providers)
            crop, latent = [None, 3, image.height, image.width], [None, image.latent.channels, *size]
            for session, ref, ways in (
                (self._encode, image.latent.encoder, (crop, latent)), (self._decode, image.latent.decoder, (latent, crop)),
            ):  # fmt: skip
                self._check(ref, session.get_inputs(), session.get_inputs()[0].name, ways[0], "input")
                self._check(ref, session.get_outputs(), session.get_outputs()[0].name, ways[1], "output")
        self.providers = Providers(
            tuple(providers), tuple(onnxruntime.get_available_providers()), tuple(self._session.get_providers())
        )
        self._inputs: OrderedDict[int, Floats] = OrderedDict()
        self._kept = max(8, min(_KEPT_INPUTS, _KEPT_BYTES // (4 * image.channels * size[0] * size[1])))

    def _open(self, ref: FileRef, threads: int, providers: Sequence[str]) -> Any:
        path = self.head.path(ref)
        if not path.is_file():
            raise AvatarError(f"{path} is missing: copy the head again")
        try:
            return open_session(path, threads=threads, providers=providers or None)
        except InferenceError as error:
            raise AvatarError(str(error)) from error

    def _check(self, ref: FileRef, entries: Any, name: str, wanted: list[int | None], what: str) -> int | None:
        """Name and shape of one input or output; returns its batch when that is fixed."""
        by_name = {entry.name: entry for entry in entries}
        if name not in by_name:
            raise AvatarError(f"{self.head.path(ref)} has no {what} '{name}' (has: {', '.join(by_name)})")
        found = _shape(by_name[name])
        if not _agree(found, wanted):
            raise AvatarError(f"{self.head.path(ref)}: {what} '{name}' is {_told(found)}, the manifest says {_told(wanted)}")
        if "float16" in by_name[name].type or "float" not in by_name[name].type:
            raise AvatarError(f"{self.head.path(ref)}: {what} '{name}' is {by_name[name].type}, must be 32-bit float")
        return found[0]

    # --- one batch ----------------------------------------------------------------------------------------------------

    def _face(self, crop: Image) -> Floats:
        """The image input of one crop uint8[h, w, 3] BGR, without the batch: masked and, by the manifest, whole."""
        image = self.head.image
        pixels = crop[..., ::-1] if image.colour == "RGB" else crop
        whole = pixels.transpose(2, 0, 1).astype(np.float32) * np.float32((image.high - image.low) / 255) + np.float32(
            image.low
        )
        hidden = whole.copy()
        if image.mask_box is not None:
            x0, y0, x1, y1 = image.mask_box
            hidden[:, y0:y1, x0:x1] = image.low
        else:
            hidden[:, image.height // 2 :] = image.low
        layers = [hidden, whole] if image.reference else [hidden]
        if self._encode is not None:
            name = self._encode.get_inputs()[0].name
            layers = [self._run(self._encode, {name: np.ascontiguousarray(x[None])})[0] for x in layers]
        if image.order == "reference-first":
            layers.reverse()
        face = np.concatenate(layers, axis=0)
        return face if self._nchw else np.ascontiguousarray(face.transpose(1, 2, 0))

    def _faces(self, crops: Sequence[Image], keys: Sequence[int]) -> Floats:
        found = []
        for crop, key in zip(crops, keys, strict=True):
            face = self._inputs.get(key)
            if face is None:
                face = self._face(crop)
                self._inputs[key] = face
                if len(self._inputs) > self._kept:
                    self._inputs.popitem(last=False)
            else:
                self._inputs.move_to_end(key)
            found.append(face)
        return np.stack(found)

    def sound_input(self, windows: Floats) -> Floats:
        """The audio input of windows float32[b, rows, columns], as the manifest lays it out."""
        laid = windows if self.head.audio.order == "bands-time" else windows.transpose(0, 2, 1)
        return np.ascontiguousarray(laid.reshape(len(windows), *self.head.audio.shape))

    def draw(self, crops: Sequence[Image], keys: Sequence[int], windows: Floats) -> Image:
        """Speaking faces uint8[b, h, w, 3] BGR.

        Args:
            crops: recorded crops uint8[h, w, 3] BGR.
            keys: the loop frame of each, under which its prepared input is kept.
            windows: float32[b, rows, columns] of sound.

        Raises:
            NetworkFault: the network failed on them or gave values that are not finite.
        """
        faces, sounds = self._faces(crops, keys), self.sound_input(windows)
        step = self.fixed_batch or len(faces)
        parts = [
            self._run(self._session, {self.head.image.name: faces[i : i + step], self.head.audio.name: sounds[i : i + step]},
                      self.head.output.name)
            for i in range(0, len(faces), step)
        ]  # fmt: skip
        out = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if self._decode is not None:
            name = self._decode.get_inputs()[0].name
            out = np.concatenate([self._run(self._decode, {name: np.ascontiguousarray(x[None])}) for x in out])
        if not np.isfinite(out).all():
            raise NetworkFault(f"head '{self.head.name}': the network gave values that are not finite")
        output = self.head.output
        scaled = (out - np.float32(output.low)) * np.float32(255 / (output.high - output.low)) + np.float32(0.5)
        pixels = np.clip(scaled, 0, 255).astype(np.uint8)
        if self._nchw:
            pixels = pixels.transpose(0, 2, 3, 1)
        return np.ascontiguousarray(pixels[..., ::-1] if self.head.image.colour == "RGB" else pixels)

    def _run(self, session: Any, feed: dict[str, Floats], output: str | None = None) -> Floats:
        try:
            found: Floats = session.run([output] if output else None, feed)[0]
        except Exception as error:
            raise NetworkFault(f"head '{self.head.name}': the network failed: {error}") from error
        return found
