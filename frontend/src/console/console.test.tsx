import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { authSession, FakeServer, PERMISSIONS, SIGNED_OUT, session, show, TENANT } from "../../tests/server";
import { changeLanguage, startI18n } from "../shared/i18n";
import { ThemeProvider } from "../shared/ui/theme";
import { FakeNetwork } from "../shared/ws/fake";
import { routes } from "./routes";

let server: FakeServer;
let network: FakeNetwork;

beforeEach(() => {
  startI18n();
  changeLanguage("zh");
  localStorage.clear();
  network = new FakeNetwork();
  server = new FakeServer()
    .on("GET", "/api/v1/auth/session", () => Response.json(authSession()))
    .on("GET", `${TENANT}/sessions`, () => Response.json({ items: [session()], next: null }))
    .on("GET", `${TENANT}/sessions/ses_a`, () => Response.json(session()))
    .on("GET", `${TENANT}/shows/shw_a`, () => Response.json(show()))
    .on("GET", `${TENANT}/shows`, () => Response.json({ items: [show()], next: null }))
    .on("GET", `${TENANT}/channels`, () => Response.json({ items: [], next: null }))
    .on("GET", `${TENANT}/products`, () => Response.json({ items: [], next: null }));
  vi.stubGlobal("fetch", server.fetch);
  vi.stubGlobal(
    "WebSocket",
    vi.fn(function open(url: string) {
      return network.open(url);
    }),
  );
  window.scrollTo = () => {};
});
afterEach(() => vi.unstubAllGlobals());

function open(path: string) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const router = createMemoryRouter(routes, { initialEntries: [path] });
  render(
    <QueryClientProvider client={client}>
      <ThemeProvider>
        <RouterProvider router={router} />
      </ThemeProvider>
    </QueryClientProvider>,
  );
  return { router, user: userEvent.setup() };
}

/** The room's own socket: the one that asked for its session. */
async function roomSocket() {
  await screen.findByRole("heading", { level: 1, name: "日常好物" });
  await waitFor(() => expect(network.sockets.length).toBeGreaterThanOrEqual(2));
  for (const socket of network.sockets) act(() => socket.accept());
  const found = network.sockets.find((socket) =>
    socket.sent.some((frame) => (frame as { session?: string }).session === "ses_a"),
  );
  if (!found) throw new Error("no socket asked for ses_a");
  return found;
}

it("asks a stranger to sign in and then shows the page that was wanted", async () => {
  server
    .on("GET", "/api/v1/auth/session", () => Response.json(SIGNED_OUT))
    .on("POST", "/api/v1/auth/login", (body) =>
      (body as { password: string }).password === "right"
        ? Response.json(authSession())
        : Response.json({ status: 400, code: "login_refused", title: "x" }, { status: 400 }),
    );
  const { user, router } = open("/shows");
  await user.type(await screen.findByLabelText("邮箱"), "demo@lumihost.example");
  await user.type(screen.getByLabelText("密码"), "wrong");
  await user.click(screen.getByRole("button", { name: "登录" }));
  expect(await screen.findByRole("alert")).toSatisfy(
    (e: HTMLElement) => e.textContent?.includes("邮箱或密码不正确。") ?? false,
  );
  await user.clear(screen.getByLabelText("密码"));
  await user.type(screen.getByLabelText("密码"), "right");
  await user.click(screen.getByRole("button", { name: "登录" }));
  expect(await screen.findByRole("heading", { level: 1, name: "节目" })).toBeTruthy();
  expect(router.state.location.pathname).toBe("/shows");
});

it("starts one show with the key of its sheet and goes to its room", async () => {
  server.on("POST", `${TENANT}/sessions`, () => Response.json(session({ state: "requested" }), { status: 201 }));
  const { user, router } = open("/live");
  await user.click(await screen.findByRole("button", { name: "开播" }));
  const sheet = await screen.findByRole("dialog");
  await within(sheet).findByText("日常好物");
  await user.click(within(sheet).getByRole("button", { name: "开始直播" }));
  await waitFor(() => expect(router.state.location.pathname).toBe("/live/ses_a"));
  expect(server.bodyOf("POST", `${TENANT}/sessions`)).toEqual({ show: "shw_a", channel: null, record: true });
});

it("follows a comment from the click to the answer, with what the answer states", async () => {
  server.on("POST", `${TENANT}/sessions/ses_a/comments`, () =>
    Response.json({ id: "cmt_1", accepted: true, reason: "" }, { status: 201 }),
  );
  const { user } = open("/live/ses_a");
  const socket = await roomSocket();
  await user.type(screen.getByRole("textbox", { name: "以观众身份评论" }), "多少钱");
  await user.click(screen.getByRole("button", { name: "发送" }));
  const comments = within(screen.getByRole("region", { name: "评论" }));
  expect(await comments.findByText(/已收到/)).toBeTruthy();
  const tell = (seq: number, kind: string, data: Record<string, unknown>) =>
    socket.deliver({ type: "event", session: "ses_a", seq, kind, data, at: Date.now() });
  tell(1, "comment", { id: "cmt_1", text: "多少钱", user: "viewer", outcome: "queued" });
  expect(await comments.findByText(/排队中/)).toBeTruthy();
  tell(2, "turn", {
    turn_id: "t1",
    kind: "answer",
    question: "多少钱",
    answer: "这款一百二十九元",
    intent: "price",
    facts: [["prd_1", "price", "一百二十九元", 3]],
    outcome: "speaking",
  });
  expect(await comments.findByText(/正在回答/)).toBeTruthy();
  const host = within(screen.getByRole("region", { name: "主播正在说" }));
  expect(host.getByText("这款一百二十九元")).toBeTruthy();
  tell(3, "comment", { id: "cmt_1", outcome: "answered" });
  expect(await comments.findByText(/已回答/)).toBeTruthy();
  expect(comments.getAllByRole("listitem")).toHaveLength(1);
  const answers = within(screen.getByRole("region", { name: "回答记录" }));
  expect(answers.getByText(/价格: 一百二十九元/)).toBeTruthy();
});

it("keeps the figures on the page while the socket is away, says so, and resumes", async () => {
  open("/live/ses_a");
  const socket = await roomSocket();
  socket.deliver({
    type: "snapshot",
    session: "ses_a",
    seq: 1,
    state: "live",
    metrics: { fps: 24.9, av_offset_ms: -1, media_s: 30, viewers: 7, cost_minor: 12 },
    cursor: { loop: 0, segment_index: 1, line_index: 0, sentence_index: 0 },
    at: Date.now(),
  });
  expect(await screen.findByText("24.9 帧/秒")).toBeTruthy();
  expect(screen.getAllByText("未测得").length).toBeGreaterThan(0);
  expect(screen.getByText("保温杯").closest("li")?.getAttribute("aria-current")).toBe("step");
  act(() => socket.lose());
  expect(await screen.findByText(/正在重新连接/)).toBeTruthy();
  expect(screen.getByText("24.9 帧/秒")).toBeTruthy();
});

it("stops the show only after it was confirmed, and then offers the recording", async () => {
  server
    .on("POST", `${TENANT}/sessions/ses_a/stop`, () => Response.json(session({ desired: "stopped" })))
    .on("GET", `${TENANT}/sessions/ses_a/recordings`, () =>
      Response.json({
        items: [{ id: "rec_1", name: "a.mp4", epoch: 1, part: 0, bytes: 1, duration_s: 1, finished: true }],
        next: null,
      }),
    );
  const { user } = open("/live/ses_a");
  const socket = await roomSocket();
  await user.click(screen.getByRole("button", { name: "结束直播" }));
  const dialog = await screen.findByRole("dialog");
  expect(server.bodyOf("POST", `${TENANT}/sessions/ses_a/stop`)).toBeUndefined();
  await user.click(within(dialog).getByRole("button", { name: "确认停播" }));
  await waitFor(() => expect(server.bodyOf("POST", `${TENANT}/sessions/ses_a/stop`)).toEqual({}));
  socket.deliver({ type: "session", session: session({ state: "ended", desired: "stopped" }) });
  const link = await screen.findByRole("link", { name: "查看录像" });
  expect(link.getAttribute("href")).toBe("/sessions/ses_a");
});

it("says of a show that is over how it ended, not that it runs", async () => {
  open("/live/ses_a");
  const socket = await roomSocket();
  const tell = (seq: number, kind: string, data: Record<string, unknown>) =>
    socket.deliver({ type: "event", session: "ses_a", seq, kind, data, at: Date.now() });
  tell(1, "process", { name: "body", what: "started" });
  tell(2, "process", { name: "mind", what: "died" });
  tell(3, "output", { id: "preview", state: "up", detail: "" });
  tell(4, "spoken", { clip_id: "c1", kind: "script", text: "大家好", media_ms: 0 });
  tell(5, "turn", { turn_id: "t1", kind: "answer", question: "多少钱", answer: "一百二十九元", outcome: "speaking" });
  const health = within(screen.getByRole("region", { name: "运行状况" }));
  const answers = within(screen.getByRole("region", { name: "回答记录" }));
  expect(await health.findByText("已启动")).toBeTruthy();
  expect(answers.getByText("正在说")).toBeTruthy();
  socket.deliver({ type: "session", session: session({ state: "ended", desired: "stopped" }) });
  const host = within(await screen.findByRole("region", { name: "主播最后说的话" }));
  expect(host.getByText("大家好")).toBeTruthy();
  expect(host.queryByText(/▶/)).toBeNull();
  expect(answers.queryByText("正在说")).toBeNull();
  expect(health.getAllByText(/已结束/)).toHaveLength(2);
  expect(health.getByText(/异常退出/)).toBeTruthy();
  expect(health.queryByText(/已启动|正常/)).toBeNull();
});

it("shows an analyst the room without what would act on the air", async () => {
  server.on("GET", "/api/v1/auth/session", () =>
    Response.json(authSession(PERMISSIONS.filter((p) => p.endsWith(":view")))),
  );
  open("/live/ses_a");
  await screen.findByRole("heading", { level: 1, name: "日常好物" });
  expect(screen.getByLabelText("直播画面")).toBeTruthy();
  for (const name of ["结束直播", "暂停讲稿", "发送", "插话"]) {
    expect(screen.queryByRole("button", { name })).toBeNull();
  }
});

it("speaks English when asked, at once and without a reload", async () => {
  const { user } = open("/live/ses_a");
  await roomSocket();
  await user.click(screen.getByRole("button", { name: "Switch to English" }));
  expect(await screen.findByRole("textbox", { name: "Write a comment as a viewer" })).toBeTruthy();
  expect(screen.getByRole("button", { name: "Stop the show" })).toBeTruthy();
  expect(document.documentElement.lang).toBe("en");
});
