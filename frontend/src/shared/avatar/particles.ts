/** Hearts and confetti: how a burst begins and how it moves. The step's twin on the graphics card is in compute.wgsl.ts. */

import { STRIDE } from "./memory";

export const GRAVITY = -0.55;
/** Share of velocity lost each second. */
export const DRAG = 1.6;
export const SWAY = 0.35;

export type Gift = "hearts" | "confetti";
/** Kinds above this one are confetti, each in a colour of its own. */
export const HEARTS = 2;
export const KINDS = 8;

/** A burst of `count` particles from both sides of `origin`, metres. */
export function burst(
  gift: Gift,
  count: number,
  origin: readonly [number, number, number],
  random: () => number = Math.random,
): Float32Array<ArrayBuffer> {
  const out = new Float32Array(count * STRIDE);
  for (let i = 0; i < count; i += 1) {
    const side = i % 2 === 0 ? -1 : 1;
    const hearts = gift === "hearts";
    const lift = hearts ? 0.55 + 0.75 * random() : 0.7 + 1.1 * random();
    out.set(
      [
        origin[0] + side * (0.16 + 0.3 * random()),
        origin[1] - 0.25 + 0.15 * random(),
        origin[2] + 0.1 * (random() - 0.5),
        hearts ? 0.008 + 0.012 * random() : 0.004 + 0.006 * random(),
        side * (0.1 - 0.45 * random()),
        lift,
        0.2 * (random() - 0.3),
        1,
        6.283 * random(),
        (random() - 0.5) * (hearts ? 1.5 : 14),
        hearts ? Math.floor(random() * HEARTS) : HEARTS + Math.floor(random() * (KINDS - HEARTS)),
        1.6 + 1.8 * random(),
      ],
      i * STRIDE,
    );
  }
  return out;
}

/** Move all living particles on by `dt` seconds; what has no life left stays where it is, of size 0 when drawn. */
export function step(particles: Float32Array, dt: number): void {
  const keep = Math.exp(-DRAG * dt);
  for (let at = 0; at < particles.length; at += STRIDE) {
    const life = particles[at + 7] ?? 0;
    if (life <= 0) continue;
    const angle = (particles[at + 8] ?? 0) + (particles[at + 9] ?? 0) * dt;
    const vx = ((particles[at + 4] ?? 0) + SWAY * Math.sin(angle) * dt) * keep;
    const vy = ((particles[at + 5] ?? 0) + GRAVITY * dt) * keep;
    const vz = (particles[at + 6] ?? 0) * keep;
    particles[at] = (particles[at] ?? 0) + vx * dt;
    particles[at + 1] = (particles[at + 1] ?? 0) + vy * dt;
    particles[at + 2] = (particles[at + 2] ?? 0) + vz * dt;
    particles[at + 4] = vx;
    particles[at + 5] = vy;
    particles[at + 6] = vz;
    particles[at + 7] = life - dt / (particles[at + 11] || 1);
    particles[at + 8] = angle;
  }
}

export function anyAlive(particles: Float32Array): boolean {
  for (let at = 7; at < particles.length; at += STRIDE) if ((particles[at] ?? 0) > 0) return true;
  return false;
}

/** Linear light of a kind, as drawn and as it falls on the face. */
export const KIND_COLOURS: readonly (readonly [number, number, number])[] = [
  [1.0, 0.07, 0.16],
  [1.0, 0.22, 0.34],
  [1.0, 0.62, 0.08],
  [0.1, 0.5, 1.0],
  [0.12, 0.8, 0.35],
  [0.95, 0.25, 0.75],
  [0.98, 0.88, 0.3],
  [0.6, 0.4, 1.0],
];
