/** Every word of the console in Chinese and English, side by side; typed keys; missing words cannot compile. */

import i18next from "i18next";
import { useCallback } from "react";
import { initReactI18next, useTranslation } from "react-i18next";
import type { Lang } from "../api/contract";
import { currentLanguage, rememberLanguage } from "./language";
import { type MessageKey, messages } from "./messages";

export type { MessageKey } from "./messages";

function resources(column: 0 | 1): Record<string, string> {
  return Object.fromEntries(Object.entries(messages).map(([key, pair]) => [key, pair[column]]));
}

export function startI18n(): void {
  void i18next.use(initReactI18next).init({
    lng: currentLanguage(),
    fallbackLng: "en",
    keySeparator: false,
    nsSeparator: false,
    resources: { zh: { translation: resources(0) }, en: { translation: resources(1) } },
    interpolation: { escapeValue: false },
    initAsync: false,
  });
  tellDocument(currentLanguage());
}

function tellDocument(lang: Lang): void {
  document.documentElement.lang = lang === "zh" ? "zh-Hans" : "en";
}

export function changeLanguage(lang: Lang): void {
  rememberLanguage(lang);
  tellDocument(lang);
  void i18next.changeLanguage(lang);
}

export type Params = Record<string, string | number>;
export type Translate = (key: MessageKey, params?: Params) => string;

/** The words of a key, or `fallback` for codes the server may add before the console knows them. */
export function useT(): { t: Translate; tCode: (prefix: string, code: string) => string; lang: Lang } {
  const { t, i18n } = useTranslation();
  const translate = useCallback<Translate>((key, params) => t(key, params ?? {}), [t]);
  const tCode = useCallback(
    (prefix: string, code: string) => {
      const key = `${prefix}.${code.replaceAll(" ", "_")}`;
      return key in messages ? t(key) : code;
    },
    [t],
  );
  return { t: translate, tCode, lang: i18n.language === "en" ? "en" : "zh" };
}
