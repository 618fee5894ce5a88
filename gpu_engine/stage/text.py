"""Fonts of the stage: which characters they can draw, and text broken into lines of a given width."""

from __future__ import annotations

import struct
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Literal

from PIL import ImageFont

FONT_DIR = Path(__file__).parent / "fonts"
FALLBACK = "□"
"""Stands for every character the font lacks: seen, but never a crash."""
ELLIPSIS = "…"

_NARROWEST_EM = 0.15
"""Below the advance of every visible character of the font, in em."""

Weight = Literal["Regular", "Bold"]

_NO_LINE_START = frozenset("，。！？；：、）》」』】〉”’…—～·,.!?;:)]}%％℃°")
_NO_LINE_END = frozenset("（《「『【〈“‘([{￥¥$#")


class StageError(RuntimeError):
    """The stage cannot be set; the message names the file or text and the way out."""


def font_path(weight: Weight) -> Path:
    """File of one weight of the stage font."""
    return FONT_DIR / f"LumihostSansSC-{weight}.otf"


@lru_cache(maxsize=64)
def font(weight: Weight, size_px: int) -> ImageFont.FreeTypeFont:
    """The stage font at an em size in px.

    Raises:
        StageError: the font file is missing or damaged.
    """
    path = font_path(weight)
    try:
        # Pillow's basic layout is in every wheel; raqm depends on libraries of the machine and would change line widths.
        return ImageFont.truetype(str(path), max(size_px, 4), layout_engine=ImageFont.Layout.BASIC)
    except OSError as error:
        raise StageError(f"stage font {path.name}: {error}: reinstall Lumihost, its fonts lie in {FONT_DIR}") from error


@lru_cache(maxsize=2)
def coverage(weight: Weight) -> frozenset[int]:
    """Code points the font maps to a glyph (OpenType cmap, formats 4 and 12).

    Raises:
        StageError: the font file is missing or damaged.
    """
    path = font_path(weight)
    try:
        return _read_cmap(path.read_bytes())
    except (OSError, struct.error, KeyError) as error:
        raise StageError(f"stage font {path.name}: {error}: reinstall Lumihost, its fonts lie in {FONT_DIR}") from error


def _read_cmap(data: bytes) -> frozenset[int]:
    (tables,) = struct.unpack_from(">H", data, 4)
    directory = {data[12 + 16 * i : 16 + 16 * i]: struct.unpack_from(">II", data, 20 + 16 * i) for i in range(tables)}
    base, _ = directory[b"cmap"]
    (count,) = struct.unpack_from(">H", data, base + 2)
    points: set[int] = set()
    for i in range(count):
        at = base + struct.unpack_from(">I", data, base + 8 + 8 * i)[0]
        (form,) = struct.unpack_from(">H", data, at)
        if form == 12:
            (groups,) = struct.unpack_from(">I", data, at + 12)
            for g in range(groups):
                first, last, _ = struct.unpack_from(">III", data, at + 16 + 12 * g)
                points.update(range(first, last + 1))
        elif form == 4:
            segments = struct.unpack_from(">H", data, at + 6)[0] // 2
            ends = struct.unpack_from(f">{segments}H", data, at + 14)
            starts = struct.unpack_from(f">{segments}H", data, at + 16 + 2 * segments)
            for first, last in zip(starts, ends, strict=True):
                points.update(range(first, last + 1))
    points.discard(0xFFFF)
    return frozenset(points)


def missing_glyphs(text: str, weight: Weight) -> str:
    """Characters of ``text`` the font cannot draw, each once, in order."""
    known = coverage(weight)
    return "".join(dict.fromkeys(c for c in text if not c.isspace() and ord(c) not in known))


def drawable(text: str, weight: Weight) -> str:
    """``text`` on one line with what cannot be drawn replaced by ``FALLBACK``: an emoji with its modifiers counts once."""
    known = coverage(weight)
    out: list[str] = []
    joined = False
    for c in unicodedata.normalize("NFC", text):
        point = ord(c)
        if c.isspace():
            out.append(" ")
        elif point == 0x200D:
            joined = True
            continue
        elif 0xFE00 <= point <= 0xFE0F or 0x1F3FB <= point <= 0x1F3FF or unicodedata.category(c) in ("Cc", "Cf", "Mn", "Me"):
            continue
        elif point in known:
            out.append(c)
        elif not joined:
            out.append(FALLBACK)
        joined = False
    return " ".join("".join(out).split())


@lru_cache(maxsize=16384)
def _advance(char: str, weight: Weight, size_px: int) -> float:
    return float(font(weight, size_px).getlength(char))


def text_width(text: str, weight: Weight, size_px: int) -> float:
    """Advance width in px."""
    return sum(_advance(c, weight, size_px) for c in text)


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"


def _pieces(text: str) -> list[str]:
    """Unbreakable runs: Latin words with the spaces after them, single wide characters with their punctuation."""
    pieces: list[str] = []
    for c in text:
        if not pieces:
            pieces.append(c)
            continue
        last = pieces[-1]
        glue = (
            c in _NO_LINE_START
            or c == " "
            or last[-1] in _NO_LINE_END
            or (not _is_wide(c) and not _is_wide(last[-1]) and last[-1] != " ")
        )
        if glue:
            pieces[-1] = last + c
        else:
            pieces.append(c)
    return pieces


def _break(text: str, weight: Weight, size_px: int, width_px: float) -> list[str]:
    lines: list[str] = []
    line = ""
    for piece in _pieces(text):
        if text_width((line + piece).rstrip(), weight, size_px) <= width_px:
            line += piece
            continue
        if line.strip():
            lines.append(line.rstrip())
        line = piece.lstrip()
        while text_width(line.rstrip(), weight, size_px) > width_px and len(line) > 1:
            fit, used = 1, _advance(line[0], weight, size_px)
            while fit < len(line) - 1 and (longer := used + _advance(line[fit], weight, size_px)) <= width_px:
                fit, used = fit + 1, longer
            lines.append(line[:fit])
            line = line[fit:]
    if line.strip():
        lines.append(line.rstrip())
    return lines


def wrap(text: str, weight: Weight, size_px: int, width_px: float, max_lines: int, *, balance: bool = False) -> list[str]:
    """Break drawable ``text`` into at most ``max_lines`` lines no wider than ``width_px``.

    Chinese breaks anywhere but before closing and after opening punctuation; Latin words break only when a word alone is
    too wide. What does not fit ends in an ellipsis. ``balance`` makes the lines about equally long.
    """
    # Whatever cannot fit is not measured: a word of thousands of letters would hold up the picture for seconds.
    text = text[: max_lines * (int(width_px / (_NARROWEST_EM * size_px)) + 1) + 1]
    lines = _break(text, weight, size_px, width_px)
    if len(lines) > max_lines:
        lines = lines[:max_lines]
        end = lines[-1]
        while end and text_width(end + ELLIPSIS, weight, size_px) > width_px:
            end = end[:-1]
        lines[-1] = end.rstrip() + ELLIPSIS
        return lines
    if balance and len(lines) > 1:
        low, high = text_width(text, weight, size_px) / len(lines), width_px
        while high - low > size_px / 4:
            middle = (low + high) / 2
            tried = _break(text, weight, size_px, middle)
            if len(tried) > len(lines):
                low = middle
            else:
                lines, high = tried, middle
    return lines
