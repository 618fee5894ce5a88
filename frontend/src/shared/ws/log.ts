/**
 * What a session's event log says, as a pure fold. Events may come late, twice or out of order: they are kept by
 * number, and the view is always the fold of the numbers held in ascending order, so arrival order cannot matter.
 */

import type { Cursor } from "../api/contract";
import type { LiveEvent } from "./protocol";

export interface Comment {
  id: string;
  text: string;
  user: string;
  /** received | queued | merged | answered | dropped */
  outcome: string;
  reason: string;
  turnId: string;
  at: number;
}

export interface Fact {
  productId: string;
  field: string;
  value: string;
}

export interface Turn {
  id: string;
  kind: string;
  question: string;
  answer: string;
  intent: string;
  facts: Fact[];
  firstWordMs: number;
  cutWaitMs: number;
  cached: boolean;
  /** planned | speaking | spoken | cut | dropped */
  outcome: string;
  at: number;
}

export interface Spoken {
  clipId: string;
  turnId: string;
  kind: string;
  text: string;
  mediaMs: number;
  reason: string;
  at: number;
}

export interface Output {
  id: string;
  kind: string;
  state: string;
  detail: string;
  at: number;
}

export interface Process {
  name: string;
  what: string;
  restarts: number;
  at: number;
}

export interface Gate {
  text: string;
  rule: string;
  action: string;
  at: number;
}

export interface LogView {
  comments: readonly Comment[];
  turns: readonly Turn[];
  spoken: readonly Spoken[];
  outputs: Readonly<Record<string, Output>>;
  processes: Readonly<Record<string, Process>>;
  gates: readonly Gate[];
  cursor: (Cursor & { at: number }) | null;
  recordingSeconds: number;
}

export interface Log {
  /** The fold of everything older than `events`. */
  base: LogView;
  /** The highest number inside `base`; events at or below it are not taken again. */
  baseSeq: number;
  /** Ascending by number. */
  events: readonly LiveEvent[];
  view: LogView;
  lastSeq: number;
}

const KEPT_EVENTS = 2_000;
const TRIMMED_TO = 1_500;
const KEPT_COMMENTS = 400;
const KEPT_TURNS = 100;
const KEPT_SPOKEN = 200;
const KEPT_GATES = 50;

export const EMPTY_VIEW: LogView = {
  comments: [],
  turns: [],
  spoken: [],
  outputs: {},
  processes: {},
  gates: [],
  cursor: null,
  recordingSeconds: 0,
};

export const EMPTY_LOG: Log = { base: EMPTY_VIEW, baseSeq: 0, events: [], view: EMPTY_VIEW, lastSeq: 0 };

const text = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : String(value);
const number = (value: unknown, otherwise = -1): number => (typeof value === "number" ? value : otherwise);

function facts(value: unknown): Fact[] {
  if (!Array.isArray(value)) return [];
  return value.map((fact: unknown) => {
    if (Array.isArray(fact)) return { productId: text(fact[0]), field: text(fact[1]), value: text(fact[2]) };
    if (typeof fact === "object" && fact !== null) {
      const named = fact as Record<string, unknown>;
      return { productId: text(named.product_id), field: text(named.field), value: text(named.value) };
    }
    return { productId: "", field: "", value: text(fact) };
  });
}

/** `list` with the item of this id changed in place, or appended; at most `most` of the newest stay. */
function upsert<T extends { id: string }>(
  list: readonly T[],
  id: string,
  change: (old: T | undefined) => T,
  most: number,
): T[] {
  const index = list.findLastIndex((item) => item.id === id);
  const next = list.slice();
  if (index >= 0) next[index] = change(list[index]);
  else next.push(change(undefined));
  return next.length > most ? next.slice(next.length - most) : next;
}

/** One event more. Unknown kinds change nothing. */
export function step(view: LogView, event: LiveEvent): LogView {
  const data = event.data;
  switch (event.kind) {
    case "comment": {
      const change = (old: Comment | undefined): Comment => ({
        id: text(data.id),
        text: text(data.text) || (old?.text ?? ""),
        user: text(data.user) || (old?.user ?? ""),
        outcome: text(data.outcome) || (old?.outcome ?? "received"),
        reason: text(data.reason),
        turnId: text(data.turn_id) || (old?.turnId ?? ""),
        at: old?.at ?? event.at,
      });
      return { ...view, comments: upsert(view.comments, text(data.id), change, KEPT_COMMENTS) };
    }
    case "turn": {
      const change = (old: Turn | undefined): Turn => ({
        id: text(data.turn_id),
        kind: text(data.kind) || (old?.kind ?? ""),
        question: text(data.question) || (old?.question ?? ""),
        answer: text(data.answer) || (old?.answer ?? ""),
        intent: text(data.intent) || (old?.intent ?? ""),
        facts: data.facts === undefined ? (old?.facts ?? []) : facts(data.facts),
        firstWordMs: number(data.first_word_ms, old?.firstWordMs ?? -1),
        cutWaitMs: number(data.cut_wait_ms, old?.cutWaitMs ?? -1),
        cached: typeof data.cached === "boolean" ? data.cached : (old?.cached ?? false),
        outcome: text(data.outcome) || (old?.outcome ?? ""),
        at: old?.at ?? event.at,
      });
      return { ...view, turns: upsert(view.turns, text(data.turn_id), change, KEPT_TURNS) };
    }
    case "spoken": {
      const said: Spoken = {
        clipId: text(data.clip_id),
        turnId: text(data.turn_id),
        kind: text(data.kind),
        text: text(data.text),
        mediaMs: number(data.media_ms),
        reason: text(data.reason),
        at: event.at,
      };
      return { ...view, spoken: [...view.spoken, said].slice(-KEPT_SPOKEN) };
    }
    case "output": {
      const id = text(data.id);
      const output: Output = {
        id,
        kind: text(data.kind),
        state: text(data.state),
        detail: text(data.detail),
        at: event.at,
      };
      return { ...view, outputs: { ...view.outputs, [id]: output } };
    }
    case "process": {
      const name = text(data.name);
      const what = text(data.what);
      const restarts = (view.processes[name]?.restarts ?? 0) + (what === "died" ? 1 : 0);
      return { ...view, processes: { ...view.processes, [name]: { name, what, restarts, at: event.at } } };
    }
    case "gate": {
      const gate: Gate = { text: text(data.text), rule: text(data.rule), action: text(data.action), at: event.at };
      return { ...view, gates: [...view.gates, gate].slice(-KEPT_GATES) };
    }
    case "cursor":
      return {
        ...view,
        cursor: {
          loop: number(data.loop, 0),
          segment_index: number(data.segment_index, 0),
          line_index: number(data.line_index, 0),
          sentence_index: number(data.sentence_index, 0),
          segment_id: text(data.segment_id),
          title: text(data.title),
          at: event.at,
        },
      };
    case "recording":
      return { ...view, recordingSeconds: Math.max(view.recordingSeconds, number(data.seconds, 0)) };
    default:
      return view;
  }
}

/** The log with a batch of events taken in, in whatever order they come. */
export function take(log: Log, batch: readonly LiveEvent[]): Log {
  const known = new Set(log.events.map((event) => event.seq));
  const fresh: LiveEvent[] = [];
  for (const event of batch) {
    if (event.seq <= log.baseSeq || known.has(event.seq)) continue;
    known.add(event.seq);
    fresh.push(event);
  }
  if (fresh.length === 0) return log;
  fresh.sort((a, b) => a.seq - b.seq);
  const lastHeld = log.events.at(-1)?.seq ?? log.baseSeq;
  const inOrder = (fresh[0]?.seq ?? 0) > lastHeld;
  let events = inOrder ? [...log.events, ...fresh] : [...log.events, ...fresh].sort((a, b) => a.seq - b.seq);
  let { base, baseSeq } = log;
  if (events.length > KEPT_EVENTS) {
    const old = events.slice(0, events.length - TRIMMED_TO);
    base = old.reduce(step, base);
    baseSeq = old.at(-1)?.seq ?? baseSeq;
    events = events.slice(events.length - TRIMMED_TO);
  }
  const view = inOrder ? fresh.reduce(step, log.view) : events.reduce(step, base);
  return { base, baseSeq, events, view, lastSeq: events.at(-1)?.seq ?? baseSeq };
}

/** The highest number held that is below `seq`: where to start asking for what is missing. */
export function lastSeqBelow(log: Log, seq: number): number {
  return log.events.findLast((event) => event.seq < seq)?.seq ?? log.baseSeq;
}
