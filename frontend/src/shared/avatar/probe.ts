/**
 * The light probe: what the studio picture and the glowing particles send to the presenter's head, as irradiance in nine
 * spherical-harmonic coefficients (Ramamoorthi & Hanrahan, SIGGRAPH 2001). The light itself is baked into the pack; the probe
 * only colours it, so what is handed on is irradiance over the mean irradiance of the studio. Twin: compute.wgsl.ts.
 */

import { PROBE_FLOATS, STRIDE } from "./memory";
import { KIND_COLOURS } from "./particles";

export const STUDIO_WIDTH = 32;
export const STUDIO_HEIGHT = 16;
/** Cosine lobe by band: π, 2π/3, π/4, here over π so that even light of radiance 1 gives irradiance 1. */
export const LOBE = [1, 2 / 3, 1 / 4] as const;
/** Strength of the particles' glow. */
export const GLOW = 260;
export const SHARE = 0.45;

/** The nine basis functions in direction (x, y, z), written into `out`. */
export function basis(x: number, y: number, z: number, out: Float32Array | number[]): void {
  out[0] = 0.282095;
  out[1] = 0.488603 * y;
  out[2] = 0.488603 * z;
  out[3] = 0.488603 * x;
  out[4] = 1.092548 * x * y;
  out[5] = 1.092548 * y * z;
  out[6] = 0.315392 * (3 * z * z - 1);
  out[7] = 1.092548 * x * z;
  out[8] = 0.546274 * (x * x - y * y);
}

export function bandOf(coefficient: number): 0 | 1 | 2 {
  return coefficient === 0 ? 0 : coefficient < 4 ? 1 : 2;
}

/** Direction of a texel: the picture hangs behind the presenter and, mirrored, stands for the room before them too. */
export function studioDirection(column: number, row: number): [x: number, y: number, z: number, solidAngle: number] {
  const longitude = ((column + 0.5) / STUDIO_WIDTH) * 2 * Math.PI - Math.PI;
  const latitude = Math.PI / 2 - ((row + 0.5) / STUDIO_HEIGHT) * Math.PI;
  const solid = ((2 * Math.PI) / STUDIO_WIDTH) * (Math.PI / STUDIO_HEIGHT) * Math.cos(latitude);
  return [
    Math.sin(longitude) * Math.cos(latitude),
    Math.sin(latitude),
    Math.cos(longitude) * Math.cos(latitude),
    solid,
  ];
}

/**
 * Linear light of the studio as the probe wants it: 32 × 16 texels, rgba. `pixels` is an sRGB picture (rgba, 8 bits) of
 * `width` × `height`; its mean is brought to 1, because the pack's baked light has its own exposure.
 */
export function studioLight(pixels: Uint8ClampedArray, width: number, height: number): Float32Array {
  const out = new Float32Array(STUDIO_WIDTH * STUDIO_HEIGHT * 4);
  for (let row = 0; row < STUDIO_HEIGHT; row += 1) {
    for (let column = 0; column < STUDIO_WIDTH; column += 1) {
      const across = Math.abs(((column + 0.5) / STUDIO_WIDTH) * 2 - 1);
      const x = Math.min(width - 1, Math.floor(across * width));
      const y = Math.min(height - 1, Math.floor(((row + 0.5) / STUDIO_HEIGHT) * height));
      for (let c = 0; c < 3; c += 1) {
        const value = (pixels[(y * width + x) * 4 + c] ?? 0) / 255;
        out[(row * STUDIO_WIDTH + column) * 4 + c] =
          value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      }
    }
  }
  let sum = 0;
  let weight = 0;
  for (let i = 0; i < STUDIO_WIDTH * STUDIO_HEIGHT; i += 1) {
    const solid = studioDirection(0, Math.floor(i / STUDIO_WIDTH))[3];
    sum += (solid * ((out[4 * i] ?? 0) + (out[4 * i + 1] ?? 0) + (out[4 * i + 2] ?? 0))) / 3;
    weight += solid;
  }
  const gain = sum > 0 ? weight / sum : 1;
  return out.map((value) => value * gain);
}

/** Irradiance coefficients of `studio` alone, 9 × rgb. */
export function studioProbe(studio: Float32Array): Float32Array {
  const out = new Float32Array(PROBE_FLOATS);
  const b = new Float32Array(9);
  for (let i = 0; i < STUDIO_WIDTH * STUDIO_HEIGHT; i += 1) {
    const [x, y, z, solid] = studioDirection(i % STUDIO_WIDTH, Math.floor(i / STUDIO_WIDTH));
    basis(x, y, z, b);
    for (let k = 0; k < 9; k += 1) {
      const factor = (b[k] ?? 0) * solid * LOBE[bandOf(k)];
      for (let c = 0; c < 3; c += 1) out[3 * k + c] = (out[3 * k + c] ?? 0) + factor * (studio[4 * i + c] ?? 0);
    }
  }
  return out;
}

/** Add what the particles send to `head` (metres): small discs of their colour, brighter while young. */
export function addGlow(particles: Float32Array, head: readonly [number, number, number], out: Float32Array): void {
  const b = new Float32Array(9);
  for (let at = 0; at < particles.length; at += STRIDE) {
    const life = particles[at + 7] ?? 0;
    if (life <= 0) continue;
    const [dx, dy, dz] = [0, 1, 2].map((k) => (particles[at + k] ?? 0) - (head[k] ?? 0)) as [number, number, number];
    const distance = Math.max(0.08, Math.hypot(dx, dy, dz));
    basis(dx / distance, dy / distance, dz / distance, b);
    const size = particles[at + 3] ?? 0;
    const power = ((GLOW * size * size) / (distance * distance)) * Math.min(1, life) * 0.01;
    const colour = KIND_COLOURS[Math.min(KIND_COLOURS.length - 1, particles[at + 10] ?? 0)] ?? [0, 0, 0];
    for (let k = 0; k < 9; k += 1) {
      const factor = (b[k] ?? 0) * power * LOBE[bandOf(k)];
      for (let c = 0; c < 3; c += 1) out[3 * k + c] = (out[3 * k + c] ?? 0) + factor * (colour[c] ?? 0);
    }
  }
}
