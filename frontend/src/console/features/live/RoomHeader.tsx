import { CaretRightOutlined, PauseOutlined, StepForwardOutlined, StopOutlined } from "@ant-design/icons";
import { App, Button } from "antd";
import { useState } from "react";
import type { Session } from "../../../shared/api/contract";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { clock, decimal, money } from "../../../shared/i18n/format";
import { StateBadge } from "../../../shared/ui/StateBadge";
import { useOnAirSeconds, useRoom } from "./room";
import { useAction } from "./useAction";

export function RoomHeader({ session }: { session: Session }) {
  const { t, lang } = useT();
  const metrics = useRoom((room) => room.snapshot?.metrics);
  const onAir = useOnAirSeconds(session);
  const viewers = metrics?.viewers;
  return (
    <header className="lh-room-head">
      <h1>{session.show.title}</h1>
      <span role="status" aria-live="polite">
        <StateBadge state={session.state} />
      </span>
      <span className="lh-num">{t("room.onAirFor", { time: clock(onAir) })}</span>
      {viewers !== undefined && viewers >= 0 ? (
        <span className="lh-num">{t("room.viewers", { n: decimal(viewers, lang) })}</span>
      ) : null}
      <span className="lh-num">{money(metrics?.cost_minor ?? session.cost_minor, session.currency, lang)}</span>
      <span className="lh-spring" />
      <Buttons session={session} />
    </header>
  );
}

function Buttons({ session }: { session: Session }) {
  const { t } = useT();
  const { can } = useWorkspace();
  const { modal } = App.useApp();
  const [paused, setPaused] = useState(false);
  const pause = useAction(session.id, "pause", () => {
    setPaused(true);
    return t("act.done.pause");
  });
  const resume = useAction(session.id, "resume", () => {
    setPaused(false);
    return t("act.done.resume");
  });
  const next = useAction(session.id, "next", () => t("act.done.next"));
  const stop = useAction(session.id, "stop", () => t("act.done.stop"));
  const running = session.state === "live";
  const stoppable = !["ended", "failed", "stopping"].includes(session.state) && session.desired === "running";
  if (session.state === "ended" || session.state === "failed") return null;
  return (
    <div className="lh-actions">
      {can("sessions:say") ? (
        <>
          {paused ? (
            <Button
              icon={<CaretRightOutlined aria-hidden="true" />}
              disabled={!running}
              loading={resume.isPending}
              onClick={() => resume.mutate({})}
            >
              {t("act.resume")}
            </Button>
          ) : (
            <Button
              icon={<PauseOutlined aria-hidden="true" />}
              disabled={!running}
              loading={pause.isPending}
              onClick={() => pause.mutate({})}
            >
              {t("act.pause")}
            </Button>
          )}
          <Button
            icon={<StepForwardOutlined aria-hidden="true" />}
            disabled={!running}
            loading={next.isPending}
            onClick={() => next.mutate({})}
          >
            {t("act.next")}
          </Button>
        </>
      ) : null}
      {can("sessions:stop") ? (
        <Button
          danger
          type="primary"
          icon={<StopOutlined aria-hidden="true" />}
          disabled={!stoppable}
          loading={stop.isPending}
          onClick={() =>
            modal.confirm({
              title: t("act.stop"),
              content: t("act.stop.ask"),
              okText: t("act.stop.yes"),
              okButtonProps: { danger: true },
              cancelText: t("do.cancel"),
              focusable: { autoFocusButton: "cancel" },
              onOk: () => stop.mutateAsync({}).catch(() => {}),
            })
          }
        >
          {t("act.stop")}
        </Button>
      ) : null}
    </div>
  );
}
