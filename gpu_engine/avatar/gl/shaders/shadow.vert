uniform mat4 light_view;
out vec2 uv;

void main() {
    vec3 position, normal;
    deform(position, normal);
    uv = in_uv;
    gl_Position = light_view * vec4(position, 1.0);
}
