// Cosine integral of the environment over a Fibonacci lattice, one invocation a texel.
layout(local_size_x = 16, local_size_y = 16) in;
layout(rgba16f, binding = 0) uniform writeonly imageCube target;
uniform int size;
const int SAMPLES = 256;

void main() {
    ivec3 texel = ivec3(gl_GlobalInvocationID);
    if (texel.x >= size || texel.y >= size) return;
    vec3 n = cube_direction(texel, size);
    vec3 sum = vec3(0.0);
    for (int i = 0; i < SAMPLES; ++i) {
        float k = float(i) + 0.5, z = 1.0 - 2.0 * k / float(SAMPLES), phi = k * 2.399963229728653;
        float r = sqrt(1.0 - z * z);
        vec3 w = vec3(r * cos(phi), r * sin(phi), z);
        sum += max(dot(n, w), 0.0) * environment(w);
    }
    imageStore(target, texel, vec4(sum * (4.0 / float(SAMPLES)), 1.0));
}
