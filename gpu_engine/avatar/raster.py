"""Numba kernels of the CPU renderer. All release the GIL, allocate nothing and are compiled with fixed signatures.

Screen space: x right, y down, in output pixels with centres at .5; depth is world z, larger is nearer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_LOW, _HIGH = np.uint64(0x00FF00FF), np.uint64(0xFF00FF00)
_MASK, _BYTE = np.uint64(0x00FF00FF00FF00FF), np.uint64(255)
_ONE, _TWO, _HALF = np.uint64(1), np.uint64(2), np.uint64(127)
_S8, _S16, _S24, _S32, _S48 = (np.uint64(n) for n in (8, 16, 24, 32, 48))
# Lanes of a spread BGRA pixel from the low end: B (0), R (16), G (32), A (48).

_POSE = (
    "void(float32[:,::1], int32[::1], float32[:,::1], int64[::1], float32[::1], uint8[:,::1], float32[:,::1],"
    " float32[:,:,::1], int64[:,::1], float32[:,::1], float32[:,:,::1], float32[::1], float32[:,::1], float32[:,::1])"
)


@njit(_POSE, cache=True, nogil=True, fastmath=True)
def pose(
    rest,
    index,
    delta,
    offset,
    weights,
    joint_index,
    joint_weights,
    joints,
    eye_runs,
    eye_centres,
    eye_turns,
    lens,
    local,
    screen,
):  # type: ignore[no-untyped-def]
    """Morph, turn eyes, skin and project.

    ``joints`` f32[22, 3, 4] are affine maps from rest; ``lens`` = (focal, ex, ey, ez, px, py) in output
    pixels. Writes ``local`` f32[v, 3] (after morphs) and ``screen`` f32[v, 3] (x px, y px, z).
    """
    zero = np.float32(0.0)
    n = rest.shape[0]
    for i in range(n):
        local[i, 0] = rest[i, 0]
        local[i, 1] = rest[i, 1]
        local[i, 2] = rest[i, 2]
    for k in range(weights.shape[0]):
        w = weights[k]
        if w != 0.0:
            for m in range(offset[k], offset[k + 1]):
                i = index[m]
                local[i, 0] += w * delta[m, 0]
                local[i, 1] += w * delta[m, 1]
                local[i, 2] += w * delta[m, 2]
    for e in range(eye_runs.shape[0]):
        cx, cy, cz = eye_centres[e, 0], eye_centres[e, 1], eye_centres[e, 2]
        for i in range(eye_runs[e, 0], eye_runs[e, 1]):
            x, y, z = rest[i, 0] - cx, rest[i, 1] - cy, rest[i, 2] - cz
            local[i, 0] = cx + eye_turns[e, 0, 0] * x + eye_turns[e, 0, 1] * y + eye_turns[e, 0, 2] * z
            local[i, 1] = cy + eye_turns[e, 1, 0] * x + eye_turns[e, 1, 1] * y + eye_turns[e, 1, 2] * z
            local[i, 2] = cz + eye_turns[e, 2, 0] * x + eye_turns[e, 2, 1] * y + eye_turns[e, 2, 2] * z
    for i in range(n):
        x, y, z = local[i, 0], local[i, 1], local[i, 2]
        px, py, pz = zero, zero, zero
        for k in range(4):
            w = joint_weights[i, k]
            if w > zero:
                j = joint_index[i, k]
                px += w * (joints[j, 0, 0] * x + joints[j, 0, 1] * y + joints[j, 0, 2] * z + joints[j, 0, 3])
                py += w * (joints[j, 1, 0] * x + joints[j, 1, 1] * y + joints[j, 1, 2] * z + joints[j, 1, 3])
                pz += w * (joints[j, 2, 0] * x + joints[j, 2, 1] * y + joints[j, 2, 2] * z + joints[j, 2, 3])
        f = lens[0] / (lens[3] - pz)
        screen[i, 0] = lens[4] + (px - lens[1]) * f
        screen[i, 1] = lens[5] - (py - lens[2]) * f
        screen[i, 2] = pz


@njit("uint64(uint32)", cache=True, nogil=True, inline="always")
def _lanes(pixel):  # type: ignore[no-untyped-def]
    """Spread BGRA bytes into four 16-bit lanes, so that one multiplication weighs all channels."""
    p = np.uint64(pixel)
    return (p & _LOW) | ((p & _HIGH) << _S24)


_RASTER = (
    "void(float32[:,::1], float32[:,::1], float32[::1], int32[:,::1], int32[::1], uint32[:,::1], uint8[:,:,::1],"
    " float32[:,::1], float32, float32, float32, int64, int64, boolean, boolean)"
)


@njit(_RASTER, cache=True, nogil=True, fastmath=True)
def raster(screen, uv, shade, tris, order, texture, colour, depth, ox, oy, zoom, height, width, cull, blend):  # type: ignore[no-untyped-def]
    """Draw triangles ``tris[order]`` with a bilinear BGRA texture into ``colour``/``depth``.

    ``uv`` in texels; ``shade`` in 0..1 multiplies colour; a buffer pixel is ``(screen - (ox, oy)) * zoom``; only
    ``[:height, :width]`` is written. ``cull`` drops triangles that face away; ``blend`` mixes by texture alpha and leaves
    depth alone.
    """
    th, tw = texture.shape[0], texture.shape[1]
    umax, vmax = np.float32(tw - 1.001), np.float32(th - 1.001)
    texels = texture.reshape(-1)
    zs = depth.reshape(-1)
    out = colour.reshape(-1)
    zw, cw = depth.shape[1], colour.shape[1]
    half, zero = np.float32(0.5), np.float32(0.0)
    slack = np.float32(-1e-5)
    for o in range(order.shape[0]):
        t = order[o]
        a, b, c = tris[t, 0], tris[t, 1], tris[t, 2]
        x0, y0 = (screen[a, 0] - ox) * zoom - half, (screen[a, 1] - oy) * zoom - half
        x1, y1 = (screen[b, 0] - ox) * zoom - half, (screen[b, 1] - oy) * zoom - half
        x2, y2 = (screen[c, 0] - ox) * zoom - half, (screen[c, 1] - oy) * zoom - half
        det = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if cull and det >= zero:
            continue
        if -1e-7 < det < 1e-7:
            continue
        lowx, highx = min(x0, x1, x2), max(x0, x1, x2)
        lowy, highy = min(y0, y1, y2), max(y0, y1, y2)
        if highx < zero or highy < zero or lowx > width - 1 or lowy > height - 1:
            continue
        left, right = max(0, int(lowx + np.float32(0.99999))), min(width - 1, int(highx))
        top, bottom = max(0, int(lowy + np.float32(0.99999))), min(height - 1, int(highy))
        if left > right or top > bottom:
            continue
        inv = np.float32(1.0) / det
        # Barycentrics are linear in x and y: b1 = p1 * x + q1 * y + r1.
        p1, q1 = (y2 - y0) * inv, -(x2 - x0) * inv
        r1 = -(p1 * x0 + q1 * y0)
        p2, q2 = -(y1 - y0) * inv, (x1 - x0) * inv
        r2 = -(p2 * x0 + q2 * y0)
        z0, zb, zc = screen[a, 2], screen[b, 2] - screen[a, 2], screen[c, 2] - screen[a, 2]
        u0, ub, uc = uv[a, 0] - half, uv[b, 0] - uv[a, 0], uv[c, 0] - uv[a, 0]
        v0, vb, vc = uv[a, 1] - half, uv[b, 1] - uv[a, 1], uv[c, 1] - uv[a, 1]
        s0, sb, sc = shade[a], shade[b] - shade[a], shade[c] - shade[a]
        for y in range(top, bottom + 1):
            e1 = q1 * np.float32(y) + r1
            e2 = q2 * np.float32(y) + r2
            zrow, crow = y * zw, y * cw
            for x in range(left, right + 1):
                b1 = p1 * np.float32(x) + e1
                b2 = p2 * np.float32(x) + e2
                if b1 < slack or b2 < slack or b1 + b2 > np.float32(1.00001):
                    continue
                z = z0 + b1 * zb + b2 * zc
                zi = np.uint64(zrow + x)
                if z <= zs[zi]:
                    continue
                u = min(max(u0 + b1 * ub + b2 * uc, zero), umax)
                v = min(max(v0 + b1 * vb + b2 * vc, zero), vmax)
                iu, iv = int(u), int(v)
                fu, fv = int((u - iu) * np.float32(16.0)), int((v - iv) * np.float32(16.0))
                w11 = fu * fv
                w01, w10 = fu * 16 - w11, fv * 16 - w11
                w00 = 256 - w01 - w10 - w11
                ti = np.uint64(iv * tw + iu)
                tj = ti + np.uint64(tw)
                mixed = _lanes(texels[ti]) * np.uint64(w00) + _lanes(texels[ti + _ONE]) * np.uint64(w01)
                mixed += _lanes(texels[tj]) * np.uint64(w10) + _lanes(texels[tj + _ONE]) * np.uint64(w11)
                mixed = (mixed >> _S8) & _MASK
                light = np.uint64(min((s0 + b1 * sb + b2 * sc) * np.float32(256.0) + half, np.float32(256.0)))
                lit = ((mixed * light) >> _S8) & _MASK
                ci = np.uint64((crow + x) * 3)
                blue, green, red = lit & _BYTE, (lit >> _S32) & _BYTE, (lit >> _S16) & _BYTE
                if blend:
                    alpha = (mixed >> _S48) & _BYTE
                    keep = np.uint64(255) - alpha
                    blue = (blue * alpha + np.uint64(out[ci]) * keep + _HALF) // _BYTE
                    green = (green * alpha + np.uint64(out[ci + _ONE]) * keep + _HALF) // _BYTE
                    red = (red * alpha + np.uint64(out[ci + _TWO]) * keep + _HALF) // _BYTE
                else:
                    zs[zi] = z
                out[ci] = blue
                out[ci + _ONE] = green
                out[ci + _TWO] = red


_GRID = "void(float32[:,:,::1], uint8[:,:,::1], float32[:,:,::1], float32[:,:,::1], float32[::1], float32[:,:,::1], float32[:,:,::1])"


@njit(_GRID, cache=True, nogil=True, fastmath=True)
def grid_pose(nodes, joint_index, weights, joints, lens, moved, source):  # type: ignore[no-untyped-def]
    """Where each plate node must sample from so that the plate follows the joints.

    ``nodes`` f32[r, c, 5] = rest x, y, z (dm) and rest screen x, y. Writes displacement into ``moved`` f32[r, c, 2] and
    the source screen position into ``source`` f32[r, c, 2] (one fixed-point step inverts the displacement).
    """
    rows, cols = nodes.shape[0], nodes.shape[1]
    for r in range(rows):
        for c in range(cols):
            x, y, z = nodes[r, c, 0], nodes[r, c, 1], nodes[r, c, 2]
            px, py, pz = 0.0, 0.0, 0.0
            for k in range(4):
                w = weights[r, c, k]
                if w > 0.0:
                    j = joint_index[r, c, k]
                    px += w * (joints[j, 0, 0] * x + joints[j, 0, 1] * y + joints[j, 0, 2] * z + joints[j, 0, 3])
                    py += w * (joints[j, 1, 0] * x + joints[j, 1, 1] * y + joints[j, 1, 2] * z + joints[j, 1, 3])
                    pz += w * (joints[j, 2, 0] * x + joints[j, 2, 1] * y + joints[j, 2, 2] * z + joints[j, 2, 3])
            f = lens[0] / (lens[3] - pz)
            moved[r, c, 0] = lens[4] + (px - lens[1]) * f - nodes[r, c, 3]
            moved[r, c, 1] = lens[5] - (py - lens[2]) * f - nodes[r, c, 4]
    pitch_x = nodes[0, 1, 3] - nodes[0, 0, 3]
    pitch_y = nodes[1, 0, 4] - nodes[0, 0, 4]
    for r in range(rows):
        for c in range(cols):
            gx = min(max(c - moved[r, c, 0] / pitch_x, 0.0), cols - 1.001)
            gy = min(max(r - moved[r, c, 1] / pitch_y, 0.0), rows - 1.001)
            ix, iy = int(gx), int(gy)
            fx, fy = gx - ix, gy - iy
            for k in range(2):
                d = (
                    (1 - fx) * (1 - fy) * moved[iy, ix, k] + fx * (1 - fy) * moved[iy, ix + 1, k]
                    + (1 - fx) * fy * moved[iy + 1, ix, k] + fx * fy * moved[iy + 1, ix + 1, k]
                )  # fmt: skip
                source[r, c, k] = nodes[r, c, 3 + k] - d


_WARP = (
    "void(uint32[:,::1], float32[:,:,::1], uint8[:,::1], float32, float32, float32, float32, float32, float32, uint8[:,:,::1])"
)


@njit(_WARP, cache=True, nogil=True, fastmath=True)
def warp_over(plate, source, busy, ox, oy, pitch_x, pitch_y, kx, ky, canvas):  # type: ignore[no-untyped-def]
    """Composite a premultiplied BGRA plate over ``canvas``, bent by the ``source`` grid (screen px per node).

    Node (r, c) sits at screen (ox + c * pitch_x, oy + r * pitch_y); a plate pixel is ``(screen - (ox, oy)) * k``.
    Cells whose ``busy`` flag is 0 are skipped.
    """
    height, width = canvas.shape[0], canvas.shape[1]
    ph, pw = plate.shape[0], plate.shape[1]
    rows, cols = busy.shape[0], busy.shape[1]
    pixels, out = plate.reshape(-1), canvas.reshape(-1)
    top = max(0, int(oy))
    bottom = min(height, int(oy + rows * pitch_y) + 1)
    half = np.float32(0.5)
    for y in range(top, bottom):
        gy = (np.float32(y) + half - oy) / pitch_y
        if gy < 0.0 or gy >= rows:
            continue
        iy = int(gy)
        fy = gy - np.float32(iy)
        for c in range(cols):
            if busy[iy, c] == 0:
                continue
            xa = ox + np.float32(c) * pitch_x
            # Pixel centres in [xa, xa + pitch): neighbouring cells share no pixel and leave none out.
            start = max(0, int(xa + half + np.float32(1024.0)) - 1024)
            end = min(width, int(xa + pitch_x + half + np.float32(1024.0)) - 1024)
            if start >= end:
                continue
            sxa = source[iy, c, 0] + fy * (source[iy + 1, c, 0] - source[iy, c, 0])
            sya = source[iy, c, 1] + fy * (source[iy + 1, c, 1] - source[iy, c, 1])
            sxb = source[iy, c + 1, 0] + fy * (source[iy + 1, c + 1, 0] - source[iy, c + 1, 0])
            syb = source[iy, c + 1, 1] + fy * (source[iy + 1, c + 1, 1] - source[iy, c + 1, 1])
            step_x, step_y = (sxb - sxa) / pitch_x * kx, (syb - sya) / pitch_x * ky
            lead = np.float32(start) + half - xa
            # 16.16 fixed point from here on: steps along a cell are exact and cheap.
            u = int(((sxa - ox) * kx + lead * step_x - half) * np.float32(65536.0))
            v = int(((sya - oy) * ky + lead * step_y - half) * np.float32(65536.0))
            du, dv = int(step_x * np.float32(65536.0)), int(step_y * np.float32(65536.0))
            for x in range(start, end):
                iu, iv = u >> 16, v >> 16
                if 0 <= iu < pw - 1 and 0 <= iv < ph - 1:
                    fu, fv = (u >> 12) & 15, (v >> 12) & 15
                    w11 = fu * fv
                    w01, w10 = fu * 16 - w11, fv * 16 - w11
                    w00 = 256 - w01 - w10 - w11
                    ti = np.uint64(iv * pw + iu)
                    tj = ti + np.uint64(pw)
                    mixed = _lanes(pixels[ti]) * np.uint64(w00) + _lanes(pixels[ti + _ONE]) * np.uint64(w01)
                    mixed += _lanes(pixels[tj]) * np.uint64(w10) + _lanes(pixels[tj + _ONE]) * np.uint64(w11)
                    mixed = (mixed >> _S8) & _MASK
                    alpha = mixed >> _S48
                    ci = np.uint64((y * width + x) * 3)
                    if alpha == _BYTE:
                        out[ci] = mixed & _BYTE
                        out[ci + _ONE] = (mixed >> _S32) & _BYTE
                        out[ci + _TWO] = (mixed >> _S16) & _BYTE
                    elif alpha > np.uint64(0):
                        keep = _BYTE - alpha
                        out[ci] = min((mixed & _BYTE) + (np.uint64(out[ci]) * keep + _HALF) // _BYTE, _BYTE)
                        out[ci + _ONE] = min(
                            ((mixed >> _S32) & _BYTE) + (np.uint64(out[ci + _ONE]) * keep + _HALF) // _BYTE, _BYTE
                        )
                        out[ci + _TWO] = min(
                            ((mixed >> _S16) & _BYTE) + (np.uint64(out[ci + _TWO]) * keep + _HALF) // _BYTE, _BYTE
                        )
                u += du
                v += dv


@njit("void(uint8[:,:,::1], float32[:,::1], uint8[:,:,::1], int64, int64, int64, int64)", cache=True, nogil=True)
def open_box(colour, depth, canvas, x0, y0, width, height):  # type: ignore[no-untyped-def]
    """Fill a doubled buffer from the canvas box at (x0, y0) and clear its depth."""
    for y in range(2 * height):
        for x in range(2 * width):
            depth[y, x] = -1e9
            for k in range(3):
                colour[y, x, k] = canvas[y0 + (y >> 1), x0 + (x >> 1), k]


@njit("void(uint8[:,:,::1], uint8[:,:,::1], int64, int64, int64, int64)", cache=True, nogil=True)
def close_box(colour, canvas, x0, y0, width, height):  # type: ignore[no-untyped-def]
    """Average a doubled buffer back into the canvas box at (x0, y0)."""
    for y in range(height):
        for x in range(width):
            for k in range(3):
                total = 2 + colour[2 * y, 2 * x, k] + colour[2 * y, 2 * x + 1, k]
                total += colour[2 * y + 1, 2 * x, k] + colour[2 * y + 1, 2 * x + 1, k]
                canvas[y0 + y, x0 + x, k] = total >> 2


@njit("void(uint8[:,:,::1], float32[:,::1], int64, int64, int64, int64, float32)", cache=True, nogil=True)
def soften_edges(canvas, depth, x0, y0, x1, y1, step):  # type: ignore[no-untyped-def]
    """Mix neighbouring pixels across depth steps of at least ``step`` dm inside the box: outlines drawn at one sample lose
    their stairs at a fraction of the price of more samples."""
    for y in range(y0, y1 - 1):
        for x in range(x0, x1 - 1):
            here = depth[y, x]
            if abs(here - depth[y, x + 1]) >= step:
                for k in range(3):
                    a, b = int(canvas[y, x, k]), int(canvas[y, x + 1, k])
                    canvas[y, x, k] = (11 * a + 5 * b + 8) >> 4
                    canvas[y, x + 1, k] = (5 * a + 11 * b + 8) >> 4
            if abs(here - depth[y + 1, x]) >= step:
                for k in range(3):
                    a, b = int(canvas[y, x, k]), int(canvas[y + 1, x, k])
                    canvas[y, x, k] = (11 * a + 5 * b + 8) >> 4
                    canvas[y + 1, x, k] = (5 * a + 11 * b + 8) >> 4
