/** Watches a running session's host over DMCP: fresh token at each connection, play-out by timestamp, reports of what was lost. */

import { type MotionSocket, openMotionSocket } from "../ws/motion";
import { DmcpError, decodeBinary, decodeJson, PROTOCOL, Reception } from "./dmcp";
import type { MotionFrame } from "./frame";
import { PlayOut } from "./playout";

export interface MotionToken {
  token: string;
  session: string;
  url: string;
}

export type WatchState =
  | { phase: "connecting" }
  | { phase: "open" }
  | { phase: "retrying"; attempt: number }
  /** Trying again would not help; `code` is DMCP's, or 0 when no token was given. */
  | { phase: "refused"; code: number; detail: string }
  | { phase: "closed" };

export interface WatchOptions {
  /** Asks the platform for a token of the role `watch`. */
  token: () => Promise<MotionToken>;
  onState: (state: WatchState) => void;
  /** Whether an error of `token` may pass by itself. */
  passing?: (error: unknown) => boolean;
  encoding?: "binary" | "json";
  open?: (url: string, protocol: string) => MotionSocket;
  now?: () => number;
  random?: () => number;
}

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 10_000;
const REPORT_MS = 5_000;
/** Role, session or version are wrong, or the session is over: a fresh token changes nothing. */
const FINAL = new Set([4001, 4006, 4007, 4008, 4012]);

export class MotionWatch {
  readonly reception = new Reception();
  readonly playOut = new PlayOut();
  refused = 0;
  private socket: MotionSocket | null = null;
  private attempt = 0;
  private stopped = false;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private reporting: ReturnType<typeof setInterval> | undefined;
  private turn = 0;

  constructor(private readonly options: WatchOptions) {}

  start(): void {
    void this.connect();
  }

  stop(): void {
    this.stopped = true;
    this.drop();
    clearTimeout(this.retry);
    this.options.onState({ phase: "closed" });
  }

  /** The pose for now; false until the first frame has come. */
  at(nowMs: number, out: MotionFrame): boolean {
    return this.playOut.at(nowMs, out);
  }

  private async connect(): Promise<void> {
    this.drop();
    this.turn += 1;
    const turn = this.turn;
    this.options.onState({ phase: "connecting" });
    let token: MotionToken;
    try {
      token = await this.options.token();
    } catch (error) {
      if (this.stopped || turn !== this.turn) return;
      if (this.options.passing?.(error) ?? true) this.later();
      else this.options.onState({ phase: "refused", code: 0, detail: String(error) });
      return;
    }
    if (this.stopped || turn !== this.turn) return;
    const now = this.options.now ?? (() => performance.now());
    const socket = (this.options.open ?? openMotionSocket)(token.url, PROTOCOL);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    let ended: { code: number; detail: string } | null = null;
    socket.onopen = () => {
      socket.send(
        JSON.stringify({
          type: "hello",
          token: token.token,
          sid: token.session,
          role: "watch",
          clock_ms: Date.now(),
          encoding: this.options.encoding ?? "binary",
          client: "lumihost console",
        }),
      );
    };
    socket.onmessage = ({ data }) => {
      try {
        if (data instanceof ArrayBuffer) this.take(decodeBinary(data), now());
        else if (typeof data === "string") ended = this.read(data, token.session, now()) ?? ended;
      } catch (error) {
        if (!(error instanceof DmcpError)) throw error;
        this.refused += 1;
      }
    };
    socket.onclose = ({ code, reason }) => {
      if (this.socket !== socket) return;
      const last = ended ?? { code, detail: reason };
      if (FINAL.has(last.code)) {
        this.drop();
        this.options.onState({ phase: "refused", ...last });
      } else this.later();
    };
    socket.onerror = null;
    this.reporting = setInterval(() => this.report(), REPORT_MS);
  }

  /** A text message; what it says of the end, if it is one. */
  private read(text: string, session: string, nowMs: number): { code: number; detail: string } | null {
    const message = JSON.parse(text) as {
      type?: string;
      payload?: unknown;
      code?: number;
      detail?: string;
      closing?: boolean;
    };
    if (message.payload !== undefined) this.take(decodeJson(text, session), nowMs);
    else if (message.type === "welcome") {
      this.attempt = 0;
      this.playOut.clear();
      this.options.onState({ phase: "open" });
    } else if (message.type === "error" && message.closing) {
      return { code: message.code ?? 0, detail: message.detail ?? "" };
    }
    return null;
  }

  private take(motion: ReturnType<typeof decodeBinary>, nowMs: number): void {
    const newest = motion.sequence === null || this.reception.take(motion.sequence, motion.tsMs, nowMs);
    if (newest) this.playOut.push(motion, motion.tsMs, nowMs);
  }

  private report(): void {
    const { received, lost, jitterMs } = this.reception;
    this.socket?.send(JSON.stringify({ type: "report", received, lost, jitter_ms: Math.round(jitterMs * 100) / 100 }));
  }

  private later(): void {
    this.drop();
    this.attempt += 1;
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.attempt - 1));
    this.options.onState({ phase: "retrying", attempt: this.attempt });
    this.retry = setTimeout(() => void this.connect(), longest * (0.5 + 0.5 * (this.options.random ?? Math.random)()));
  }

  private drop(): void {
    clearInterval(this.reporting);
    const socket = this.socket;
    this.socket = null;
    if (!socket) return;
    socket.onopen = socket.onclose = socket.onmessage = socket.onerror = null;
    socket.close(1000);
  }
}
