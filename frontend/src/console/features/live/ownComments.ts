import type { Comment, Turn } from "../../../shared/ws/log";

/** A comment written on this page, from the click until the event log has it. */
export interface OwnComment {
  local: string;
  /** Empty until the server has answered. */
  id: string;
  text: string;
  outcome: string;
  reason: string;
  at: number;
}

/**
 * The log's comments with this page's own that the log does not hold yet. A comment whose question is being spoken right
 * now is shown as being answered, since the log names its outcome only afterwards.
 */
export function withOwn(
  logged: readonly Comment[],
  own: readonly OwnComment[],
  turns: readonly Turn[],
): readonly Comment[] {
  const known = new Set(logged.map((comment) => comment.id));
  const speaking = new Set(turns.filter((turn) => turn.outcome === "speaking").map((turn) => turn.question));
  const mine = own
    .filter((item) => !known.has(item.id))
    .map((item) => ({
      id: item.id || item.local,
      text: item.text,
      user: "",
      outcome: item.outcome,
      reason: item.reason,
      turnId: "",
      at: item.at,
    }));
  const open = new Set(["received", "queued"]);
  return [...logged, ...mine].map((comment) =>
    open.has(comment.outcome) && speaking.has(comment.text) ? { ...comment, outcome: "answering" } : comment,
  );
}
