/// <reference types="@webgpu/types" />
/** Particles and light probe on a WebGPU device: one submit and one read-back a step. */

import { ALIGN, PROBE_FLOATS } from "./memory";
import { GROUP, PARTICLE_BYTES, PROGRAM } from "./wgsl";

export class GpuCompute {
  private readonly uniforms: GPUBuffer;
  private readonly particles: GPUBuffer;
  private readonly studio: GPUBuffer;
  private readonly probe: GPUBuffer;
  private readonly out: GPUBuffer;
  private readonly bindings: GPUBindGroup;
  private readonly steps: GPUComputePipeline;
  private readonly light: GPUComputePipeline;
  private readonly given = new ArrayBuffer(32);

  constructor(
    private readonly device: GPUDevice,
    private readonly count: number,
    studioTexels: number,
  ) {
    const storage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const buffer = (size: number, usage: number) =>
      device.createBuffer({ size: Math.ceil(size / ALIGN) * ALIGN, usage });
    this.uniforms = buffer(32, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.particles = buffer(count * PARTICLE_BYTES, storage);
    this.studio = buffer(studioTexels * 16, storage);
    this.probe = buffer(PROBE_FLOATS * 4, storage);
    this.out = buffer(ALIGN + count * PARTICLE_BYTES, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
    const module = device.createShaderModule({ code: PROGRAM });
    const layout = device.createBindGroupLayout({
      entries: (["uniform", "storage", "read-only-storage", "storage"] as const).map((type, binding) => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type },
      })),
    });
    const pipeline = (entryPoint: string) =>
      device.createComputePipeline({
        layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module, entryPoint },
      });
    this.steps = pipeline("step");
    this.light = pipeline("light");
    this.bindings = device.createBindGroup({
      layout,
      entries: [this.uniforms, this.particles, this.studio, this.probe].map((b, binding) => ({
        binding,
        resource: { buffer: b },
      })),
    });
  }

  setStudio(light: Float32Array<ArrayBuffer>): void {
    this.device.queue.writeBuffer(this.studio, 0, light);
  }

  /** Put new particles in place of those from number `first` on. */
  spawn(first: number, particles: Float32Array<ArrayBuffer>): void {
    this.device.queue.writeBuffer(this.particles, first * PARTICLE_BYTES, particles);
  }

  /** Move on by `dt` seconds and write particles and probe into the views given. */
  async step(
    dt: number,
    head: readonly [number, number, number],
    particles: Float32Array,
    probe: Float32Array,
  ): Promise<void> {
    new Float32Array(this.given).set([dt, 0, 0, 0, ...head, 0]);
    new Uint32Array(this.given)[1] = this.count;
    this.device.queue.writeBuffer(this.uniforms, 0, this.given);
    const encoder = this.device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setBindGroup(0, this.bindings);
    pass.setPipeline(this.steps);
    pass.dispatchWorkgroups(Math.ceil(this.count / GROUP));
    pass.setPipeline(this.light);
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(this.probe, 0, this.out, 0, ALIGN);
    encoder.copyBufferToBuffer(this.particles, 0, this.out, ALIGN, this.count * PARTICLE_BYTES);
    this.device.queue.submit([encoder.finish()]);
    await this.out.mapAsync(GPUMapMode.READ);
    const read = this.out.getMappedRange();
    probe.set(new Float32Array(read, 0, PROBE_FLOATS));
    particles.set(new Float32Array(read, ALIGN, particles.length));
    this.out.unmap();
  }
}
