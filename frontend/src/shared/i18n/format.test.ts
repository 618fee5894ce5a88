import { expect, it } from "vitest";
import { clock, decimal, minorDigits, money } from "./format";

it("writes money in major units of its currency", () => {
  expect(money(12_900, "CNY", "zh")).toBe("¥129.00");
  expect(money(500, "JPY", "en")).toBe("¥500");
  expect(minorDigits("KWD")).toBe(3);
});

it("writes a media clock", () => {
  expect([clock(0), clock(65), clock(3_725), clock(-3)]).toEqual(["00:00", "01:05", "1:02:05", "00:00"]);
});

it("writes numbers with their digits", () => {
  expect([decimal(1_284, "en"), decimal(24.96, "zh", 1)]).toEqual(["1,284", "25.0"]);
});
