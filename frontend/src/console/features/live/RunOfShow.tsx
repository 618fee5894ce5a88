import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { request } from "../../../shared/api/client";
import type { Session, Show } from "../../../shared/api/contract";
import { keys } from "../../../shared/api/keys";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { useRoom } from "./room";

/** Where the show is. */
export function RunOfShow({ session }: { session: Session }) {
  const { t, tCode } = useT();
  const { tenant, path } = useWorkspace();
  const show = useQuery({
    queryKey: keys.show(tenant.id, session.show.id),
    queryFn: () => request<Show>(path(`/shows/${session.show.id}`)),
  });
  const fromEvent = useRoom((room) => room.log.view.cursor);
  const snapshot = useRoom((room) => room.snapshot);
  const cursor =
    snapshot?.cursor && snapshot.at >= (fromEvent?.at ?? 0) ? snapshot.cursor : (fromEvent ?? session.cursor);
  const running = session.state === "live";
  const current = useRef<HTMLLIElement>(null);
  const index = cursor?.segment_index ?? -1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: scroll when the show has moved on, not on every frame.
  useEffect(() => {
    const item = current.current;
    const list = item?.parentElement;
    if (item && list) list.scrollTop = item.offsetTop - list.offsetTop - list.clientHeight / 3;
  }, [index]);
  return (
    <section className="lh-card" aria-labelledby="run-title">
      <div className="lh-row">
        <h2 id="run-title" className="lh-grow">
          {t("run.title")}
        </h2>
        {cursor ? <span className="lh-meta">{t("run.loop", { n: cursor.loop + 1 })}</span> : null}
      </div>
      {show.data ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard.
        <ol className="lh-run" tabIndex={0} aria-labelledby="run-title">
          {show.data.segments.map((segment, at) => {
            const here = at === index;
            return (
              <li key={segment.id} ref={here ? current : undefined} aria-current={here ? "step" : undefined}>
                <span className="lh-run-no">{at + 1}</span>
                <span className="lh-grow">
                  {segment.title || tCode("segkind", segment.kind)}
                  <small> {tCode("segkind", segment.kind)}</small>
                </span>
                {here ? (
                  <span className="lh-badge lh-brandsoft">
                    {running ? `▶ ${t("run.now")} · ` : ""}
                    {t("run.line", { n: (cursor?.line_index ?? 0) + 1 })}
                  </span>
                ) : null}
              </li>
            );
          })}
        </ol>
      ) : (
        <p className="lh-meta">{show.error ? t("run.missing") : t("loading")}</p>
      )}
    </section>
  );
}
