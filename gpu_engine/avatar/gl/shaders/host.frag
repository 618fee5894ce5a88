// Skin, eyes, teeth and cloth: two GGX lobes, wrapped diffuse with a red scatter, split-sum image-based light, one shadow.
in vec3 position;
in vec3 normal;
in vec2 uv;
in float shade;
in vec3 in_light;
in vec4 visible;               // first-order visibility: mean, and where open sky lies
out vec4 result;
uniform sampler2D colour;       // albedo, or lit colour for plates
uniform sampler2DShadow shadow_map;
uniform samplerCube irradiance_map;
uniform samplerCube reflection_map;
uniform int reflection_levels;
uniform vec4 lens;
uniform vec3 key_direction;
uniform vec3 key_irradiance;    // over pi
uniform float key_width;        // sine of the key's angular radius
uniform vec4 surface;           // roughness, specular, clear coat, shadow texel
uniform vec3 scatter;           // how far red, green, blue wrap past the terminator, 0..1
uniform bool two_sided;
uniform bool translucent;       // straight alpha in the texture, blended premultiplied
uniform int kind;               // 0 = lit mesh, 1 = plate with baked light
uniform vec3 plate_reference;   // light the plates were baked under, for relighting by ratio
uniform float plate_alpha;
uniform float mouth;             // light inside a mouth barely open

float lit_share() {
    if (any(lessThan(in_light, vec3(0.0))) || any(greaterThan(in_light, vec3(1.0)))) return 1.0;
    float sum = 0.0;
    for (int y = -2; y <= 2; ++y)
        for (int x = -2; x <= 2; ++x)
            sum += texture(shadow_map, vec3(in_light.xy + vec2(x, y) * surface.w, in_light.z - 0.0035));
    return sum / 25.0;
}

// How much of the light around arrives from direction d: what hair, chin and collar leave open (see visibility.py).
float open_share(vec3 d) { return clamp(visible.x + dot(visible.yzw, d), 0.0, 1.0); }

float ggx(float n_h, float n_v, float n_l, float roughness) {
    float a = roughness * roughness, a2 = a * a;
    float d = n_h * n_h * (a2 - 1.0) + 1.0;
    float visible = 0.5 / mix(2.0 * n_l * n_v, n_l + n_v, a);
    return a2 / (3.14159265 * d * d) * visible;
}

// Environment BRDF, fitted (Karis, "Physically Based Shading on Mobile", 2014).
vec2 environment_brdf(float roughness, float n_v) {
    vec4 r = roughness * vec4(-1.0, -0.0275, -0.572, 0.022) + vec4(1.0, 0.0425, 1.04, -0.04);
    float a = min(r.x * r.x, exp2(-9.28 * n_v)) * r.x + r.y;
    return vec2(-1.04, 1.04) * a + r.zw;
}

vec3 linear(vec3 c) { return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(0.04045, c)); }
vec3 encoded(vec3 c) { return mix(c * 12.92, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c)); }

// Filmic curve (Narkowicz's fit of the ACES reference transform, 2016).
vec3 film(vec3 c) { return clamp(c * (2.51 * c + 0.03) / (c * (2.43 * c + 0.59) + 0.14), 0.0, 1.0); }
vec3 unfilm(vec3 y) {
    vec3 b = 0.59 * y - 0.03, a = 2.43 * y - 2.51;
    return (-b - sqrt(max(b * b - 4.0 * a * 0.14 * y, 0.0))) / (2.0 * a);
}

void main() {
    vec4 texel = texture(colour, uv);
    float exposure = horizon.w;
    if (kind == 1) {
        vec3 light = texture(irradiance_map, vec3(0.0, 0.25, 0.97)).rgb + key_irradiance * max(dot(key_direction, vec3(0.0, 0.25, 0.97)), 0.0);
        vec3 baked = linear(texel.rgb / max(texel.a, 1.0 / 255.0));
        vec3 scene = unfilm(min(baked, vec3(0.98))) * (light / plate_reference) * exposure;
        result = vec4(encoded(film(scene)) * texel.a, texel.a) * plate_alpha;
        return;
    }
    vec3 n = normalize(normal), v = normalize(lens.yzw - position);
    float facing = dot(n, v);
    if (facing < 0.0) n = two_sided ? -n : normalize(n - 1.02 * facing * v);
    vec3 albedo = linear(texel.rgb) * shade * mouth;
    float n_v = max(dot(n, v), 1e-3), n_l = dot(n, key_direction);
    float lit = lit_share();
    vec3 wrap = scatter * 0.45;
    vec3 diffuse_key = key_irradiance * clamp((vec3(n_l) + wrap) / ((1.0 + wrap) * (1.0 + wrap)), 0.0, 1.0) * mix(vec3(lit), vec3(1.0), scatter * 0.12);
    // Scattered light has forgotten its direction: the smoothed normal of the blue-less channels leans to the viewer.
    vec3 around = vec3(texture(irradiance_map, normalize(mix(n, v, 0.25 * scatter.r))).r, texture(irradiance_map, normalize(mix(n, v, 0.25 * scatter.g))).g, texture(irradiance_map, n).b);
    around *= open_share(n);
    vec3 outgoing = albedo * (diffuse_key + around);

    vec3 h = normalize(key_direction + v);
    float n_h = max(dot(n, h), 0.0), fresnel = pow(1.0 - max(dot(v, h), 0.0), 5.0), front = clamp(n_l, 0.0, 1.0);
    float f0 = 0.08 * surface.y;
    float broad = clamp(surface.x + 0.4 * key_width, 0.0, 1.0), tight = clamp(surface.x * 0.62 + 0.4 * key_width, 0.0, 1.0);
    float lobes = 0.7 * ggx(n_h, n_v, max(front, 1e-3), broad) + 0.3 * ggx(n_h, n_v, max(front, 1e-3), tight);
    outgoing += key_irradiance * 3.14159265 * lit * front * lobes * (f0 + (1.0 - f0) * fresnel);
    vec3 r = reflect(-v, n);
    vec2 brdf = environment_brdf(surface.x, n_v);
    outgoing += textureLod(reflection_map, r, surface.x * float(reflection_levels - 1)).rgb * (f0 * brdf.x + brdf.y) * open_share(r) * shade * mouth;
    if (surface.z > 0.0) {
        float coat = surface.z * (0.04 + 0.96 * pow(1.0 - n_v, 5.0));
        outgoing = outgoing * (1.0 - coat) + coat * open_share(r) * texture(reflection_map, r).rgb + surface.z * key_irradiance * 3.14159265 * lit * front * 0.04 * ggx(n_h, n_v, max(front, 1e-3), 0.16);
    }
    float alpha = translucent ? texel.a : 1.0;
    result = vec4(encoded(film(outgoing * exposure)) * alpha, alpha);
}
