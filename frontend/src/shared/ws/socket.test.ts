import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeNetwork } from "./fake";
import { type Connection, ConsoleSocket } from "./socket";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function start(afterSeq = () => 0) {
  const network = new FakeNetwork();
  const seen: Connection[] = [];
  const socket = new ConsoleSocket({
    url: "ws://here/ws/console/ten_a/",
    session: "ses_a",
    afterSeq,
    onFrame: () => {},
    onConnection: (connection) => seen.push(connection),
    open: network.open,
    random: () => 0.5,
  });
  socket.start();
  return { network, seen, socket };
}

describe("the console socket", () => {
  it("says hello with the last number the page holds, and again after a loss", () => {
    let held = 0;
    const { network, seen, socket } = start(() => held);
    network.last.accept();
    expect(network.last.sent).toEqual([{ type: "hello", session: "ses_a", after_seq: 0 }]);
    held = 42;
    network.last.lose();
    expect(seen.at(-1)).toMatchObject({ phase: "retrying", attempt: 1 });
    vi.advanceTimersByTime(300);
    expect(network.sockets).toHaveLength(2);
    network.last.accept();
    expect(network.last.sent).toEqual([{ type: "hello", session: "ses_a", after_seq: 42 }]);
    expect(seen.at(-1)).toEqual({ phase: "open" });
    socket.stop();
  });

  it("waits longer after each failure, never above the ceiling", () => {
    const { network, seen, socket } = start();
    for (let attempt = 1; attempt <= 10; attempt++) {
      network.last.lose();
      const now = seen.at(-1);
      if (now?.phase !== "retrying") throw new Error(`expected a retry, got ${now?.phase}`);
      const wait = now.nextAtMs - Date.now();
      expect(wait).toBeLessThanOrEqual(8_150);
      if (attempt === 10) expect(wait).toBe(4_150);
      vi.advanceTimersByTime(wait);
    }
    expect(network.sockets).toHaveLength(11);
    socket.stop();
  });

  it.each([4401, 4403, 4404])("does not try again when refused with %i", (code) => {
    const { network, seen, socket } = start();
    network.last.accept();
    network.last.lose(code);
    vi.advanceTimersByTime(60_000);
    expect(network.sockets).toHaveLength(1);
    expect(seen.at(-1)).toEqual({ phase: "refused", code });
    socket.stop();
  });

  it("replaces a socket that only looks open", () => {
    const { network, socket } = start();
    network.last.accept();
    vi.advanceTimersByTime(15_000);
    expect(network.last.sent.at(-1)).toEqual({ type: "ping" });
    network.last.deliver({ type: "pong" });
    vi.advanceTimersByTime(45_000);
    expect(network.sockets).toHaveLength(2);
    socket.stop();
  });

  it("opens nothing after it was stopped", () => {
    const { network, socket } = start();
    network.last.lose();
    socket.stop();
    vi.advanceTimersByTime(60_000);
    expect(network.sockets).toHaveLength(1);
  });
});
