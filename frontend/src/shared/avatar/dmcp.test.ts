import { describe, expect, it } from "vitest";
import vectors from "../../../../docs/examples/dmcp-vectors.json";
import { DmcpError, decodeBinary, decodeJson, FRAME_BYTES, Reception } from "./dmcp";
import { JOINTS, WEIGHTS } from "./tables";

interface Vector {
  name: string;
  json: {
    ts: number;
    sid: string;
    seq: number;
    payload: { face_blendshapes: Record<string, number>; pose_keypoints: number[][] };
  };
  binary_hex: string;
}

function bytes(hex: string): ArrayBuffer {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)).buffer;
}

describe("the published test vectors", () => {
  it.each(vectors.motion as unknown as Vector[])("say the same in both forms: $name", ({ json, binary_hex }) => {
    const binary = decodeBinary(bytes(binary_hex));
    const text = decodeJson(JSON.stringify(json), json.sid);
    expect([binary.tsMs, binary.sequence, binary.flags]).toEqual([json.ts, json.seq, text.flags]);
    WEIGHTS.forEach((name, i) => {
      expect(text.weights[i]).toBeCloseTo(json.payload.face_blendshapes[name] ?? -1, 5);
      expect(Math.abs((binary.weights[i] ?? 0) - (text.weights[i] ?? 0))).toBeLessThan(1 / 131_000 + 1e-4);
    });
    for (let i = 0; i < JOINTS.length * 4; i += 1) {
      expect(Math.abs((binary.joints[i] ?? 0) - (text.joints[i] ?? 0))).toBeLessThan(1e-4);
    }
  });

  const refused = vectors.refused as { name: string; sid: string; text?: string; binary_hex?: string; code: number }[];
  it.each(refused)("are refused with their code: $name", (vector) => {
    const read = () =>
      vector.text !== undefined ? decodeJson(vector.text, vector.sid) : decodeBinary(bytes(vector.binary_hex ?? ""));
    expect(read).toThrow(DmcpError);
    try {
      read();
    } catch (error) {
      expect((error as DmcpError).code).toBe(vector.code);
    }
  });
});

it("reads a frame out of the middle of a buffer", () => {
  const first = bytes((vectors.motion[1] as unknown as Vector).binary_hex);
  const joined = new Uint8Array(2 * FRAME_BYTES);
  joined.set(new Uint8Array(first), FRAME_BYTES);
  expect(decodeBinary(joined.buffer, FRAME_BYTES).sequence).toBe(1);
  expect(() => decodeBinary(joined.buffer)).toThrow(/250 bytes/);
});

describe("reception", () => {
  it("counts a gap as loss, a latecomer as reordered and not lost, a copy as duplicate", () => {
    const reception = new Reception();
    const newest = [10, 11, 14, 12, 14, 15].map((n) => reception.take(n, n * 40, n * 40 + 5));
    expect(newest).toEqual([true, true, true, false, false, true]);
    expect([reception.received, reception.lost, reception.reordered, reception.duplicate]).toEqual([5, 1, 1, 1]);
  });

  it("goes on over the end of the numbers", () => {
    const reception = new Reception();
    for (const n of [2 ** 32 - 2, 2 ** 32 - 1, 0, 1]) expect(reception.take(n, 0, 0)).toBe(true);
    expect([reception.received, reception.lost]).toEqual([4, 0]);
  });

  it("smooths jitter by a sixteenth", () => {
    const reception = new Reception();
    reception.take(0, 0, 100);
    reception.take(1, 40, 156);
    expect(reception.jitterMs).toBe(1);
  });
});
