import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Problem } from "../api/problems";
import { type PictureState, WhepPlayer } from "./whep";

class FakePeer extends EventTarget {
  connectionState = "new";
  iceGatheringState = "complete";
  localDescription: { sdp: string } | null = null;
  remote = "";
  closed = false;
  frames = 0;
  readonly kinds: string[] = [];
  onconnectionstatechange: (() => void) | null = null;

  addTransceiver(kind: string, init: { direction: string }) {
    this.kinds.push(`${kind}:${init.direction}`);
    return { receiver: { track: { kind }, jitterBufferTarget: null } };
  }
  async createOffer() {
    return { type: "offer", sdp: "v=0 offer" };
  }
  async setLocalDescription(description: { sdp: string }) {
    this.localDescription = description;
  }
  async setRemoteDescription(description: { sdp: string }) {
    this.remote = description.sdp;
  }
  async getStats() {
    return new Map([["v", { type: "inbound-rtp", kind: "video", framesDecoded: this.frames }]]);
  }
  close() {
    this.closed = true;
  }
  become(state: string) {
    this.connectionState = state;
    this.onconnectionstatechange?.();
  }
}

class FakeStream {
  readonly tracks: unknown[] = [];
  addTrack(track: unknown) {
    this.tracks.push(track);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("MediaStream", FakeStream);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function player(post: (path: string, sdp: string) => Promise<{ sdp: string; location: string | null }>) {
  const peers: FakePeer[] = [];
  const states: PictureState[] = [];
  const removed: string[] = [];
  const streams: unknown[] = [];
  const whep = new WhepPlayer({
    path: "/whep",
    onStream: (stream) => streams.push(stream),
    onState: (state) => states.push(state),
    peer: () => {
      const peer = new FakePeer();
      peers.push(peer);
      return peer as unknown as RTCPeerConnection;
    },
    post,
    remove: (location) => removed.push(location),
  });
  return { whep, peers, states, removed, streams };
}

describe("the WHEP player", () => {
  it("offers to receive picture and sound, and plays once frames are decoded", async () => {
    const { whep, peers, states, streams } = player(async () => ({ sdp: "v=0 answer", location: "/whep/v1" }));
    whep.start();
    await vi.advanceTimersByTimeAsync(10);
    expect(peers[0]?.kinds).toEqual(["video:recvonly", "audio:recvonly"]);
    expect(peers[0]?.remote).toBe("v=0 answer");
    expect(streams).toHaveLength(1);
    expect(states).toEqual([{ phase: "connecting" }]);
    if (peers[0]) peers[0].frames = 12;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(states.at(-1)).toEqual({ phase: "playing" });
    whep.stop();
  });

  it("connects again when the connection fails, and tells the server the old viewer is gone", async () => {
    const { whep, peers, states, removed } = player(async () => ({ sdp: "v=0 answer", location: "/whep/v1" }));
    whep.start();
    await vi.advanceTimersByTimeAsync(10);
    peers[0]?.become("failed");
    expect(states.at(-1)).toEqual({ phase: "retrying", attempt: 1, reason: "connection_lost" });
    expect(peers[0]?.closed).toBe(true);
    expect(removed).toEqual(["/whep/v1"]);
    await vi.advanceTimersByTimeAsync(600);
    expect(peers).toHaveLength(2);
    whep.stop();
  });

  it("connects again when the picture freezes", async () => {
    const { whep, peers, states } = player(async () => ({ sdp: "v=0 answer", location: null }));
    whep.start();
    await vi.advanceTimersByTimeAsync(10);
    if (peers[0]) peers[0].frames = 5;
    await vi.advanceTimersByTimeAsync(9_000);
    expect(states).toContainEqual({ phase: "retrying", attempt: 1, reason: "no_picture" });
    whep.stop();
  });

  it("keeps trying while the host cannot be reached", async () => {
    let tries = 0;
    const { whep, states } = player(async () => {
      tries += 1;
      throw new Problem({ status: 503, code: "engine_unavailable" });
    });
    whep.start();
    await vi.advanceTimersByTimeAsync(4_000);
    expect(tries).toBe(4);
    expect(states.at(-1)).toMatchObject({ phase: "retrying", reason: "engine_unavailable" });
    whep.stop();
  });

  it("releases a viewer whose answer comes after the page has left", async () => {
    let answer: (value: { sdp: string; location: string }) => void = () => {};
    const { whep, removed } = player(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    whep.start();
    await vi.advanceTimersByTimeAsync(10);
    whep.stop();
    answer({ sdp: "v=0 answer", location: "/whep/late" });
    await vi.advanceTimersByTimeAsync(10);
    expect(removed).toEqual(["/whep/late"]);
  });
});
