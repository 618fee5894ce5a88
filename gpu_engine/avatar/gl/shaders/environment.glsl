// Light arriving from a direction; the twin of lights.radiance. Included after the #version line.
const int MAX_LIGHTS = 8;
layout(std140, binding = 0) uniform Rig {
    vec4 light_direction[MAX_LIGHTS];  // xyz unit, w cosine of the inner edge
    vec4 light_radiance[MAX_LIGHTS];   // rgb linear, w cosine of the outer edge
    vec4 sky;                          // w = number of lights
    vec4 horizon;                      // w = exposure
    vec4 ground;
};

vec3 environment(vec3 w) {
    float up = sqrt(abs(w.y));
    vec3 sum = mix(horizon.rgb, w.y >= 0.0 ? sky.rgb : ground.rgb, up);
    for (int i = 0; i < int(sky.w); ++i) {
        float inner = light_direction[i].w, outer = light_radiance[i].w;
        float t = clamp((dot(w, light_direction[i].xyz) - outer) / (inner - outer), 0.0, 1.0);
        sum += t * t * (3.0 - 2.0 * t) * light_radiance[i].rgb;
    }
    return sum;
}

vec3 cube_direction(ivec3 texel, int size) {
    vec2 p = (vec2(texel.xy) + 0.5) / float(size) * 2.0 - 1.0;
    vec3 d;
    switch (texel.z) {
        case 0: d = vec3(1.0, -p.y, -p.x); break;
        case 1: d = vec3(-1.0, -p.y, p.x); break;
        case 2: d = vec3(p.x, 1.0, p.y); break;
        case 3: d = vec3(p.x, -1.0, -p.y); break;
        case 4: d = vec3(p.x, -p.y, 1.0); break;
        default: d = vec3(-p.x, -p.y, -1.0);
    }
    return normalize(d);
}
