/** Sessions as queries; the socket's news only invalidates or patches them. */

import { type QueryClient, useQuery } from "@tanstack/react-query";
import { useWorkspace } from "../auth/session";
import { newerSession } from "../ws/store";
import { request } from "./client";
import type { Page, Session, SessionState } from "./contract";
import { keys } from "./keys";

export const OPEN_STATES: ReadonlySet<SessionState> = new Set([
  "requested",
  "assigned",
  "starting",
  "live",
  "interrupted",
  "stopping",
]);

export function useSessions() {
  const { tenant, path } = useWorkspace();
  return useQuery({
    queryKey: keys.sessions(tenant.id),
    queryFn: () => request<Page<Session>>(path("/sessions"), { query: { limit: 100 } }),
    refetchInterval: 15_000,
  });
}

/** Takes the socket's word about one session into the lists. */
export function patchSession(client: QueryClient, tenantId: string, session: Session): void {
  client.setQueryData<Session>(keys.session(tenantId, session.id), (known) => newerSession(known ?? null, session));
  let listed = false;
  client.setQueryData<Page<Session>>(keys.sessions(tenantId), (page) => {
    if (!page) return page;
    const items = page.items.map((item) => {
      if (item.id !== session.id) return item;
      listed = true;
      return newerSession(item, session);
    });
    return { ...page, items };
  });
  void client.invalidateQueries({ queryKey: [...keys.sessions(tenantId), "pages"] });
  if (!listed) void client.invalidateQueries({ queryKey: keys.sessions(tenantId), exact: true });
}
