import { useQuery } from "@tanstack/react-query";
import { Skeleton } from "antd";
import { Link, useParams } from "react-router";
import { listAll, request } from "../../../shared/api/client";
import type { Recording, Session } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { OPEN_STATES } from "../../../shared/api/sessions";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { clock, dateTime, megabytes, money } from "../../../shared/i18n/format";
import { Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { StateBadge } from "../../../shared/ui/StateBadge";

const STILL_STORING_MS = 3_000;

export default function SessionPage() {
  const { sessionId = "" } = useParams();
  const { t, tCode, lang } = useT();
  const { tenant, path } = useWorkspace();
  const session = useQuery({
    queryKey: keys.session(tenant.id, sessionId),
    queryFn: () => request<Session>(path(`/sessions/${sessionId}`)),
    refetchInterval: (query) => (query.state.data && OPEN_STATES.has(query.state.data.state) ? 5_000 : false),
  });
  const s = session.data;
  if (!s) {
    return (
      <Page title={t("sessions.title")}>
        {session.error ? (
          <ProblemAlert error={session.error} onRetry={() => void session.refetch()} />
        ) : (
          <Skeleton active />
        )}
      </Page>
    );
  }
  const open = OPEN_STATES.has(s.state);
  const when = (iso: string | null) => (iso ? dateTime(iso, lang, tenant.timezone) : t("session.notStarted"));
  return (
    <Page
      title={s.show.title}
      lead={<StateBadge state={s.state} />}
      actions={open ? <Link to={`/live/${s.id}`}>{t("session.room")}</Link> : null}
    >
      <div className="lh-stack">
        <section className="lh-card">
          <dl className="lh-facts">
            <dt>{t("session.started")}</dt>
            <dd>{when(s.started_at)}</dd>
            {s.ended_at ? (
              <>
                <dt>{t("session.ended")}</dt>
                <dd>{when(s.ended_at)}</dd>
              </>
            ) : null}
            <dt>{t("session.length")}</dt>
            <dd className="lh-num">{clock(s.media_s)}</dd>
            <dt>{t("session.charged")}</dt>
            <dd className="lh-num">{clock(s.billable_s)}</dd>
            <dt>{t("session.cost")}</dt>
            <dd className="lh-num">{money(s.cost_minor, s.currency, lang)}</dd>
            {s.channel ? (
              <>
                <dt>{t("session.channel")}</dt>
                <dd>{s.channel.name}</dd>
              </>
            ) : null}
            {s.end_reason ? (
              <>
                <dt>{t("session.reason")}</dt>
                <dd>{tCode("endReason", s.end_reason)}</dd>
              </>
            ) : null}
          </dl>
        </section>
        <Recordings session={s} />
      </div>
    </Page>
  );
}

function Recordings({ session }: { session: Session }) {
  const { t, lang } = useT();
  const { tenant, path } = useWorkspace();
  const recordings = useQuery({
    queryKey: keys.recordings(tenant.id, session.id),
    queryFn: () => listAll<Recording>(path(`/sessions/${session.id}/recordings`)),
    enabled: session.record,
    refetchInterval: (query) => (query.state.data?.some((r) => r.finished) ? false : STILL_STORING_MS),
  });
  const finished = (recordings.data ?? []).filter((r) => r.finished);
  return (
    <section aria-labelledby="recordings-title" className="lh-card">
      <h2 id="recordings-title">{t("session.recordings")}</h2>
      {recordings.error ? <ProblemAlert error={recordings.error} /> : null}
      {!session.record ? <p className="lh-meta">{t("session.recordings.none")}</p> : null}
      {session.record && recordings.data && finished.length === 0 ? (
        <p className="lh-meta" role="status">
          {t("session.recordings.pending")}
        </p>
      ) : null}
      {finished.map((recording) => {
        const address = `/api/v1${path(`/sessions/${session.id}/recordings/${recording.id}/content`)}`;
        return (
          <figure key={recording.id} className="lh-figure">
            {/* biome-ignore lint/a11y/useMediaCaption: captions are drawn into the recorded picture. */}
            <video
              className="lh-player"
              controls
              preload="metadata"
              src={address}
              aria-label={t("session.player", { name: recording.name })}
            />
            <figcaption className="lh-row lh-wrap">
              {finished.length > 1 ? <span>{t("session.part", { n: recording.part + 1 })}</span> : null}
              <span className="lh-meta lh-num">
                {clock(recording.duration_s)} · {megabytes(recording.bytes, lang)}
              </span>
              <a href={address} download={recording.name}>
                {t("session.download")}
              </a>
            </figcaption>
          </figure>
        );
      })}
    </section>
  );
}
