import { useQuery } from "@tanstack/react-query";
import { Skeleton } from "antd";
import { useParams } from "react-router";
import { request } from "../../../shared/api/client";
import type { Show } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { Page } from "../../../shared/ui/Page";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { draftOf, newDraft } from "./draft";
import { ShowEditor } from "./ShowEditor";

export default function ShowPage() {
  const { showId = "new" } = useParams();
  const { t, lang } = useT();
  const { tenant, path } = useWorkspace();
  const id = showId === "new" ? null : showId;
  const show = useQuery({
    queryKey: keys.show(tenant.id, showId),
    queryFn: () => request<Show>(path(`/shows/${showId}`)),
    enabled: id !== null,
    refetchOnWindowFocus: false,
  });
  if (id === null) return <ShowEditor key="new" id={null} initial={newDraft(lang)} />;
  if (show.data) return <ShowEditor key={id} id={id} initial={draftOf(show.data)} />;
  return (
    <Page title={t("shows.title")}>
      {show.error ? <ProblemAlert error={show.error} onRetry={() => void show.refetch()} /> : <Skeleton active />}
    </Page>
  );
}
