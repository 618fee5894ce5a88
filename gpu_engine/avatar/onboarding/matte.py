"""Cuts the person out of the photograph: network probability, GrabCut where it is unsure, guided filter for hair edges."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from gpu_engine.avatar.landmarks.detector import network
from gpu_engine.avatar.landmarks.face import OVAL, Face
from gpu_engine.avatar.onboarding.texture import filled

F32 = NDArray[np.float32]
SIDE = 256
LIMIT = 1280
"""Longer pictures are cut out at this size: no frame shows finer hair, and the filter's memory grows with the pixels."""
WORK = 448
"""Longest side GrabCut works at; its cost grows with the pixels, its gain does not."""


def _probability(image: NDArray[np.uint8]) -> F32:
    small = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    (mask,) = network("person").run(("mask",), {"image": small[None, ..., ::-1].astype(np.float32) / 255})
    return np.asarray(mask[0, ..., 0], np.float32)


def person_probability(image: NDArray[np.uint8], face: Face) -> F32:
    """float32[h, w], how sure the network is of the person: the whole picture, and a closer look at head and shoulders."""
    height, width = image.shape[:2]
    whole = np.array(cv2.resize(_probability(image), (width, height), interpolation=cv2.INTER_LINEAR), np.float32)
    x0, y0 = face.points[:, :2].min(0)
    x1, y1 = face.points[:, :2].max(0)
    reach = max(x1 - x0, y1 - y0)
    cx, cy = (x0 + x1) / 2, (y0 + y1) / 2
    left, right = int(max(0, cx - 1.5 * reach)), int(min(width, cx + 1.5 * reach))
    top, bottom = int(max(0, cy - 1.3 * reach)), int(min(height, cy + 1.7 * reach))
    if (right - left) * (bottom - top) > 0.75 * width * height:
        return whole
    close = cv2.resize(
        _probability(image[top:bottom, left:right]), (right - left, bottom - top), interpolation=cv2.INTER_LINEAR
    )
    # The closer look fades out towards its own border.
    fade = np.zeros((bottom - top, right - left), np.float32)
    rim = max(2, int(0.12 * reach))
    fade[rim if top else 0 : -rim if bottom < height else None, rim if left else 0 : -rim if right < width else None] = 1
    fade = np.asarray(cv2.blur(fade, (rim, rim)), np.float32)
    whole[top:bottom, left:right] = whole[top:bottom, left:right] * (1 - fade) + close * fade
    return whole


def guided(guide: F32, values: F32, radius: int, smooth: float) -> F32:
    """Guided filter (He et al. 2010) with a colour guide float32[h, w, 3] in 0..1: ``values`` takes on the guide's edges."""
    size = (2 * radius + 1, 2 * radius + 1)

    def mean(a: F32) -> F32:
        return np.asarray(cv2.blur(a, size, borderType=cv2.BORDER_REFLECT), np.float32)

    mg, mv = mean(guide), mean(values)
    cross = mean(guide * values[..., None]) - mg * mv[..., None]
    cov = np.empty((*values.shape, 3, 3), np.float32)
    for i in range(3):
        for j in range(i, 3):
            cov[..., i, j] = cov[..., j, i] = mean(guide[..., i] * guide[..., j]) - mg[..., i] * mg[..., j]
        cov[..., i, i] += smooth
    slope = np.linalg.solve(cov, cross[..., None])[..., 0].astype(np.float32)
    offset = mv - (slope * mg).sum(-1)
    return np.asarray((mean(slope) * guide).sum(-1) + mean(offset), np.float32)


def _cut(image: NDArray[np.uint8], sure: F32, face: Face) -> F32:
    """GrabCut inside the band where the network is unsure; float32[h, w] 0 or 1 at the picture's size."""
    height, width = image.shape[:2]
    zoom = min(1.0, WORK / max(height, width))
    size = (max(8, round(width * zoom)), max(8, round(height * zoom)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    p = cv2.resize(sure, size, interpolation=cv2.INTER_AREA)
    gap = face.eye_distance * zoom
    reach = max(3, int(0.22 * gap)) | 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach))
    core, outer = cv2.erode(p, kernel), cv2.dilate(p, kernel)
    trimap = np.where(p > 0.5, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    trimap[core > 0.9] = cv2.GC_FGD
    trimap[outer < 0.1] = cv2.GC_BGD
    oval = (face.points[list(OVAL), :2] * zoom).astype(np.int32)
    cv2.fillPoly(trimap, [oval], cv2.GC_FGD)
    if not ((trimap == cv2.GC_BGD).any() and (trimap == cv2.GC_FGD).any()):
        return (sure > 0.5).astype(np.float32)
    cv2.setRNGSeed(7)
    cv2.grabCut(small, trimap, (0, 0, 1, 1), np.zeros((1, 65)), np.zeros((1, 65)), 2, cv2.GC_INIT_WITH_MASK)
    cut = ((trimap == cv2.GC_FGD) | (trimap == cv2.GC_PR_FGD)).astype(np.float32)
    return np.asarray(cv2.resize(cut, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)


def person_matte(image: NDArray[np.uint8], face: Face) -> F32:
    """Soft coverage float32[h, w] in 0..1 of the person in a picture uint8[h, w, 3] BGR; one connected figure."""
    height, width = image.shape[:2]
    if max(height, width) > LIMIT:
        ratio = LIMIT / max(height, width)
        small = cv2.resize(image, (round(width * ratio), round(height * ratio)), interpolation=cv2.INTER_AREA)
        alpha = person_matte(np.asarray(small, np.uint8), replace(face, points=face.points * np.float32(ratio)))
        return np.clip(cv2.resize(alpha, (width, height), interpolation=cv2.INTER_CUBIC), 0, 1).astype(np.float32)
    sure = person_probability(image, face)
    cut = _cut(image, sure, face)
    gap = face.eye_distance
    # The network knows what is a person, the cut knows where the edge is: within reach of the network's edge the cut decides.
    reach = max(3, int(0.22 * gap)) | 1
    mixed = np.where(np.abs(sure - 0.5) < 0.49, 0.35 * sure + 0.65 * cut, sure).astype(np.float32)
    radius = max(2, round(0.10 * gap))
    alpha = guided(image.astype(np.float32) / np.float32(255), mixed, radius, 2e-4)
    inside = cv2.erode((sure > 0.95).astype(np.float32), np.ones((reach, reach)))
    outside = cv2.dilate((sure > 0.25).astype(np.float32), np.ones((reach, reach)))
    alpha = np.clip((np.maximum(alpha, inside) * outside - 0.08) / 0.84, 0, 1)
    count, labels = cv2.connectedComponents((alpha > 0.3).astype(np.uint8))
    if count > 2:
        x, y = face.points[1, :2].astype(int)
        main = labels[min(max(y, 0), labels.shape[0] - 1), min(max(x, 0), labels.shape[1] - 1)]
        other = cv2.dilate(((labels != main) & (labels > 0)).astype(np.uint8), np.ones((5, 5))) > 0
        alpha[other & (labels != main)] = 0
    # Badges and buckles the network doubts are holes of no size: what an eye distance spans is filled.
    count, labels, stats, _ = cv2.connectedComponentsWithStats((alpha < 0.9).astype(np.uint8))
    for i in range(1, count):
        if stats[i, cv2.CC_STAT_AREA] < (0.7 * gap) ** 2 and alpha[labels == i].mean() < 0.9:
            grown = cv2.dilate((labels == i).astype(np.uint8), np.ones((3, 3))) > 0
            if alpha[grown & (labels != i)].min() > 0.85:
                alpha[labels == i] = 1
    return np.asarray(alpha, np.float32)


def own_colours(image: NDArray[np.uint8], alpha: F32) -> NDArray[np.uint8]:
    """The person's colours carried outwards over soft edges, so that no old background shows through them."""
    outward = filled(image.astype(np.float32), (alpha > 0.97).astype(np.float32))
    keep = np.clip((alpha - 0.75) / 0.22, 0, 1)[..., None]
    return np.asarray(np.clip(image * keep + outward * (1 - keep), 0, 255), np.uint8)
