"""Numba kernels of the CPU renderer: skinning and textured triangles. All release the GIL and allocate nothing.

Screen space: x right, y down, in output pixels with centres at .5; depth is world z, larger is nearer. Vertices are rows of
float32[n, 8]: x, y, z, u, v, shade, unused, unused (one cache line holds two). Fast-math flags are limited to those that do
not change rounding, so frames are the same on every machine (docs/avatar-pack.md).
"""

# mypy: disable-error-code="assignment,arg-type,call-overload,return-value"
# Numba infers machine types; mypy has no rules for mixing numpy scalars of several widths.

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
Real = Any
"""A float32 scalar."""

EXACT = {"nnan", "ninf", "nsz"}
"""Fast-math flags that leave every rounding as IEEE 754 has it."""

SOLID, MIXED, LAID, LAID_UNDER = 0, 1, 2, 3
"""How ``fill`` puts a pixel."""

WIDE_PX = 6
"""Triangles at least this many pixels wide are drawn by row bounds."""

NEAREST = np.float32(0.5)
"""Nothing is projected from nearer to the camera, dm."""

FADE_DM = np.float32(0.12)
"""Front plates end softly where they dive under a surface: over this depth."""

FAR = np.float32(-1e9)
"""Depth of a pixel nothing was drawn to."""

MASK = np.uint64(0x00FF00FF00FF00FF)
BYTE, ONE, TWO, THREE, HALF = (np.uint64(n) for n in (255, 1, 2, 3, 127))
S8, S16, S24, S32, S48 = (np.uint64(n) for n in (8, 16, 24, 32, 48))
# Lanes of a spread BGRA pixel from the low end: B (0), R (16), G (32), A (48).


@njit("uint64(uint64)", cache=True, nogil=True, inline="always")
def lanes(pixel: int) -> int:
    """Spread BGRA bytes into four 16-bit lanes, so that one multiplication weighs all channels."""
    return (pixel | (pixel << S24)) & MASK


@njit("uint64(uint64)", cache=True, nogil=True, inline="always")
def by_255(value: int) -> int:
    """``value / 255`` rounded, exact for 0 to 65025, without a division."""
    t = value + np.uint64(128)
    return (t + (t >> S8)) >> S8


_POSE = (
    "void(float32[:,::1], uint32[::1], float32[:,::1], int64[::1], float32[::1], uint8[:,::1], float32[:,::1],"
    " float32[:,:,::1], int64[:,::1], float32[:,::1], float32[:,:,::1], float32[::1], float32[:,::1], float32[:,::1])"
)


@njit(_POSE, cache=True, nogil=True, fastmath=EXACT)
def pose(
    rest: F32, index: U32, delta: F32, offset: I64, weights: F32, joint_index: U8, joint_weights: F32, joints: F32,
    eye_runs: I64, eye_centres: F32, eye_turns: F32, lens: F32, local: F32, vertices: F32,
) -> None:  # fmt: skip
    """Morph, turn eyes, skin and project.

    ``joints`` f32[22, 3, 4] are affine maps from rest; ``lens`` = (focal, ex, ey, ez, px, py) in output pixels. Writes
    ``local`` f32[v, 3] (after morphs) and x, y, z of ``vertices``.
    """
    zero, full = np.float32(0.0), np.float32(0.998)
    n = rest.shape[0]
    for i in range(n):
        local[i, 0] = rest[i, 0]
        local[i, 1] = rest[i, 1]
        local[i, 2] = rest[i, 2]
    for k in range(weights.shape[0]):
        w = weights[k]
        if w != zero:
            for m in range(offset[k], offset[k + 1]):
                v = index[m]
                local[v, 0] += w * delta[m, 0]
                local[v, 1] += w * delta[m, 1]
                local[v, 2] += w * delta[m, 2]
    for e in range(eye_runs.shape[0]):
        cx, cy, cz = eye_centres[e, 0], eye_centres[e, 1], eye_centres[e, 2]
        for i in range(eye_runs[e, 0], eye_runs[e, 1]):
            x, y, z = rest[i, 0] - cx, rest[i, 1] - cy, rest[i, 2] - cz
            local[i, 0] = cx + eye_turns[e, 0, 0] * x + eye_turns[e, 0, 1] * y + eye_turns[e, 0, 2] * z
            local[i, 1] = cy + eye_turns[e, 1, 0] * x + eye_turns[e, 1, 1] * y + eye_turns[e, 1, 2] * z
            local[i, 2] = cz + eye_turns[e, 2, 0] * x + eye_turns[e, 2, 1] * y + eye_turns[e, 2, 2] * z
    for i in range(n):
        x, y, z = local[i, 0], local[i, 1], local[i, 2]
        j = np.uint64(joint_index[i, 0])
        px = joints[j, 0, 0] * x + joints[j, 0, 1] * y + joints[j, 0, 2] * z + joints[j, 0, 3]
        py = joints[j, 1, 0] * x + joints[j, 1, 1] * y + joints[j, 1, 2] * z + joints[j, 1, 3]
        pz = joints[j, 2, 0] * x + joints[j, 2, 1] * y + joints[j, 2, 2] * z + joints[j, 2, 3]
        w = joint_weights[i, 0]
        if w < full:
            px, py, pz = px * w, py * w, pz * w
            for k in range(1, 4):
                w = joint_weights[i, k]
                if w > zero:
                    j = np.uint64(joint_index[i, k])
                    px += w * (joints[j, 0, 0] * x + joints[j, 0, 1] * y + joints[j, 0, 2] * z + joints[j, 0, 3])
                    py += w * (joints[j, 1, 0] * x + joints[j, 1, 1] * y + joints[j, 1, 2] * z + joints[j, 1, 3])
                    pz += w * (joints[j, 2, 0] * x + joints[j, 2, 1] * y + joints[j, 2, 2] * z + joints[j, 2, 3])
        f = lens[0] / max(lens[3] - pz, NEAREST)
        vertices[i, 0] = lens[4] + (px - lens[1]) * f
        vertices[i, 1] = lens[5] - (py - lens[2]) * f
        vertices[i, 2] = pz


@njit("float32(float32)", cache=True, nogil=True, inline="always")
def span_slope(p: Real) -> Real:
    """1 / ``p``, kept finite."""
    small = np.float32(1e-7)
    if -small < p < small:
        p = small if p >= np.float32(0.0) else -small
    return np.float32(1.0) / p


_FILL = (
    "void(float32[:,::1], uint32[:,::1], uint8[::1], uint32[:,::1], uint8[:,:,::1], float32[:,::1], float32[:,::1],"
    " float32, float32, float32, int64, int64, boolean, boolean, int64,"
    " UniTuple(float32, 4))"
)


@njit(_FILL, cache=True, nogil=True, fastmath=EXACT)
def fill(
    vertices: F32, tris: U32, facing: U8, texture: U32, colour: U8, depth: F32, tiles: F32, ox: Real, oy: Real, zoom: Real,
    height: int, width: int, cull: bool, shaded: bool, mode: int, stretch: tuple[Real, Real, Real, Real],
) -> None:  # fmt: skip
    """Draw triangles with a bilinear BGRA texture into ``colour``/``depth`` where they are nearer.

    ``u * stretch[0] + stretch[1]`` and ``v * stretch[2] + stretch[3]`` are texels, centres whole numbers; the texture has a
    rim so that none is fetched outside.
    A buffer pixel is ``(screen - (ox, oy)) * zoom``; only ``[:height, :width]`` is written. ``cull`` drops triangles that
    face away; ``shaded`` multiplies by the vertex shade; ``mode`` is how pixels are put: SOLID, or mixed by texture alpha and
    leaving depth alone: MIXED (straight alpha), LAID (premultiplied, fading within FADE_DM of where it is hidden), or
    LAID_UNDER (premultiplied, where depth is FAR).
    ``facing`` u8[t] receives 1 for triangles towards the viewer, unless it is empty. ``tiles`` f32[h/8, w/8] holds the least
    depth of each 8 x 8 pixels as ``tile_depths`` left it; triangles wholly behind are skipped, unless it is empty.
    """
    texels, zs, out = texture.reshape(-1), depth.reshape(-1), colour.reshape(-1)
    tw = np.int64(texture.shape[1])
    umax, vmax = tw - 2, np.int64(texture.shape[0]) - 2
    zw, cw = np.int64(depth.shape[1]), np.int64(colour.shape[1])
    half, zero, one = np.float32(0.5), np.float32(0.0), np.float32(1.0)
    tiny, near, loose = np.float32(1e-6), np.float32(0.99999), np.float32(0.0005)
    slack, full = np.float32(-1e-5), np.float32(1.00001)
    under, fade = mode == LAID_UNDER, FADE_DM
    su, ou, sv, ov = stretch
    zero_int, one_int = np.int64(0), np.int64(1)
    fixed = np.float32(65536.0)
    note, hidden = facing.shape[0] > 0, tiles.shape[0] > 0
    wide, high = np.float32(width - 1), np.float32(height - 1)
    for t in range(tris.shape[0]):
        a, b, c = np.uint64(tris[t, 0]), np.uint64(tris[t, 1]), np.uint64(tris[t, 2])
        x0, y0 = (vertices[a, 0] - ox) * zoom - half, (vertices[a, 1] - oy) * zoom - half
        x1, y1 = (vertices[b, 0] - ox) * zoom - half, (vertices[b, 1] - oy) * zoom - half
        x2, y2 = (vertices[c, 0] - ox) * zoom - half, (vertices[c, 1] - oy) * zoom - half
        det = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if note:
            facing[t] = 1 if det < zero else 0
        if cull and det >= zero:
            continue
        if -tiny < det < tiny:
            continue
        lowx, highx = max(min(x0, x1, x2), zero), min(max(x0, x1, x2), wide)
        lowy, highy = max(min(y0, y1, y2), zero), min(max(y0, y1, y2), high)
        left, right = np.int64(lowx + near), np.int64(highx)
        top, bottom = np.int64(lowy + near), np.int64(highy)
        if left > right or top > bottom or highx < zero or highy < zero:
            continue
        z0, zb, zc = vertices[a, 2], vertices[b, 2], vertices[c, 2]
        if hidden:
            front = max(z0, zb, zc)
            seen = False
            for ty in range(top >> 3, (bottom >> 3) + 1):
                for tx in range(left >> 3, (right >> 3) + 1):
                    if tiles[ty, tx] < front:
                        seen = True
            if not seen:
                continue
        inv = np.float32(1.0) / det
        # Barycentrics are linear in x and y, and so is all that hangs on them.
        p1, q1 = (y2 - y0) * inv, -(x2 - x0) * inv
        p2, q2 = -(y1 - y0) * inv, (x1 - x0) * inv
        zb, zc = zb - z0, zc - z0
        u0, v0 = vertices[a, 3] * su + ou, vertices[a, 4] * sv + ov
        ub, uc = vertices[b, 3] * su + ou - u0, vertices[c, 3] * su + ou - u0
        vb, vc = vertices[b, 4] * sv + ov - v0, vertices[c, 4] * sv + ov - v0
        s0, sb, sc = vertices[a, 5], vertices[b, 5] - vertices[a, 5], vertices[c, 5] - vertices[a, 5]
        fx, fy = np.float32(left) - x0, np.float32(top) - y0
        c1, c2 = p1 * fx + q1 * fy, p2 * fx + q2 * fy
        zx, zy = p1 * zb + p2 * zc, q1 * zb + q2 * zc
        ux, uy = np.int64((p1 * ub + p2 * uc) * fixed), np.int64((q1 * ub + q2 * uc) * fixed)
        vx, vy = np.int64((p1 * vb + p2 * vc) * fixed), np.int64((q1 * vb + q2 * vc) * fixed)
        sx, sy = np.int64((p1 * sb + p2 * sc) * fixed), np.int64((q1 * sb + q2 * sc) * fixed)
        z_row = z0 + c1 * zb + c2 * zc
        u_row = np.int64((u0 + c1 * ub + c2 * uc) * fixed)
        v_row = np.int64((v0 + c1 * vb + c2 * vc) * fixed)
        s_row = np.int64((s0 + c1 * sb + c2 * sc) * fixed) + 128
        # In wide triangles each barycentric bounds a row from the left or the right; in small ones testing pixels is cheaper.
        last = np.float32(right - left)
        spans = right - left >= WIDE_PX
        i0, i1, i2, d1, d2 = zero, zero, zero, p1, p2
        if spans:
            i0, i1, i2, d1, d2 = span_slope(-(p1 + p2)), span_slope(p1), span_slope(p2), zero, zero
        for y in range(top, bottom + 1):
            first, end = zero_int, right - left
            b1, b2 = c1, c2
            if spans:
                lo, hi = zero, last
                x0, x1, x2 = (c1 + c2 - one) * i0, -c1 * i1, -c2 * i2
                lo = max(lo, x0 if i0 > zero else zero, x1 if i1 > zero else zero, x2 if i2 > zero else zero)
                hi = min(hi, last if i0 > zero else x0, last if i1 > zero else x1, last if i2 > zero else x2)
                b1, b2 = zero, zero
                end = -one_int
                if lo <= hi + loose and hi > -loose:
                    first, end = np.int64(lo + (one - loose)), np.int64(hi + loose)
            c1 += q1
            c2 += q2
            z = z_row + zx * np.float32(first)
            u, v, s = u_row + ux * first, v_row + vx * first, s_row + sx * first
            at = y * zw + left + first
            ci = (y * cw + left + first) * 3
            z_row += zy
            u_row += uy
            v_row += vy
            s_row += sy
            for _ in range(first, end + 1):
                there = zs[np.uint64(at)]
                if b1 >= slack and b2 >= slack and b1 + b2 <= full and (there == FAR if under else z > there):
                    # Thin triangles extrapolate: no texel outside the texture may ever be fetched.
                    iu, iv = min(max(u >> 16, zero_int), umax), min(max(v >> 16, zero_int), vmax)
                    ti = np.uint64(iv * tw + iu)
                    tj = ti + np.uint64(tw)
                    fu, fv = (u >> 12) & 15, (v >> 12) & 15
                    w11 = fu * fv
                    w01, w10 = (fu << 4) - w11, (fv << 4) - w11
                    w00 = 256 - w01 - w10 - w11
                    mixed = lanes(np.uint64(texels[ti])) * np.uint64(w00) + lanes(np.uint64(texels[ti + ONE])) * np.uint64(w01)
                    mixed += lanes(np.uint64(texels[tj])) * np.uint64(w10) + lanes(np.uint64(texels[tj + ONE])) * np.uint64(w11)
                    mixed = (mixed >> S8) & MASK
                    lit = mixed
                    if shaded:
                        light = min(max(s >> 8, 0), 256)
                        lit = ((mixed * np.uint64(light)) >> S8) & MASK
                    o = np.uint64(ci)
                    blue, green, red = lit & BYTE, (lit >> S32) & BYTE, (lit >> S16) & BYTE
                    if mode == SOLID:
                        zs[np.uint64(at)] = z
                    elif mode == MIXED:
                        alpha = (mixed >> S48) & BYTE
                        keep = BYTE - alpha
                        blue = by_255(blue * alpha + np.uint64(out[o]) * keep)
                        green = by_255(green * alpha + np.uint64(out[o + ONE]) * keep)
                        red = by_255(red * alpha + np.uint64(out[o + TWO]) * keep)
                    else:
                        if mode == LAID and z - there < fade:
                            share = np.uint64((z - there) / fade * np.float32(256.0))
                            mixed = ((mixed * share) >> S8) & MASK
                            blue, green, red = mixed & BYTE, (mixed >> S32) & BYTE, (mixed >> S16) & BYTE
                        keep = BYTE - (mixed >> S48)
                        if keep > np.uint64(0):
                            blue += by_255(np.uint64(out[o]) * keep)
                            green += by_255(np.uint64(out[o + ONE]) * keep)
                            red += by_255(np.uint64(out[o + TWO]) * keep)
                    out[o] = blue
                    out[o + ONE] = green
                    out[o + TWO] = red
                b1 += d1
                b2 += d2
                z += zx
                u += ux
                v += vx
                s += sx
                at += 1
                ci += 3


_SOLID = (
    "void(float32[:,::1], uint32[:,::1], uint8[::1], uint32[:,::1], uint8[:,:,::1], float32[:,::1], float32[:,::1],"
    " float32, float32, float32, int64, int64, boolean, boolean, UniTuple(float32, 4))"
)


@njit("uint64(uint32[::1], uint64, uint64, int64, int64)", cache=True, nogil=True, inline="always")
def bilinear(texels: U32, ti: int, tw: int, u: int, v: int) -> int:
    """Lanes of the texture at texel ``ti`` and the fractions of ``u`` and ``v`` (16.16)."""
    tj = ti + tw
    fu, fv = (u >> 12) & 15, (v >> 12) & 15
    w11 = fu * fv
    w01, w10 = (fu << 4) - w11, (fv << 4) - w11
    w00 = 256 - w01 - w10 - w11
    mixed = lanes(np.uint64(texels[ti])) * np.uint64(w00) + lanes(np.uint64(texels[ti + ONE])) * np.uint64(w01)
    mixed += lanes(np.uint64(texels[tj])) * np.uint64(w10) + lanes(np.uint64(texels[tj + ONE])) * np.uint64(w11)
    return (mixed >> S8) & MASK


@njit(_SOLID, cache=True, nogil=True, fastmath=EXACT)
def fill_solid(
    vertices: F32, tris: U32, facing: U8, texture: U32, colour: U8, depth: F32, tiles: F32, ox: Real, oy: Real, zoom: Real,
    height: int, width: int, cull: bool, shaded: bool, stretch: tuple[Real, Real, Real, Real],
) -> None:  # fmt: skip
    """``fill`` in mode SOLID, pixel for pixel, for the many triangles of a mesh."""
    texels, zs, out = texture.reshape(-1), depth.reshape(-1), colour.reshape(-1)
    tw = np.int64(texture.shape[1])
    # Thin triangles extrapolate: no texel outside the texture may ever be fetched.
    beyond = tw * (np.int64(texture.shape[0]) - 1) - 2
    row = np.uint64(tw)
    zw, cw = np.int64(depth.shape[1]), np.int64(colour.shape[1])
    half, zero, one = np.float32(0.5), np.float32(0.0), np.float32(1.0)
    tiny, near, loose = np.float32(1e-6), np.float32(0.99999), np.float32(0.0005)
    slack, full = np.float32(-1e-5), np.float32(1.00001)
    su, ou, sv, ov = stretch
    zero_int, one_int = np.int64(0), np.int64(1)
    fixed = np.float32(65536.0)
    note, hidden = facing.shape[0] > 0, tiles.shape[0] > 0
    wide, high = np.float32(width - 1), np.float32(height - 1)
    for t in range(tris.shape[0]):
        a, b, c = np.uint64(tris[t, 0]), np.uint64(tris[t, 1]), np.uint64(tris[t, 2])
        x0, y0 = (vertices[a, 0] - ox) * zoom - half, (vertices[a, 1] - oy) * zoom - half
        x1, y1 = (vertices[b, 0] - ox) * zoom - half, (vertices[b, 1] - oy) * zoom - half
        x2, y2 = (vertices[c, 0] - ox) * zoom - half, (vertices[c, 1] - oy) * zoom - half
        det = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if note:
            facing[t] = 1 if det < zero else 0
        if (cull and det >= zero) or -tiny < det < tiny:
            continue
        lowx, highx = max(min(x0, x1, x2), zero), min(max(x0, x1, x2), wide)
        lowy, highy = max(min(y0, y1, y2), zero), min(max(y0, y1, y2), high)
        left, right = np.int64(lowx + near), np.int64(highx)
        top, bottom = np.int64(lowy + near), np.int64(highy)
        if left > right or top > bottom or highx < zero or highy < zero:
            continue
        z0, zb, zc = vertices[a, 2], vertices[b, 2], vertices[c, 2]
        if hidden:
            front = max(z0, zb, zc)
            seen = False
            for ty in range(top >> 3, (bottom >> 3) + 1):
                for tx in range(left >> 3, (right >> 3) + 1):
                    if tiles[ty, tx] < front:
                        seen = True
            if not seen:
                continue
        inv = one / det
        p1, q1 = (y2 - y0) * inv, -(x2 - x0) * inv
        p2, q2 = -(y1 - y0) * inv, (x1 - x0) * inv
        zb, zc = zb - z0, zc - z0
        u0, v0 = vertices[a, 3] * su + ou, vertices[a, 4] * sv + ov
        ub, uc = vertices[b, 3] * su + ou - u0, vertices[c, 3] * su + ou - u0
        vb, vc = vertices[b, 4] * sv + ov - v0, vertices[c, 4] * sv + ov - v0
        fx, fy = np.float32(left) - x0, np.float32(top) - y0
        c1, c2 = p1 * fx + q1 * fy, p2 * fx + q2 * fy
        zx, zy = p1 * zb + p2 * zc, q1 * zb + q2 * zc
        ux, uy = np.int64((p1 * ub + p2 * uc) * fixed), np.int64((q1 * ub + q2 * uc) * fixed)
        vx, vy = np.int64((p1 * vb + p2 * vc) * fixed), np.int64((q1 * vb + q2 * vc) * fixed)
        z_row = z0 + c1 * zb + c2 * zc
        u_row = np.int64((u0 + c1 * ub + c2 * uc) * fixed)
        v_row = np.int64((v0 + c1 * vb + c2 * vc) * fixed)
        sx, sy, s_row = zero_int, zero_int, zero_int
        if shaded:
            s0, sb, sc = vertices[a, 5], vertices[b, 5] - vertices[a, 5], vertices[c, 5] - vertices[a, 5]
            sx, sy = np.int64((p1 * sb + p2 * sc) * fixed), np.int64((q1 * sb + q2 * sc) * fixed)
            s_row = np.int64((s0 + c1 * sb + c2 * sc) * fixed) + 128
        # In wide triangles each barycentric bounds a row from the left or the right; in small ones testing pixels is cheaper.
        last = np.float32(right - left)
        spans = right - left >= WIDE_PX
        i0, i1, i2, d1, d2 = zero, zero, zero, p1, p2
        if spans:
            i0, i1, i2, d1, d2 = span_slope(-(p1 + p2)), span_slope(p1), span_slope(p2), zero, zero
        for y in range(top, bottom + 1):
            first, end = zero_int, right - left
            b1, b2 = c1, c2
            if spans:
                lo, hi = zero, last
                x0, x1, x2 = (c1 + c2 - one) * i0, -c1 * i1, -c2 * i2
                lo = max(lo, x0 if i0 > zero else zero, x1 if i1 > zero else zero, x2 if i2 > zero else zero)
                hi = min(hi, last if i0 > zero else x0, last if i1 > zero else x1, last if i2 > zero else x2)
                b1, b2 = zero, zero
                end = -one_int
                if lo <= hi + loose and hi > -loose:
                    first, end = np.int64(lo + (one - loose)), np.int64(hi + loose)
            c1 += q1
            c2 += q2
            z = z_row + zx * np.float32(first)
            u, v, s = u_row + ux * first, v_row + vx * first, s_row + sx * first
            at, o = np.uint64(y * zw + left + first), np.uint64((y * cw + left + first) * 3)
            z_row += zy
            u_row += uy
            v_row += vy
            s_row += sy
            for _ in range(first, end + 1):
                if z > zs[at] and b1 >= slack and b2 >= slack and b1 + b2 <= full:
                    zs[at] = z
                    ti = np.uint64(min(max((v >> 16) * tw + (u >> 16), zero_int), beyond))
                    lit = bilinear(texels, ti, row, u, v)
                    if shaded:
                        lit = ((lit * np.uint64(min(max(s >> 8, 0), 256))) >> S8) & MASK
                    out[o] = lit & BYTE
                    out[o + ONE] = (lit >> S32) & BYTE
                    out[o + TWO] = (lit >> S16) & BYTE
                b1 += d1
                b2 += d2
                z += zx
                u += ux
                v += vx
                s += sx
                at += ONE
                o += THREE


@njit("void(float32[:,::1], float32[::1])", cache=True, nogil=True, fastmath=EXACT)
def extent(vertices: F32, out: F32) -> None:
    """Least x, least y, greatest x, greatest y of all vertices, within +-30000, into ``out`` f32[4]."""
    left, top, right, bottom = np.float32(30000), np.float32(30000), np.float32(-30000), np.float32(-30000)
    for i in range(vertices.shape[0]):
        x, y = vertices[i, 0], vertices[i, 1]
        left, right = min(left, x), max(right, x)
        top, bottom = min(top, y), max(bottom, y)
    low, high = np.float32(-30000), np.float32(30000)
    out[0], out[1] = max(left, low), max(top, low)
    out[2], out[3] = min(right, high), min(bottom, high)


@njit("void(float32[:,::1], float32[:,::1], int64, int64)", cache=True, nogil=True, fastmath=EXACT)
def tile_depths(depth: F32, tiles: F32, height: int, width: int) -> None:
    """Least depth of each 8 x 8 pixels of ``depth[:height, :width]``."""
    for ty in range((height + 7) >> 3):
        for tx in range((width + 7) >> 3):
            low = np.float32(1e9)
            for y in range(ty << 3, min((ty << 3) + 8, height)):
                for x in range(tx << 3, min((tx << 3) + 8, width)):
                    low = min(low, depth[y, x])
            tiles[ty, tx] = low


_OPEN = "void(uint8[:,:,::1], float32[:,::1], uint8[:,:,::1], float32[:,::1], float32, int64, int64, int64, int64)"


@njit(_OPEN, cache=True, nogil=True)
def open_box(colour: U8, near: F32, canvas: U8, depth: F32, slack: Real, x0: int, y0: int, width: int, height: int) -> None:
    """Fill a doubled buffer from the canvas box at (x0, y0), its depth from the canvas' less ``slack``: what stands in front
    of the box (the tip of a nose over the lip) goes on hiding what the box draws, while the box may redraw its own skin."""
    for y in range(2 * height):
        for x in range(2 * width):
            near[y, x] = depth[y0 + (y >> 1), x0 + (x >> 1)] - slack
            colour[y, x, 0] = canvas[y0 + (y >> 1), x0 + (x >> 1), 0]
            colour[y, x, 1] = canvas[y0 + (y >> 1), x0 + (x >> 1), 1]
            colour[y, x, 2] = canvas[y0 + (y >> 1), x0 + (x >> 1), 2]


_CLOSE = "void(uint8[:,:,::1], float32[:,::1], uint8[:,:,::1], float32[:,::1], int64, int64, int64, int64)"


@njit(_CLOSE, cache=True, nogil=True)
def close_box(colour: U8, near: F32, canvas: U8, depth: F32, x0: int, y0: int, width: int, height: int) -> None:
    """Average a doubled buffer back into the canvas box at (x0, y0); ``depth`` there becomes the nearer of both."""
    for y in range(height):
        for x in range(width):
            depth[y0 + y, x0 + x] = max(depth[y0 + y, x0 + x], near[2 * y, 2 * x])
            for k in range(3):
                total = 2 + colour[2 * y, 2 * x, k] + colour[2 * y, 2 * x + 1, k]
                total += colour[2 * y + 1, 2 * x, k] + colour[2 * y + 1, 2 * x + 1, k]
                canvas[y0 + y, x0 + x, k] = total >> 2


_EDGES = "void(float32[:,::1], uint32[:,::1], uint8[::1], uint8[:,:,::1], float32[:,::1], float32, float32)"


@njit(_EDGES, cache=True, nogil=True, fastmath=EXACT)
def smooth_outline(vertices: F32, edges: U32, facing: U8, canvas: U8, depth: F32, hold: Real, step: Real) -> None:
    """Give outlines drawn at one sample per pixel the coverage of their exact edge (geometric post-process antialiasing,
    Persson 2011): the pixel an outline passes through is mixed with its neighbour across it.

    ``edges`` u32[e, 6] are (vertex, vertex, triangle, third vertex, other triangle or 2**32 - 1, its third vertex). An edge is
    an outline where one of its triangles faces the viewer and the other does not or is not there. ``hold`` (dm): an edge
    further than this from the depth drawn beside it is hidden; ``step`` (dm): what it is mixed with lies at least so far back.
    """
    height, width = canvas.shape[0], canvas.shape[1]
    half, none = np.float32(0.5), np.uint64(4294967295)
    for e in range(edges.shape[0]):
        first, other = np.uint64(edges[e, 2]), np.uint64(edges[e, 4])
        one, two = facing[first] != 0, False
        if other != none:
            two = facing[other] != 0
        if one == two:
            continue
        third = np.uint64(edges[e, 3]) if one else np.uint64(edges[e, 5])
        a, b = np.uint64(edges[e, 0]), np.uint64(edges[e, 1])
        ax, ay, bx, by = vertices[a, 0], vertices[a, 1], vertices[b, 0], vertices[b, 1]
        az, bz = vertices[a, 2], vertices[b, 2]
        dx, dy = bx - ax, by - ay
        # Which side of the edge the surface lies on.
        side = dx * (vertices[third, 1] - ay) - dy * (vertices[third, 0] - ax)
        upright = abs(dy) > abs(dx)
        if upright:
            start, end, run = ay, by, dy
        else:
            start, end, run = ax, bx, dx
        if run == 0.0:
            continue
        # The surface lies towards larger y (or x) across the edge when inside is +1.
        inside = 1 if (side * run > 0.0) != upright else -1
        low, high = min(start, end), max(start, end)
        limit = height if upright else width
        first_px = max(0, np.int64(np.ceil(low - half)))
        last_px = min(limit - 1, np.int64(np.ceil(high - half)) - 1)
        for k in range(first_px, last_px + 1):
            t = (np.float32(k) + half - start) / run
            across = (ax + t * dx) if upright else (ay + t * dy)
            z = az + t * (bz - az)
            row = np.int64(np.floor(across))
            f = across - np.float32(row)
            bound = width if upright else height
            if row < 1 or row >= bound - 1:
                continue
            covered = np.float32(1.0) - f if inside > 0 else f
            drawn = covered >= half
            # Pixel to change, the neighbour it borrows from, and how much it keeps.
            neighbour = row - inside if drawn else row + inside
            keep = covered if drawn else np.float32(1.0) - covered
            mesh, back = (row, neighbour) if drawn else (neighbour, row)
            if upright:
                zm, zb = depth[k, mesh], depth[k, back]
            else:
                zm, zb = depth[mesh, k], depth[back, k]
            if abs(zm - z) > hold or zb > z - step:
                continue
            weight = np.int64(keep * np.float32(256.0))
            for channel in range(3):
                if upright:
                    mine, theirs = np.int64(canvas[k, row, channel]), np.int64(canvas[k, neighbour, channel])
                    canvas[k, row, channel] = (mine * weight + theirs * (256 - weight) + 128) >> 8
                else:
                    mine, theirs = np.int64(canvas[row, k, channel]), np.int64(canvas[neighbour, k, channel])
                    canvas[row, k, channel] = (mine * weight + theirs * (256 - weight) + 128) >> 8
