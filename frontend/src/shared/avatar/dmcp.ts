/** DMCP 1.2 as a watcher needs it (docs/dmcp.md): motion frames from bytes and from JSON, and what was lost on the way. */

import type { MotionFrame } from "./frame";
import { restFrame } from "./frame";
import { ARKIT, JOINTS, TO_ARKIT, WEIGHTS } from "./tables";

export const FRAME_BYTES = 250;
export const PROTOCOL = "dmcp.1.2";
export const FLAG = { speech: 0x01, silent: 0x02, face: 0x04, pose: 0x08, head: 0x10, live: 0x40 } as const;
const KNOWN_FLAGS = 0x5f;
const HEADER = 0x444d1201;
const UNIT_TOLERANCE = 0.02;
/** Float noise of a sender. */
const RANGE_TOLERANCE = 1e-4;
const WHOLE = FLAG.face | FLAG.pose;

export interface Motion extends MotionFrame {
  tsMs: number;
  /** 0 … 2³² − 1; null when a JSON frame gave none. */
  sequence: number | null;
  flags: number;
}

/** A frame that is not one; `code` is DMCP's. */
export class DmcpError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** @throws DmcpError 4214 for another length, 4213 for a foreign header, 4212 for a quaternion that is none. */
export function decodeBinary(buffer: ArrayBuffer, offset = 0, bytes = buffer.byteLength - offset): Motion {
  if (bytes !== FRAME_BYTES) throw new DmcpError(4214, `a motion frame has ${FRAME_BYTES} bytes, this one ${bytes}`);
  const view = new DataView(buffer, offset, FRAME_BYTES);
  if (view.getUint32(0, false) !== HEADER)
    throw new DmcpError(4213, "no DMCP 1.2 motion frame: wrong magic or version");
  const flags = view.getUint16(16, true);
  if (flags & ~KNOWN_FLAGS) throw new DmcpError(4213, `flags ${flags}: reserved bits are set`);
  const frame = restFrame();
  for (let i = 0; i < WEIGHTS.length; i += 1) frame.weights[i] = view.getUint16(18 + 2 * i, true) / 65_535;
  for (let i = 0; i < frame.joints.length; i += 1) frame.joints[i] = view.getInt16(82 + 2 * i, true) / 32_767;
  normalise(frame.joints);
  return { ...frame, flags, sequence: view.getUint32(4, true), tsMs: Number(view.getBigInt64(8, true)) };
}

interface Wire {
  ts?: unknown;
  sid?: unknown;
  seq?: unknown;
  speech?: unknown;
  live?: unknown;
  payload?: { face_blendshapes?: unknown; arkit_blendshapes?: unknown; pose_keypoints?: unknown; head?: unknown };
}

/** @throws DmcpError 41xx for what is no message, 42xx for what is no frame. */
export function decodeJson(text: string, sid: string): Motion {
  const wire = parse(text);
  if (wire.sid !== sid) throw new DmcpError(4007, `the frame is of session '${String(wire.sid)}', not '${sid}'`);
  if (!Number.isSafeInteger(wire.ts)) throw new DmcpError(4201, "ts must be whole Unix milliseconds");
  const sequence = wire.seq === undefined ? null : wire.seq;
  if (
    sequence !== null &&
    !(Number.isInteger(sequence) && (sequence as number) >= 0 && (sequence as number) < 2 ** 32)
  ) {
    throw new DmcpError(4215, "seq must be a whole number from 0 to 4294967295");
  }
  const payload = wire.payload ?? {};
  const frame = restFrame();
  let flags = wire.speech === true ? FLAG.speech : wire.speech === false ? FLAG.silent : 0;
  if (wire.live === true) flags |= FLAG.live;
  if (payload.arkit_blendshapes !== undefined) {
    fromArkit(payload.arkit_blendshapes, frame.weights);
    flags |= FLAG.face;
  } else {
    named(payload.face_blendshapes, frame.weights);
    flags |= WHOLE;
  }
  if (payload.pose_keypoints !== undefined || payload.arkit_blendshapes === undefined) {
    pose(payload.pose_keypoints, frame.joints);
    flags |= FLAG.pose;
  } else if (payload.head !== undefined) {
    shareHead(payload.head, frame.joints);
    flags |= FLAG.head;
  }
  return { ...frame, flags, sequence: sequence as number | null, tsMs: wire.ts as number };
}

function parse(text: string): Wire {
  let wire: unknown;
  try {
    wire = JSON.parse(text);
  } catch {
    throw new DmcpError(4101, "not JSON");
  }
  if (typeof wire !== "object" || wire === null || !("payload" in wire) || typeof wire.payload !== "object") {
    throw new DmcpError(4101, "no payload");
  }
  return wire as Wire;
}

function named(given: unknown, out: Float32Array): void {
  const values = record(given);
  const names = Object.keys(values);
  const unknown = names.find((name) => !WEIGHTS.includes(name as (typeof WEIGHTS)[number]));
  if (unknown !== undefined) throw new DmcpError(4206, `weight '${unknown}' is not in the vocabulary`);
  if (names.length !== WEIGHTS.length)
    throw new DmcpError(4205, `${names.length} weights instead of ${WEIGHTS.length}`);
  WEIGHTS.forEach((name, i) => {
    out[i] = weight(values[name], name);
  });
}

function fromArkit(given: unknown, out: Float32Array): void {
  const values = record(given);
  const shapes = new Float32Array(ARKIT.length);
  for (const [name, value] of Object.entries(values)) {
    const at = ARKIT.indexOf((name.charAt(0).toLowerCase() + name.slice(1)) as (typeof ARKIT)[number]);
    if (at >= 0) shapes[at] = weight(value, name);
    else if (!/^(Head|LeftEye|RightEye)(Yaw|Pitch|Roll)$/.test(name)) {
      throw new DmcpError(4206, `shape '${name}' is not one of ARKit's`);
    }
  }
  // No shape is moved by two weights, so least squares takes each weight alone.
  const norm = new Float32Array(WEIGHTS.length);
  for (const [w, s, gain] of TO_ARKIT) {
    out[w] = (out[w] ?? 0) + gain * (shapes[s] ?? 0);
    norm[w] = (norm[w] ?? 0) + gain * gain;
  }
  for (let i = 0; i < out.length; i += 1) out[i] = Math.min(1, Math.max(0, (out[i] ?? 0) / (norm[i] || 1)));
}

function record(given: unknown): Record<string, unknown> {
  if (typeof given !== "object" || given === null) throw new DmcpError(4101, "the face's weights are missing");
  return given as Record<string, unknown>;
}

function weight(value: unknown, name: string): number {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new DmcpError(4207, `weight '${name}' is no number`);
  if (value < -RANGE_TOLERANCE || value > 1 + RANGE_TOLERANCE) {
    throw new DmcpError(4208, `weight '${name}' is ${value}, outside [0, 1]`);
  }
  return Math.min(1, Math.max(0, value));
}

function pose(given: unknown, out: Float32Array): void {
  if (!Array.isArray(given) || given.length !== JOINTS.length) throw new DmcpError(4209, `not ${JOINTS.length} joints`);
  given.forEach((row, j) => {
    quaternion(row, out, j);
  });
  normalise(out);
}

function quaternion(row: unknown, out: Float32Array, joint: number): void {
  if (!Array.isArray(row) || row.length !== 4) throw new DmcpError(4210, `joint ${JOINTS[joint]} has not 4 components`);
  row.forEach((value, k) => {
    if (typeof value !== "number" || !Number.isFinite(value)) {
      throw new DmcpError(4211, `joint ${JOINTS[joint]} is not finite`);
    }
    out[joint * 4 + k] = value;
  });
}

/** Half of the rotation for the neck, half for the head. */
function shareHead(given: unknown, out: Float32Array): void {
  const whole = new Float32Array(4);
  quaternion(given, whole, 0);
  normalise(whole);
  const [x = 0, y = 0, z = 0, w = 1] = whole;
  const sign = w < 0 ? -1 : 1;
  const half = Float32Array.of(sign * x, sign * y, sign * z, sign * w + 1);
  const length = Math.hypot(...half) || 1;
  for (const name of ["neck", "head"] as const)
    out.set(
      half.map((v) => v / length),
      JOINTS.indexOf(name) * 4,
    );
}

function normalise(joints: Float32Array): void {
  for (let at = 0; at < joints.length; at += 4) {
    const length = Math.hypot(joints[at] ?? 0, joints[at + 1] ?? 0, joints[at + 2] ?? 0, joints[at + 3] ?? 0);
    if (!(Math.abs(length - 1) <= UNIT_TOLERANCE)) {
      throw new DmcpError(4212, `joint ${JOINTS[at / 4]}: length ${length.toFixed(4)} is not 1`);
    }
    for (let k = at; k < at + 4; k += 1) joints[k] = (joints[k] ?? 0) / length;
  }
}

/** Counts of one sender as in RFC 3550 (A.3, A.8): expected minus received is lost, jitter is smoothed by 1/16. */
export class Reception {
  received = 0;
  reordered = 0;
  duplicate = 0;
  jitterMs = 0;
  private first = -1;
  private highest = -1;
  private transitMs: number | null = null;
  private recent: number[] = [];

  get lost(): number {
    return this.first < 0 ? 0 : Math.max(0, this.highest - this.first + 1 - this.received);
  }

  /** Count a frame; true when it is newer than all before it. Numbers wrap at 2³². */
  take(sequence: number, tsMs: number, arrivedMs: number): boolean {
    if (this.first < 0) {
      this.first = this.highest = sequence;
      this.recent = [sequence];
      this.count(tsMs, arrivedMs);
      return true;
    }
    const ahead = (((sequence - this.highest) % 2 ** 32) + 2 ** 32) % 2 ** 32;
    const extended = this.highest + (ahead < 2 ** 31 ? ahead : ahead - 2 ** 32);
    if (this.recent.includes(extended)) {
      this.duplicate += 1;
      return false;
    }
    this.recent.push(extended);
    if (this.recent.length > 128) this.recent.shift();
    this.count(tsMs, arrivedMs);
    if (extended < this.highest) {
      this.first = Math.min(this.first, extended);
      this.reordered += 1;
      return false;
    }
    this.highest = extended;
    return true;
  }

  private count(tsMs: number, arrivedMs: number): void {
    this.received += 1;
    const transit = arrivedMs - tsMs;
    if (this.transitMs !== null) this.jitterMs += (Math.abs(transit - this.transitMs) - this.jitterMs) / 16;
    this.transitMs = transit;
  }
}
