/** One store per live session: a stream, not a cache. Frames wait in a buffer and reach React four times a second. */

import { createStore, type StoreApi } from "zustand/vanilla";
import type { Session } from "../api/contract";
import { EMPTY_LOG, type Log, lastSeqBelow, take } from "./log";
import type { LiveEvent, ServerFrame, Snapshot } from "./protocol";
import { type Connection, ConsoleSocket, type ConsoleSocketOptions, consoleSocketUrl } from "./socket";

export interface RoomState {
  sessionId: string;
  session: Session | null;
  snapshot: Snapshot | null;
  /** When the newest snapshot arrived, by this machine's clock. */
  snapshotAtMs: number;
  log: Log;
  connection: Connection;
}

export type RoomStore = StoreApi<RoomState>;

const OVER = new Set(["ended", "failed"]);
const FLUSH_VISIBLE_MS = 250;
const FLUSH_HIDDEN_MS = 2_000;

export function emptyRoom(sessionId: string): RoomState {
  return {
    sessionId,
    session: null,
    snapshot: null,
    snapshotAtMs: 0,
    log: EMPTY_LOG,
    connection: { phase: "connecting" },
  };
}

/** The newer word about the session: an end is final, and an older epoch never overrules a newer one. */
export function newerSession(known: Session | null, told: Session): Session {
  if (!known) return told;
  if (OVER.has(known.state) && !OVER.has(told.state)) return known;
  return told.epoch < known.epoch ? known : told;
}

/** The room after a batch of frames; frames of other sessions change nothing. */
export function reduceRoom(room: RoomState, frames: readonly ServerFrame[], nowMs: number): RoomState {
  let next = room;
  const events: LiveEvent[] = [];
  for (const frame of frames) {
    if (frame.type === "event" && frame.session === room.sessionId) {
      events.push(frame);
    } else if (frame.type === "snapshot" && frame.session === room.sessionId) {
      if (!next.snapshot || frame.at >= next.snapshot.at) next = { ...next, snapshot: frame, snapshotAtMs: nowMs };
    } else if (frame.type === "session" && frame.session.id === room.sessionId) {
      next = { ...next, session: newerSession(next.session, frame.session) };
    }
  }
  const log = take(next.log, events);
  return log === next.log ? next : { ...next, log };
}

/** Opens the room's socket and keeps the store current until the returned function is called. */
export function followRoom(
  store: RoomStore,
  tenantId: string,
  options: {
    /** Stored events after a number, for what the socket could not carry. */
    missed?: (afterSeq: number) => Promise<LiveEvent[]>;
    open?: ConsoleSocketOptions["open"];
  } = {},
): { stop: () => void; flush: () => void } {
  const waiting: ServerFrame[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length > 0) store.setState((room) => reduceRoom(room, waiting.splice(0), Date.now()));
  };
  const backfill = (afterSeq: number) => {
    options
      .missed?.(afterSeq)
      .then((events) =>
        store.setState((room) =>
          reduceRoom(
            room,
            events.map((e) => ({ type: "event", ...e })),
            Date.now(),
          ),
        ),
      )
      .catch(() => {
        // The next reconnect asks again; what is on the page stays.
      });
  };
  let heldAtReconnect = 0;
  const socket = new ConsoleSocket({
    url: consoleSocketUrl(tenantId),
    session: store.getState().sessionId,
    afterSeq: () => {
      flush();
      heldAtReconnect = store.getState().log.lastSeq;
      return heldAtReconnect;
    },
    onFrame: (frame) => {
      if (frame.type === "welcome" && heldAtReconnect > 0) backfill(heldAtReconnect);
      if (frame.type === "gap" && frame.session === store.getState().sessionId) {
        backfill(lastSeqBelow(store.getState().log, frame.until_seq));
      }
      if (frame.type === "error" && frame.code === "not_found") {
        store.setState({ connection: { phase: "refused", code: 4404 } });
      }
      waiting.push(frame);
      timer ??= setTimeout(flush, document.visibilityState === "hidden" ? FLUSH_HIDDEN_MS : FLUSH_VISIBLE_MS);
    },
    onConnection: (connection) => store.setState({ connection }),
    open: options.open,
  });
  socket.start();
  return {
    flush,
    stop: () => {
      clearTimeout(timer);
      socket.stop();
    },
  };
}

export function createRoomStore(sessionId: string): RoomStore {
  return createStore<RoomState>(() => emptyRoom(sessionId));
}
