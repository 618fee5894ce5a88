"""Cut the two fonts in this folder from Noto Sans CJK.

    apt-get download fonts-noto-cjk && dpkg -x fonts-noto-cjk_*.deb noto      # Debian 12: 1:20220127+repack1-1, OFL-1.1
    python -m venv tool && tool/bin/pip install fonttools
    tool/bin/python gpu_engine/stage/fonts/make_subset.py noto/usr/share/fonts/opentype/noto

Build tool only: the engine never imports it. The family is renamed, so nobody takes the subset for the whole font.
"""

from __future__ import annotations

import sys
from pathlib import Path

SIMPLIFIED_CHINESE = 2
"""Place of the SC face inside Debian's collections (JP, KR, SC, TC, HK)."""

EXTRA = "啫焗玥囧喆镕堃昇翀煊玮晞玺垚犇骉珺琋祎燚呗嘞啰嘚镚妳她祂"
"""Hanzi of today's brand and product names that GB 2312 lacks."""

RANGES = (
    (0x0020, 0x007E), (0x00A0, 0x017F), (0x2010, 0x2027), (0x2030, 0x205E), (0x20A0, 0x20BF), (0x2100, 0x2126),
    (0x2150, 0x216B), (0x2190, 0x2199), (0x21D2, 0x21D4), (0x2200, 0x2265), (0x2460, 0x2473), (0x2500, 0x2503),
    (0x25A0, 0x25CF), (0x2605, 0x2606), (0x2660, 0x2667), (0x2713, 0x2717), (0x3000, 0x301F), (0x3041, 0x30FF),
    (0x3220, 0x3229), (0x338E, 0x33A6), (0xFE30, 0xFE4F), (0xFF01, 0xFFE6), (0xFFFD, 0xFFFD),
)  # fmt: skip


def charset() -> set[int]:
    """Code points asked for: GB 2312 levels 1 and 2, Latin, kana, punctuation, currency, arrows, full width."""
    points = {p for first, last in RANGES for p in range(first, last + 1)}
    for high in range(0xA1, 0xF8):
        for low in range(0xA1, 0xFF):
            try:
                points.add(ord(bytes((high, low)).decode("gb2312")))
            except UnicodeDecodeError:
                continue
    return points | {ord(c) for c in EXTRA}


def cut(collection: Path, out: Path, style: str) -> None:
    """Write the subset of the Simplified Chinese face of ``collection`` to ``out``."""
    from fontTools import subset  # type: ignore[import-not-found]
    from fontTools.ttLib import TTFont  # type: ignore[import-not-found]

    font = TTFont(collection, fontNumber=SIMPLIFIED_CHINESE)
    options = subset.Options(layout_features=["kern", "locl", "palt"], hinting=False, desubroutinize=False)
    options.drop_tables += ["BASE", "VORG", "vhea", "vmtx", "DSIG"]
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=charset())
    subsetter.subset(font)
    family = "Lumihost Sans SC"
    for record in font["name"].names:
        text = {1: family, 2: style, 3: f"{family} {style}", 4: f"{family} {style}", 6: f"LumihostSansSC-{style}"}
        if record.nameID in text:
            record.string = text[record.nameID]
    font.save(out)
    print(f"{out.name}: {len(font.getBestCmap())} characters, {out.stat().st_size / 1e6:.2f} MB")  # noqa: T201


def main() -> None:
    """Cut both weights into this file's folder."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: make_subset.py FOLDER_WITH_NotoSansCJK-Regular.ttc_AND_-Bold.ttc")
    source, here = Path(sys.argv[1]), Path(__file__).parent
    for style in ("Regular", "Bold"):
        cut(source / f"NotoSansCJK-{style}.ttc", here / f"LumihostSansSC-{style}.otf", style)


if __name__ == "__main__":
    main()
