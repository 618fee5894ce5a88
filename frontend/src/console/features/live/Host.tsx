import { useT } from "../../../shared/i18n";
import { clock } from "../../../shared/i18n/format";
import { useRoom } from "./room";

const SHOWN = 6;

/** What is being said: the answer in the making first, else the last words that were really played, as after the show. */
export function Host({ over }: { over: boolean }) {
  const { t, tCode } = useT();
  const spoken = useRoom((room) => room.log.view.spoken);
  const turns = useRoom((room) => room.log.view.turns);
  const speaking = over ? undefined : turns.findLast((turn) => turn.outcome === "speaking");
  const last = spoken.at(-1);
  const earlier = spoken.slice(-SHOWN - 1, -1).toReversed();
  const words = speaking?.answer || last?.text || "";
  return (
    <section className="lh-card" aria-labelledby="host-title">
      <div className="lh-row">
        <h2 id="host-title" className="lh-grow">
          {t(over ? "host.title.over" : "host.title")}
        </h2>
        {speaking ? (
          <span className="lh-badge lh-brandsoft">
            ▶ {speaking.kind === "say" ? t("kind.say") : t("host.answering")}
          </span>
        ) : last && !over ? (
          <span className="lh-badge lh-ok">▶ {tCode("kind", last.kind)}</span>
        ) : null}
      </div>
      {speaking?.question ? <p className="lh-meta">“{speaking.question}”</p> : null}
      <p className="lh-caption" aria-live="polite" aria-atomic="true">
        {words || t("host.quiet")}
      </p>
      {earlier.length > 0 ? (
        <details>
          <summary>{t("host.log")}</summary>
          <ol className="lh-feed">
            {earlier.map((said) => (
              <li key={`${said.clipId}-${said.mediaMs}`}>
                <span className="lh-meta lh-num">{clock(said.mediaMs / 1000)}</span> {said.text}{" "}
                {said.reason === "cut" ? <span className="lh-badge lh-warn">{t("host.cut")}</span> : null}
              </li>
            ))}
          </ol>
        </details>
      ) : null}
    </section>
  );
}
