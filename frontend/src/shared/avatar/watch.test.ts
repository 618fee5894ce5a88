import { afterEach, beforeEach, expect, it, vi } from "vitest";
import vectors from "../../../../docs/examples/dmcp-vectors.json";
import type { MotionSocket } from "../ws/motion";
import { restFrame } from "./frame";
import { MotionWatch, type WatchState } from "./watch";

class FakeSocket implements MotionSocket {
  binaryType = "blob";
  readonly protocol = "dmcp.1.2";
  readonly sent: Record<string, unknown>[] = [];
  closed = false;
  onopen: MotionSocket["onopen"] = null;
  onclose: MotionSocket["onclose"] = null;
  onmessage: MotionSocket["onmessage"] = null;
  onerror: MotionSocket["onerror"] = null;
  constructor(readonly url: string) {}
  send(data: string) {
    this.sent.push(JSON.parse(data));
  }
  close() {
    this.closed = true;
  }
  hear(data: unknown) {
    this.onmessage?.({ data } as MessageEvent);
  }
  end(code: number) {
    this.onclose?.({ code, reason: "" } as CloseEvent);
  }
}

const binary = Uint8Array.from(
  (vectors.motion[1] as unknown as { binary_hex: string }).binary_hex.match(/../g) ?? [],
  (pair) => Number.parseInt(pair, 16),
);

let sockets: FakeSocket[];
let states: WatchState[];
let tokens: number;
let watch: MotionWatch;

beforeEach(() => {
  vi.useFakeTimers();
  [sockets, states, tokens] = [[], [], 0];
  watch = new MotionWatch({
    token: async () => {
      tokens += 1;
      return { token: `t${tokens}`, session: "ses_1", url: "ws://node/dmcp" };
    },
    onState: (state) => states.push(state),
    open: (url) => {
      const socket = new FakeSocket(url);
      sockets.push(socket);
      return socket;
    },
    now: () => Date.now(),
    random: () => 1,
  });
  watch.start();
});
afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

const last = () => sockets.at(-1) as FakeSocket;
const settle = () => vi.advanceTimersByTimeAsync(0);

it("says hello with its token, plays what comes and reports what was lost", async () => {
  await settle();
  last().onopen?.(new Event("open"));
  expect(last().sent[0]).toMatchObject({ type: "hello", token: "t1", sid: "ses_1", role: "watch", encoding: "binary" });
  expect(watch.at(Date.now(), restFrame())).toBe(false);
  last().hear(JSON.stringify({ type: "welcome" }));
  expect(states.at(-1)).toEqual({ phase: "open" });
  last().hear(binary.buffer);
  expect(watch.at(Date.now(), restFrame())).toBe(true);
  last().hear(new ArrayBuffer(3));
  expect(watch.refused).toBe(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(last().sent.at(-1)).toMatchObject({ type: "report", received: 1, lost: 0 });
});

it("comes back with a fresh token, later each time, and soon again after a welcome", async () => {
  await settle();
  last().end(1006);
  expect(states.at(-1)).toEqual({ phase: "retrying", attempt: 1 });
  await vi.advanceTimersByTimeAsync(399);
  expect(sockets).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect([sockets.length, tokens]).toEqual([2, 2]);
  last().end(1006);
  await vi.advanceTimersByTimeAsync(800);
  last().onopen?.(new Event("open"));
  expect(last().sent[0]).toMatchObject({ token: "t3" });
  last().hear(JSON.stringify({ type: "welcome" }));
  last().end(4005);
  expect(states.at(-1)).toEqual({ phase: "retrying", attempt: 1 });
});

it("gives up when the session is over, and says why", async () => {
  await settle();
  last().hear(JSON.stringify({ type: "error", code: 4012, detail: "the session is over", closing: true }));
  last().end(4012);
  expect(states.at(-1)).toEqual({ phase: "refused", code: 4012, detail: "the session is over" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sockets).toHaveLength(1);
});
