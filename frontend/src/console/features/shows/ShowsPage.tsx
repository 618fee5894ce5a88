import { PlusOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Skeleton } from "antd";
import { Link, useNavigate } from "react-router";
import { listAll } from "../../../shared/api/client";
import type { Show } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { EmptyState, Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { useRemove } from "../../../shared/ui/useRemove";
import { GoLive } from "../../golive/GoLive";

export default function ShowsPage() {
  const { t, tCode } = useT();
  const { tenant, path, can } = useWorkspace();
  const navigate = useNavigate();
  const shows = useQuery({ queryKey: keys.shows(tenant.id), queryFn: () => listAll<Show>(path("/shows")) });
  const remove = useRemove(keys.shows(tenant.id));
  const writes = can("shows:write");
  const create = writes ? (
    <Button type="primary" icon={<PlusOutlined aria-hidden="true" />} onClick={() => void navigate("/shows/new")}>
      {t("shows.new")}
    </Button>
  ) : null;
  return (
    <Page title={t("shows.title")} lead={t("shows.lead")} actions={create}>
      {shows.error ? <ProblemAlert error={shows.error} onRetry={() => void shows.refetch()} /> : null}
      {shows.isPending ? <Skeleton active /> : null}
      {shows.data?.length === 0 ? <EmptyState text={t("shows.empty")} /> : null}
      <ul className="lh-cards">
        {(shows.data ?? []).map((show) => {
          const lines = show.segments.reduce((n, segment) => n + segment.lines.length, 0);
          return (
            <li key={show.id} className="lh-card">
              <strong>
                <Link to={`/shows/${show.id}`}>{show.title}</Link>
              </strong>
              <p className="lh-meta">
                {tCode("lang", show.language)} · {t("shows.segments")} {show.segments.length} · {t("shows.lines")}{" "}
                {lines}
              </p>
              <div className="lh-actions">
                <GoLive show={{ id: show.id, title: show.title }} label={t("goLive.of", { title: show.title })} />
                <Button
                  aria-label={t("shows.edit.of", { title: show.title })}
                  onClick={() => void navigate(`/shows/${show.id}`)}
                >
                  {t("do.edit")}
                </Button>
                {writes ? (
                  <Button
                    danger
                    type="text"
                    aria-label={t("shows.delete.of", { title: show.title })}
                    onClick={() => remove(path(`/shows/${show.id}`), show.title)}
                  >
                    {t("do.delete")}
                  </Button>
                ) : null}
              </div>
            </li>
          );
        })}
      </ul>
    </Page>
  );
}
