import { Skeleton } from "antd";
import { Link } from "react-router";
import type { Session } from "../../../shared/api/contract";
import { OPEN_STATES, useSessions } from "../../../shared/api/sessions";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { clock, dateTime, money } from "../../../shared/i18n/format";
import { EmptyState, Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { StateBadge } from "../../../shared/ui/StateBadge";
import { GoLive } from "../../golive/GoLive";

const RECENT = 5;

export default function LivePage() {
  const { t } = useT();
  const sessions = useSessions();
  const all = sessions.data?.items ?? [];
  const open = all.filter((s) => OPEN_STATES.has(s.state));
  const over = all.filter((s) => !OPEN_STATES.has(s.state)).slice(0, RECENT);
  return (
    <Page title={t("live.title")} lead={t("live.lead")} actions={<GoLive primary />}>
      {sessions.error ? <ProblemAlert error={sessions.error} onRetry={() => void sessions.refetch()} /> : null}
      {sessions.isPending ? <Skeleton active /> : null}
      {sessions.data && open.length === 0 ? (
        <EmptyState text={t("live.empty")} action={<Link to="/shows">{t("nav.shows")}</Link>} />
      ) : null}
      <ul className="lh-cards">
        {open.map((session) => (
          <Room key={session.id} session={session} />
        ))}
      </ul>
      {over.length > 0 ? (
        <section aria-labelledby="recent">
          <h2 id="recent">{t("live.recent")}</h2>
          <ul className="lh-cards">
            {over.map((session) => (
              <Room key={session.id} session={session} />
            ))}
          </ul>
        </section>
      ) : null}
    </Page>
  );
}

function Room({ session }: { session: Session }) {
  const { t, lang } = useT();
  const { tenant } = useWorkspace();
  const running = OPEN_STATES.has(session.state);
  const to = running ? `/live/${session.id}` : `/sessions/${session.id}`;
  const label = running ? t("live.open") : t("room.session");
  return (
    <li className="lh-card">
      <div className="lh-row">
        <strong className="lh-grow">{session.show.title}</strong>
        <StateBadge state={session.state} />
      </div>
      <p className="lh-meta">
        {dateTime(session.started_at ?? session.requested_at, lang, tenant.timezone)}
        {session.channel ? ` · ${session.channel.name}` : ""}
        {session.media_s > 0 ? ` · ${clock(session.media_s)}` : ""}
        {` · ${money(session.cost_minor, session.currency, lang)}`}
      </p>
      {session.end_reason && session.state === "failed" ? <p className="lh-meta">{session.end_reason}</p> : null}
      <Link to={to} aria-label={running ? t("live.open.of", { title: session.show.title }) : undefined}>
        {label}
      </Link>
    </li>
  );
}
