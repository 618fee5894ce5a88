import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Session } from "../api/contract";
import { FakeNetwork } from "./fake";
import type { LiveEvent } from "./protocol";
import { createRoomStore, emptyRoom, followRoom, newerSession, reduceRoom } from "./store";

const session = (over: Partial<Session>): Session => ({
  id: "ses_a",
  state: "live",
  desired: "running",
  epoch: 1,
  show: { id: "shw_a", title: "冬季护肤" },
  channel: null,
  node: null,
  cursor: null,
  record: true,
  requested_at: "2026-12-01T12:00:00Z",
  started_at: null,
  ended_at: null,
  end_reason: "",
  media_s: 0,
  billable_s: 0,
  cost_minor: 0,
  currency: "CNY",
  ...over,
});
const spoken = (seq: number): LiveEvent => ({
  session: "ses_a",
  seq,
  kind: "spoken",
  data: { clip_id: `k${seq}`, text: `句 ${seq}`, media_ms: seq },
  at: seq,
});
const snapshot = (at: number, id = "ses_a") =>
  ({ type: "snapshot", session: id, seq: at, state: "live", metrics: { fps: at }, cursor: null, at }) as const;

describe("the room", () => {
  it("keeps the newest snapshot whatever order they come in", () => {
    const room = reduceRoom(emptyRoom("ses_a"), [snapshot(5), snapshot(3), snapshot(9), snapshot(7)], 100);
    expect(room.snapshot?.metrics.fps).toBe(9);
    expect(room.snapshotAtMs).toBe(100);
  });

  it("takes nothing from another session", () => {
    const before = emptyRoom("ses_a");
    const other = { ...spoken(1), session: "ses_b" };
    expect(reduceRoom(before, [snapshot(5, "ses_b"), { type: "event", ...other }], 1)).toBe(before);
  });

  it("never takes back an end, nor an older epoch", () => {
    const ended = session({ state: "ended", epoch: 2 });
    expect(newerSession(ended, session({ state: "live", epoch: 2 }))).toBe(ended);
    const second = session({ epoch: 2 });
    expect(newerSession(second, session({ state: "interrupted", epoch: 1 }))).toBe(second);
    expect(newerSession(second, session({ state: "stopping", epoch: 2 })).state).toBe("stopping");
  });
});

describe("following a room", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("flushes four times a second, not per frame", () => {
    const network = new FakeNetwork();
    const store = createRoomStore("ses_a");
    let renders = 0;
    const room = followRoom(store, "ten_a", { open: network.open });
    network.last.accept();
    store.subscribe(() => {
      renders += 1;
    });
    for (let seq = 1; seq <= 100; seq++) {
      network.last.deliver({ type: "event", ...spoken(seq) });
      vi.advanceTimersByTime(10);
    }
    vi.advanceTimersByTime(250);
    expect(store.getState().log.view.spoken).toHaveLength(100);
    expect(renders).toBeLessThanOrEqual(5);
    room.stop();
  });

  it("resumes after a loss and asks for what the socket left out", async () => {
    const network = new FakeNetwork();
    const store = createRoomStore("ses_a");
    const asked: number[] = [];
    const room = followRoom(store, "ten_a", {
      open: network.open,
      missed: async (after) => {
        asked.push(after);
        return after === 2 ? [spoken(3), spoken(4)] : [];
      },
    });
    network.last.accept();
    network.last.deliver({ type: "event", ...spoken(1) });
    network.last.deliver({ type: "event", ...spoken(2) });
    network.last.lose();
    expect(store.getState().connection.phase).toBe("retrying");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.getState().log.lastSeq).toBe(2);
    network.last.accept();
    expect(network.last.sent).toEqual([{ type: "hello", session: "ses_a", after_seq: 2 }]);
    network.last.deliver({ type: "gap", session: "ses_a", until_seq: 4 });
    network.last.deliver({ type: "event", ...spoken(5) });
    await vi.advanceTimersByTimeAsync(500);
    expect(asked).toEqual([2, 2]);
    expect(store.getState().log.view.spoken.map((s) => s.text)).toEqual(["句 1", "句 2", "句 3", "句 4", "句 5"]);
    room.stop();
  });
});
