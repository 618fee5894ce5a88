import { CaretRightOutlined, HeartOutlined, PauseOutlined, StarOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Segmented, Select } from "antd";
import { useEffect, useRef, useState } from "react";
import { send } from "../../../shared/api/client";
import type { Avatar } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useBackdrops, usePictures } from "../../../shared/api/presenters";
import { useSessions } from "../../../shared/api/sessions";
import { useWorkspace } from "../../../shared/auth/session";
import type { Mode } from "../../../shared/avatar/compute";
import type { Aspect } from "../../../shared/avatar/extension";
import { Stage, type Stats } from "../../../shared/avatar/stage";
import { useT } from "../../../shared/i18n";
import { ProblemAlert } from "../../../shared/ui/Problem";
import { Numbers } from "./Numbers";
import { useMotion } from "./useMotion";

const SAMPLE = "sample";

/** The presenter in three dimensions, drawn by this browser. */
export default function Preview({ avatar }: { avatar: Avatar }) {
  const { t, lang } = useT();
  const { tenant, path } = useWorkspace();
  const screen = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [stage, setStage] = useState<Stage | null>(null);
  const [broken, setBroken] = useState("");
  const [mode, setMode] = useState<Mode | null>(null);
  const [stats, setStats] = useState<Stats | null>(null);
  const [loaded, setLoaded] = useState("");
  const [aspect, setAspect] = useState<Aspect>("16:9");
  const [engine, setEngine] = useState<"auto" | "webgl2">("auto");
  const [backdrop, setBackdrop] = useState("daylight");
  const [from, setFrom] = useState(SAMPLE);
  const [playing, setPlaying] = useState(() => !window.matchMedia("(prefers-reduced-motion: reduce)").matches);
  const backdrops = useBackdrops();
  const sessions = useSessions();
  const pictures = usePictures();
  const onAir = (sessions.data?.items ?? []).filter((s) => s.state === "live" || s.state === "interrupted");
  const pack = useQuery({
    queryKey: keys.pack(tenant.id, avatar.id, avatar.version),
    queryFn: async () => (await send(path(`/avatars/${avatar.id}/pack`))).arrayBuffer(),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });

  useEffect(() => {
    if (!canvas.current || !screen.current) return;
    let made: Stage;
    try {
      made = new Stage(canvas.current, { onMode: setMode, onStats: setStats });
    } catch {
      setBroken("webgl");
      return;
    }
    setStage(made);
    const box = screen.current;
    const fit = new ResizeObserver(() => made.view.resize(box.clientWidth, box.clientHeight));
    fit.observe(box);
    return () => {
      fit.disconnect();
      made.dispose();
      setStage(null);
    };
  }, []);

  useEffect(() => void stage?.choose(engine), [stage, engine]);

  // A show that is over leaves the sample.
  const watched = onAir.find((session) => session.id === from);
  const motion = useMotion(stage, watched?.id ?? null, playing);

  useEffect(() => {
    if (!stage || !pack.data) return;
    let stale = false;
    stage.view.load(pack.data).then(
      () => {
        if (stale) return;
        setLoaded(avatar.id);
        setBroken("");
        stage.start();
      },
      (error: unknown) => {
        if (!stale) setBroken(error instanceof Error ? error.message : String(error));
      },
    );
    return () => {
      stale = true;
    };
  }, [stage, pack.data, avatar.id]);

  useEffect(() => {
    if (!stage || !screen.current) return;
    stage.setAspect(aspect);
    stage.view.resize(screen.current.clientWidth, screen.current.clientHeight);
  }, [stage, aspect]);

  const picture = pictures.backdrop(backdrop, aspect === "16:9" ? "wide" : "tall");
  useEffect(() => {
    if (!stage) return;
    const image = new Image();
    let stale = false;
    image.onload = () => {
      if (!stale) stage.setBackdrop(image);
    };
    image.src = picture;
    return () => {
      stale = true;
    };
  }, [stage, picture]);

  const name = avatar.name[lang] || avatar.id;
  const source = watched ? t("preview.session", { title: watched.show.title }) : t("preview.sample");
  const ready = loaded === avatar.id;
  return (
    <section className="lh-preview" aria-label={t("preview.region")}>
      <div ref={screen} className={`lh-preview-screen ${aspect === "9:16" ? "lh-preview-tall" : ""}`}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={t("preview.canvas", { name, source })}
          data-presenter={ready ? avatar.id : ""}
          data-mode={mode?.active ?? ""}
          data-reason={mode?.reason ?? ""}
          data-memory={mode?.memory ?? ""}
          data-adapter={mode?.adapter ?? ""}
          data-driver={stage?.view.driver ?? ""}
          data-fps={stats?.fps.toFixed(1) ?? ""}
          data-draw-ms={stats?.drawMs.toFixed(2) ?? ""}
          data-compute-ms={stats?.computeMs.toFixed(2) ?? ""}
        />
        {broken ? (
          <p className="lh-screen-note" role="alert">
            {broken === "webgl" ? t("preview.noWebgl") : t("preview.failed", { detail: broken })}
          </p>
        ) : !ready && !pack.error ? (
          <p className="lh-screen-note" role="status">
            {t("preview.loading")}
          </p>
        ) : null}
      </div>
      {pack.error ? <ProblemAlert error={pack.error} onRetry={() => void pack.refetch()} /> : null}
      <div className="lh-preview-tools">
        <Button
          icon={playing ? <PauseOutlined aria-hidden="true" /> : <CaretRightOutlined aria-hidden="true" />}
          disabled={watched !== undefined}
          onClick={() => setPlaying(!playing)}
        >
          {playing ? t("preview.pause") : t("preview.play")}
        </Button>
        <Segmented<Aspect>
          aria-label={t("preview.aspect")}
          value={aspect}
          onChange={setAspect}
          options={[
            { value: "16:9", label: t("preview.wide") },
            { value: "9:16", label: t("preview.tall") },
          ]}
        />
        <Select
          aria-label={t("preview.backdrop")}
          value={backdrop}
          onChange={setBackdrop}
          options={(backdrops.data ?? []).map((b) => ({ value: b.id, label: b.name[lang] || b.id }))}
        />
        <Select
          aria-label={t("preview.motion")}
          className="lh-preview-motion"
          value={watched?.id ?? SAMPLE}
          onChange={setFrom}
          options={[
            { value: SAMPLE, label: t("preview.sample") },
            ...onAir.map((s) => ({ value: s.id, label: t("preview.session", { title: s.show.title }) })),
          ]}
        />
        <Button icon={<HeartOutlined aria-hidden="true" />} disabled={!ready} onClick={() => stage?.gift("hearts")}>
          {t("preview.hearts")}
        </Button>
        <Button icon={<StarOutlined aria-hidden="true" />} disabled={!ready} onClick={() => stage?.gift("confetti")}>
          {t("preview.confetti")}
        </Button>
      </div>
      {motion ? (
        <p className="lh-meta">
          <span role="status">{motion.state}</span> <span className="lh-num">{motion.numbers}</span>
        </p>
      ) : null}
      <Numbers mode={mode} stats={stats} driver={stage?.view.driver ?? ""} engine={engine} onEngine={setEngine} />
    </section>
  );
}
