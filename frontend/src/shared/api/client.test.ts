import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { rememberLanguage } from "../i18n/language";
import { listAll, rememberCsrf, request } from "./client";
import { Problem } from "./problems";

const calls: Request[] = [];
let answers: (() => Response)[] = [];

beforeEach(() => {
  calls.length = 0;
  answers = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    calls.push(new Request(new URL(url, "http://here"), init));
    const answer = answers.shift();
    if (!answer) throw new TypeError("network down");
    return answer();
  });
  rememberCsrf("token-1");
  rememberLanguage("zh");
});
afterEach(() => vi.unstubAllGlobals());

describe("the API client", () => {
  it("sends the CSRF token, an idempotency key and the language with a write", async () => {
    answers = [() => Response.json({ id: "shw_1" }, { status: 201 })];
    await expect(request("/tenants/ten_a/shows", { method: "POST", json: { title: "晚场" } })).resolves.toEqual({
      id: "shw_1",
    });
    const [call] = calls;
    expect(call?.url).toBe("http://here/api/v1/tenants/ten_a/shows");
    expect(call?.headers.get("X-CSRFToken")).toBe("token-1");
    expect(call?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f-]{36}$/);
    expect(call?.headers.get("Accept-Language")).toBe("zh-hans");
    expect(await call?.json()).toEqual({ title: "晚场" });
  });

  it("repeats the key it was given, so that two clicks start one show", async () => {
    answers = [() => Response.json({}), () => Response.json({})];
    await request("/x", { method: "POST", json: {}, idempotencyKey: "sheet-7" });
    await request("/x", { method: "POST", json: {}, idempotencyKey: "sheet-7" });
    expect(calls.map((call) => call.headers.get("Idempotency-Key"))).toEqual(["sheet-7", "sheet-7"]);
  });

  it("sends no key and no token with a read, and leaves empty filters out", async () => {
    answers = [() => Response.json({ items: [], next: null })];
    await request("/products", { query: { search: "", cursor: undefined, limit: 20 } });
    expect(calls[0]?.url).toBe("http://here/api/v1/products?limit=20");
    expect(calls[0]?.headers.has("Idempotency-Key")).toBe(false);
    expect(calls[0]?.headers.has("X-CSRFToken")).toBe(false);
  });

  it("turns problem details into an error with its fields", async () => {
    const document = {
      status: 400,
      code: "invalid",
      title: "内容未通过校验",
      detail: "价格不能为负",
      errors: [{ pointer: "/price_minor", code: "min_value", detail: "价格不能为负" }],
      request_id: "req_1",
    };
    answers = [() => Response.json(document, { status: 400, headers: { "Content-Type": "application/problem+json" } })];
    const error = await request("/products", { method: "POST", json: {} }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({ status: 400, code: "invalid", requestId: "req_1", passing: false });
    expect((error as Problem).errors).toEqual(document.errors);
  });

  it("has a problem for an answer without a document, and for none at all", async () => {
    answers = [() => new Response("<html>bad gateway</html>", { status: 502 })];
    expect(await request("/x").catch((e: unknown) => e)).toMatchObject({
      status: 502,
      code: "http_502",
      passing: true,
    });
    expect(await request("/x").catch((e: unknown) => e)).toMatchObject({ status: 0, code: "unreachable" });
  });

  it("reads a list to its end", async () => {
    answers = [() => Response.json({ items: [1, 2], next: "abc" }), () => Response.json({ items: [3], next: null })];
    await expect(listAll<number>("/shows")).resolves.toEqual([1, 2, 3]);
    expect(new URL(calls[1]?.url ?? "").searchParams.get("cursor")).toBe("abc");
  });
});
