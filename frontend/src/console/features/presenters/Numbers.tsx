import { Segmented } from "antd";
import type { Mode } from "../../../shared/avatar/compute";
import type { Stats } from "../../../shared/avatar/stage";
import { useT } from "../../../shared/i18n";

/** How the preview is drawn here, why so, and what it costs; folded away until it is asked for. */
export function Numbers({
  mode,
  stats,
  driver,
  engine,
  onEngine,
}: {
  mode: Mode | null;
  stats: Stats | null;
  driver: string;
  engine: "auto" | "webgl2";
  onEngine: (engine: "auto" | "webgl2") => void;
}) {
  const { t, tCode } = useT();
  return (
    <details className="lh-preview-numbers">
      <summary>{t("preview.details")}</summary>
      <Segmented<"auto" | "webgl2">
        aria-label={t("preview.engine")}
        size="small"
        value={engine}
        onChange={onEngine}
        options={[
          { value: "auto", label: t("preview.engine.auto") },
          { value: "webgl2", label: t("preview.engine.webgl2") },
        ]}
      />
      <dl className="lh-facts">
        <dt>{t("preview.mode")}</dt>
        <dd>{mode ? `${tCode("preview.mode", mode.active)} — ${tCode("preview.why", mode.reason)}` : t("loading")}</dd>
        {mode?.active === "hybrid" ? (
          <>
            <dt>{t("preview.memory")}</dt>
            <dd>{tCode("preview.memory", mode.memory)}</dd>
          </>
        ) : null}
        <dt>{t("preview.fps")}</dt>
        <dd className="lh-num">{stats ? t("preview.fps.value", { fps: stats.fps.toFixed(1) }) : t("notMeasured")}</dd>
        <dt>{t("preview.draw")}</dt>
        <dd className="lh-num">
          {stats ? t("preview.draw.value", { ms: stats.drawMs.toFixed(1) }) : t("notMeasured")}
        </dd>
        <dt>{t("preview.compute")}</dt>
        <dd className="lh-num">
          {stats ? t("preview.draw.value", { ms: stats.computeMs.toFixed(1) }) : t("notMeasured")}
        </dd>
        <dt>{t("preview.driver")}</dt>
        <dd lang="en">{driver}</dd>
      </dl>
    </details>
  );
}
