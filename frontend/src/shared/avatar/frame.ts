/** The host at one instant: 32 weights in [0, 1] and 21 quaternions (x, y, z, w) in the order of `tables.ts`. */

import { JOINTS, WEIGHTS } from "./tables";

export interface MotionFrame {
  readonly weights: Float32Array;
  /** 21 × 4, relative to rest and to the parent joint. */
  readonly joints: Float32Array;
}

export function restFrame(): MotionFrame {
  const joints = new Float32Array(JOINTS.length * 4);
  for (let i = 3; i < joints.length; i += 4) joints[i] = 1;
  return { weights: new Float32Array(WEIGHTS.length), joints };
}

/** The frame `share` of the way from `a` to `b` (beyond 1 runs on), written into `out`: weights linear, joints by slerp. */
export function mixFrames(a: MotionFrame, b: MotionFrame, share: number, out: MotionFrame): MotionFrame {
  for (let i = 0; i < out.weights.length; i += 1) {
    const from = a.weights[i] ?? 0;
    out.weights[i] = Math.min(1, Math.max(0, from + share * ((b.weights[i] ?? 0) - from)));
  }
  for (let at = 0; at < out.joints.length; at += 4) slerp(a.joints, b.joints, at, share, out.joints);
  return out;
}

function slerp(a: Float32Array, b: Float32Array, at: number, share: number, out: Float32Array): void {
  let dot = 0;
  for (let k = at; k < at + 4; k += 1) dot += (a[k] ?? 0) * (b[k] ?? 0);
  const sign = dot < 0 ? -1 : 1;
  const angle = Math.acos(Math.min(1, Math.abs(dot)));
  const sine = Math.sin(angle);
  const near = sine < 1e-4;
  const from = near ? 1 - share : Math.sin((1 - share) * angle) / sine;
  const to = sign * (near ? share : Math.sin(share * angle) / sine);
  let length = 0;
  for (let k = at; k < at + 4; k += 1) {
    const value = from * (a[k] ?? 0) + to * (b[k] ?? 0);
    out[k] = value;
    length += value * value;
  }
  length = Math.sqrt(length);
  if (length > 1e-6) for (let k = at; k < at + 4; k += 1) out[k] = (out[k] ?? 0) / length;
}
