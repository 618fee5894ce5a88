import { request } from "../../../shared/api/client";
import type { LiveEvent } from "../../../shared/ws/protocol";

const PAGES = 20;

/** Stored events after a number, page after page: what a socket that was away for long did not carry. */
export async function fetchEvents(
  path: (below: string) => string,
  sessionId: string,
  afterSeq: number,
): Promise<LiveEvent[]> {
  const events: LiveEvent[] = [];
  let after = afterSeq;
  for (let page = 0; page < PAGES; page++) {
    const { items } = await request<{ items: LiveEvent[] }>(path(`/sessions/${sessionId}/events`), {
      query: { after },
    });
    const last = items.at(-1);
    if (!last || last.seq <= after) break;
    events.push(...items.map((event) => ({ ...event, session: sessionId })));
    after = last.seq;
  }
  return events;
}
