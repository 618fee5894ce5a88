import { useEffect, useState } from "react";
import { loadAsset, request } from "../../../shared/api/client";
import type { MotionToken } from "../../../shared/api/contract";
import { asProblem } from "../../../shared/api/problems";
import { useWorkspace } from "../../../shared/auth/session";
import sampleUrl from "../../../shared/avatar/assets/sample.dmcp?url";
import { SampleMotion } from "../../../shared/avatar/sample";
import type { Stage } from "../../../shared/avatar/stage";
import { MotionWatch, type WatchState } from "../../../shared/avatar/watch";
import { useT } from "../../../shared/i18n";

const TELL_EVERY_MS = 1_000;

/** Lets the sample, or a running session, move what is on the stage; returns what there is to say of the connection. */
export function useMotion(stage: Stage | null, session: string | null, playing: boolean): string {
  const { t } = useT();
  const { path } = useWorkspace();
  const [sample, setSample] = useState<SampleMotion | null>(null);
  const [watching, setWatching] = useState<{ state: WatchState; lost: number; jitterMs: number } | null>(null);

  useEffect(() => {
    let stale = false;
    void loadAsset(sampleUrl).then((data) => {
      if (!stale) setSample(new SampleMotion(data));
    });
    return () => {
      stale = true;
    };
  }, []);

  useEffect(() => {
    if (!stage || !sample || session) return;
    let shownMs = 0;
    let lastMs = 0;
    stage.setSource((nowMs, out) => {
      if (playing && lastMs > 0) shownMs += Math.min(nowMs - lastMs, 250);
      lastMs = nowMs;
      sample.at(stage.sampleMs + shownMs, out);
      return true;
    });
    return () => {
      stage.sampleMs += shownMs;
    };
  }, [stage, sample, session, playing]);

  useEffect(() => {
    if (!stage || !session) return;
    const watch = new MotionWatch({
      token: () =>
        request<MotionToken>(path(`/sessions/${session}/motion-token`), { method: "POST", json: { role: "watch" } }),
      passing: (error) => asProblem(error).passing,
      onState: (state) => setWatching((known) => ({ lost: 0, jitterMs: 0, ...known, state })),
    });
    watch.start();
    stage.setSource((nowMs, out) => watch.at(nowMs, out));
    const telling = setInterval(() => {
      const { lost, jitterMs } = watch.reception;
      setWatching((known) => (known ? { ...known, lost, jitterMs } : known));
    }, TELL_EVERY_MS);
    return () => {
      clearInterval(telling);
      watch.stop();
      setWatching(null);
    };
  }, [stage, session, path]);

  if (!session || !watching) return "";
  const { state, lost, jitterMs } = watching;
  switch (state.phase) {
    case "open":
      return t("preview.watch.open", { lost, jitter: jitterMs.toFixed(1) });
    case "retrying":
      return t("preview.watch.retrying", { attempt: state.attempt });
    case "refused":
      return t("preview.watch.refused", { detail: state.detail });
    default:
      return t(`preview.watch.${state.phase}`);
  }
}
