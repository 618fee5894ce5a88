in vec2 uv;
uniform sampler2D colour;
uniform float cutout;

void main() {
    if (texture(colour, uv).a < cutout) discard;
}
