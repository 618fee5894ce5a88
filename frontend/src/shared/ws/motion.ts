/** The one place that opens a motion gateway's socket (docs/dmcp.md). */

export interface MotionSocket {
  binaryType: string;
  readonly protocol: string;
  send(data: string): void;
  close(code?: number): void;
  onopen: ((event: Event) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: Event) => void) | null;
}

export function openMotionSocket(url: string, protocol: string): MotionSocket {
  return new WebSocket(url, [protocol]) as MotionSocket;
}
