/** From a motion frame to what a pack's mesh is moved by; the rules are those of the CPU renderer (gpu_engine/avatar/cpu.py). */

import type { AvatarExtension } from "./extension";
import { ARKIT, TO_ARKIT, WEIGHTS } from "./tables";

const at = Object.fromEntries(WEIGHTS.map((name, i) => [name, i])) as Record<(typeof WEIGHTS)[number], number>;
const LID = ["eyeWide", "eyeSquint", "eyeLookDown", "eyeLookUp"] as const;

/** Weights in [0, 1], not numbers as 0; lids close once: what brings them part of the way fades while a blink closes. */
export function drawnWeights(raw: Float32Array, out: Float32Array): void {
  for (let i = 0; i < out.length; i += 1) out[i] = Math.min(1, Math.max(0, raw[i] || 0));
  const shut = Math.max(out[at.eyeBlinkLeft] ?? 0, out[at.eyeBlinkRight] ?? 0);
  for (const name of LID) out[at[name]] = (out[at[name]] ?? 0) * (1 - shut);
}

/** The 52 shapes of weights, by the one matrix. */
export function shapesOf(weights: Float32Array, out: Float32Array): void {
  out.fill(0);
  for (const [weight, shape, gain] of TO_ARKIT) out[shape] = (out[shape] ?? 0) + gain * (weights[weight] ?? 0);
}

/** Yaw to the host's left and pitch down of both eyeballs, radians. */
export function gazeOf(raw: Float32Array, gaze: AvatarExtension["gaze"]): { yaw: number; pitch: number } {
  const value = (name: keyof typeof at) => Math.min(1, Math.max(0, raw[at[name]] || 0));
  const { horizontal, up, down } = gaze.degrees_per_unit;
  const degrees = Math.PI / 180;
  return {
    yaw: horizontal * degrees * (value("eyeLookLeft") - value("eyeLookRight")),
    pitch: down * degrees * value("eyeLookDown") - up * degrees * value("eyeLookUp"),
  };
}

/** Share of light inside the mouth: barely open it is dark. */
export function mouthLight(weights: Float32Array): number {
  const w = (name: keyof typeof at) => weights[at[name]] ?? 0;
  const gap = w("jawOpen") * (1 - w("mouthClose")) + 0.35 * (w("mouthUpperUp") + w("mouthLowerDown"));
  return 0.36 + 0.64 * Math.min(1, gap / 0.22);
}

/** The quaternion at `from` in `joints`, held at `limit` radians; no length or no number turns nothing. */
export function heldTurn(joints: Float32Array, from: number, limit: number): [number, number, number, number] {
  let [x, y, z, w] = [joints[from] ?? 0, joints[from + 1] ?? 0, joints[from + 2] ?? 0, joints[from + 3] ?? 0];
  const length = Math.hypot(x, y, z, w);
  if (!(length > 1e-6 && length < 1e6)) return [0, 0, 0, 1];
  const norm = w < 0 ? -length : length;
  [x, y, z, w] = [x / norm, y / norm, z / norm, w / norm];
  const half = Math.acos(Math.min(1, w));
  if (2 * half <= limit) return [x, y, z, w];
  const gain = Math.sin(limit / 2) / Math.sin(half);
  return [x * gain, y * gain, z * gain, Math.cos(limit / 2)];
}

/** Shapes that turn eyeballs in viewers that know morphs alone; here the spheres turn. */
export const LOOK_SHAPES: ReadonlySet<number> = new Set(
  ARKIT.flatMap((name, i) => (name.startsWith("eyeLook") ? [i] : [])),
);
