import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { listAll } from "../../../shared/api/client";
import type { Recording, Session } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";

/** After the end: the recording as soon as it is stored. */
export function AfterShow({ session }: { session: Session }) {
  const { t } = useT();
  const { tenant, path } = useWorkspace();
  const recordings = useQuery({
    queryKey: keys.recordings(tenant.id, session.id),
    queryFn: () => listAll<Recording>(path(`/sessions/${session.id}/recordings`)),
    enabled: session.record,
    refetchInterval: (query) => (query.state.data?.some((r) => r.finished) ? false : 2_000),
  });
  const ready = recordings.data?.some((r) => r.finished) ?? false;
  return (
    <section className="lh-card lh-row lh-wrap" aria-label={t("room.ended")}>
      <strong role="status">{t("room.ended")}</strong>
      {session.record ? (
        ready ? (
          <Link to={`/sessions/${session.id}`}>{t("room.recording.ready")}</Link>
        ) : (
          <span className="lh-meta">{t("room.recording.wait")}</span>
        )
      ) : (
        <span className="lh-meta">{t("room.recording.none")}</span>
      )}
      <Link to={`/sessions/${session.id}`}>{t("room.session")}</Link>
    </section>
  );
}
