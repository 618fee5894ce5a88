import { describe, expect, it } from "vitest";
import { contrast, cssName, type Mode, type Palette, palettes } from "./tokens";

const TEXT_ON: [keyof Palette, (keyof Palette)[]][] = [
  ["text", ["bg", "surface", "sunk"]],
  ["text2", ["bg", "surface", "sunk"]],
  ["text3", ["bg", "surface", "sunk"]],
  ["brand", ["bg", "surface", "softBrand"]],
  ["onBrand", ["brand", "danger"]],
  ["live", ["surface", "softLive"]],
  ["ok", ["surface", "softOk"]],
  ["warn", ["surface", "softWarn"]],
  ["danger", ["surface", "softDanger"]],
  ["info", ["surface", "softInfo"]],
  ["takeover", ["surface", "softTakeover"]],
  ["idle", ["surface", "softIdle"]],
];

describe.each<Mode>(["light", "dark"])("the %s colours", (mode) => {
  const palette = palettes[mode];

  it.each(TEXT_ON.flatMap(([text, grounds]) => grounds.map((ground) => [text, ground] as const)))(
    "let %s be read on %s",
    (text, ground) => {
      expect(contrast(palette[text], palette[ground])).toBeGreaterThanOrEqual(4.5);
    },
  );

  it("draw boundaries that can be seen", () => {
    expect(contrast(palette.border, palette.surface)).toBeGreaterThanOrEqual(3);
  });
});

it("knows the contrast of black and white", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
});

it("names variables as the style sheet does", () => {
  expect([cssName("softOk"), cssName("text2"), cssName("bg")]).toEqual(["--lh-soft-ok", "--lh-text-2", "--lh-bg"]);
});
