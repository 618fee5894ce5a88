// The environment filtered by a GGX lobe (view = normal), one invocation a texel of one mip level.
layout(local_size_x = 16, local_size_y = 16) in;
layout(rgba16f, binding = 0) uniform writeonly imageCube target;
uniform int size;
uniform float roughness;
const int SAMPLES = 64;

void main() {
    ivec3 texel = ivec3(gl_GlobalInvocationID);
    if (texel.x >= size || texel.y >= size) return;
    vec3 n = cube_direction(texel, size);
    if (roughness <= 0.0) {
        imageStore(target, texel, vec4(environment(n), 1.0));
        return;
    }
    float a = roughness * roughness;
    vec3 up = abs(n.z) < 0.999 ? vec3(0.0, 0.0, 1.0) : vec3(1.0, 0.0, 0.0);
    vec3 tangent = normalize(cross(up, n)), bitangent = cross(n, tangent);
    vec3 sum = vec3(0.0);
    float weight = 0.0;
    for (int i = 0; i < SAMPLES; ++i) {
        float u = (float(i) + 0.5) / float(SAMPLES), v = float(bitfieldReverse(uint(i))) * 2.3283064365386963e-10;
        float cos_h = sqrt((1.0 - v) / (1.0 + (a * a - 1.0) * v)), sin_h = sqrt(1.0 - cos_h * cos_h);
        float phi = 6.283185307179586 * u;
        vec3 h = tangent * (sin_h * cos(phi)) + bitangent * (sin_h * sin(phi)) + n * cos_h;
        vec3 w = 2.0 * dot(n, h) * h - n;
        float n_l = max(dot(n, w), 0.0);
        sum += environment(w) * n_l;
        weight += n_l;
    }
    imageStore(target, texel, vec4(sum / max(weight, 1e-6), 1.0));
}
