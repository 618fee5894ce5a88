import { useQuery } from "@tanstack/react-query";
import { listAll } from "../../../shared/api/client";
import type { Product } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { decimal } from "../../../shared/i18n/format";
import type { Turn } from "../../../shared/ws/log";
import { useRoom } from "./room";

const SHOWN = 20;
/** Not what became of an answer: a show may end in the middle of one. */
const UNFINISHED = new Set(["planned", "speaking"]);

/** Every answer with its intent, the facts it states and how fast it came. */
export function Answers({ over }: { over: boolean }) {
  const { t } = useT();
  const turns = useRoom((room) => room.log.view.turns);
  return (
    <section className="lh-card" aria-labelledby="turns-title">
      <h2 id="turns-title">{t("turns.title")}</h2>
      {turns.length === 0 ? (
        <p className="lh-meta">{t("turns.empty")}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard.
        <ol className="lh-feed lh-turns" tabIndex={0} aria-labelledby="turns-title">
          {turns
            .slice(-SHOWN)
            .toReversed()
            .map((turn) => (
              <Answer key={turn.id} turn={turn} over={over} />
            ))}
        </ol>
      )}
    </section>
  );
}

function Answer({ turn, over }: { turn: Turn; over: boolean }) {
  const { t, tCode, lang } = useT();
  const { tenant, path } = useWorkspace();
  const products = useQuery({
    queryKey: keys.products(tenant.id),
    queryFn: () => listAll<Product>(path("/products"), {}, 200),
  });
  const titleOf = (id: string) => {
    const product = products.data?.find((p) => p.id === id);
    return product ? product.title[lang] || product.title.zh || product.title.en : "";
  };
  return (
    <li>
      <div className="lh-row lh-wrap">
        {turn.intent ? (
          <span className="lh-badge lh-info">
            {t("turns.intent")}: {tCode("intent", turn.intent)}
          </span>
        ) : (
          <span className="lh-badge lh-idle">{tCode("kind", turn.kind)}</span>
        )}
        {over && UNFINISHED.has(turn.outcome) ? null : (
          <span className="lh-meta">{tCode("turns.outcome", turn.outcome)}</span>
        )}
        {turn.firstWordMs >= 0 ? (
          <span className="lh-meta lh-num">{t("turns.firstWord", { ms: decimal(turn.firstWordMs, lang) })}</span>
        ) : null}
        {turn.cached ? <span className="lh-meta">{t("turns.cached")}</span> : null}
      </div>
      {turn.question ? (
        <p>
          <b>{t("turns.question")}</b> {turn.question}
        </p>
      ) : null}
      {turn.answer ? (
        <p>
          {turn.question ? <b>{t("turns.answer")}</b> : null} {turn.answer}
        </p>
      ) : null}
      {turn.facts.length > 0 ? (
        <ul className="lh-plain lh-meta" aria-label={t("turns.facts")}>
          {turn.facts.map((fact) => {
            const [field = "", detail = ""] = fact.field.split(":");
            const words = detail && field === "attr" ? detail : tCode("fact", field);
            return (
              <li key={`${fact.productId}${fact.field}`}>
                ✓ {[titleOf(fact.productId), words].filter(Boolean).join(" · ")}: {fact.value}
              </li>
            );
          })}
        </ul>
      ) : null}
    </li>
  );
}
