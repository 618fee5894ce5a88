/** Frames of the console socket `/ws/console/{tenant_id}/`. */

import type { Cursor, Session } from "../api/contract";

/** What an engine measures once a second; times in milliseconds unless named otherwise, -1 = not known yet. */
export interface Metrics {
  media_s: number;
  /** `media_s` over all engines of this epoch. */
  total_media_s: number;
  fps: number;
  late_frames: number;
  frame_ms: number;
  av_offset_ms: number;
  first_word_ms: number;
  first_word_p50_ms: number;
  first_word_p99_ms: number;
  inbox: number;
  buffered_ms: number;
  viewers: number;
  bitrate_kbps: number;
  cpu_percent: Record<string, number>;
  rss_mb: Record<string, number>;
  outputs: Record<string, string>;
  gpu: string;
  billable_s: number;
  cost_minor: number;
}

export interface LiveEvent {
  session: string;
  /** Grows through the whole session, across engine restarts. */
  seq: number;
  kind: string;
  data: Record<string, unknown>;
  /** Unix time in milliseconds at the engine. */
  at: number;
}

export interface Snapshot {
  session: string;
  seq: number;
  state: string;
  metrics: Partial<Metrics>;
  cursor: Cursor | null;
  at: number;
}

export type ServerFrame =
  | { type: "welcome" }
  | ({ type: "snapshot" } & Snapshot)
  | ({ type: "event" } & LiveEvent)
  | { type: "session"; session: Session }
  /** Events up to `until_seq` were left out for this slow reader; they are stored. */
  | { type: "gap"; session: string; until_seq: number }
  | { type: "error"; code: string }
  | { type: "pong" };

export type ClientFrame = { type: "hello"; session: string | null; after_seq: number } | { type: "ping" };

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** The frame in a message, or null for what this console does not know (a newer server may say more). */
export function readFrame(text: string): ServerFrame | null {
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(frame)) return null;
  switch (frame.type) {
    case "welcome":
    case "pong":
      return { type: frame.type };
    case "gap":
      return typeof frame.session === "string" && typeof frame.until_seq === "number"
        ? { type: "gap", session: frame.session, until_seq: frame.until_seq }
        : null;
    case "error":
      return typeof frame.code === "string" ? { type: "error", code: frame.code } : null;
    case "session":
      return isObject(frame.session) && typeof frame.session.id === "string"
        ? { type: "session", session: frame.session as unknown as Session }
        : null;
    case "snapshot":
      return typeof frame.session === "string" && typeof frame.at === "number"
        ? {
            type: "snapshot",
            session: frame.session,
            seq: typeof frame.seq === "number" ? frame.seq : 0,
            state: typeof frame.state === "string" ? frame.state : "",
            metrics: isObject(frame.metrics) ? (frame.metrics as Partial<Metrics>) : {},
            cursor: isObject(frame.cursor) ? (frame.cursor as unknown as Cursor) : null,
            at: frame.at,
          }
        : null;
    case "event":
      return typeof frame.session === "string" && typeof frame.seq === "number" && typeof frame.kind === "string"
        ? {
            type: "event",
            session: frame.session,
            seq: frame.seq,
            kind: frame.kind,
            data: isObject(frame.data) ? frame.data : {},
            at: typeof frame.at === "number" ? frame.at : 0,
          }
        : null;
    default:
      return null;
  }
}
