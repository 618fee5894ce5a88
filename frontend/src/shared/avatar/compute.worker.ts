/// <reference types="@webgpu/types" />
/** The hybrid mode's computing thread: WebGPU here, WebGL 2 on the page. */

import type { FromWorker, ToWorker } from "./compute";
import { GpuCompute } from "./gpu";
import { Block, type Memory } from "./memory";
import { STUDIO_HEIGHT, STUDIO_WIDTH } from "./probe";

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
};

let gpu: GpuCompute | null = null;
let block: Block | null = null;

async function start(memory: Memory, count: number): Promise<void> {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) {
    scope.postMessage({ type: "refused", reason: "no-adapter" });
    return;
  }
  const device = await adapter.requestDevice();
  void device.lost.then(({ message }) =>
    scope.postMessage({ type: "refused", reason: "device-lost", detail: message }),
  );
  gpu = new GpuCompute(device, count, STUDIO_WIDTH * STUDIO_HEIGHT);
  block = new Block(memory, count);
  const { vendor, architecture, description } = adapter.info;
  scope.postMessage({ type: "ready", adapter: [vendor, architecture, description].filter(Boolean).join(" ") });
}

async function step(message: Extract<ToWorker, { type: "step" }>): Promise<void> {
  if (message.memory && block) block = new Block(message.memory, block.layout.count);
  if (!gpu || !block) return;
  const began = performance.now();
  await gpu.step(message.dt, message.head, block.particles(message.sequence), block.probe(message.sequence));
  block.publish(message.sequence);
  const done: FromWorker = { type: "done", sequence: message.sequence, computeMs: performance.now() - began };
  if (block.memory instanceof ArrayBuffer) scope.postMessage({ ...done, memory: block.memory }, [block.memory]);
  else scope.postMessage(done);
}

scope.onmessage = ({ data }) => {
  const failed = (error: unknown) =>
    scope.postMessage({ type: "refused", reason: "device-lost", detail: String(error) });
  if (data.type === "start") start(data.memory, data.count).catch(failed);
  else if (data.type === "studio") gpu?.setStudio(data.light);
  else if (data.type === "spawn") gpu?.spawn(data.first, data.particles);
  else step(data).catch(failed);
};
