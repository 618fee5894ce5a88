/** A hand-written stand-in for the platform's REST API: answers by method and path, remembers what was asked. */

import type { AuthSession, Session, Show } from "../src/shared/api/contract";

export type Handler = (body: unknown) => Response | Promise<Response>;

export class FakeServer {
  readonly asked: { method: string; path: string; body: unknown }[] = [];
  private readonly handlers = new Map<string, Handler>();

  on(method: string, path: string, handler: Handler): this {
    this.handlers.set(`${method} ${path}`, handler);
    return this;
  }

  readonly fetch = async (input: string, init: RequestInit = {}): Promise<Response> => {
    const method = init.method ?? "GET";
    const path = new URL(input, "http://here").pathname;
    const body = typeof init.body === "string" && init.body.startsWith("{") ? JSON.parse(init.body) : init.body;
    this.asked.push({ method, path, body });
    const handler = this.handlers.get(`${method} ${path}`);
    if (handler) return handler(body);
    return Response.json({ status: 404, code: "not_found", title: "" }, { status: 404 });
  };

  bodyOf(method: string, path: string): unknown {
    return this.asked.findLast((call) => call.method === method && call.path === path)?.body;
  }
}

export const TENANT = "/api/v1/tenants/ten_a";

export const PERMISSIONS = [
  "sessions:view",
  "sessions:start",
  "sessions:stop",
  "sessions:say",
  "shows:view",
  "shows:write",
  "products:view",
  "products:write",
  "channels:view",
  "avatars:view",
];

export function authSession(permissions = PERMISSIONS): AuthSession {
  return {
    user: { id: "usr_1", email: "demo@lumihost.example", name: "", language: "zh" },
    csrf_token: "token",
    memberships: [
      {
        tenant: {
          id: "ten_a",
          name: "云禾小铺",
          slug: "yunhe",
          currency: "CNY",
          locale: "zh-hans",
          timezone: "Asia/Shanghai",
        },
        role: "owner",
        permissions,
      },
    ],
  };
}

export const SIGNED_OUT: AuthSession = { user: null, csrf_token: "token", memberships: [] };

export function session(over: Partial<Session> = {}): Session {
  return {
    id: "ses_a",
    state: "live",
    desired: "running",
    epoch: 1,
    show: { id: "shw_a", title: "日常好物" },
    channel: null,
    node: "local",
    cursor: null,
    record: true,
    requested_at: "2026-12-01T12:00:00Z",
    started_at: "2026-12-01T12:00:05Z",
    ended_at: null,
    end_reason: "",
    media_s: 12,
    billable_s: 10,
    cost_minor: 0,
    currency: "CNY",
    ...over,
  };
}

export function show(): Show {
  const segment = (id: string, title: string) =>
    ({ id, kind: "points", title, product_id: null, lines: [], gap_s: 0 }) as const;
  return {
    id: "shw_a",
    title: "日常好物",
    language: "zh",
    avatar: "lin",
    backdrop: "daylight",
    voice_zh: "zf_xiaoxiao",
    voice_en: "af_heart",
    speed: 1,
    loop: true,
    created_at: "2026-12-01T12:00:00Z",
    updated_at: "2026-12-01T12:00:00Z",
    segments: [segment("s1", "开场白"), segment("s2", "保温杯")].map((s) => ({ ...s, lines: [] })),
  };
}
