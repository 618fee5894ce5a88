import type { FieldProblem, Problem } from "../api/problems";
import type { MessageKey, Translate } from "../i18n";
import { messages } from "../i18n/messages";

const HAN = /\p{Script=Han}/u;

/** The catalogue's words for a code, or '' where it has none. */
function catalogued(prefix: string, code: string, t: Translate): string {
  const key = `${prefix}.${code}`;
  return key in messages ? t(key as MessageKey) : "";
}

/**
 * What a person reads of a problem, and the server's own sentence as detail. That sentence names the thing and the way
 * out, but some are written in English only: a Chinese reader gets the title, which the server has in both, first.
 */
export function problemText(problem: Problem, t: Translate, lang: "zh" | "en"): { text: string; detail: string } {
  const { detail } = problem;
  if (detail && (lang === "en" || HAN.test(detail))) return { text: detail, detail: "" };
  const text = catalogued("problem", problem.code, t) || problem.title || problem.code;
  return { text, detail: detail === text ? "" : detail };
}

/** One field's error in the reader's language where there is one. */
export function fieldText(error: FieldProblem, t: Translate, lang: "zh" | "en"): string {
  if (lang === "en" || HAN.test(error.detail)) return error.detail;
  const words = catalogued("field", error.code, t);
  return words ? `${words} (${error.detail})` : error.detail;
}
