"""Drawing of label, captions and product card with Pillow. Called when a text changes, never per frame."""

from __future__ import annotations

import colorsys
import zlib

from PIL import Image, ImageDraw, ImageFilter

from gpu_engine.session.timeline import Card
from gpu_engine.stage.blend import Sprite, sprite_from
from gpu_engine.stage.layout import Layout, Rect
from gpu_engine.stage.text import Weight, drawable, font, text_width, wrap

Colour = tuple[int, int, int, int]

LABEL_INK = 0.054
"""Ink height of the label's lines as a share of the short side; GB 45438-2025 §5.4 asks for at least 0.05."""
LABEL_PLATE: Colour = (12, 14, 20, 208)
LABEL_TEXT: Colour = (255, 255, 255, 255)
CAPTION_PLATE: Colour = (14, 16, 24, 172)
CAPTION_TEXT: Colour = (255, 255, 255, 255)
PANEL: Colour = (255, 253, 250, 244)
INK: Colour = (38, 34, 40, 255)
MUTED: Colour = (122, 114, 118, 255)
BRAND: Colour = (224, 58, 46, 255)
BRAND_SOFT: Colour = (255, 234, 226, 255)

_CAPTION_SIZES = (1.0, 0.9, 0.8)


def _plate(size: tuple[int, int], radius: int, fill: Colour) -> Image.Image:
    """A rounded rectangle with smooth corners (drawn four times larger and reduced)."""
    mask = rounded_mask(size, radius)
    mask = mask.point([round(v * fill[3] / 255) for v in range(256)])
    image = Image.new("RGBA", size, (*fill[:3], 0))
    image.putalpha(mask)
    return image


def rounded_mask(size: tuple[int, int], radius: int) -> Image.Image:
    """L mask of a rounded rectangle; only the corners are supersampled."""
    mask = Image.new("L", size, 255)
    radius = min(radius, size[0] // 2, size[1] // 2)
    if radius < 1:
        return mask
    big = Image.new("L", (radius * 8, radius * 8), 0)
    ImageDraw.Draw(big).ellipse((0, 0, radius * 8 - 1, radius * 8 - 1), fill=255)
    corner = big.resize((radius * 2, radius * 2), Image.Resampling.BOX)
    w, h, r = *size, radius
    mask.paste(corner.crop((0, 0, r, r)), (0, 0))
    mask.paste(corner.crop((r, 0, 2 * r, r)), (w - r, 0))
    mask.paste(corner.crop((0, r, r, 2 * r)), (0, h - r))
    mask.paste(corner.crop((r, r, 2 * r, 2 * r)), (w - r, h - r))
    return mask


def tighten(text: str) -> str:
    """``text`` with the spaces around middle dots removed: in this font the dot itself is as wide as a hanzi."""
    return text.replace(" · ", "·")


def ink_box(lines: list[str], weight: Weight, size_px: int) -> tuple[int, int]:
    """Top and bottom of the ink of ``lines`` relative to the ascender line, px."""
    boxes = [font(weight, size_px).getbbox(line, anchor="ls") for line in lines if line]
    return round(min(b[1] for b in boxes)), round(max(b[3] for b in boxes))


def label_sprite(text: str, plan: Layout) -> Sprite:
    """The AI-content label: white on a dark plate at the top left of the safe area, one line or, when too wide, two."""
    lines = [tighten(text)]
    em = _lawful_em(lines, plan)
    if text_width(lines[0], "Bold", em) > plan.label_width and "·" in lines[0]:
        lines = [part.strip() for part in lines[0].split("·")]
        em = _lawful_em(lines, plan)
    up, down = ink_box(lines, "Bold", em)
    pad_x, pad_y, gap = round(0.42 * em), round(0.30 * em), round(0.34 * em)
    height = down - up
    width = round(max(text_width(line, "Bold", em) for line in lines))
    size = (width + 2 * pad_x, height * len(lines) + gap * (len(lines) - 1) + 2 * pad_y)
    image = _plate(size, round(0.28 * em), LABEL_PLATE)
    draw = ImageDraw.Draw(image)
    for i, line in enumerate(lines):
        draw.text((pad_x, pad_y - up + i * (height + gap)), line, LABEL_TEXT, font("Bold", em), anchor="ls")
    return sprite_from(image, plan.safe.left, plan.safe.top, plan.width, plan.height)


def _lawful_em(lines: list[str], plan: Layout) -> int:
    """Smallest em size at which the ink of every line is tall enough: the law counts characters as drawn."""
    em = plan.label_em
    while any(down - up < LABEL_INK * plan.short for up, down in (ink_box([line], "Bold", em) for line in lines)):
        em += 1
    return em


def caption_sprite(text: str, plan: Layout) -> Sprite | None:
    """Caption of at most two lines, centred at the foot of its rectangle; ``None`` when nothing is left to draw.

    Long texts are set smaller first and shortened last.
    """
    shown = drawable(text, "Bold")
    if not shown:
        return None
    pad_x = round(0.6 * plan.caption_em)
    inside = plan.caption.width - 2 * pad_x
    em, lines = plan.caption_em, [""]
    for scale in _CAPTION_SIZES:
        em = round(plan.caption_em * scale)
        lines = wrap(shown, "Bold", em, inside, 2, balance=True)
        if not lines[-1].endswith("…"):
            break
    step, pad_y = round(1.28 * em), round(0.24 * em)
    width = round(max(text_width(line, "Bold", em) for line in lines)) + 2 * pad_x
    height = step * len(lines) + 2 * pad_y
    image = _plate((width, height), round(0.38 * em), CAPTION_PLATE)
    draw = ImageDraw.Draw(image)
    for i, line in enumerate(lines):
        y = pad_y + step * i + round(step * 0.5 + em * 0.36)
        draw.text((width / 2, y), line, CAPTION_TEXT, font("Bold", em), anchor="ms")
    left = plan.caption.left + (plan.caption.width - width) // 2
    return sprite_from(image, left, plan.caption.bottom - height, plan.width, plan.height)


def initials(title: str) -> str:
    """One or two characters that stand for a product: the first hanzi pair, or the capitals of the first two words."""
    words = [w for w in title.split() if w and w[0].isalnum()]
    if not words:
        return "·"
    first = words[0]
    if "\u4e00" <= first[0] <= "\u9fff":
        return "".join(c for c in first[:2] if "\u4e00" <= c <= "\u9fff")
    return "".join(w[0] for w in words[:2]).upper()


def placeholder(card: Card, size: tuple[int, int]) -> Image.Image:
    """RGB picture for a product without one: a soft gradient in the product's own hue with its initials."""
    hue = (zlib.crc32((card.product_id or card.title).encode()) % 360) / 360
    top, bottom = (tuple(round(255 * c) for c in colorsys.hls_to_rgb(hue, light, 0.55)) for light in (0.86, 0.66))
    strip = Image.new("RGB", (1, 2))
    strip.putpixel((0, 0), top)
    strip.putpixel((0, 1), bottom)
    image = strip.resize(size, Image.Resampling.BILINEAR)
    w, h = size
    r = round(0.36 * min(size))
    disk = Image.new("L", (r * 4, r * 4), 0)
    ImageDraw.Draw(disk).ellipse((0, 0, r * 4 - 1, r * 4 - 1), fill=96)
    disk = disk.resize((r * 2, r * 2), Image.Resampling.BOX)
    image.paste((255, 255, 255), (w // 2 - r, h // 2 - r), disk)
    mark = drawable(initials(card.title), "Bold") or "·"
    ink = tuple(round(255 * c) for c in colorsys.hls_to_rgb(hue, 0.30, 0.5))
    em = round(0.34 * min(size))
    ImageDraw.Draw(image).text((w / 2, h / 2 + em * 0.36), mark, ink, font("Bold", em), anchor="ms")
    return image


def fit_picture(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """RGB picture that fills ``size``, cut at the centre."""
    # Cut first: a strip one pixel wide, enlarged whole, would take gigabytes.
    scale = max(size[0] / picture.width, size[1] / picture.height)
    width, height = min(size[0] / scale, picture.width), min(size[1] / scale, picture.height)
    left, top = (picture.width - width) / 2, (picture.height - height) / 2
    return picture.convert("RGB").resize(size, Image.Resampling.LANCZOS, (left, top, left + width, top + height))


def shadow(size: tuple[int, int], radius: int, blur: int) -> Image.Image:
    """Soft dark RGBA shadow of a rounded rectangle of ``size``, ``2 * blur`` px larger on each side."""
    w, h = size[0] + 4 * blur, size[1] + 4 * blur
    # A shadow has no detail: blur it at a quarter of the size.
    mask = Image.new("L", (w // 4 + 1, h // 4 + 1), 0)
    inner = rounded_mask((size[0] // 4, size[1] // 4), radius // 4)
    mask.paste(inner.point([v * 110 // 255 for v in range(256)]), (blur // 2, blur // 2))
    mask = mask.filter(ImageFilter.GaussianBlur(blur / 4)).resize((w, h), Image.Resampling.BILINEAR)
    image = Image.new("RGBA", (w, h), (20, 12, 10, 0))
    image.putalpha(mask)
    return image


def picture_size(plan: Layout) -> tuple[int, int]:
    """Size in px of the picture on the card."""
    if plan.tall:
        side = plan.card.height - 2 * _card_pad(plan)
        return side, side
    width = plan.card.width - 2 * _card_pad(plan)
    return width, round(0.66 * width)


def _card_pad(plan: Layout) -> int:
    return round(0.022 * plan.short)


def card_sprite(card: Card, plan: Layout, lang: str, picture: Image.Image | None, shade: Image.Image) -> Sprite:
    """The product card. ``picture`` is RGB of :func:`picture_size`, or ``None`` for the placeholder."""
    box, pad = plan.card, _card_pad(plan)
    size = picture_size(plan)
    image = Image.new("RGBA", (box.width, box.height), (0, 0, 0, 0))
    area = Rect(pad, size[1] + 2 * pad, box.width - pad, box.height - pad)
    if plan.tall:
        area = Rect(size[0] + 2 * pad, pad, box.width - pad, box.height - pad)
    text = Image.new("RGBA", image.size, (*PANEL[:3], 0))
    height = _card_text(text, card, plan, area) + pad
    full = box.height if plan.tall else min(height, box.height)
    image.alpha_composite(_plate((box.width, full), round(0.026 * plan.short), PANEL))
    image.paste(picture or placeholder(card, size), (pad, pad), rounded_mask(size, round(0.018 * plan.short)))
    image.alpha_composite(text)
    if card.link_no:
        _badge(image, f"{card.link_no}号链接" if lang == "zh" else f"Link {card.link_no}", plan, pad)
    blur = (shade.width - box.width) // 4
    whole = Image.new("RGBA", (box.width + 4 * blur, full + 4 * blur), (0, 0, 0, 0))
    if full < box.height:
        cut = full // 2 + 2 * blur
        whole.paste(shade.crop((0, 0, shade.width, cut)), (0, 0))
        whole.paste(shade.crop((0, shade.height - (whole.height - cut), shade.width, shade.height)), (0, cut))
    else:
        whole.paste(shade, (0, 0))
    whole.alpha_composite(image.crop((0, 0, box.width, full)), (2 * blur, 2 * blur))
    return sprite_from(whole, box.left - 2 * blur, box.top - 2 * blur, plan.width, plan.height)


def _card_text(image: Image.Image, card: Card, plan: Layout, area: Rect) -> int:
    """Write title, prices and note into ``area``; returns the bottom of what was written, px."""
    draw = ImageDraw.Draw(image)
    unit = plan.short / 720
    title_em, y = round((25 if plan.tall else 27) * unit), area.top
    for line in wrap(drawable(card.title, "Bold"), "Bold", title_em, area.width, 1 if plan.tall else 2):
        draw.text((area.left, y + title_em), line, INK, font("Bold", title_em), anchor="ls")
        y += round(1.3 * title_em)
    y += round(4 * unit)
    price = drawable(card.price, "Bold")
    if price:
        em = round((46 if plan.tall else 54) * unit)
        old = drawable(card.list_price, "Regular")
        old_em = round(24 * unit)
        gap = round(12 * unit)
        room = area.width - (text_width(old, "Regular", old_em) + gap if old else 0)
        while em > 20 * unit and text_width(price, "Bold", em) > room:
            em -= 2
        price = wrap(price, "Bold", em, area.width, 1)[0]
        base = y + round(0.92 * em)
        draw.text((area.left, base), price, BRAND, font("Bold", em), anchor="ls")
        x = area.left + text_width(price, "Bold", em) + gap
        width = text_width(old, "Regular", old_em)
        if old and x + width <= area.right:
            draw.text((x, base), old, MUTED, font("Regular", old_em), anchor="ls")
            strike = base - round(0.36 * old_em)
            draw.line((x - 2, strike, x + width + 2, strike), MUTED, max(round(2 * unit), 1))
        y = base + round(0.30 * em)
    note = tighten(drawable(card.note, "Bold"))
    if note:
        em, inset = round(21 * unit), round(10 * unit)
        for line in wrap(note, "Bold", em, area.width - 2 * inset, 1):
            width, height = round(text_width(line, "Bold", em)) + 2 * inset, round(1.7 * em)
            if y + height > area.bottom:
                break
            image.alpha_composite(_plate((width, height), height // 2, BRAND_SOFT), (area.left, y))
            draw.text((area.left + inset, y + round(height / 2 + 0.36 * em)), line, BRAND, font("Bold", em), anchor="ls")
            y += height + round(4 * unit)
    return y


def _badge(image: Image.Image, text: str, plan: Layout, pad: int) -> None:
    em = round((20 if plan.tall else 24) * plan.short / 720)
    width, height = round(text_width(text, "Bold", em)) + em, round(1.6 * em)
    at = (pad + em // 3, pad + em // 3)
    image.alpha_composite(_plate((width, height), round(0.4 * em), BRAND), at)
    draw = ImageDraw.Draw(image)
    draw.text((at[0] + width / 2, at[1] + height / 2 + 0.36 * em), text, (255, 255, 255, 255), font("Bold", em), anchor="ms")
