/** The room a page is in: one store per session, one socket, selectors for the panels. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useEffect, useMemo } from "react";
import { useStore } from "zustand";
import { request } from "../../../shared/api/client";
import type { Session } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { createRoomStore, followRoom, newerSession, type RoomState, type RoomStore } from "../../../shared/ws/store";
import { fetchEvents } from "./events";

const RoomContext = createContext<RoomStore | null>(null);

export function RoomProvider({ sessionId, children }: { sessionId: string; children: ReactNode }) {
  const { tenant, path } = useWorkspace();
  const client = useQueryClient();
  const store = useMemo(() => createRoomStore(sessionId), [sessionId]);
  useEffect(() => {
    const room = followRoom(store, tenant.id, { missed: (afterSeq) => fetchEvents(path, sessionId, afterSeq) });
    return room.stop;
  }, [store, tenant.id, path, sessionId]);
  // What the socket says about the session is also what the lists should say.
  useEffect(
    () =>
      store.subscribe((room, before) => {
        if (room.session && room.session !== before.session) {
          client.setQueryData(keys.session(tenant.id, sessionId), room.session);
        }
        if (room.connection !== before.connection && room.connection.phase === "refused") {
          if (room.connection.code === 4401) void client.invalidateQueries({ queryKey: keys.auth });
        }
      }),
    [store, client, tenant.id, sessionId],
  );
  return <RoomContext value={store}>{children}</RoomContext>;
}

export function useRoom<T>(select: (room: RoomState) => T): T {
  const store = use(RoomContext);
  if (!store) throw new Error("useRoom outside a room");
  return useStore(store, select);
}

/** The session by REST until the socket has told more, and whenever it is silent. */
export function useRoomSession(sessionId: string) {
  const { tenant, path } = useWorkspace();
  const told = useRoom((room) => room.session);
  const query = useQuery({
    queryKey: keys.session(tenant.id, sessionId),
    queryFn: async () => {
      const session = await request<Session>(path(`/sessions/${sessionId}`));
      return newerSession(told, session);
    },
    refetchInterval: 10_000,
  });
  const session = told && query.data ? newerSession(told, query.data) : (told ?? query.data ?? null);
  return { session, error: query.error, refetch: query.refetch };
}

/** Seconds of media the session has made: the engine's newest word, or the platform's over all machines it ran on. */
export function useOnAirSeconds(session: Session): number {
  const metrics = useRoom((room) => room.snapshot?.metrics);
  return Math.max(session.media_s, metrics?.total_media_s ?? metrics?.media_s ?? 0);
}
