import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { keys } from "../shared/api/keys";
import { patchSession } from "../shared/api/sessions";
import { ConsoleSocket, consoleSocketUrl } from "../shared/ws/socket";

/** Keeps every list of sessions current while the console is open, whatever page is shown. */
export function useTenantNews(tenantId: string): void {
  const client = useQueryClient();
  useEffect(() => {
    let opened = false;
    const socket = new ConsoleSocket({
      url: consoleSocketUrl(tenantId),
      session: null,
      afterSeq: () => 0,
      onFrame: (frame) => {
        if (frame.type === "session") patchSession(client, tenantId, frame.session);
      },
      onConnection: (connection) => {
        if (connection.phase === "open") {
          // What changed while the line was down was not told to anybody here.
          if (opened) void client.invalidateQueries({ queryKey: keys.sessions(tenantId) });
          opened = true;
        }
        if (connection.phase === "refused" && connection.code === 4401) {
          void client.invalidateQueries({ queryKey: keys.auth });
        }
      },
    });
    socket.start();
    return () => socket.stop();
  }, [client, tenantId]);
}
