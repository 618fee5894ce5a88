/** Watching a show by WHEP (draft-ietf-wish-whep): one offer, one answer, and a new try whenever the picture is lost. */

import { send } from "../api/client";
import { Problem } from "../api/problems";

export type PictureState =
  | { phase: "connecting" }
  | { phase: "playing" }
  | { phase: "retrying"; attempt: number; reason: string }
  | { phase: "closed" };

export interface WhepOptions {
  /** API path of the endpoint, e.g. `/tenants/…/sessions/…/whep`. */
  path: string;
  onStream: (stream: MediaStream) => void;
  onState: (state: PictureState) => void;
  peer?: () => RTCPeerConnection;
  post?: (path: string, sdp: string) => Promise<{ sdp: string; location: string | null }>;
  remove?: (location: string) => void;
}

const GATHER_MS = 1_500;
const DISCONNECTED_MS = 3_000;
const FROZEN_MS = 6_000;
const WATCH_MS = 1_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5_000;
/** Enough to ride out jitter of a local network and Wi-Fi, well inside the 800 ms glass-to-glass budget. */
const JITTER_BUFFER_MS = 120;

async function post(path: string, sdp: string): Promise<{ sdp: string; location: string | null }> {
  const response = await send(path, { method: "POST", sdp });
  return { sdp: await response.text(), location: response.headers.get("Location") };
}

function remove(location: string): void {
  void send(new URL(location, window.location.href).pathname, { method: "DELETE" }).catch(() => {
    // The server drops a viewer whose connection is gone by itself.
  });
}

export class WhepPlayer {
  private peer: RTCPeerConnection | null = null;
  private location: string | null = null;
  private attempt = 0;
  private stopped = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watch: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly options: WhepOptions) {}

  start(): void {
    void this.connect();
  }

  stop(): void {
    this.stopped = true;
    this.drop();
    this.options.onState({ phase: "closed" });
  }

  private async connect(): Promise<void> {
    this.drop();
    if (this.attempt === 0) this.options.onState({ phase: "connecting" });
    let peer: RTCPeerConnection | null = null;
    try {
      peer = this.options.peer?.() ?? new RTCPeerConnection({ bundlePolicy: "max-bundle" });
      this.peer = peer;
      const stream = new MediaStream();
      for (const kind of ["video", "audio"] as const) {
        const { receiver } = peer.addTransceiver(kind, { direction: "recvonly" });
        if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = JITTER_BUFFER_MS;
        stream.addTrack(receiver.track);
      }
      this.watchOver(peer);
      await peer.setLocalDescription(await peer.createOffer());
      await gathered(peer);
      const answer = await (this.options.post ?? post)(this.options.path, peer.localDescription?.sdp ?? "");
      if (this.peer !== peer) {
        // Stopped or replaced while the server was answering: that viewer must not linger there.
        if (answer.location) (this.options.remove ?? remove)(answer.location);
        return;
      }
      this.location = answer.location;
      await peer.setRemoteDescription({ type: "answer", sdp: answer.sdp });
      this.options.onStream(stream);
    } catch (error) {
      if (this.peer === peer) this.retry(error instanceof Problem ? error.code : "failed");
    }
  }

  private watchOver(peer: RTCPeerConnection): void {
    let lostAtMs = 0;
    let frames = -1;
    let movedAtMs = Date.now();
    peer.onconnectionstatechange = () => {
      if (this.peer !== peer) return;
      if (peer.connectionState === "failed" || peer.connectionState === "closed") this.retry("connection_lost");
      else lostAtMs = peer.connectionState === "disconnected" ? Date.now() : 0;
    };
    this.watch = setInterval(async () => {
      const now = Date.now();
      if (lostAtMs && now - lostAtMs > DISCONNECTED_MS) return this.retry("connection_lost");
      const decoded = await framesDecoded(peer);
      if (this.peer !== peer) return;
      if (decoded > frames) {
        if (frames >= 0 || decoded > 0) {
          this.attempt = 0;
          this.options.onState({ phase: "playing" });
        }
        frames = decoded;
        movedAtMs = now;
      } else if (now - movedAtMs > FROZEN_MS && document.visibilityState === "visible") {
        this.retry("no_picture");
      }
    }, WATCH_MS);
  }

  private retry(reason: string): void {
    this.drop();
    if (this.stopped) return;
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.attempt);
    this.attempt += 1;
    this.options.onState({ phase: "retrying", attempt: this.attempt, reason });
    this.timer = setTimeout(() => void this.connect(), wait);
  }

  private drop(): void {
    clearTimeout(this.timer);
    clearInterval(this.watch);
    const { peer, location } = this;
    this.peer = null;
    this.location = null;
    if (peer) {
      peer.onconnectionstatechange = null;
      peer.close();
    }
    if (location) (this.options.remove ?? remove)(location);
  }
}

/** Resolves when all candidates are in the local description, or after a while with those found so far. */
function gathered(peer: RTCPeerConnection): Promise<void> {
  if (peer.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      if (peer.iceGatheringState !== "complete") return;
      clearTimeout(limit);
      peer.removeEventListener("icegatheringstatechange", done);
      resolve();
    };
    const limit = setTimeout(() => {
      peer.removeEventListener("icegatheringstatechange", done);
      resolve();
    }, GATHER_MS);
    peer.addEventListener("icegatheringstatechange", done);
  });
}

async function framesDecoded(peer: RTCPeerConnection): Promise<number> {
  let frames = -1;
  for (const stat of (await peer.getStats()).values()) {
    if (stat.type === "inbound-rtp" && stat.kind === "video") frames = stat.framesDecoded ?? 0;
  }
  return frames;
}
