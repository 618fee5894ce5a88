import { useT } from "../../../shared/i18n";
import { useRoom } from "./room";

const MARK: Record<string, string> = {
  connecting: "◐",
  up: "●",
  busy: "⊘",
  retrying: "↻",
  down: "✖",
  finished: "■",
  over: "■",
};
/** What can still change while a show runs, and is over with it. */
const PASSING = new Set(["connecting", "up", "retrying"]);
const TONE: Record<string, string> = {
  connecting: "info",
  up: "ok",
  busy: "danger",
  retrying: "warn",
  down: "danger",
  finished: "idle",
};

/** Outputs, processes and lines the checks held back; after the show the state each ended in. */
export function Health({ over }: { over: boolean }) {
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
          const told = metrics?.outputs?.[id] ?? events[id]?.state ?? "";
          const state = over && PASSING.has(told) ? "over" : told;
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
        {Object.values(processes).map((process) => {
          const what = over && process.what !== "died" ? "ended" : process.what;
          const tone = what === "died" ? "warn" : what === "ended" ? "idle" : "ok";
          return (
            <li key={process.name} className="lh-row">
              <span className="lh-grow">{tCode("process", process.name)}</span>
              <span className={`lh-badge lh-${tone}`}>
                {tCode("process.what", what)}
                {process.restarts > 0 ? ` · ${t("health.restarts", { n: process.restarts })}` : ""}
              </span>
            </li>
          );
        })}
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
