/** The particles as WebGL draws them: points whose shape the fragment program finds. */

import {
  BufferGeometry,
  DynamicDrawUsage,
  InterleavedBuffer,
  InterleavedBufferAttribute,
  Points,
  ShaderMaterial,
  Vector3,
} from "three";
import { STRIDE } from "./memory";
import { HEARTS, KIND_COLOURS } from "./particles";

const VERTEX = /* glsl */ `
attribute vec4 place;
attribute float life;
attribute vec4 turn;
uniform float uFocal;
uniform vec3 uColours[${KIND_COLOURS.length}];
varying vec4 vColour;
varying float vAngle;
varying float vHeart;
void main() {
  vec4 seen = viewMatrix * vec4(place.xyz, 1.0);
  gl_Position = life > 0.0 ? projectionMatrix * seen : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = life > 0.0 ? 2.0 * place.w * uFocal / max(-seen.z, 0.1) : 0.0;
  vColour = vec4(uColours[int(turn.z)], clamp(life * 3.0, 0.0, 1.0));
  vAngle = turn.x;
  vHeart = turn.z < ${HEARTS.toFixed(1)} ? 1.0 : 0.0;
}
`;

const FRAGMENT = /* glsl */ `
varying vec4 vColour;
varying float vAngle;
varying float vHeart;
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0;
  float tilt = vHeart > 0.5 ? 0.35 * sin(vAngle) : vAngle;
  p = mat2(cos(tilt), -sin(tilt), sin(tilt), cos(tilt)) * p;
  float edge;
  if (vHeart > 0.5) {
    vec2 q = vec2(abs(p.x), -p.y * 1.05 + 0.12) * 1.25;
    float r = dot(q, q) - 0.62;
    edge = r * r * r - q.x * q.x * q.y * q.y * q.y;
    edge /= max(fwidth(edge), 1e-4);
  } else {
    // A paper rectangle that tumbles: its height follows the turn.
    vec2 d = abs(p) - vec2(0.55, 0.15 + 0.45 * abs(cos(vAngle * 1.7)));
    edge = max(d.x, d.y) / max(fwidth(p.x), 1e-4);
  }
  float alpha = vColour.a * clamp(0.5 - edge, 0.0, 1.0);
  if (alpha < 0.01) discard;
  vec3 lit = vColour.rgb * (vHeart > 0.5 ? 1.0 - 0.25 * length(p - vec2(-0.3, -0.35)) + 0.2 : 0.75 + 0.35 * abs(cos(vAngle)));
  gl_FragColor = vec4(lit, alpha);
  #include <colorspace_fragment>
}
`;

export class Sprites {
  readonly object: Points;
  private readonly material: ShaderMaterial;
  private readonly geometry = new BufferGeometry();
  private buffer: InterleavedBuffer;

  constructor(capacity: number) {
    this.material = new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      depthTest: false,
      uniforms: {
        uFocal: { value: 1 },
        uColours: { value: KIND_COLOURS.map((colour) => new Vector3(...colour)) },
      },
    });
    this.buffer = this.lay(new Float32Array(capacity * STRIDE));
    this.object = new Points(this.geometry, this.material);
    this.object.frustumCulled = false;
    this.object.renderOrder = 100;
    this.object.visible = false;
  }

  /** Draw these from now on; the memory is read at the next frame, shared or not. */
  show(particles: Float32Array, alive: boolean): void {
    this.object.visible = alive;
    if (!alive) return;
    if (this.buffer.array.length === particles.length) {
      this.buffer.array = particles;
      this.buffer.needsUpdate = true;
    } else {
      this.geometry.dispose();
      this.buffer = this.lay(particles);
    }
  }

  setScale(focalPx: number): void {
    const uniform = this.material.uniforms.uFocal;
    if (uniform) uniform.value = focalPx;
  }

  dispose(): void {
    this.geometry.dispose();
    this.material.dispose();
  }

  private lay(particles: Float32Array): InterleavedBuffer {
    const buffer = new InterleavedBuffer(particles, STRIDE);
    buffer.setUsage(DynamicDrawUsage);
    this.geometry.setAttribute("place", new InterleavedBufferAttribute(buffer, 4, 0));
    this.geometry.setAttribute("life", new InterleavedBufferAttribute(buffer, 1, 7));
    this.geometry.setAttribute("turn", new InterleavedBufferAttribute(buffer, 4, 8));
    this.geometry.setDrawRange(0, buffer.count);
    return buffer;
  }
}
