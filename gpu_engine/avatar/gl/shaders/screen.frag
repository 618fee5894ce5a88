in vec2 uv;
out vec4 result;
uniform sampler2D colour;
void main() { result = vec4(texture(colour, uv).bgr, 1.0); }
