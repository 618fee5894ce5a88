import { expect, it } from "vitest";
import { duplicated, firstEmptyLine, moved, newSegment } from "./draft";

it("moves within the list and nowhere else", () => {
  expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
  expect(moved(["a", "b", "c"], 2, 1)).toEqual(["a", "c", "b"]);
  expect(moved(["a", "b"], 0, -1)).toEqual(["a", "b"]);
  expect(moved(["a", "b"], 1, 2)).toEqual(["a", "b"]);
});

it("copies a segment after itself with ids of its own", () => {
  const first = newSegment("opening", "zh");
  const [original, copy] = duplicated([first], 0);
  expect(original).toBe(first);
  expect(copy).toMatchObject({ kind: "opening", title: first.title });
  expect(copy?.id).not.toBe(first.id);
  expect(copy?.lines[0]?.id).not.toBe(first.lines[0]?.id);
});

it("makes ids the server takes", () => {
  const segment = newSegment("qa", "en");
  expect(segment.id).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
  expect(segment.lines[0]?.id).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
});

it("finds the first line without words", () => {
  const filled = newSegment("points", "zh");
  const line = filled.lines[0];
  if (line) line.text = "大家好";
  expect(firstEmptyLine([filled])).toBeNull();
  expect(firstEmptyLine([filled, newSegment("cta", "zh")])).toEqual({ segment: 1, line: 0 });
});
