import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { authSession, FakeServer, show, TENANT } from "../../../../tests/server";
import type { Avatar } from "../../../shared/api/contract";
import { changeLanguage, startI18n } from "../../../shared/i18n";
import { ThemeProvider } from "../../../shared/ui/theme";
import { FakeNetwork } from "../../../shared/ws/fake";
import { routes } from "../../routes";

function avatar(id: string, zh: string, en: string, over: Partial<Avatar> = {}): Avatar {
  return {
    id,
    name: { zh, en },
    presents: "a host",
    licence: { spdx: "CC0-1.0", origin: "", attribution: "somebody" },
    consent: { subject: "synthetic", statement: "", granted_by: "", granted_on: "" },
    framings: ["16:9", "9:16"],
    bytes: 3_724_272,
    version: "1",
    voice_zh: "zf_xiaoxiao",
    voice_en: "af_heart",
    has_portrait: true,
    ...over,
  };
}

let server: FakeServer;

beforeEach(() => {
  startI18n();
  changeLanguage("zh");
  const network = new FakeNetwork();
  const person = { subject: "person", statement: "", granted_by: "A. Person", granted_on: "2026-11-01" };
  server = new FakeServer()
    .on("GET", "/api/v1/auth/session", () => Response.json(authSession()))
    .on("GET", `${TENANT}/sessions`, () => Response.json({ items: [], next: null }))
    .on("GET", `${TENANT}/avatars`, () =>
      Response.json({
        items: [
          avatar("amara", "阿玛拉", "Amara", { voice_zh: "zf_xiaobei", voice_en: "af_bella" }),
          avatar("mei", "小梅", "Mei", { has_portrait: false, consent: person }),
        ],
        next: null,
      }),
    )
    .on("GET", `${TENANT}/backdrops`, () =>
      Response.json({
        items: [
          { id: "daylight", name: { zh: "日光房间", en: "Daylight room" } },
          { id: "studio", name: { zh: "演播室", en: "Studio" } },
        ],
        next: null,
      }),
    )
    .on("GET", `${TENANT}/voices`, () => Response.json({ items: [], next: null }))
    .on("GET", `${TENANT}/products`, () => Response.json({ items: [], next: null }))
    .on("GET", `${TENANT}/shows/shw_a`, () => Response.json(show()))
    .on("PATCH", `${TENANT}/shows/shw_a`, (body) => Response.json({ ...show(), ...(body as object) }));
  vi.stubGlobal("fetch", server.fetch);
  vi.stubGlobal(
    "WebSocket",
    vi.fn(function open(url: string) {
      return network.open(url);
    }),
  );
  window.scrollTo = () => {};
  // three.js says on the console that there is no WebGL here; that is what is tested.
  vi.spyOn(console, "error").mockImplementation(() => {});
  HTMLCanvasElement.prototype.getContext = () => null;
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function open(path: string) {
  const router = createMemoryRouter(routes, { initialEntries: [path] });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <ThemeProvider>
        <RouterProvider router={router} />
      </ThemeProvider>
    </QueryClientProvider>,
  );
  return { router, user: userEvent.setup() };
}

it("shows the presenters with portrait, licence and likeness, and says when there is no WebGL", async () => {
  const { user, router } = open("/presenters");
  const list = await screen.findByRole("list", { name: "可选主播" });
  const [amara, mei] = await within(list).findAllByRole("button");
  expect(amara?.getAttribute("aria-pressed")).toBe("true");
  expect((await within(list).findByAltText("阿玛拉的照片")).getAttribute("src")).toBe(
    `${TENANT}/avatars/amara/portrait?v=1`,
  );
  expect(amara?.textContent).toContain("黑人女性");
  expect(mei?.textContent).toContain("a host");
  expect(await screen.findByText(/没有 WebGL 2/)).toBeTruthy();
  const details = screen.getByText("图形驱动").closest("details");
  expect(details?.open).toBe(false);
  await user.click(screen.getByText("技术细节"));
  expect(details?.open).toBe(true);
  expect(screen.getByText("合成形象，不对应任何真人")).toBeTruthy();
  if (mei) await user.click(mei);
  expect(router.state.location.pathname).toBe("/presenters/mei");
  expect(await screen.findByText("真人形象，A. Person 于 2026-11-01 授权")).toBeTruthy();
  expect(screen.getByRole("link", { name: /下载 GLB（3.7 MB）/ }).getAttribute("href")).toBe(
    `${TENANT}/avatars/mei/pack`,
  );
});

it("says when the sample motion cannot be loaded, and breaks nothing", async () => {
  open("/presenters");
  const told = await screen.findByText("示例动作载入失败，刷新再试");
  expect(told.getAttribute("role")).toBe("status");
});

it("says so when the address names nobody", async () => {
  open("/presenters/nobody");
  expect((await screen.findByRole("alert")).textContent).toContain("没有“nobody”这位主播");
});

it("lets a show choose presenter and studio by picture, and keeps one that is gone until another is chosen", async () => {
  const { user } = open("/shows/shw_a");
  const presenters = await screen.findByRole("group", { name: "主播" });
  expect(await within(presenters).findByRole("radio", { name: /lin（已不存在/ })).toHaveProperty("checked", true);
  await user.click(await within(presenters).findByRole("radio", { name: "小梅" }));
  const studios = screen.getByRole("group", { name: "直播间背景" });
  await user.click(within(studios).getByRole("radio", { name: "演播室" }));
  await user.click(screen.getByRole("button", { name: "保存" }));
  expect(server.bodyOf("PATCH", `${TENANT}/shows/shw_a`)).toMatchObject({ avatar: "mei", backdrop: "studio" });
});

it("gives a show the voices of its presenter", async () => {
  const { user } = open("/shows/shw_a");
  const presenters = await screen.findByRole("group", { name: "主播" });
  await user.click(await within(presenters).findByRole("radio", { name: "阿玛拉" }));
  await user.click(screen.getByRole("button", { name: "保存" }));
  expect(server.bodyOf("PATCH", `${TENANT}/shows/shw_a`)).toMatchObject({
    avatar: "amara",
    voice_zh: "zf_xiaobei",
    voice_en: "af_bella",
  });
});

it("keeps a voice that was chosen, and says that it is another one", async () => {
  server.on("GET", `${TENANT}/shows/shw_a`, () => Response.json({ ...show(), avatar: "mei", voice_en: "am_michael" }));
  const { user } = open("/shows/shw_a");
  expect(await screen.findByText("不是小梅自己的声音")).toBeTruthy();
  const presenters = screen.getByRole("group", { name: "主播" });
  await user.click(within(presenters).getByRole("radio", { name: "阿玛拉" }));
  expect(screen.getAllByText("不是阿玛拉自己的声音")).toHaveLength(1);
  await user.click(screen.getByRole("button", { name: "保存" }));
  expect(server.bodyOf("PATCH", `${TENANT}/shows/shw_a`)).toMatchObject({
    avatar: "amara",
    voice_zh: "zf_xiaobei",
    voice_en: "am_michael",
  });
});
