in vec4 in_visible;
uniform vec4 lens;      // focal px, camera position x y z (dm)
uniform vec4 picture;   // principal x y px, width, height px
uniform mat4 light_view;
out vec3 position;
out vec3 normal;
out vec2 uv;
out float shade;
out vec3 in_light;
out vec4 visible;

void main() {
    deform(position, normal);
    uv = in_uv;
    shade = in_shade;
    visible = in_visible;
    in_light = (light_view * vec4(position, 1.0)).xyz * 0.5 + 0.5;
    float w = lens.w - position.z;
    vec2 px = picture.xy * w + vec2(position.x - lens.y, lens.z - position.y) * lens.x;
    const float near = 2.0, far = 80.0;
    gl_Position = vec4(2.0 * px.x / picture.z - w, w - 2.0 * px.y / picture.w, ((far + near) * w - 2.0 * far * near) / (far - near), w);
}
