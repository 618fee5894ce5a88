/** A few seconds of real motion to look at without a session: DMCP frames end to end, the last leading to the first. */

import { decodeBinary, FRAME_BYTES } from "./dmcp";
import { type MotionFrame, mixFrames } from "./frame";

export class SampleMotion {
  private readonly frames: MotionFrame[] = [];
  private readonly intervalMs: number;

  /** @throws DmcpError when the bytes are no whole frames. */
  constructor(data: ArrayBuffer) {
    const times: number[] = [];
    for (let at = 0; at < data.byteLength; at += FRAME_BYTES) {
      const motion = decodeBinary(data, at, Math.min(FRAME_BYTES, data.byteLength - at));
      this.frames.push(motion);
      times.push(motion.tsMs);
    }
    this.intervalMs = times.length > 1 ? ((times.at(-1) ?? 0) - (times[0] ?? 0)) / (times.length - 1) : 40;
  }

  get durationMs(): number {
    return this.frames.length * this.intervalMs;
  }

  at(timeMs: number, out: MotionFrame): void {
    const position = (((timeMs % this.durationMs) + this.durationMs) % this.durationMs) / this.intervalMs;
    const low = Math.floor(position) % this.frames.length;
    const first = this.frames[low];
    const second = this.frames[(low + 1) % this.frames.length];
    if (first && second) mixFrames(first, second, position - Math.floor(position), out);
  }
}
