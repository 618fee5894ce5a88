import { useT } from "../../../shared/i18n";
import { useRoom } from "./room";

const MARK: Record<string, string> = {
  connecting: "◐",
  up: "●",
  busy: "⊘",
  retrying: "↻",
  down: "✖",
  finished: "■",
};
const TONE: Record<string, string> = {
  connecting: "info",
  up: "ok",
  busy: "danger",
  retrying: "warn",
  down: "danger",
  finished: "idle",
};

/** Outputs, processes and lines the checks held back. */
export function Health() {
  const { t, tCode } = useT();
  const events = useRoom((room) => room.log.view.outputs);
  const metrics = useRoom((room) => room.snapshot?.metrics);
  const processes = useRoom((room) => room.log.view.processes);
  const gates = useRoom((room) => room.log.view.gates);
  const ids = [...new Set([...Object.keys(metrics?.outputs ?? {}), ...Object.keys(events)])].sort();
  return (
    <section className="lh-card" aria-labelledby="health-title">
      <h2 id="health-title">{t("health.title")}</h2>
      <h3>{t("health.outputs")}</h3>
      {ids.length === 0 ? <p className="lh-meta">{t("health.none")}</p> : null}
      <ul className="lh-plain">
        {ids.map((id) => {
          const state = metrics?.outputs?.[id] ?? events[id]?.state ?? "";
          return (
            <li key={id} className="lh-row lh-wrap">
              <span className="lh-grow">{tCode("output", id)}</span>
              <span className={`lh-badge lh-${TONE[state] ?? "idle"}`}>
                <span aria-hidden="true">{MARK[state] ?? "·"}</span> {tCode("output.state", state)}
              </span>
              {events[id]?.detail ? <span className="lh-meta lh-full">{events[id].detail}</span> : null}
            </li>
          );
        })}
      </ul>
      <h3>{t("health.processes")}</h3>
      {Object.keys(processes).length === 0 ? <p className="lh-meta">{t("health.none")}</p> : null}
      <ul className="lh-plain">
        {Object.values(processes).map((process) => (
          <li key={process.name} className="lh-row">
            <span className="lh-grow">{tCode("process", process.name)}</span>
            <span className={`lh-badge lh-${process.what === "died" ? "warn" : "ok"}`}>
              {tCode("process.what", process.what)}
              {process.restarts > 0 ? ` · ${t("health.restarts", { n: process.restarts })}` : ""}
            </span>
          </li>
        ))}
      </ul>
      {gates.length > 0 ? (
        <>
          <h3>{t("health.gates")}</h3>
          <ul className="lh-plain">
            {gates
              .slice(-5)
              .toReversed()
              .map((gate) => (
                <li key={`${gate.at}-${gate.text}`}>
                  <span className="lh-badge lh-warn">⊘ {gate.rule}</span> {gate.text}
                </li>
              ))}
          </ul>
        </>
      ) : null}
    </section>
  );
}
