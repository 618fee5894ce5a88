import { useMutation } from "@tanstack/react-query";
import { Button, Input } from "antd";
import { type FormEvent, useEffect, useMemo, useRef, useState } from "react";
import { request } from "../../../shared/api/client";
import type { CommentReply, Session } from "../../../shared/api/contract";
import { asProblem } from "../../../shared/api/problems";
import { useWorkspace } from "../../../shared/auth/session";
import { useT } from "../../../shared/i18n";
import { timeOfDay } from "../../../shared/i18n/format";
import { problemText } from "../../../shared/ui/problemText";
import type { Comment } from "../../../shared/ws/log";
import { type OwnComment, withOwn } from "./ownComments";
import { useRoom } from "./room";

const SUMMARY_EVERY_MS = 10_000;
const SHOWN = 150;
const MOST_CHARS = 200;

const LOOK: Record<string, { mark: string; tone: string }> = {
  sending: { mark: "…", tone: "idle" },
  received: { mark: "·", tone: "idle" },
  queued: { mark: "◷", tone: "info" },
  answering: { mark: "▶", tone: "brandsoft" },
  answered: { mark: "✔", tone: "ok" },
  merged: { mark: "⧉", tone: "idle" },
  dropped: { mark: "–", tone: "warn" },
  refused: { mark: "⊘", tone: "warn" },
  failed: { mark: "✖", tone: "danger" },
};

export function Comments({ session }: { session: Session }) {
  const { t } = useT();
  const [own, setOwn] = useState<OwnComment[]>([]);
  const logged = useRoom((room) => room.log.view.comments);
  const turns = useRoom((room) => room.log.view.turns);
  const [heldAt, setHeldAt] = useState<readonly Comment[] | null>(null);
  const all = useMemo(() => withOwn(logged, own, turns), [logged, own, turns]);
  const rows = heldAt ?? all;
  const running = session.state === "live" || session.state === "interrupted" || session.state === "starting";
  return (
    <section className="lh-card lh-comments" aria-labelledby="comments-title">
      <div className="lh-row">
        <h2 id="comments-title" className="lh-grow">
          {t("comments.title")}
        </h2>
        <Button
          size="small"
          aria-pressed={heldAt !== null}
          onClick={() => setHeldAt(heldAt ? null : all)}
          disabled={all.length === 0}
        >
          {heldAt ? t("comments.follow") : t("comments.pause")}
        </Button>
      </div>
      {running ? <Compose session={session} onOwn={setOwn} /> : null}
      {heldAt && all.length > heldAt.length ? (
        <p className="lh-meta">{t("comments.waiting", { n: all.length - heldAt.length })}</p>
      ) : null}
      <Summary count={all.length} />
      {rows.length === 0 ? (
        <p className="lh-meta">{t("comments.empty")}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard.
        <ol className="lh-feed lh-comment-feed" tabIndex={0} aria-label={t("comments.title")} aria-live="off">
          {rows
            .slice(-SHOWN)
            .toReversed()
            .map((comment) => (
              <Row key={comment.id} comment={comment} />
            ))}
        </ol>
      )}
    </section>
  );
}

function Row({ comment }: { comment: Comment }) {
  const { t, tCode, lang } = useT();
  const look = LOOK[comment.outcome] ?? { mark: "·", tone: "idle" };
  const words = tCode("outcome", comment.outcome);
  const reason = comment.reason ? tCode("reason", comment.reason) : "";
  return (
    <li className="lh-comment">
      <span className="lh-meta">
        <span className="lh-num">{timeOfDay(comment.at, lang)}</span>{" "}
        {comment.user && comment.user !== "viewer" ? comment.user : t("comments.viewer")}
      </span>
      <span className="lh-comment-text">{comment.text}</span>
      <span className={`lh-badge lh-${look.tone}`}>
        <span aria-hidden="true">{look.mark}</span> {reason ? `${words} · ${reason}` : words}
      </span>
    </li>
  );
}

function Compose({
  session,
  onOwn,
}: {
  session: Session;
  onOwn: (change: (own: OwnComment[]) => OwnComment[]) => void;
}) {
  const { t, lang } = useT();
  const { path, can } = useWorkspace();
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const post = useMutation({
    mutationFn: ({ said }: { local: string; said: string }) =>
      request<CommentReply>(path(`/sessions/${session.id}/comments`), { method: "POST", json: { text: said } }),
    onSuccess: (reply, { local }) =>
      onOwn((own) =>
        own.map((item) =>
          item.local === local
            ? { ...item, id: reply.id, outcome: reply.accepted ? "received" : "refused", reason: reply.reason }
            : item,
        ),
      ),
    onError: (error, { local }) =>
      onOwn((own) =>
        own.map((item) =>
          item.local === local
            ? { ...item, outcome: "failed", reason: problemText(asProblem(error), t, lang).text }
            : item,
        ),
      ),
  });
  if (!can("sessions:say")) return null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const said = text.trim();
    if (!said) return;
    const local = crypto.randomUUID();
    onOwn((own) => [...own, { local, id: "", text: said, outcome: "sending", reason: "", at: Date.now() }].slice(-50));
    post.mutate({ local, said });
    setText("");
    input.current?.focus();
  };
  return (
    <form className="lh-compose" onSubmit={submit}>
      <label htmlFor="viewer-comment">{t("comments.write")}</label>
      <div className="lh-row">
        <Input
          id="viewer-comment"
          ref={(antd) => {
            input.current = antd?.input ?? null;
          }}
          value={text}
          maxLength={MOST_CHARS}
          placeholder={t("comments.placeholder")}
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="primary" htmlType="submit" disabled={text.trim() === ""}>
          {t("comments.send")}
        </Button>
      </div>
    </form>
  );
}

/** For screen readers: how many came, at most every ten seconds, instead of every row. */
function Summary({ count }: { count: number }) {
  const { t } = useT();
  const [text, setText] = useState("");
  const latest = useRef(count);
  const told = useRef(count);
  latest.current = count;
  useEffect(() => {
    const timer = setInterval(() => {
      const fresh = latest.current - told.current;
      told.current = latest.current;
      if (fresh > 0) setText(t("comments.summary", { n: fresh }));
    }, SUMMARY_EVERY_MS);
    return () => clearInterval(timer);
  }, [t]);
  return (
    <p className="lh-visually-hidden" role="status">
      {text}
    </p>
  );
}
