import { useEffect, useState } from "react";
import { useT } from "../../../shared/i18n";
import { useRoom } from "./room";

const STALE_S = 5;

/** Says when the figures on the page are not fresh. The page keeps what it has; the show does not depend on it. */
export function Connection({ over }: { over: boolean }) {
  const { t } = useT();
  const connection = useRoom((room) => room.connection);
  const snapshotAtMs = useRoom((room) => room.snapshotAtMs);
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const age = snapshotAtMs > 0 ? Math.floor((now - snapshotAtMs) / 1000) : 0;
  let text = "";
  if (connection.phase === "refused") {
    if (connection.code === 4401 || connection.code === 4403 || connection.code === 4404) {
      text = t(`room.refused.${connection.code}`);
    }
  } else if (connection.phase === "retrying" || (connection.phase === "connecting" && snapshotAtMs > 0)) {
    text = t("room.reconnecting");
  }
  if (!over && age >= STALE_S) text = `${text} ${t("room.stale", { s: age })}`.trim();
  return (
    <div role="status" className="lh-connection">
      {text ? <span className="lh-badge lh-warn">↻ {text}</span> : null}
    </div>
  );
}
