"""glTF 2.0 binary files: a reader that trusts nothing and a small builder. Pure JSON and NumPy.

Reading::

    glb = read_glb(path)                       # GlbError: not glTF, truncated, over a limit
    positions = glb.accessor(3)                # float32[n, 3], a copy; sparse accessors resolved
    picture = glb.image(0)                     # encoded bytes with the size read from the header, not decoded

Building::

    builder = GlbBuilder()
    position = builder.accessor(verts.astype(np.float32), bounds=True, target=VERTEX)
    builder.document["meshes"] = [...]
    builder.write(path)

Source: Khronos glTF 2.0 specification, §3.6 (buffers, accessors, sparse storage) and §4 (GLB layout).
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.renderer import AvatarError

MAGIC, JSON_CHUNK, BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
VERTEX, INDEX = 34962, 34963
"""Buffer view targets."""

COMPONENTS: dict[int, np.dtype[Any]] = {
    5120: np.dtype("<i1"), 5121: np.dtype("<u1"), 5122: np.dtype("<i2"), 5123: np.dtype("<u2"), 5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}  # fmt: skip
COMPONENT_OF = {dtype.str: code for code, dtype in COMPONENTS.items()}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
NAMES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}

MAX_FILE_BYTES = 64 << 20
MAX_JSON_BYTES = 8 << 20
MAX_ENTRIES = 8192
"""Largest length of any top-level list of the document."""
MAX_ELEMENTS = 2 << 20
"""Largest ``count`` of one accessor."""
MAX_DECODED_BYTES = 512 << 20
"""All accessors read from one file together: a small file may declare gigabytes of zeros."""
MAX_SIDE_PX = 4096
MAX_JPEG_SCANS = 64
"""Progressive pictures have about ten; each scan makes the decoder go over the whole picture again."""
MAX_PIXELS = 48 << 20
"""All images of one file together, by their headers."""


class GlbError(AvatarError):
    """The file is not the glTF 2.0 binary it must be; the message names the place and the way out."""


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """A PNG or JPEG still encoded; width, height and channels are read from its header."""

    data: bytes
    mime: Literal["image/png", "image/jpeg"]
    width: int
    height: int
    channels: int


def image_header(data: bytes, where: str) -> EncodedImage:
    """Size and channels of a PNG or JPEG without decoding it.

    Raises:
        GlbError: neither format, header cut off, or a side of 0 or more than ``MAX_SIDE_PX``.
    """
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        if len(data) < 33 or data[12:16] != b"IHDR":
            raise GlbError(f"{where}: PNG header is cut off; export the texture again")
        width, height, depth, kind = struct.unpack_from(">IIBB", data, 16)
        channels = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}.get(kind, 0)
        if depth != 8 or not channels:
            raise GlbError(f"{where}: PNG has {depth} bits and colour type {kind}; save it with 8 bits a channel")
        found = EncodedImage(data, "image/png", width, height, channels)
    elif data[:3] == b"\xff\xd8\xff":
        found = _jpeg_header(data, where)
    else:
        raise GlbError(f"{where}: is neither PNG nor JPEG (starts with {data[:4].hex() or 'nothing'}); embed one of them")
    if not (0 < found.width <= MAX_SIDE_PX and 0 < found.height <= MAX_SIDE_PX):
        raise GlbError(f"{where}: is {found.width}x{found.height} px; sides must be 1 to {MAX_SIDE_PX} px")
    return found


def _jpeg_header(data: bytes, where: str) -> EncodedImage:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker < 0xC0 or 0xD0 <= marker <= 0xD9:
            # Markers without a length, which no encoder writes here: a decoder would read on elsewhere than we do.
            break
        (length,) = struct.unpack_from(">H", data, at + 2)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            scans = data.count(b"\xff\xda")
            if scans > MAX_JPEG_SCANS:
                raise GlbError(f"{where}: JPEG has {scans} scans, at most {MAX_JPEG_SCANS} are read; save it again")
            height, width, channels = struct.unpack_from(">HHB", data, at + 5)
            return EncodedImage(data, "image/jpeg", width, height, channels)
        if marker == 0xDA or length < 2:
            break
        at += 2 + length
    raise GlbError(f"{where}: JPEG has no readable frame header; export the texture again")


def whole(value: Any, where: str, *, least: int = 0, most: int = 1 << 32) -> int:
    """``value`` as an int in [least, most]; raises GlbError naming ``where``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise GlbError(f"{where}: must be a whole number, is {str(value)[:40]!r}")
    if not least <= value <= most:
        raise GlbError(f"{where}: is {value}, must be {least} to {most}")
    return value


class Glb:
    """A parsed file: ``document`` is the JSON chunk, ``blob`` the binary chunk."""

    def __init__(self, document: dict[str, Any], blob: memoryview, name: str) -> None:
        self.document, self.blob, self.name = document, blob, name
        self._decoded = 0
        self._pixels = 0
        self._seen: set[int] = set()

    def entry(self, kind: str, index: Any, where: str = "") -> dict[str, Any]:
        """``document[kind][index]``; raises GlbError when the list or the entry is missing or no object."""
        place = where or f"{kind}[{index}]"
        table = self.document.get(kind, [])
        if not isinstance(table, list):
            raise GlbError(f"{kind}: must be a list")
        number = whole(index, place)
        if number >= len(table):
            raise GlbError(f"{place}: points to {kind}[{number}], the file has {len(table)}")
        found = table[number]
        if not isinstance(found, dict):
            raise GlbError(f"{kind}[{number}]: must be an object")
        return found

    def view(self, index: Any, where: str) -> tuple[memoryview, int | None]:
        """Bytes and ``byteStride`` of a buffer view."""
        view = self.entry("bufferViews", index, f"{where}.bufferView")
        place = f"bufferViews[{index}]"
        if view.get("buffer", 0) != 0:
            raise GlbError(f"{place}: buffer must be 0, the binary chunk; external buffers are not read")
        start = whole(view.get("byteOffset", 0), f"{place}.byteOffset")
        length = whole(view.get("byteLength"), f"{place}.byteLength", least=1)
        if start + length > len(self.blob):
            raise GlbError(f"{place}: ends at byte {start + length}, the binary chunk has {len(self.blob)}")
        stride = view.get("byteStride")
        return self.blob[start : start + length], None if stride is None else whole(
            stride, f"{place}.byteStride", least=1, most=252
        )

    def _run(self, view: Any, offset: Any, dtype: np.dtype[Any], count: int, width: int, where: str) -> NDArray[Any]:
        data, stride = self.view(view, where)
        start, size = whole(offset, f"{where}.byteOffset"), dtype.itemsize * width
        step = stride or size
        if step < size:
            raise GlbError(f"{where}: byteStride {step} is less than an element of {size} bytes")
        if start + step * (count - 1) + size > len(data):
            raise GlbError(f"{where}: {count} elements of {size} bytes from byte {start} do not fit in {len(data)} bytes")
        flat: NDArray[Any] = np.ndarray((count, width), dtype, data, start, (step, dtype.itemsize))
        return flat

    def accessor(self, index: Any, where: str = "") -> NDArray[Any]:
        """The values as stored: [count] for SCALAR, else [count, width]; without buffer view zeros. A fresh array.

        Raises:
            GlbError: out of bounds, unknown type, not-finite floats, or over ``MAX_ELEMENTS``/``MAX_DECODED_BYTES``.
        """
        entry = self.entry("accessors", index, where)
        place = f"accessors[{index}]" + (f" ({where})" if where else "")
        dtype = COMPONENTS.get(entry.get("componentType", 0)) if isinstance(entry.get("componentType"), int) else None
        width = WIDTHS.get(entry.get("type", "")) if isinstance(entry.get("type"), str) else None
        if dtype is None or width is None:
            raise GlbError(f"{place}: component type {entry.get('componentType')!r} of {entry.get('type')!r} is not read")
        count = whole(entry.get("count"), f"{place}.count", least=1, most=MAX_ELEMENTS)
        self._decoded += count * width * dtype.itemsize
        if self._decoded > MAX_DECODED_BYTES:
            raise GlbError(f"{place}: the accessors of this file unpack to more than {MAX_DECODED_BYTES >> 20} MiB")
        if "bufferView" in entry:
            values = np.array(self._run(entry["bufferView"], entry.get("byteOffset", 0), dtype, count, width, place))
        else:
            values = np.zeros((count, width), dtype)
        if "sparse" in entry:
            rows, moved = self._sparse(entry["sparse"], dtype, count, width, place)
            values[rows] = moved
        if dtype.kind == "f" and not np.isfinite(values).all():
            raise GlbError(f"{place}: holds NaN or infinite values; export the mesh again")
        return values[:, 0] if width == 1 else values

    def sparse(self, index: Any, where: str = "") -> tuple[NDArray[np.int64], NDArray[Any]] | None:
        """Rows and values of a purely sparse accessor (no buffer view) without unpacking it; None when it is dense."""
        entry = self.entry("accessors", index, where)
        if "bufferView" in entry:
            return None
        place = f"accessors[{index}]" + (f" ({where})" if where else "")
        kind, shape = entry.get("componentType"), entry.get("type")
        if kind != 5126 or shape != "VEC3":
            raise GlbError(f"{place}: must be VEC3 of float (5126), is {shape!r} of {kind!r}")
        count = whole(entry.get("count"), f"{place}.count", least=1, most=MAX_ELEMENTS)
        if "sparse" not in entry:
            return np.zeros(0, np.int64), np.zeros((0, 3), np.float32)
        rows, values = self._sparse(entry["sparse"], COMPONENTS[5126], count, 3, place)
        self._decoded += values.nbytes + rows.nbytes
        if self._decoded > MAX_DECODED_BYTES:
            raise GlbError(f"{place}: the accessors of this file unpack to more than {MAX_DECODED_BYTES >> 20} MiB")
        if not np.isfinite(values).all():
            raise GlbError(f"{place}: holds NaN or infinite values; export the mesh again")
        return rows, np.array(values)

    def _sparse(
        self, entry: Any, dtype: np.dtype[Any], count: int, width: int, place: str
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("indices"), dict)
            or not isinstance(entry.get("values"), dict)
        ):
            raise GlbError(f"{place}.sparse: needs the objects 'indices' and 'values'")
        some = whole(entry.get("count"), f"{place}.sparse.count", least=1, most=count)
        kind = entry["indices"].get("componentType")
        index_type = COMPONENTS.get(kind) if isinstance(kind, int) else None
        if index_type is None or index_type.kind != "u":
            raise GlbError(f"{place}.sparse.indices: component type {kind!r} is not an unsigned integer")
        where = f"{place}.sparse.indices"
        rows = self._run(entry["indices"].get("bufferView"), entry["indices"].get("byteOffset", 0), index_type, some, 1, where)[
            :, 0
        ].astype(np.int64)
        if int(rows.max()) >= count or (some > 1 and bool((np.diff(rows) <= 0).any())):
            raise GlbError(f"{where}: must rise strictly and stay below {count}")
        values = self._run(
            entry["values"].get("bufferView"),
            entry["values"].get("byteOffset", 0),
            dtype,
            some,
            width,
            f"{place}.sparse.values",
        )
        return rows, values

    def image(self, index: Any, where: str = "") -> EncodedImage:
        """The encoded picture ``images[index]``; raises GlbError for external, unreadable or over-large ones."""
        entry = self.entry("images", index, where)
        place = f"images[{index}]" + (f" ({entry['name']!s:.40})" if "name" in entry else "")
        if "bufferView" not in entry:
            raise GlbError(f"{place}: is not embedded; pictures outside the file are not read")
        data, _ = self.view(entry["bufferView"], place)
        picture = image_header(bytes(data), place)
        if int(index) not in self._seen:
            self._seen.add(int(index))
            self._pixels += picture.width * picture.height
            if self._pixels > MAX_PIXELS:
                raise GlbError(
                    f"{place}: the pictures of this file have more than {MAX_PIXELS >> 20} million pixels; shrink them"
                )
        return picture


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def read_glb(source: Path | bytes, name: str = "") -> Glb:
    """Parse the container; nothing is decoded yet.

    Args:
        source: a file or its bytes, at most ``MAX_FILE_BYTES``.
        name: what messages call it; the path by default.

    Raises:
        GlbError: missing file, no glTF, another version, truncated, unreadable JSON, too many entries.
    """
    name = name or (str(source) if isinstance(source, Path) else "avatar pack")
    if isinstance(source, Path):
        try:
            size = source.stat().st_size
            if size > MAX_FILE_BYTES:
                raise GlbError(f"{name} has {size >> 20} MiB; a pack may have {MAX_FILE_BYTES >> 20} MiB")
            raw = source.read_bytes()
        except OSError as error:
            raise GlbError(f"{name} cannot be read: {error.strerror or error}") from None
    else:
        raw = source
    if len(raw) > MAX_FILE_BYTES:
        raise GlbError(f"{name} has {len(raw) >> 20} MiB; a pack may have {MAX_FILE_BYTES >> 20} MiB")
    if len(raw) < 20 or raw[:4] != b"glTF":
        raise GlbError(f"{name} is not a glTF binary file (.glb): it starts with {raw[:4]!r}; export it as glTF Binary")
    _, version, length = struct.unpack_from("<III", raw)
    if version != 2:
        raise GlbError(f"{name} is glTF version {version}; only version 2 is read")
    if length != len(raw):
        how = "is cut off: copy it again" if length > len(raw) else "has bytes behind its end: copy it again"
        raise GlbError(f"{name} {how} (header says {length} bytes, the file has {len(raw)})")
    chunks: dict[int, memoryview] = {}
    at = 12
    while at < length:
        if at + 8 > length:
            raise GlbError(f"{name}: chunk header at byte {at} is cut off")
        size, kind = struct.unpack_from("<II", raw, at)
        if at + 8 + size > length:
            raise GlbError(f"{name}: chunk at byte {at} says {size} bytes, {length - at - 8} are left")
        if not chunks and kind != JSON_CHUNK:
            raise GlbError(f"{name}: the first chunk must be JSON")
        chunks.setdefault(kind, memoryview(raw)[at + 8 : at + 8 + size])
        at += 8 + size
    if len(chunks[JSON_CHUNK]) > MAX_JSON_BYTES:
        raise GlbError(
            f"{name}: the JSON chunk has {len(chunks[JSON_CHUNK]) >> 20} MiB, at most {MAX_JSON_BYTES >> 20} are read"
        )
    try:
        document = json.loads(bytes(chunks[JSON_CHUNK]).decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise GlbError(f"{name}: the JSON chunk cannot be read: {str(error)[:120]}") from None
    if not isinstance(document, dict):
        raise GlbError(f"{name}: the JSON chunk must be an object")
    for key, value in document.items():
        if isinstance(value, list) and len(value) > MAX_ENTRIES:
            raise GlbError(f"{name}: {str(key)[:40]} has {len(value)} entries, at most {MAX_ENTRIES} are read")
    asset = document.get("asset")
    if not isinstance(asset, dict) or not str(asset.get("version", "")).startswith("2."):
        raise GlbError(f"{name}: asset.version is not 2.x")
    return Glb(document, chunks.get(BIN_CHUNK, memoryview(b"")), name)


class GlbBuilder:
    """Collects a document and its binary chunk; ``document`` may be edited freely before ``write``."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = {"asset": {"version": "2.0"}, "accessors": [], "bufferViews": [], "images": []}
        self._blob = bytearray()
        self._zeros: dict[tuple[int, int], int] = {}

    def view(self, data: bytes, target: int | None = None, stride: int | None = None) -> int:
        """Append bytes on a four-byte boundary; returns the buffer view's index."""
        self._blob.extend(b"\0" * (-len(self._blob) % 4))
        entry: dict[str, Any] = {"buffer": 0, "byteOffset": len(self._blob), "byteLength": len(data)}
        if target is not None:
            entry["target"] = target
        if stride is not None:
            entry["byteStride"] = stride
        self._blob.extend(data)
        self.document["bufferViews"].append(entry)
        return len(self.document["bufferViews"]) - 1

    def accessor(
        self,
        values: NDArray[Any],
        *,
        normalised: bool = False,
        bounds: bool = False,
        target: int | None = None,
        matrix: bool = False,
    ) -> int:
        """Append an array ([n], [n, width], or [n, 16] with ``matrix``); its dtype decides the component type.

        Vertex rows must be multiples of four bytes wide (glTF §3.6.2.4); ``bounds`` adds min and max.
        """
        flat = np.ascontiguousarray(values)
        width = 16 if matrix else (1 if flat.ndim == 1 else flat.shape[1])
        entry: dict[str, Any] = {
            "bufferView": self.view(flat.tobytes(), target), "componentType": COMPONENT_OF[flat.dtype.newbyteorder("<").str],
            "count": len(flat), "type": NAMES[width],
        }  # fmt: skip
        if normalised:
            entry["normalized"] = True
        if bounds:
            table = flat.reshape(len(flat), width)
            entry["min"], entry["max"] = table.min(0).tolist(), table.max(0).tolist()
        self.document["accessors"].append(entry)
        return len(self.document["accessors"]) - 1

    def sparse(self, count: int, rows: NDArray[Any], values: NDArray[np.float32]) -> int:
        """Append a float VEC3 accessor, zero except at ``rows`` (rising); those without rows are shared by count."""
        entry: dict[str, Any] = {"componentType": 5126, "count": count, "type": "VEC3"}
        if len(rows) == 0:
            if (count, 3) in self._zeros:
                return self._zeros[count, 3]
            self._zeros[count, 3] = len(self.document["accessors"])
            entry["min"] = entry["max"] = [0.0, 0.0, 0.0]
        else:
            packed = np.ascontiguousarray(values, np.float32)
            narrow, code = (np.uint16, 5123) if count <= 1 << 16 else (np.uint32, 5125)
            low, high = packed.min(0), packed.max(0)
            if len(rows) < count:
                low, high = np.minimum(low, 0), np.maximum(high, 0)
            entry["min"], entry["max"] = low.tolist(), high.tolist()
            entry["sparse"] = {
                "count": len(rows),
                "indices": {"bufferView": self.view(rows.astype(narrow).tobytes()), "componentType": code},
                "values": {"bufferView": self.view(packed.tobytes())},
            }  # fmt: skip
        self.document["accessors"].append(entry)
        return len(self.document["accessors"]) - 1

    def image(self, data: bytes, name: str) -> int:
        """Embed an encoded PNG or JPEG; returns the image's index."""
        mime = image_header(data, f"image '{name}'").mime
        self.document["images"].append({"name": name, "mimeType": mime, "bufferView": self.view(data)})
        return len(self.document["images"]) - 1

    def blob(self) -> bytes:
        """The binary chunk as it will be written."""
        return bytes(self._blob) + b"\0" * (-len(self._blob) % 4)

    def encode(self) -> bytes:
        """The whole file."""
        blob = self.blob()
        self.document["buffers"] = [{"byteLength": len(blob)}]
        document = {k: v for k, v in self.document.items() if v != []}
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        size = 12 + 8 + len(text) + 8 + len(blob)
        return b"".join(
            (
                struct.pack("<III", MAGIC, 2, size), struct.pack("<II", len(text), JSON_CHUNK), text,
                struct.pack("<II", len(blob), BIN_CHUNK), blob,
            )
        )  # fmt: skip

    def write(self, path: Path) -> int:
        """Write the file in one go; returns its size in bytes."""
        data = self.encode()
        path.write_bytes(data)
        return len(data)
