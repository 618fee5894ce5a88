import { expect, it } from "vitest";
import { Problem } from "../api/problems";
import type { Translate } from "../i18n";
import { messages } from "../i18n/messages";
import { fieldText, problemText } from "./problemText";

const zh: Translate = (key) => messages[key][0];
const en: Translate = (key) => messages[key][1];

it("gives a Chinese reader Chinese first, with the server's sentence beside it", () => {
  const detail = "SKU 'A-1' exists already: change that product";
  const problem = new Problem({ status: 409, code: "duplicate", title: "已存在", detail });
  expect(problemText(problem, zh, "zh")).toEqual({ text: "已存在", detail });
  expect(problemText(problem, en, "en")).toEqual({ text: detail, detail: "" });
  expect(fieldText({ pointer: "/sku", code: "duplicate", detail }, zh, "zh")).toBe(`已存在 (${detail})`);
});

it("shows the server's sentence as it is when it is in the reader's language", () => {
  const problem = new Problem({ status: 400, code: "invalid", title: "内容未通过校验", detail: "价格不能为负" });
  expect(problemText(problem, zh, "zh")).toEqual({ text: "价格不能为负", detail: "" });
});

it("has words for an answer that never came", () => {
  const problem = new Problem({ status: 0, code: "unreachable" });
  expect(problemText(problem, en, "en").text).toBe("The server cannot be reached. Check the network.");
});
