/** The person's language: the server's own cookie, so that pages, problems and the console agree. */

import type { Lang } from "../api/contract";
import { pageConfig } from "../page";

const COOKIE = "lumihost_language";
const YEAR_S = 365 * 24 * 3600;

function cookie(name: string): string | undefined {
  return document.cookie
    .split("; ")
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}

function initial(): Lang {
  const chosen = cookie(COOKIE);
  if (chosen) return chosen.startsWith("en") ? "en" : "zh";
  const served = pageConfig().language;
  if (served) return served;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

let language: Lang | undefined;

export function currentLanguage(): Lang {
  language ??= initial();
  return language;
}

export function rememberLanguage(chosen: Lang): void {
  language = chosen;
  // biome-ignore lint/suspicious/noDocumentCookie: the cookie is the server's interface for the language.
  document.cookie = `${COOKIE}=${chosen === "zh" ? "zh-hans" : "en"}; path=/; max-age=${YEAR_S}; samesite=lax`;
}
