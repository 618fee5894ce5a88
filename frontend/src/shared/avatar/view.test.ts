import { afterEach, beforeEach, expect, it, vi } from "vitest";

const waiting: ((presenter: unknown) => void)[] = [];

vi.mock("three", async (original) => ({
  ...(await original<typeof import("three")>()),
  WebGLRenderer: class {
    setClearColor() {}
    async compileAsync() {}
    dispose() {}
  },
}));
vi.mock("./presenter", () => ({
  Presenter: { load: () => new Promise((resolve) => waiting.push(resolve)) },
}));

async function presenter(name: string) {
  const { Group } = await import("three");
  const eye = { centre: [0, 0, 0], radius: 0.01 };
  const extension = {
    name,
    eyes: { l: eye, r: eye },
    camera: { focal_px: 100, eye: [0, 0, 3], principal: [50, 50], canvas: [100, 100] },
    framings: { "16:9": { height_px: 100, scale: 1, centre_x: 0.5, top_px: 0 } },
  };
  return { extension, root: new Group(), dispose: vi.fn() };
}

beforeEach(() => {
  waiting.length = 0;
  vi.resetModules();
});
afterEach(() => vi.restoreAllMocks());

async function view() {
  const { PresenterView } = await import("./view");
  return new PresenterView(document.createElement("canvas"), 4);
}

it("shows the presenter asked for last, however long an earlier one takes, and lets the earlier one go", async () => {
  const shown = await view();
  const [lin, marco] = [await presenter("lin"), await presenter("marco")];
  const loads = [shown.load(new ArrayBuffer(0)), shown.load(new ArrayBuffer(0))];

  waiting[1]?.(marco);
  waiting[0]?.(lin);
  await Promise.all(loads);

  expect(shown.name).toBe("marco");
  expect(lin.dispose).toHaveBeenCalledOnce();
  expect(marco.dispose).not.toHaveBeenCalled();
});

it("lets a presenter go that is unpacked after the page was left", async () => {
  const shown = await view();
  const lin = await presenter("lin");
  const load = shown.load(new ArrayBuffer(0));

  shown.dispose();
  waiting[0]?.(lin);
  await load;

  expect(lin.dispose).toHaveBeenCalledOnce();
  expect(shown.name).toBeNull();
});
