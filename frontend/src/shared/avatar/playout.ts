/** A jitter buffer of motion frames on the sender's clock, as the body has one (gpu_engine/motion/live.py). */

import { type MotionFrame, mixFrames } from "./frame";

export const MIN_DELAY_MS = 10;
export const MAX_DELAY_MS = 250;
/** A late source's movement runs out within about this time instead of stopping dead. */
const EXTRAPOLATE_MS = 60;
const MAX_SHARE = 2.5;
const WINDOW_MS = 3_000;
const LONGEST_INTERVAL_MS = 200;
const KEPT = 64;

/**
 * Plays frames late by the 95th percentile of (arrival − capture) over 3 s plus one frame interval, and goes to that delay
 * slowly. Only differences between the two clocks count.
 */
export class PlayOut {
  private frames: { tsMs: number; frame: MotionFrame }[] = [];
  private transits: { arrivedMs: number; transitMs: number }[] = [];
  private delayMs: number | null = null;
  private targetMs = 0;
  private intervalMs = 40;
  private atMs = 0;
  /** The last pose given was not between two frames. */
  ranDry = false;

  /** What the smoothing costs, over the quickest frame. */
  get smoothingMs(): number {
    if (this.delayMs === null || this.transits.length === 0) return 0;
    return this.delayMs - Math.min(...this.transits.map((t) => t.transitMs));
  }

  clear(): void {
    this.frames = [];
    this.transits = [];
    this.delayMs = null;
    this.intervalMs = 40;
  }

  push(frame: MotionFrame, tsMs: number, arrivedMs: number): void {
    const last = this.frames.at(-1);
    if (last) {
      const step = tsMs - last.tsMs;
      if (step <= 0) return;
      this.intervalMs += 0.1 * (Math.min(step, LONGEST_INTERVAL_MS) - this.intervalMs);
    }
    this.frames.push({ tsMs, frame });
    if (this.frames.length > KEPT) this.frames.shift();
    this.transits.push({ arrivedMs, transitMs: arrivedMs - tsMs });
    while ((this.transits[0]?.arrivedMs ?? arrivedMs) < arrivedMs - WINDOW_MS) this.transits.shift();
    const sorted = this.transits.map((t) => t.transitMs).sort((a, b) => a - b);
    const quickest = sorted[0] ?? 0;
    const late = sorted[Math.min(sorted.length - 1, Math.floor(0.95 * sorted.length))] ?? quickest;
    this.targetMs = quickest + Math.min(Math.max(late - quickest + this.intervalMs, MIN_DELAY_MS), MAX_DELAY_MS);
  }

  /** Write the pose for this moment into `out`; false before the first frame. */
  at(nowMs: number, out: MotionFrame): boolean {
    const step = nowMs - this.atMs;
    this.atMs = nowMs;
    if (this.frames.length === 0) return false;
    if (this.delayMs === null) this.delayMs = this.targetMs;
    else this.delayMs += Math.min(Math.max(this.targetMs - this.delayMs, -0.1 * step), 0.25 * step);
    const moment = nowMs - this.delayMs;
    while (this.frames.length > 2 && (this.frames[1]?.tsMs ?? moment + 1) <= moment) this.frames.shift();
    const [first, second] = this.frames;
    if (!first) return false;
    if (!second) {
      this.ranDry = moment > first.tsMs;
      mixFrames(first.frame, first.frame, 0, out);
      return true;
    }
    const span = second.tsMs - first.tsMs;
    let share = (moment - first.tsMs) / span;
    this.ranDry = share > 1;
    if (share > 1) {
      const over = (share - 1) * span;
      share = Math.min(1 + (EXTRAPOLATE_MS * (1 - Math.exp(-over / EXTRAPOLATE_MS))) / span, MAX_SHARE);
    }
    mixFrames(first.frame, second.frame, Math.max(share, 0), out);
    return true;
  }
}
