/** A console socket that comes back by itself: resume by number, full-jitter back-off, ping, replacement after a wake. */

import { type ClientFrame, readFrame, type ServerFrame } from "./protocol";

export type Connection =
  | { phase: "connecting" }
  | { phase: "open" }
  | { phase: "retrying"; attempt: number; nextAtMs: number }
  /** The server said no: 4401 sign in again, 4403 not allowed, 4404 no such thing. Trying again would not help. */
  | { phase: "refused"; code: number }
  | { phase: "closed" };

export interface SocketLike {
  readonly readyState: number;
  send(data: string): void;
  close(code?: number): void;
  onopen: ((event: Event) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: Event) => void) | null;
}

export interface ConsoleSocketOptions {
  url: string;
  session: string | null;
  /** The last event number the page holds; the server sends what came after it. */
  afterSeq: () => number;
  onFrame: (frame: ServerFrame) => void;
  onConnection: (connection: Connection) => void;
  open?: (url: string) => SocketLike;
  random?: () => number;
}

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 8_000;
const PING_MS = 15_000;
const SILENCE_MS = 32_000;
const REFUSALS = new Set([4401, 4403, 4404]);

export class ConsoleSocket {
  private socket: SocketLike | null = null;
  private attempt = 0;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private pingTimer: ReturnType<typeof setInterval> | undefined;
  private heardAtMs = 0;
  private stopped = false;

  constructor(private readonly options: ConsoleSocketOptions) {}

  start(): void {
    window.addEventListener("online", this.wake);
    window.addEventListener("pageshow", this.wake);
    document.addEventListener("visibilitychange", this.wake);
    this.connect();
  }

  stop(): void {
    this.stopped = true;
    window.removeEventListener("online", this.wake);
    window.removeEventListener("pageshow", this.wake);
    document.removeEventListener("visibilitychange", this.wake);
    this.drop();
    clearTimeout(this.retryTimer);
    this.options.onConnection({ phase: "closed" });
  }

  private connect(): void {
    this.drop();
    clearTimeout(this.retryTimer);
    this.options.onConnection({ phase: "connecting" });
    const open = this.options.open ?? ((url: string) => new WebSocket(url) as SocketLike);
    const socket = open(this.options.url);
    this.socket = socket;
    this.heardAtMs = Date.now();
    socket.onopen = () => {
      this.say({ type: "hello", session: this.options.session, after_seq: this.options.afterSeq() });
    };
    socket.onmessage = (event) => {
      this.heardAtMs = Date.now();
      const frame = typeof event.data === "string" ? readFrame(event.data) : null;
      if (!frame) return;
      if (frame.type === "welcome") {
        this.attempt = 0;
        this.options.onConnection({ phase: "open" });
      }
      this.options.onFrame(frame);
    };
    socket.onclose = (event) => {
      if (this.socket !== socket) return;
      this.drop();
      if (REFUSALS.has(event.code)) this.options.onConnection({ phase: "refused", code: event.code });
      else this.retry();
    };
    this.pingTimer = setInterval(() => {
      // A laptop that slept, or a network that swallows packets, leaves a socket that only looks open.
      if (Date.now() - this.heardAtMs > SILENCE_MS) this.connect();
      else this.say({ type: "ping" });
    }, PING_MS);
  }

  private retry(): void {
    if (this.stopped) return;
    const ceiling = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.attempt);
    const wait = Math.round(FIRST_WAIT_MS / 2 + (this.options.random ?? Math.random)() * ceiling);
    this.attempt += 1;
    this.options.onConnection({ phase: "retrying", attempt: this.attempt, nextAtMs: Date.now() + wait });
    this.retryTimer = setTimeout(() => this.connect(), wait);
  }

  private wake = (): void => {
    if (this.stopped || document.visibilityState === "hidden") return;
    if (this.socket === null) {
      if (this.retryTimer !== undefined) this.connect();
    } else if (Date.now() - this.heardAtMs > SILENCE_MS) {
      this.connect();
    }
  };

  private say(frame: ClientFrame): void {
    if (this.socket?.readyState === 1) this.socket.send(JSON.stringify(frame));
  }

  private drop(): void {
    clearInterval(this.pingTimer);
    const socket = this.socket;
    this.socket = null;
    if (!socket) return;
    socket.onopen = socket.onclose = socket.onmessage = socket.onerror = null;
    if (socket.readyState <= 1) socket.close();
  }
}

export function consoleSocketUrl(tenantId: string): string {
  const scheme = window.location.protocol === "https:" ? "wss" : "ws";
  return `${scheme}://${window.location.host}/ws/console/${encodeURIComponent(tenantId)}/`;
}
