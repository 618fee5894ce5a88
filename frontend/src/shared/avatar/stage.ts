/** The running preview: motion in, pictures out, with what it costs. Loaded only when a presenter is looked at. */

import { type Compute, HYBRID_CAPACITY, LocalCompute, type Mode, type Reason, startCompute } from "./compute";
import type { Aspect } from "./extension";
import { type MotionFrame, restFrame } from "./frame";
import { anyAlive, burst, type Gift } from "./particles";
import { SHARE, studioLight } from "./probe";
import { PresenterView } from "./view";

export interface Stats {
  fps: number;
  /** Milliseconds of this thread for one frame, mean of the last second. */
  drawMs: number;
  /** Milliseconds from asking for a step to having it; in hybrid mode beside the drawing, not in it. */
  computeMs: number;
}

/** Where the frame comes from at a time of `performance.now()`; false when there is none yet. */
export type Source = (nowMs: number, out: MotionFrame) => boolean;

const STATS_EVERY_MS = 500;
/** Small, so that one picture's light costs nothing to read. */
const LIGHT_WIDTH = 64;
const LIGHT_HEIGHT = 36;

export class Stage {
  readonly view: PresenterView;
  private compute: Compute | null = null;
  private readonly frame = restFrame();
  private source: Source = () => false;
  private running = 0;
  private lastMs = 0;
  private drawn = 0;
  private spentMs = 0;
  private computeMs = 0;
  private sinceMs = 0;
  private light: Float32Array<ArrayBuffer> | null = null;
  private disposed = false;
  private wanted: "auto" | "webgl2" = "auto";
  /** Where in the sample the preview is, kept over a pause and a change of what moves it. */
  sampleMs = 0;

  /** @throws Error when there is no WebGL 2. */
  constructor(
    canvas: HTMLCanvasElement,
    private readonly told: { onMode: (mode: Mode) => void; onStats: (stats: Stats) => void },
  ) {
    this.view = new PresenterView(canvas, HYBRID_CAPACITY);
  }

  /** Take the best mode there is, or WebGL 2 alone. */
  async choose(wanted: "auto" | "webgl2"): Promise<void> {
    this.wanted = wanted;
    const next = await startCompute(wanted, (reason) => this.fallBack(reason));
    if (this.disposed || this.wanted !== wanted) {
      next.dispose();
      return;
    }
    this.use(next);
  }

  private fallBack(reason: Reason): void {
    if (this.disposed || this.compute?.mode.active !== "hybrid") return;
    this.use(new LocalCompute(reason));
  }

  private use(next: Compute): void {
    this.compute?.dispose();
    this.compute = next;
    if (this.light) next.setStudio(this.light);
    this.told.onMode(next.mode);
  }

  setSource(source: Source): void {
    this.source = source;
  }

  setAspect(aspect: Aspect): void {
    this.view.setAspect(aspect);
  }

  setBackdrop(image: HTMLImageElement | null): void {
    this.view.setBackdrop(image);
    this.light = null;
    if (!image) return;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [LIGHT_WIDTH, LIGHT_HEIGHT];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (!context) return;
    context.drawImage(image, 0, 0, LIGHT_WIDTH, LIGHT_HEIGHT);
    const { data } = context.getImageData(0, 0, LIGHT_WIDTH, LIGHT_HEIGHT);
    this.light = new Float32Array(studioLight(data, LIGHT_WIDTH, LIGHT_HEIGHT));
    this.compute?.setStudio(this.light);
  }

  /** A viewer's gift: hearts or confetti. */
  gift(kind: Gift): void {
    if (!this.compute) return;
    this.compute.spawn(burst(kind, Math.floor(this.compute.capacity / 4), this.head()));
  }

  start(): void {
    if (this.running) return;
    this.sinceMs = this.lastMs = performance.now();
    const tick = (nowMs: number) => {
      this.running = requestAnimationFrame(tick);
      this.draw(nowMs);
    };
    this.running = requestAnimationFrame(tick);
  }

  stop(): void {
    cancelAnimationFrame(this.running);
    this.running = 0;
  }

  /** Draw the moment `nowMs`. */
  draw(nowMs: number): void {
    const began = performance.now();
    const dt = Math.max(0, (nowMs - this.lastMs) / 1000);
    this.lastMs = nowMs;
    this.source(nowMs, this.frame);
    const result = this.compute?.advance(dt, this.head());
    if (result) {
      this.view.sprites.show(result.particles, anyAlive(result.particles));
      this.view.setProbe(result.probe, this.light ? SHARE : 0);
      this.computeMs += result.computeMs;
    }
    this.view.draw(this.frame);
    this.drawn += 1;
    this.spentMs += performance.now() - began;
    const seconds = (nowMs - this.sinceMs) / 1000;
    if (seconds * 1000 < STATS_EVERY_MS) return;
    this.told.onStats({
      fps: this.drawn / seconds,
      drawMs: this.spentMs / this.drawn,
      computeMs: this.computeMs / this.drawn,
    });
    this.sinceMs = nowMs;
    this.drawn = this.spentMs = this.computeMs = 0;
  }

  dispose(): void {
    this.disposed = true;
    this.stop();
    this.compute?.dispose();
    this.view.dispose();
  }

  private head(): readonly [number, number, number] {
    return this.view.head;
  }
}
