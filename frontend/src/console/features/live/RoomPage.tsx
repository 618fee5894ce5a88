import { Alert, Skeleton } from "antd";
import { useEffect } from "react";
import { useParams } from "react-router";
import { asProblem } from "../../../shared/api/problems";
import { useT } from "../../../shared/i18n";
import { EmptyState, Page } from "../../../shared/ui/Page";
import { PanelBoundary, ProblemAlert } from "../../../shared/ui/Problem";
import { AfterShow } from "./AfterShow";
import { Answers } from "./Answers";
import { Comments } from "./Comments";
import { Connection } from "./Connection";
import { Health } from "./Health";
import { Host } from "./Host";
import { Picture } from "./Picture";
import { RoomHeader } from "./RoomHeader";
import { RunOfShow } from "./RunOfShow";
import { RoomProvider, useRoomSession } from "./room";
import { Say } from "./Say";
import { Tiles } from "./Tiles";

export default function RoomPage() {
  const { sessionId = "" } = useParams();
  return (
    <RoomProvider key={sessionId} sessionId={sessionId}>
      <Room sessionId={sessionId} />
    </RoomProvider>
  );
}

function Room({ sessionId }: { sessionId: string }) {
  const { t } = useT();
  const { session, error, refetch } = useRoomSession(sessionId);
  const title = session ? session.show.title : t("room.title");
  useEffect(() => {
    document.title = `${title} · ${t("app.name")}`;
  }, [title, t]);
  if (!session) {
    if (error && asProblem(error).status === 404) {
      return (
        <Page title={t("room.title")}>
          <EmptyState text={t("room.refused.4404")} />
        </Page>
      );
    }
    return (
      <Page title={t("room.title")}>
        {error ? <ProblemAlert error={error} onRetry={() => void refetch()} /> : <Skeleton active />}
      </Page>
    );
  }
  const over = session.state === "ended" || session.state === "failed";
  return (
    <div className="lh-room">
      <RoomHeader session={session} />
      <Connection over={over} />
      {session.state === "failed" && session.end_reason ? (
        <Alert type="error" showIcon title={t("room.ended.why", { reason: session.end_reason })} />
      ) : null}
      {over ? <AfterShow session={session} /> : null}
      <div className="lh-room-grid">
        <div className="lh-room-col lh-room-left">
          <PanelBoundary>
            <Picture session={session} />
          </PanelBoundary>
          <PanelBoundary>
            <Host over={over} />
          </PanelBoundary>
          <PanelBoundary>
            <Tiles session={session} />
          </PanelBoundary>
        </div>
        <div className="lh-room-col lh-room-middle">
          <PanelBoundary>
            <Comments session={session} />
          </PanelBoundary>
        </div>
        <div className="lh-room-col lh-room-right">
          {over ? null : (
            <PanelBoundary>
              <Say session={session} />
            </PanelBoundary>
          )}
          <PanelBoundary>
            <RunOfShow session={session} />
          </PanelBoundary>
          <PanelBoundary>
            <Answers over={over} />
          </PanelBoundary>
          <PanelBoundary>
            <Health over={over} />
          </PanelBoundary>
        </div>
      </div>
    </div>
  );
}
