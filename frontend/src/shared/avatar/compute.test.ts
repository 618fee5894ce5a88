import { describe, expect, it } from "vitest";
import { type FromWorker, HYBRID_CAPACITY, startCompute, type ToWorker, type WorkerLike } from "./compute";
import { ALIGN, Block, canShare, layoutFor, PROBE_FLOATS, STRIDE } from "./memory";
import { anyAlive, burst, step } from "./particles";
import { addGlow, STUDIO_HEIGHT, STUDIO_WIDTH, studioLight, studioProbe } from "./probe";

/** A device that moves particles with the reference program, behind the worker's own messages. */
class FakeWorker implements WorkerLike {
  onmessage: WorkerLike["onmessage"] = null;
  onerror: WorkerLike["onerror"] = null;
  readonly heard: ToWorker[] = [];
  terminated = false;
  private block: Block | null = null;
  private readonly own = new Float32Array(HYBRID_CAPACITY * STRIDE);

  constructor(private readonly adapter: boolean) {}

  postMessage(message: ToWorker): void {
    this.heard.push(message);
    if (message.type === "start") {
      this.block = new Block(message.memory, message.count);
      this.say(this.adapter ? { type: "ready", adapter: "fake" } : { type: "refused", reason: "no-adapter" });
    } else if (message.type === "spawn") this.own.set(message.particles, message.first * STRIDE);
  }

  /** Finish the step that was asked for last. */
  finish(): void {
    const asked = this.heard.findLast((message) => message.type === "step");
    if (asked?.type !== "step" || !this.block) throw new Error("no step was asked for");
    if (asked.memory) this.block = new Block(asked.memory, HYBRID_CAPACITY);
    step(this.own, asked.dt);
    this.block.particles(asked.sequence).set(this.own);
    this.block.probe(asked.sequence).fill(asked.sequence);
    this.block.publish(asked.sequence);
    const { memory } = this.block;
    this.say({
      type: "done",
      sequence: asked.sequence,
      computeMs: 3,
      ...(memory instanceof ArrayBuffer ? { memory } : {}),
    });
  }

  say(message: FromWorker): void {
    this.onmessage?.({ data: message } as MessageEvent<FromWorker>);
  }

  terminate(): void {
    this.terminated = true;
  }
}

const HEAD = [0, 0.6, 0.1] as const;
const never = () => {
  throw new Error("not lost");
};

describe("the block of memory", () => {
  it.each([1, 511, 4096])(
    "begins every region at a multiple of 256 bytes and overlaps none (%d particles)",
    (count) => {
      const { probeAt, slotAt, bytes } = layoutFor(count);
      for (const at of [probeAt, ...slotAt, bytes]) expect(at % ALIGN).toBe(0);
      expect(probeAt + 2 * PROBE_FLOATS * 4).toBeLessThanOrEqual(slotAt[0]);
      expect(slotAt[0] + count * STRIDE * 4).toBeLessThanOrEqual(slotAt[1]);
      expect(slotAt[1] + count * STRIDE * 4).toBeLessThanOrEqual(bytes);
    },
  );

  it("is shared only where the page is cross-origin isolated", () => {
    expect(canShare({ crossOriginIsolated: true, SharedArrayBuffer })).toBe(true);
    expect(canShare({ crossOriginIsolated: false, SharedArrayBuffer })).toBe(false);
    expect(canShare({ crossOriginIsolated: true })).toBe(false);
  });

  it("shows the last step while the next is written", () => {
    const block = Block.allocate(4, true);
    block.particles(1).fill(1);
    block.publish(1);
    block.particles(2).fill(2);
    expect(block.sequence).toBe(1);
    expect(block.particles(block.sequence)[0]).toBe(1);
  });
});

describe("the mode", () => {
  const around = (gpu: boolean, worker: FakeWorker, shared = true) => ({ gpu, shared, worker: () => worker });

  it.each([
    ["no WebGPU", "auto", false, true, "webgl2", "no-webgpu"],
    ["no adapter", "auto", true, false, "webgl2", "no-adapter"],
    ["WebGPU", "auto", true, true, "hybrid", "available"],
    ["a choice", "webgl2", true, true, "webgl2", "chosen"],
  ] as const)("with %s is as it must be, and says why", async (_, chosen, gpu, adapter, active, reason) => {
    const worker = new FakeWorker(adapter);
    const { mode } = await startCompute(chosen, never, around(gpu, worker));
    expect([mode.active, mode.reason]).toEqual([active, reason]);
    expect(worker.terminated).toBe(gpu && !adapter && chosen === "auto");
  });

  it.each([true, false])(
    "hybrid hands on particles and probe, one step at a time (shared memory: %s)",
    async (shared) => {
      const worker = new FakeWorker(true);
      const compute = await startCompute("auto", never, around(true, worker, shared));
      expect(compute.mode.memory).toBe(shared ? "shared" : "transferred");
      compute.spawn(burst("hearts", 10, HEAD, () => 0.5));
      expect(compute.advance(0.02, HEAD)).toBeNull();
      compute.advance(0.02, HEAD);
      expect(worker.heard.filter((message) => message.type === "step")).toHaveLength(1);
      worker.finish();
      const first = compute.advance(0.02, HEAD);
      expect([first?.probe[0], first?.computeMs, first && anyAlive(first.particles)]).toEqual([1, 3, true]);
      const height = first?.particles[1] ?? 0;
      // The time of the frame that found the worker busy is not lost.
      expect(worker.heard.at(-1)).toMatchObject({ type: "step", sequence: 2, dt: 0.04 });
      worker.finish();
      const second = compute.advance(0.02, HEAD);
      expect(second?.probe[0]).toBe(2);
      expect(second?.particles[1]).toBeGreaterThan(height);
    },
  );

  it("puts bursts one after the other and begins anew at the end", async () => {
    const worker = new FakeWorker(true);
    const compute = await startCompute("auto", never, around(true, worker));
    for (let i = 0; i < 5; i += 1) compute.spawn(burst("confetti", 1_000, HEAD));
    const spawned = worker.heard.flatMap((m) => (m.type === "spawn" ? [[m.first, m.particles.length / STRIDE]] : []));
    expect(spawned).toEqual([
      [0, 1000],
      [1000, 1000],
      [2000, 1000],
      [3000, 1000],
      [4000, 96],
      [0, 904],
    ]);
  });

  it("tells when the device is lost", async () => {
    const worker = new FakeWorker(true);
    const lost: string[] = [];
    await startCompute("auto", (reason) => lost.push(reason), around(true, worker));
    worker.say({ type: "refused", reason: "device-lost" });
    expect(lost).toEqual(["device-lost"]);
  });
});

describe("particles", () => {
  it("rise, slow down, fall and end", () => {
    const particles = burst("confetti", 40, HEAD, () => 0.5);
    const heights: number[] = [];
    for (let i = 0; i < 400 && anyAlive(particles); i += 1) {
      step(particles, 0.02);
      heights.push(particles[1] ?? 0);
    }
    const top = heights.indexOf(Math.max(...heights));
    expect(top).toBeGreaterThan(5);
    expect(heights.at(-1)).toBeLessThan(heights[top] ?? 0);
    expect(heights.length * 0.02).toBeCloseTo(2.5, 1);
    expect(anyAlive(particles)).toBe(false);
  });
});

describe("the light probe", () => {
  const irradiance = (probe: Float32Array, n: readonly [number, number, number], c: number) => {
    const [x, y, z] = n;
    const b = [
      0.282095,
      0.488603 * y,
      0.488603 * z,
      0.488603 * x,
      1.092548 * x * y,
      1.092548 * y * z,
      0.315392 * (3 * z * z - 1),
      1.092548 * x * z,
      0.546274 * (x * x - y * y),
    ];
    return b.reduce((sum, value, k) => sum + value * (probe[3 * k + c] ?? 0), 0);
  };

  it("of even light is even and 1", () => {
    const studio = new Float32Array(STUDIO_WIDTH * STUDIO_HEIGHT * 4).fill(1);
    const probe = studioProbe(studio);
    for (const n of [
      [0, 1, 0],
      [1, 0, 0],
      [0, 0, -1],
    ] as const)
      expect(irradiance(probe, n, 1)).toBeCloseTo(1, 1);
  });

  it("of a picture bright above is bright above, whatever the picture's exposure", () => {
    const pixels = new Uint8ClampedArray(8 * 8 * 4).map((_, i) => (i < 8 * 4 * 4 ? 200 : 60));
    const probe = studioProbe(studioLight(pixels, 8, 8));
    const darker = studioProbe(
      studioLight(
        pixels.map((v) => v / 2),
        8,
        8,
      ),
    );
    expect(irradiance(probe, [0, 1, 0], 0)).toBeGreaterThan(2 * irradiance(probe, [0, -1, 0], 0));
    expect((irradiance(probe, [0, 1, 0], 0) + irradiance(probe, [0, -1, 0], 0)) / 2).toBeCloseTo(1, 0);
    expect(irradiance(darker, [1, 0, 0], 0)).toBeCloseTo(1, 0);
  });

  it("is reddened by hearts, from where they are", () => {
    const probe = new Float32Array(PROBE_FLOATS);
    const heart = burst("hearts", 1, HEAD, () => 0.5);
    addGlow(heart, HEAD, probe);
    const side = Math.sign((heart[0] ?? 0) - HEAD[0]);
    expect(irradiance(probe, [side, 0, 0], 0)).toBeGreaterThan(irradiance(probe, [-side, 0, 0], 0));
    expect(irradiance(probe, [side, 0, 0], 0)).toBeGreaterThan(2 * irradiance(probe, [side, 0, 0], 1));
  });
});
