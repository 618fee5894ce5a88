import { describe, expect, it } from "vitest";
import { EMPTY_LOG, type Log, lastSeqBelow, take } from "./log";
import type { LiveEvent } from "./protocol";

const SESSION = "ses_a";

function event(seq: number, kind: string, data: Record<string, unknown>): LiveEvent {
  return { session: SESSION, seq, kind, data, at: 1_000 + seq };
}

/** A small deterministic generator (mulberry32), so that a failure names its seed. */
function randomFrom(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function recordedShow(length: number): LiveEvent[] {
  const outcomes = ["received", "queued", "answered", "merged", "dropped"];
  return Array.from({ length }, (_, i) => {
    const seq = i + 1;
    const comment = `c${Math.floor(i / 7)}`;
    switch (i % 7) {
      case 0:
        return event(seq, "comment", { id: comment, text: `问题 ${i}`, user: "小王", outcome: "received" });
      case 1:
        return event(seq, "comment", { id: comment, outcome: outcomes[(i >> 1) % 5], reason: i % 2 ? "flood" : "" });
      case 2:
        return event(seq, "turn", { turn_id: `t${i % 21}`, outcome: i % 2 ? "speaking" : "spoken", answer: `答 ${i}` });
      case 3:
        return event(seq, "spoken", { clip_id: `k${i}`, text: `句 ${i}`, media_ms: i * 100, kind: "script" });
      case 4:
        return event(seq, "cursor", { loop: 0, segment_index: i % 5, line_index: i % 3, sentence_index: 0 });
      case 5:
        return event(seq, "process", { name: "body", what: i % 2 ? "died" : "restarted" });
      default:
        return event(seq, "output", { id: "webrtc", kind: "webrtc", state: i % 2 ? "up" : "retrying" });
    }
  });
}

function delivered(events: LiveEvent[], random: () => number): Log {
  let log = EMPTY_LOG;
  let waiting = events.slice();
  while (waiting.length > 0) {
    const size = 1 + Math.floor(random() * 20);
    const batch = waiting.slice(0, size);
    waiting = waiting.slice(size);
    log = take(log, batch);
  }
  return log;
}

describe("the event log", () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("gives the same view for any interleaving and duplicates (seed %i)", (seed) => {
    const random = randomFrom(seed);
    const events = recordedShow(400);
    const inOrder = take(EMPTY_LOG, events);
    const shuffled = [...events, ...events.filter(() => random() < 0.3)]
      .map((e) => ({ e, key: random() }))
      .sort((a, b) => a.key - b.key)
      .map(({ e }) => e);
    const log = delivered(shuffled, random);
    expect(log.view).toEqual(inOrder.view);
    expect(log.lastSeq).toBe(400);
  });

  it.each([11, 12, 13])("closes a gap when the missing events come later (seed %i)", (seed) => {
    const random = randomFrom(seed);
    const events = recordedShow(300);
    const missing = events.filter((e) => e.seq > 100 && e.seq <= 140);
    const rest = events.filter((e) => e.seq <= 100 || e.seq > 140);
    const withGap = delivered(rest, random);
    expect(lastSeqBelow(withGap, 141)).toBe(100);
    expect(take(withGap, missing).view).toEqual(take(EMPTY_LOG, events).view);
  });

  it("keeps a bounded number of events and still takes new ones after trimming", () => {
    const events = recordedShow(5_000);
    const log = delivered(events, randomFrom(1));
    expect(log.events.length).toBeLessThanOrEqual(2_000);
    expect(log.lastSeq).toBe(5_000);
    expect(log.view.spoken.at(-1)?.text).toBe("句 4994");
    expect(take(log, events.slice(0, 100))).toBe(log);
  });

  it("shows a comment's whole way with the words it came with", () => {
    const log = take(EMPTY_LOG, [
      event(1, "comment", { id: "c1", text: "多少钱", user: "小王", outcome: "received" }),
      event(2, "comment", { id: "c1", outcome: "queued", reason: "" }),
      event(3, "comment", { id: "c1", outcome: "answered", reason: "", turn_id: "t9" }),
    ]);
    expect(log.view.comments).toEqual([
      { id: "c1", text: "多少钱", user: "小王", outcome: "answered", reason: "", turnId: "t9", at: 1_001 },
    ]);
  });

  it("reads facts as the engine lists them", () => {
    const log = take(EMPTY_LOG, [
      event(1, "turn", {
        turn_id: "t1",
        question: "多少钱",
        intent: "price",
        facts: [["prd_1", "price_minor", "12900", 3]],
        first_word_ms: 310.4,
        outcome: "spoken",
      }),
    ]);
    expect(log.view.turns[0]?.facts).toEqual([{ productId: "prd_1", field: "price_minor", value: "12900" }]);
    expect(log.view.turns[0]?.firstWordMs).toBe(310.4);
    expect(log.view.turns[0]?.cutWaitMs).toBe(-1);
  });

  it("leaves the view alone for kinds it does not know", () => {
    const log = take(EMPTY_LOG, [event(1, "comet", { tail: true })]);
    expect(log.view).toEqual(EMPTY_LOG.view);
    expect(log.lastSeq).toBe(1);
  });
});
