/** Numbers, money and times in the person's language; words for what has not been measured live in the callers. */

import type { Lang } from "../api/contract";

const TAGS: Record<Lang, string> = { zh: "zh-CN", en: "en-GB" };

/** Decimal digits of a currency: CNY 2, JPY 0. */
export function minorDigits(currency: string): number {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2;
  } catch {
    return 2;
  }
}

export function money(minor: number, currency: string, lang: Lang): string {
  const major = minor / 10 ** minorDigits(currency);
  try {
    return new Intl.NumberFormat(TAGS[lang], { style: "currency", currency, currencyDisplay: "narrowSymbol" }).format(
      major,
    );
  } catch {
    return `${major} ${currency}`;
  }
}

export function decimal(value: number, lang: Lang, digits = 0): string {
  return new Intl.NumberFormat(TAGS[lang], { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(
    value,
  );
}

/** `3725` → `1:02:05`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const pad = (n: number) => String(n).padStart(2, "0");
  const rest = `${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${rest}` : rest;
}

export function dateTime(iso: string | null | undefined, lang: Lang, timeZone?: string): string {
  if (!iso) return "";
  return new Intl.DateTimeFormat(TAGS[lang], { dateStyle: "medium", timeStyle: "short", timeZone }).format(
    new Date(iso),
  );
}

export function timeOfDay(ms: number, lang: Lang): string {
  return new Intl.DateTimeFormat(TAGS[lang], { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(
    new Date(ms),
  );
}

export function megabytes(bytes: number, lang: Lang): string {
  return `${decimal(bytes / 1e6, lang, 1)} MB`;
}
