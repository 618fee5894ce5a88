import { expect, it } from "vitest";
import schema from "../../../openapi/schema.json";

/** Every call the console makes goes to an address the back end has. */
const sources = import.meta.glob<string>(["../../**/*.{ts,tsx}", "!**/*.test.*", "!**/schema.d.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});

const known = new Set(
  Object.keys(schema.paths).map((path) =>
    path
      .replace("/api/v1/tenants/{tenant_id}", "")
      .replace("/api/v1", "")
      .replaceAll(/\{\w+\}/g, "*"),
  ),
);

function called(): string[] {
  const found: string[] = [];
  for (const text of Object.values(sources)) {
    for (const [, template] of text.matchAll(/\bpath\(\s*[`"]([^`"]+)[`"]/g)) if (template) found.push(template);
    for (const [, template] of text.matchAll(/request<[^(]*>\("([^"]+)"/g)) if (template) found.push(template);
  }
  return [...new Set(found.map((template) => template.replaceAll(/\$\{[^}]+\}/g, "*")))].sort();
}

it("calls only addresses of the schema", () => {
  const calls = called();
  expect(calls.length).toBeGreaterThan(20);
  // `/*` stands for the stock lists and the actions, whose names are checked below.
  const fixed = calls.filter((call) => call !== "/*" && call !== "/sessions/*/*");
  expect(fixed.filter((call) => !known.has(call))).toEqual([]);
});

it.each(["say", "cut", "pin", "pause", "resume", "next", "stop"])("has an address for the action %s", (action) => {
  expect(known.has(`/sessions/*/${action}`)).toBe(true);
});

it.each(["avatars", "voices"])("has the stock list %s", (list) => {
  expect(known.has(`/${list}`)).toBe(true);
});
