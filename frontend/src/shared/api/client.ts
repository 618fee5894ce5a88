/** The only place that talks HTTP: CSRF, idempotency keys, language and problem details in one request function. */

import { currentLanguage } from "../i18n/language";
import { pageConfig } from "../page";
import { problemOf, unreachable } from "./problems";

const BASE = "/api/v1";

let csrfToken = "";

/** The session answer carries the token; it wins over the cookie, which may be unreadable. */
export function rememberCsrf(token: string): void {
  csrfToken = token;
}

function csrf(): string {
  if (csrfToken) return csrfToken;
  const name = `${pageConfig().csrf_cookie ?? "lumihost_csrf"}=`;
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(name));
  return found ? decodeURIComponent(found.slice(name.length)) : "";
}

export interface RequestOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  json?: unknown;
  form?: FormData;
  sdp?: string;
  query?: Record<string, string | number | undefined>;
  /** Same key, same effect: give one per intention so that a repeated click cannot act twice. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

export function newIdempotencyKey(): string {
  return crypto.randomUUID();
}

function address(path: string, query: RequestOptions["query"]): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return (path.startsWith("/api/") ? path : BASE + path) + (text ? `?${text}` : "");
}

/**
 * The raw answer of a request that succeeded.
 *
 * @throws Problem for every other answer, and with status 0 when there was none.
 */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const method = options.method ?? "GET";
  const headers = new Headers({
    Accept: options.sdp === undefined ? "application/json" : "application/sdp, application/problem+json",
    "Accept-Language": currentLanguage() === "zh" ? "zh-hans" : "en",
  });
  let body: BodyInit | undefined;
  if (options.json !== undefined) {
    headers.set("Content-Type", "application/json");
    body = JSON.stringify(options.json);
  } else if (options.sdp !== undefined) {
    headers.set("Content-Type", "application/sdp");
    body = options.sdp;
  } else if (options.form) {
    body = options.form;
  }
  if (method !== "GET") {
    headers.set("X-CSRFToken", csrf());
    headers.set("Idempotency-Key", options.idempotencyKey ?? newIdempotencyKey());
  }
  let response: Response;
  try {
    response = await fetch(address(path, options.query), {
      method,
      headers,
      body,
      credentials: "same-origin",
      signal: options.signal,
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw unreachable();
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** Address of something of the API that the browser itself loads, e.g. a picture. */
export function href(path: string, query: RequestOptions["query"] = {}): string {
  return address(path, query);
}

/** The bytes of a file that came with the console. */
export async function loadAsset(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url);
  if (!response.ok) throw await problemOf(response);
  return response.arrayBuffer();
}

/** The JSON of a request that succeeded; `undefined` for an empty answer. */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options);
  const text = response.status === 204 ? "" : await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Every item of a cursor list, page after page, at most `most`. */
export async function listAll<T>(path: string, query: RequestOptions["query"] = {}, most = 1000): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page: { items: T[]; next: string | null } = await request(path, { query: { limit: 200, ...query, cursor } });
    items.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor && items.length < most);
  return items;
}
