import { expect, it } from "vitest";
import { fieldOf } from "./useSave";

it("reads a JSON pointer as a form field", () => {
  expect(fieldOf("/selling_points/2/zh")).toEqual(["selling_points", 2, "zh"]);
  expect(fieldOf("/a~1b/c~0d")).toEqual(["a/b", "c~d"]);
});
