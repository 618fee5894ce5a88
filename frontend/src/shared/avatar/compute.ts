/** Who computes particles and the light probe: a WebGPU worker where there is one, else this thread. */

import { Block, canShare, type Memory, PROBE_FLOATS, STRIDE } from "./memory";
import { step } from "./particles";
import { addGlow, studioProbe } from "./probe";

export type Refusal = "no-webgpu" | "no-adapter" | "device-lost";
/** Why the mode is what it is. */
export type Reason = "available" | "chosen" | Refusal;
export type Head = readonly [number, number, number];

export interface Mode {
  active: "hybrid" | "webgl2";
  reason: Reason;
  /** How results come to the page: `shared` memory, a buffer `transferred` back and forth, or `local` to this thread. */
  memory: "shared" | "transferred" | "local";
  isolated: boolean;
  adapter: string;
}

export type ToWorker =
  | { type: "start"; memory: Memory; count: number }
  | { type: "studio"; light: Float32Array<ArrayBuffer> }
  | { type: "spawn"; first: number; particles: Float32Array<ArrayBuffer> }
  | { type: "step"; sequence: number; dt: number; head: Head; memory?: ArrayBuffer };
export type FromWorker =
  | { type: "ready"; adapter: string }
  | { type: "refused"; reason: Refusal; detail?: string }
  | { type: "done"; sequence: number; computeMs: number; memory?: ArrayBuffer };

export interface WorkerLike {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(message: ToWorker, transfer?: Transferable[]): void;
  terminate(): void;
}

export interface Result {
  particles: Float32Array;
  probe: Float32Array;
  computeMs: number;
}

export interface Compute {
  readonly mode: Mode;
  /** Particles there can be at once, and how many a burst should have. */
  readonly capacity: number;
  setStudio(light: Float32Array<ArrayBuffer>): void;
  spawn(particles: Float32Array<ArrayBuffer>): void;
  /** Ask for the next step and give the newest finished one; never waits. */
  advance(dt: number, head: Head): Result | null;
  dispose(): void;
}

export const LOCAL_CAPACITY = 512;
export const HYBRID_CAPACITY = 4096;
const LONGEST_STEP_S = 0.1;

/** On this thread: few particles; the studio's probe is found once, the glow each frame. */
export class LocalCompute implements Compute {
  readonly capacity = LOCAL_CAPACITY;
  readonly mode: Mode;
  private readonly particles = new Float32Array(LOCAL_CAPACITY * STRIDE);
  private studio: Float32Array = new Float32Array(PROBE_FLOATS);
  private readonly probe = new Float32Array(PROBE_FLOATS);
  private next = 0;

  constructor(reason: Reason) {
    this.mode = { active: "webgl2", reason, memory: "local", isolated: canShare(), adapter: "" };
  }

  setStudio(light: Float32Array): void {
    this.studio = studioProbe(light);
  }

  spawn(particles: Float32Array): void {
    this.next = place(particles, this.next, this.capacity, (first, part) => this.particles.set(part, first * STRIDE));
  }

  advance(dt: number, head: Head): Result {
    const began = performance.now();
    step(this.particles, Math.min(dt, LONGEST_STEP_S));
    this.probe.set(this.studio);
    addGlow(this.particles, head, this.probe);
    return { particles: this.particles, probe: this.probe, computeMs: performance.now() - began };
  }

  dispose(): void {}
}

/** Split a burst where the ring of particles ends; returns where the next one begins. */
function place(
  particles: Float32Array,
  from: number,
  capacity: number,
  put: (first: number, part: Float32Array) => void,
): number {
  const all = particles.subarray(0, capacity * STRIDE);
  const room = (capacity - from) * STRIDE;
  put(from, all.subarray(0, room));
  if (all.length > room) put(0, all.subarray(room));
  return (from + all.length / STRIDE) % capacity;
}

/** In a worker with WebGPU; one step is under way at a time, and the page draws the newest finished one. */
export class HybridCompute implements Compute {
  readonly capacity = HYBRID_CAPACITY;
  readonly mode: Mode;
  private block: Block;
  private readonly shared: boolean;
  private sequence = 0;
  private waiting = false;
  private owed = 0;
  private next = 0;
  private computeMs = 0;
  private shown: Result | null = null;
  private returned: ArrayBuffer | undefined;

  private constructor(
    private readonly worker: WorkerLike,
    block: Block,
    adapter: string,
    private readonly onLost: (reason: Refusal) => void,
  ) {
    this.block = block;
    this.shared = !(block.memory instanceof ArrayBuffer);
    this.mode = {
      active: "hybrid",
      reason: "available",
      memory: this.shared ? "shared" : "transferred",
      isolated: canShare(),
      adapter,
    };
    worker.onmessage = ({ data }) => this.hear(data);
    worker.onerror = () => onLost("device-lost");
  }

  /** The worker with its device, or why there is none. `onLost` is told when the device goes later on. */
  static async start(
    worker: WorkerLike,
    shared: boolean,
    onLost: (reason: Refusal) => void,
  ): Promise<HybridCompute | Refusal> {
    const block = Block.allocate(HYBRID_CAPACITY, shared);
    const answer = await new Promise<FromWorker>((resolve) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = () => resolve({ type: "refused", reason: "device-lost" });
      const message: ToWorker = { type: "start", memory: block.memory, count: HYBRID_CAPACITY };
      if (block.memory instanceof ArrayBuffer) worker.postMessage(message, [block.memory]);
      else worker.postMessage(message);
    });
    if (answer.type !== "ready") {
      worker.terminate();
      return answer.type === "refused" ? answer.reason : "device-lost";
    }
    return new HybridCompute(worker, block, answer.adapter, onLost);
  }

  setStudio(light: Float32Array<ArrayBuffer>): void {
    this.worker.postMessage({ type: "studio", light });
  }

  spawn(particles: Float32Array<ArrayBuffer>): void {
    this.next = place(particles, this.next, this.capacity, (first, part) => {
      this.worker.postMessage({ type: "spawn", first, particles: part.slice() });
    });
  }

  advance(dt: number, head: Head): Result | null {
    this.owed = Math.min(this.owed + dt, LONGEST_STEP_S);
    if (!this.waiting && this.owed > 0) {
      this.sequence += 1;
      const message: ToWorker = { type: "step", sequence: this.sequence, dt: this.owed, head };
      this.owed = 0;
      this.waiting = true;
      if (this.returned) this.worker.postMessage({ ...message, memory: this.returned }, [this.returned]);
      else this.worker.postMessage(message);
      this.returned = undefined;
    }
    return this.shown;
  }

  dispose(): void {
    this.worker.onmessage = null;
    this.worker.terminate();
  }

  private hear(message: FromWorker): void {
    if (message.type === "refused") this.onLost(message.reason);
    if (message.type !== "done") return;
    this.waiting = false;
    this.computeMs = message.computeMs;
    if (message.memory) {
      this.block = new Block(message.memory, this.capacity);
      this.returned = message.memory;
    }
    const [particles, probe] = [this.block.particles(message.sequence), this.block.probe(message.sequence)];
    // A buffer that goes back to the worker cannot be drawn from afterwards; shared memory is drawn as it lies.
    this.shown = this.shared
      ? { particles, probe, computeMs: this.computeMs }
      : { particles: particles.slice(), probe: probe.slice(), computeMs: this.computeMs };
  }
}

export interface Surroundings {
  gpu: boolean;
  shared: boolean;
  worker: () => WorkerLike;
}

function here(): Surroundings {
  return {
    gpu: "gpu" in navigator,
    shared: canShare(),
    worker: () => new Worker(new URL("./compute.worker.ts", import.meta.url), { type: "module" }) as WorkerLike,
  };
}

/** The best there is here, or WebGL 2 alone when that was `chosen`. */
export async function startCompute(
  chosen: "auto" | "webgl2",
  onLost: (reason: Refusal) => void,
  around: Surroundings = here(),
): Promise<Compute> {
  if (chosen === "webgl2") return new LocalCompute("chosen");
  if (!around.gpu) return new LocalCompute("no-webgpu");
  const started = await HybridCompute.start(around.worker(), around.shared, onLost);
  return typeof started === "string" ? new LocalCompute(started) : started;
}
