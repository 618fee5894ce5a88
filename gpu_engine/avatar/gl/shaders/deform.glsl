// Morph and skin one vertex; the twin of the CPU renderer's pose kernel. Decimetres.
in vec3 in_position;
in vec3 in_normal;
in vec2 in_uv;
in float in_shade;
in ivec4 in_joints;
in vec4 in_weights;
in ivec2 in_morphs;  // first entry and count in Morphs

struct Morph { vec4 move; vec4 turn; };  // move.w = face weight, turn = change of the normal
layout(std430, binding = 1) readonly buffer Morphs { Morph morphs[]; };
layout(std140, binding = 2) uniform Pose {
    mat4 joints[22];
    vec4 weights[8];
    mat4 eye_turn[2];  // about the eyeball's centre
};
uniform int eye;  // -1, or which eyeball this part is

void deform(out vec3 position, out vec3 normal) {
    position = in_position;
    normal = in_normal;
    if (eye >= 0) {
        position = (eye_turn[eye] * vec4(position, 1.0)).xyz;
        normal = mat3(eye_turn[eye]) * normal;
    } else {
        for (int i = in_morphs.x; i < in_morphs.x + in_morphs.y; ++i) {
            int k = int(morphs[i].move.w);
            float w = weights[k >> 2][k & 3];
            position += w * morphs[i].move.xyz;
            normal += w * morphs[i].turn.xyz;
        }
    }
    mat4 m = in_weights.x * joints[in_joints.x] + in_weights.y * joints[in_joints.y]
        + in_weights.z * joints[in_joints.z] + in_weights.w * joints[in_joints.w];
    position = (m * vec4(position, 1.0)).xyz;
    normal = normalize(mat3(m) * normal);
}
