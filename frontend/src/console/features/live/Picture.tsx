import { FullscreenOutlined, MutedOutlined, SoundOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { useEffect, useRef, useState } from "react";
import type { Session } from "../../../shared/api/contract";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { type PictureState, WhepPlayer } from "../../../shared/media/whep";

/** The show as viewers see it, by WebRTC. Muted until asked, because sound never starts by itself. */
export function Picture({ session }: { session: Session }) {
  const { t } = useT();
  const { path } = useWorkspace();
  const video = useRef<HTMLVideoElement>(null);
  const [state, setState] = useState<PictureState>({ phase: "closed" });
  const [muted, setMuted] = useState(true);
  const watchable = session.state === "live" || session.state === "interrupted" || session.state === "stopping";
  const over = session.state === "ended" || session.state === "failed";
  useEffect(() => {
    const element = video.current;
    if (!watchable || !element) return;
    const player = new WhepPlayer({
      path: path(`/sessions/${session.id}/whep`),
      onStream: (stream) => {
        element.srcObject = stream;
        void element.play().catch(() => {
          // A browser that refuses even muted play shows its own control.
          element.controls = true;
        });
      },
      onState: setState,
    });
    player.start();
    return () => {
      player.stop();
      element.srcObject = null;
    };
  }, [watchable, session.id, path]);
  let note = "";
  if (over) note = t("room.picture.over");
  else if (!watchable) note = t("room.picture.waiting");
  else if (state.phase === "connecting") note = t("room.picture.connecting");
  else if (state.phase === "retrying") note = t("room.picture.retrying", { n: state.attempt });
  return (
    <section className="lh-picture" aria-label={t("room.picture.region")}>
      <div className="lh-screen">
        <video
          ref={video}
          className="lh-video"
          aria-label={t("room.picture")}
          data-picture={state.phase}
          muted={muted}
          autoPlay
          playsInline
        />
        {note ? (
          <p className="lh-screen-note" role="status">
            {note}
          </p>
        ) : null}
      </div>
      <div className="lh-actions lh-picture-actions">
        <Button
          type={muted ? "primary" : "default"}
          icon={muted ? <SoundOutlined aria-hidden="true" /> : <MutedOutlined aria-hidden="true" />}
          disabled={!watchable}
          onClick={() => setMuted(!muted)}
        >
          {muted ? t("room.unmute") : t("room.mute")}
        </Button>
        <Button
          icon={<FullscreenOutlined aria-hidden="true" />}
          disabled={!watchable}
          onClick={() => void video.current?.requestFullscreen?.()}
        >
          {t("room.fullscreen")}
        </Button>
      </div>
    </section>
  );
}
