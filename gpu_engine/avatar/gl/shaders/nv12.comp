// Premultiplied overlay over the picture and BT.601 limited-range NV12, four pixels of two rows an invocation.
// The twin of nv12.nv12_reference: integer arithmetic throughout.
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) uniform sampler2D picture;  // rows from the bottom
layout(std430, binding = 3) readonly buffer Overlay { uint overlay[]; };  // BGRA8, rows from the top
layout(std430, binding = 4) writeonly buffer Planes { uint planes[]; };
uniform ivec2 size;

ivec3 pixel(int x, int y) {
    ivec4 under = ivec4(texelFetch(picture, ivec2(x, size.y - 1 - y), 0) * 255.0 + 0.5);
    uint o = overlay[y * size.x + x];
    int keep = 255 - int(o >> 24);
    ivec3 below = under.rgb * keep + 128;
    return ivec3((o >> 16) & 255u, (o >> 8) & 255u, o & 255u) + ((below + (below >> 8)) >> 8);
}

void main() {
    int x = int(gl_GlobalInvocationID.x) * 4, y = int(gl_GlobalInvocationID.y) * 2;
    if (x >= size.x || y >= size.y) return;
    uint luma[2] = uint[2](0u, 0u), chroma = 0u;
    for (int pair = 0; pair < 2; ++pair) {
        ivec3 sum = ivec3(0);
        for (int row = 0; row < 2; ++row)
            for (int column = 0; column < 2; ++column) {
                ivec3 c = pixel(x + 2 * pair + column, y + row);
                sum += c;
                int l = (66 * c.r + 129 * c.g + 25 * c.b + 128 + 4096) >> 8;
                luma[row] |= uint(l) << (8 * (2 * pair + column));
            }
        int u = (-38 * sum.r - 74 * sum.g + 112 * sum.b + 512 + 131072) >> 10;
        int v = (112 * sum.r - 94 * sum.g - 18 * sum.b + 512 + 131072) >> 10;
        chroma |= (uint(u) | uint(v) << 8) << (16 * pair);
    }
    planes[(y * size.x + x) >> 2] = luma[0];
    planes[((y + 1) * size.x + x) >> 2] = luma[1];
    planes[(size.x * size.y + (y >> 1) * size.x + x) >> 2] = chroma;
}
