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

/** What there is to say of the connection: its state, and numbers that change each second and are not for reading aloud. */
export interface Told {
  state: string;
  numbers: string;
}

/** Lets the sample, or a running session, move what is on the stage; null while the sample does. */
export function useMotion(stage: Stage | null, session: string | null, playing: boolean): Told | null {
  const { t } = useT();
  const { path } = useWorkspace();
  const [sample, setSample] = useState<SampleMotion | null>(null);
  const [missing, setMissing] = useState(false);
  const [watching, setWatching] = useState<{ state: WatchState; lost: number; jitterMs: number } | null>(null);

  useEffect(() => {
    let stale = false;
    loadAsset(sampleUrl)
      .then((data) => {
        if (!stale) setSample(new SampleMotion(data));
      })
      .catch(() => {
        if (!stale) setMissing(true);
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

  if (!session) return missing ? { state: t("preview.sample.missing"), numbers: "" } : null;
  if (!watching) return null;
  const { state, lost, jitterMs } = watching;
  switch (state.phase) {
    case "open":
      return {
        state: t("preview.watch.open"),
        numbers: t("preview.watch.numbers", { lost, jitter: jitterMs.toFixed(1) }),
      };
    case "retrying":
      return { state: t("preview.watch.retrying", { attempt: state.attempt }), numbers: "" };
    case "refused":
      return { state: t("preview.watch.refused", { detail: state.detail }), numbers: "" };
    default:
      return { state: t(`preview.watch.${state.phase}`), numbers: "" };
  }
}
