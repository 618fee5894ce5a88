import { describe, expect, it } from "vitest";
import { type AvatarExtension, limitsOf, PackError, readExtension } from "./extension";
import { restFrame } from "./frame";
import { lensFor, projectionOf } from "./framing";
import { drawnWeights, gazeOf, heldTurn, LOOK_SHAPES, mouthLight, shapesOf } from "./pose";
import { ARKIT, SKELETON, WEIGHTS } from "./tables";

const extension: AvatarExtension = {
  version: 2,
  name: "test",
  camera: { focal_px: 5000, eye: [0, 0.6, 2.7], principal: [640, 400], canvas: [1280, 1360] },
  framings: {
    "16:9": { height_px: 1080, scale: 1, centre_x: 0.37, top_px: 10 },
    "9:16": { height_px: 1920, scale: 1.3, centre_x: 0.5, top_px: 100 },
  },
  limits_deg: { head: 16 },
  gaze: { degrees_per_unit: { horizontal: 24, up: 18, down: 20 } },
  eyes: { l: { centre: [0.03, 0.6, 0.1], radius: 0.013 }, r: { centre: [-0.03, 0.6, 0.1], radius: 0.013 } },
  lash_columns: 26,
};

const weight = (name: (typeof WEIGHTS)[number]) => WEIGHTS.indexOf(name);
const shape = (name: (typeof ARKIT)[number]) => ARKIT.indexOf(name);

/** Pixel of a point in metres, through the matrix as WebGL applies it. */
function pixel(point: [number, number, number], width: number, height: number, aspect: "16:9" | "9:16") {
  const lens = lensFor(extension, width, height, aspect);
  const m = projectionOf(lens, width, height);
  const seen = [point[0] - lens.eye[0], point[1] - lens.eye[1], point[2] - lens.eye[2], 1];
  const [x = 0, y = 0, , w = 1] = [0, 1, 2, 3].map((row) =>
    seen.reduce((sum, value, column) => sum + value * (m[column * 4 + row] ?? 0), 0),
  );
  return [((x / w + 1) / 2) * width, ((1 - y / w) / 2) * height];
}

describe("framing", () => {
  it("puts what the camera looks at on the pack's principal point, at every size", () => {
    // 0.37 of 1920 is 710; the canvas is 1280 wide and its principal point in its middle.
    expect(pixel([0, 0.6, 0.1], 1920, 1080, "16:9")).toEqual([expect.closeTo(710, 3), expect.closeTo(410, 3)]);
    expect(pixel([0, 0.6, 0.1], 960, 540, "16:9")).toEqual([expect.closeTo(355, 3), expect.closeTo(205, 3)]);
    expect(pixel([0, 0.6, 0.1], 1080, 1920, "9:16")).toEqual([expect.closeTo(540, 3), expect.closeTo(620, 3)]);
  });

  it("scales by focal length over distance: the host's left is the picture's right", () => {
    const [x = 0, y = 0] = pixel([0.1, 0.7, 0.2], 1920, 1080, "16:9");
    expect(x - 710).toBeCloseTo((0.1 * 5000) / 2.5, 2);
    expect(y - 410).toBeCloseTo((-0.1 * 5000) / 2.5, 2);
  });

  it("names the framing that a pack lacks", () => {
    expect(() => lensFor({ ...extension, framings: {} }, 100, 100, "9:16")).toThrow(/'test' has no framing '9:16'/);
  });
});

describe("the extension", () => {
  it("is refused when it is missing, of another version, or incomplete", () => {
    expect(readExtension({ extensions: { LUMIHOST_avatar: extension } })).toBe(extension);
    for (const json of [null, {}, { extensions: { LUMIHOST_avatar: { ...extension, version: 3 } } }]) {
      expect(() => readExtension(json)).toThrow(PackError);
    }
    const { eyes: _, ...blind } = extension;
    expect(() => readExtension({ extensions: { LUMIHOST_avatar: blind } })).toThrow(/no 'eyes'/);
  });
});

describe("weights", () => {
  it("become ARKit's shapes by the one matrix", () => {
    const frame = restFrame();
    frame.weights[weight("mouthSmileLeft")] = 0.8;
    frame.weights[weight("eyeLookLeft")] = 0.5;
    const shapes = new Float32Array(ARKIT.length);
    shapesOf(frame.weights, shapes);
    expect(shapes[shape("mouthSmileLeft")]).toBeCloseTo(0.8);
    expect(shapes[shape("mouthDimpleLeft")]).toBeCloseTo(0.2);
    expect([shapes[shape("eyeLookOutLeft")], shapes[shape("eyeLookInRight")]]).toEqual([0.5, 0.5]);
    expect(shapes.filter((value) => value > 0)).toHaveLength(4);
    expect(LOOK_SHAPES.size).toBe(8);
  });

  it("are held in range, and what half closes a lid fades while it shuts", () => {
    const frame = restFrame();
    frame.weights.set([Number.NaN, -1, 7]);
    frame.weights[weight("eyeSquint")] = 0.6;
    frame.weights[weight("eyeBlinkRight")] = 0.75;
    const out = new Float32Array(WEIGHTS.length);
    drawnWeights(frame.weights, out);
    expect([...out.slice(0, 3)]).toEqual([0, 0, 1]);
    expect(out[weight("eyeSquint")]).toBeCloseTo(0.15);
  });

  it("turn the eyeballs by the pack's degrees, whatever a blink does to the lids", () => {
    const { weights } = restFrame();
    weights[weight("eyeLookLeft")] = 0.5;
    weights[weight("eyeLookDown")] = 1;
    weights[weight("eyeBlinkLeft")] = 1;
    const { yaw, pitch } = gazeOf(weights, extension.gaze);
    expect([(yaw * 180) / Math.PI, (pitch * 180) / Math.PI]).toEqual([expect.closeTo(12, 4), expect.closeTo(20, 4)]);
  });

  it("light the mouth as it opens", () => {
    const { weights } = restFrame();
    expect(mouthLight(weights)).toBeCloseTo(0.36);
    weights[weight("jawOpen")] = 0.22;
    expect(mouthLight(weights)).toBeCloseTo(1);
    weights[weight("mouthClose")] = 1;
    expect(mouthLight(weights)).toBeCloseTo(0.36);
  });
});

describe("joints", () => {
  const turn = (degrees: number) => {
    const half = (degrees * Math.PI) / 360;
    return Float32Array.of(0, Math.sin(half), 0, Math.cos(half));
  };
  const degrees = ([, y, , w]: number[]) => (2 * Math.atan2(y ?? 0, w ?? 1) * 180) / Math.PI;

  it("are held at the pack's limit and never turned round", () => {
    const limit = limitsOf(extension)[SKELETON.indexOf("head")] ?? 0;
    expect(degrees(heldTurn(turn(10), 0, limit))).toBeCloseTo(10, 3);
    expect(degrees(heldTurn(turn(70), 0, limit))).toBeCloseTo(16, 3);
    expect(
      degrees(
        heldTurn(
          turn(70).map((v) => -v),
          0,
          limit,
        ),
      ),
    ).toBeCloseTo(16, 3);
    expect(limitsOf(extension)[SKELETON.indexOf("left_elbow")]).toBeCloseTo(Math.PI, 5);
  });

  it("without length turn nothing", () => {
    expect(heldTurn(new Float32Array(4), 0, 1)).toEqual([0, 0, 0, 1]);
    expect(heldTurn(Float32Array.of(Number.NaN, 0, 0, 1), 0, 1)).toEqual([0, 0, 0, 1]);
  });
});
