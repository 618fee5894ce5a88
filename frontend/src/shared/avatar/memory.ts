/**
 * One block of memory for what compute hands to drawing: a header, the light probe, two slots of particles. Every region starts
 * at a multiple of 256 bytes, WebGPU's largest `minStorageBufferOffsetAlignment`, so that any of them can be bound or copied as
 * it lies. Where the page is cross-origin isolated the block is shared; elsewhere it is an ordinary buffer that changes hands.
 */

export const ALIGN = 256;
/** Floats of a particle: x, y, z, size · vx, vy, vz, life · angle, spin, kind, lifetime. Metres, seconds, radians. */
export const STRIDE = 12;
export const PROBE_FLOATS = 27;
/** Words of the header. */
const SEQUENCE = 0;

export interface Layout {
  count: number;
  probeAt: number;
  slotAt: readonly [number, number];
  bytes: number;
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGN) * ALIGN;
}

export function layoutFor(count: number): Layout {
  const probeAt = ALIGN;
  const probeBytes = 2 * aligned(PROBE_FLOATS * 4);
  const slotBytes = aligned(count * STRIDE * 4);
  const first = probeAt + probeBytes;
  return { count, probeAt, slotAt: [first, first + slotBytes], bytes: first + 2 * slotBytes };
}

export type Memory = ArrayBuffer | SharedArrayBuffer;

/** Whether memory can be shared with a worker here. */
export function canShare(scope: { crossOriginIsolated?: boolean; SharedArrayBuffer?: unknown } = globalThis): boolean {
  return scope.crossOriginIsolated === true && typeof scope.SharedArrayBuffer === "function";
}

/** Views of a block. The writer fills the slot that is not shown and then publishes it. */
export class Block {
  readonly layout: Layout;
  private readonly header: Int32Array;

  constructor(
    readonly memory: Memory,
    count: number,
  ) {
    this.layout = layoutFor(count);
    this.header = new Int32Array(memory, 0, ALIGN / 4);
  }

  static allocate(count: number, shared: boolean): Block {
    const { bytes } = layoutFor(count);
    return new Block(shared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes), count);
  }

  /** Number of the newest published step. */
  get sequence(): number {
    return Atomics.load(this.header, SEQUENCE);
  }

  particles(sequence: number): Float32Array {
    return new Float32Array(this.memory, this.layout.slotAt[sequence & 1], this.layout.count * STRIDE);
  }

  probe(sequence: number): Float32Array {
    const half = (this.layout.slotAt[0] - this.layout.probeAt) / 2;
    return new Float32Array(this.memory, this.layout.probeAt + (sequence & 1) * half, PROBE_FLOATS);
  }

  publish(sequence: number): void {
    Atomics.store(this.header, SEQUENCE, sequence);
  }
}
