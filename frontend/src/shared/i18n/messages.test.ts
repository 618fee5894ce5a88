import { describe, expect, it } from "vitest";
import { messages } from "./messages";

const placeholders = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();
const HAN = /\p{Script=Han}/u;
/** Curly quotes too: fonts for Chinese draw them as wide as a character. */
const FULL_WIDTH = /[\u2018-\u201f\u3000-\u303f\uff00-\uffef]/u;
/** These name the other language in its own script. */
const MIXED = new Set(["app.language.other"]);

describe("the words", () => {
  it.each(Object.entries(messages))("of %s are there in both languages with the same gaps", (_, [zh, en]) => {
    expect(zh.trim()).not.toBe("");
    expect(en.trim()).not.toBe("");
    expect(placeholders(zh)).toEqual(placeholders(en));
  });

  it("have no Chinese and no full-width punctuation in English and no half-width punctuation after Chinese", () => {
    const entries = Object.entries(messages).filter(([key]) => !MIXED.has(key));
    expect(entries.filter(([, [, en]]) => HAN.test(en) || FULL_WIDTH.test(en)).map(([key]) => key)).toEqual([]);
    expect(entries.filter(([, [zh]]) => /\p{Script=Han}[,:;?!(]/u.test(zh)).map(([key]) => key)).toEqual([]);
  });
});
