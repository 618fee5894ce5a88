"""Numba kernels of the CPU renderer. All release the GIL, allocate nothing and are compiled with fixed signatures.

Screen space: x right, y down, in output pixels with centres at .5; depth is world z, larger is nearer.
"""

from __future__ import annotations

from numba import njit

_F = "float32"
_POSE = (
    "void(float32[:,::1], int32[::1], float32[:,::1], int64[::1], float32[::1], float32[:,::1], float32[:,:,::1],"
    " int64[:,::1], float32[:,::1], float32[:,:,::1], float32[::1], float32[:,::1], float32[:,::1])"
)


@njit(_POSE, cache=True, nogil=True, fastmath=True)
def pose(rest, index, delta, offset, weights, joint_weights, joints, eye_runs, eye_centres, eye_turns, lens, local, screen):  # type: ignore[no-untyped-def]
    """Morph, turn eyes, skin and project.

    ``joints`` f32[3, 3, 4] are affine maps of head, neck and spine; ``lens`` = (focal, ex, ey, ez, px, py) in output
    pixels. Writes ``local`` f32[v, 3] (after morphs) and ``screen`` f32[v, 3] (x px, y px, z).
    """
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
        h, k1 = joint_weights[i, 0], joint_weights[i, 1]
        s = 1.0 - h - k1
        px, py, pz = 0.0, 0.0, 0.0
        for j in range(3):
            w = h if j == 0 else (k1 if j == 1 else s)
            if w > 0.002 or w < -0.002:
                px += w * (joints[j, 0, 0] * x + joints[j, 0, 1] * y + joints[j, 0, 2] * z + joints[j, 0, 3])
                py += w * (joints[j, 1, 0] * x + joints[j, 1, 1] * y + joints[j, 1, 2] * z + joints[j, 1, 3])
                pz += w * (joints[j, 2, 0] * x + joints[j, 2, 1] * y + joints[j, 2, 2] * z + joints[j, 2, 3])
        f = lens[0] / (lens[3] - pz)
        screen[i, 0] = lens[4] + (px - lens[1]) * f
        screen[i, 1] = lens[5] - (py - lens[2]) * f
        screen[i, 2] = pz


_RASTER = (
    "void(float32[:,::1], float32[:,::1], float32[::1], int32[:,::1], int32[::1], uint8[:,:,::1], uint8[:,:,::1],"
    " float32[:,::1], float32, float32, float32, int64, int64, boolean, boolean)"
)


@njit(_RASTER, cache=True, nogil=True, fastmath=True)
def raster(screen, uv, shade, tris, order, texture, colour, depth, ox, oy, zoom, height, width, cull, blend):  # type: ignore[no-untyped-def]
    """Draw triangles ``tris[order]`` with a bilinear texture into ``colour``/``depth``.

    ``uv`` in texels; a buffer pixel is ``(screen - (ox, oy)) * zoom``; only ``[:height, :width]`` is written. ``cull``
    drops triangles that face away; ``blend`` mixes by texture alpha and leaves depth alone.
    """
    th, tw = texture.shape[0], texture.shape[1]
    for o in range(order.shape[0]):
        t = order[o]
        a, b, c = tris[t, 0], tris[t, 1], tris[t, 2]
        x0, y0 = (screen[a, 0] - ox) * zoom - 0.5, (screen[a, 1] - oy) * zoom - 0.5
        x1, y1 = (screen[b, 0] - ox) * zoom - 0.5, (screen[b, 1] - oy) * zoom - 0.5
        x2, y2 = (screen[c, 0] - ox) * zoom - 0.5, (screen[c, 1] - oy) * zoom - 0.5
        det = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if cull and det >= 0.0:
            continue
        if -1e-7 < det < 1e-7:
            continue
        lowx, highx = min(x0, x1, x2), max(x0, x1, x2)
        lowy, highy = min(y0, y1, y2), max(y0, y1, y2)
        if highx < 0.0 or highy < 0.0 or lowx > width - 1 or lowy > height - 1:
            continue
        left, right = max(0, int(lowx)), min(width - 1, int(highx))
        top, bottom = max(0, int(lowy)), min(height - 1, int(highy))
        inv = 1.0 / det
        # Barycentrics are linear in x and y: b1 = p1 * x + q1 * y + r1.
        p1, q1 = (y2 - y0) * inv, -(x2 - x0) * inv
        r1 = -(p1 * x0 + q1 * y0)
        p2, q2 = -(y1 - y0) * inv, (x1 - x0) * inv
        r2 = -(p2 * x0 + q2 * y0)
        z0, zb, zc = screen[a, 2], screen[b, 2] - screen[a, 2], screen[c, 2] - screen[a, 2]
        u0, ub, uc = uv[a, 0], uv[b, 0] - uv[a, 0], uv[c, 0] - uv[a, 0]
        v0, vb, vc = uv[a, 1], uv[b, 1] - uv[a, 1], uv[c, 1] - uv[a, 1]
        s0, sb, sc = shade[a], shade[b] - shade[a], shade[c] - shade[a]
        for y in range(top, bottom + 1):
            for x in range(left, right + 1):
                b1 = p1 * x + q1 * y + r1
                b2 = p2 * x + q2 * y + r2
                if b1 < -1e-5 or b2 < -1e-5 or b1 + b2 > 1.00001:
                    continue
                z = z0 + b1 * zb + b2 * zc
                if z <= depth[y, x]:
                    continue
                u = u0 + b1 * ub + b2 * uc - 0.5
                v = v0 + b1 * vb + b2 * vc - 0.5
                u = min(max(u, 0.0), tw - 1.001)
                v = min(max(v, 0.0), th - 1.001)
                iu, iv = int(u), int(v)
                fu, fv = u - iu, v - iv
                w00 = (1.0 - fu) * (1.0 - fv)
                w01, w10, w11 = fu * (1.0 - fv), (1.0 - fu) * fv, fu * fv
                light = s0 + b1 * sb + b2 * sc
                if blend:
                    alpha = (
                        w00 * texture[iv, iu, 3] + w01 * texture[iv, iu + 1, 3]
                        + w10 * texture[iv + 1, iu, 3] + w11 * texture[iv + 1, iu + 1, 3]
                    ) / 255.0  # fmt: skip
                    if alpha < 0.004:
                        continue
                    for k in range(3):
                        value = (
                            w00 * texture[iv, iu, k] + w01 * texture[iv, iu + 1, k]
                            + w10 * texture[iv + 1, iu, k] + w11 * texture[iv + 1, iu + 1, k]
                        ) * light  # fmt: skip
                        colour[y, x, k] = int(colour[y, x, k] * (1.0 - alpha) + min(value, 255.0) * alpha + 0.5)
                else:
                    depth[y, x] = z
                    for k in range(3):
                        value = (
                            w00 * texture[iv, iu, k] + w01 * texture[iv, iu + 1, k]
                            + w10 * texture[iv + 1, iu, k] + w11 * texture[iv + 1, iu + 1, k]
                        ) * light  # fmt: skip
                        colour[y, x, k] = int(min(value, 255.0) + 0.5)


_GRID = "void(float32[:,:,::1], float32[:,:,::1], float32[:,:,::1], float32[::1], float32[:,:,::1], float32[:,:,::1])"


@njit(_GRID, cache=True, nogil=True, fastmath=True)
def grid_pose(nodes, weights, joints, lens, moved, source):  # type: ignore[no-untyped-def]
    """Where each plate node must sample from so that the plate follows the joints.

    ``nodes`` f32[r, c, 5] = rest x, y, z (dm) and rest screen x, y. Writes displacement into ``moved`` f32[r, c, 2] and
    the source screen position into ``source`` f32[r, c, 2] (one fixed-point step inverts the displacement).
    """
    rows, cols = nodes.shape[0], nodes.shape[1]
    for r in range(rows):
        for c in range(cols):
            x, y, z = nodes[r, c, 0], nodes[r, c, 1], nodes[r, c, 2]
            h, k1 = weights[r, c, 0], weights[r, c, 1]
            px, py, pz = 0.0, 0.0, 0.0
            for j in range(3):
                w = h if j == 0 else (k1 if j == 1 else 1.0 - h - k1)
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


_WARP = "void(uint8[:,:,::1], float32[:,:,::1], uint8[:,::1], float32, float32, float32, float32, float32, float32, uint8[:,:,::1])"


@njit(_WARP, cache=True, nogil=True, fastmath=True)
def warp_over(plate, source, busy, ox, oy, pitch_x, pitch_y, kx, ky, canvas):  # type: ignore[no-untyped-def]
    """Composite a premultiplied BGRA plate over ``canvas``, bent by the ``source`` grid (screen px per node).

    Node (r, c) sits at screen (ox + c * pitch_x, oy + r * pitch_y); a plate pixel is ``(screen - (ox, oy)) * k``.
    Cells whose ``busy`` flag is 0 are skipped.
    """
    height, width = canvas.shape[0], canvas.shape[1]
    ph, pw = plate.shape[0], plate.shape[1]
    rows, cols = busy.shape[0], busy.shape[1]
    top = max(0, int(oy))
    bottom = min(height, int(oy + rows * pitch_y) + 1)
    for y in range(top, bottom):
        gy = (y + 0.5 - oy) / pitch_y
        if gy < 0.0 or gy >= rows:
            continue
        iy = int(gy)
        fy = gy - iy
        for c in range(cols):
            if busy[iy, c] == 0:
                continue
            xa = ox + c * pitch_x
            # Pixel centres in [xa, xa + pitch): neighbouring cells share no pixel and leave none out.
            start = max(0, int(xa + 0.5 + 1024.0) - 1024)
            end = min(width, int(xa + pitch_x + 0.5 + 1024.0) - 1024)
            if start >= end:
                continue
            sxa = source[iy, c, 0] + fy * (source[iy + 1, c, 0] - source[iy, c, 0])
            sya = source[iy, c, 1] + fy * (source[iy + 1, c, 1] - source[iy, c, 1])
            sxb = source[iy, c + 1, 0] + fy * (source[iy + 1, c + 1, 0] - source[iy, c + 1, 0])
            syb = source[iy, c + 1, 1] + fy * (source[iy + 1, c + 1, 1] - source[iy, c + 1, 1])
            step_x, step_y = (sxb - sxa) / pitch_x * kx, (syb - sya) / pitch_x * ky
            lead = start + 0.5 - xa
            u = (sxa - ox) * kx + lead * step_x - 0.5
            v = (sya - oy) * ky + lead * step_y - 0.5
            for x in range(start, end):
                iu, iv = int(u + 16.0) - 16, int(v + 16.0) - 16
                if 0 <= iu < pw - 1 and 0 <= iv < ph - 1:
                    fu, fv = int((u - iu) * 128.0), int((v - iv) * 128.0)
                    w11 = fu * fv
                    w01, w10 = fu * 128 - w11, fv * 128 - w11
                    w00 = 16384 - w01 - w10 - w11
                    alpha = (
                        w00 * plate[iv, iu, 3] + w01 * plate[iv, iu + 1, 3]
                        + w10 * plate[iv + 1, iu, 3] + w11 * plate[iv + 1, iu + 1, 3] + 8192
                    ) >> 14  # fmt: skip
                    if alpha > 0:
                        rest = 255 - alpha
                        for k in range(3):
                            value = (
                                w00 * plate[iv, iu, k] + w01 * plate[iv, iu + 1, k]
                                + w10 * plate[iv + 1, iu, k] + w11 * plate[iv + 1, iu + 1, k] + 8192
                            ) >> 14  # fmt: skip
                            canvas[y, x, k] = min(255, value + (canvas[y, x, k] * rest + 127) // 255)
                u += step_x
                v += step_y


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
