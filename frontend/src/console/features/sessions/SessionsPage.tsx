import { useInfiniteQuery } from "@tanstack/react-query";
import { Button, Table } from "antd";
import { Link } from "react-router";
import { request } from "../../../shared/api/client";
import type { Page as ListPage, Session } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { clock, dateTime, money } from "../../../shared/i18n/format";
import { EmptyState, Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { StateBadge } from "../../../shared/ui/StateBadge";

export default function SessionsPage() {
  const { t, lang } = useT();
  const { tenant, path } = useWorkspace();
  const sessions = useInfiniteQuery({
    queryKey: [...keys.sessions(tenant.id), "pages"],
    queryFn: ({ pageParam }) => request<ListPage<Session>>(path("/sessions"), { query: { cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: 15_000,
  });
  const rows = sessions.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Page title={t("sessions.title")} lead={t("sessions.lead")}>
      {sessions.error ? <ProblemAlert error={sessions.error} onRetry={() => void sessions.refetch()} /> : null}
      {sessions.data && rows.length === 0 ? (
        <EmptyState text={t("sessions.empty")} />
      ) : (
        <Table<Session>
          size="middle"
          rowKey="id"
          loading={sessions.isPending}
          dataSource={rows}
          pagination={false}
          scroll={{ x: 820 }}
          columns={[
            {
              title: t("session.show"),
              key: "show",
              minWidth: 160,
              render: (_, s) => {
                const when = dateTime(s.started_at ?? s.requested_at, lang, tenant.timezone);
                return (
                  <Link to={`/sessions/${s.id}`} aria-label={t("session.open.of", { title: s.show.title, when })}>
                    {s.show.title}
                  </Link>
                );
              },
            },
            { title: t("session.state"), key: "state", width: 130, render: (_, s) => <StateBadge state={s.state} /> },
            {
              title: t("session.started"),
              key: "started",
              width: 180,
              render: (_, s) =>
                s.started_at ? dateTime(s.started_at, lang, tenant.timezone) : t("session.notStarted"),
            },
            {
              title: t("session.length"),
              key: "length",
              width: 100,
              align: "right",
              className: "lh-num",
              render: (_, s) => clock(s.media_s),
            },
            {
              title: t("session.cost"),
              key: "cost",
              width: 110,
              align: "right",
              className: "lh-num",
              render: (_, s) => money(s.cost_minor, s.currency, lang),
            },
            { title: t("session.channel"), key: "channel", width: 140, render: (_, s) => s.channel?.name ?? "" },
          ]}
        />
      )}
      {sessions.hasNextPage ? (
        <p>
          <Button loading={sessions.isFetchingNextPage} onClick={() => void sessions.fetchNextPage()}>
            {t("do.more")}
          </Button>
        </p>
      ) : null}
    </Page>
  );
}
