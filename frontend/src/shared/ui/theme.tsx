/** Light and dark, for antd and for our own styles; the choice is kept in a cookie. */

import { App as AntApp, theme as antTheme, ConfigProvider } from "antd";
import enUS from "antd/locale/en_US";
import zhCN from "antd/locale/zh_CN";
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from "react";
import { useT } from "../i18n";
import { pageConfig } from "../page";
import { cssName, type Mode, palettes } from "./tokens";

const COOKIE = "lumihost_theme";
const YEAR_S = 365 * 24 * 3600;

function initialMode(): Mode {
  const chosen = document.cookie.split("; ").find((pair) => pair.startsWith(`${COOKIE}=`));
  if (chosen) return chosen.endsWith("dark") ? "dark" : "light";
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function apply(mode: Mode): void {
  const root = document.documentElement;
  for (const [token, value] of Object.entries(palettes[mode])) root.style.setProperty(cssName(token), value);
  root.style.colorScheme = mode;
  root.dataset.theme = mode;
}

const ThemeContext = createContext<{ mode: Mode; toggle: () => void }>({ mode: "light", toggle: () => {} });

export function useThemeMode(): { mode: Mode; toggle: () => void } {
  return use(ThemeContext);
}

export function ThemeProvider({ children }: { children: ReactNode }) {
  const [mode, setMode] = useState<Mode>(initialMode);
  const { lang } = useT();
  useEffect(() => apply(mode), [mode]);
  const value = useMemo(
    () => ({
      mode,
      toggle: () => {
        const next: Mode = mode === "light" ? "dark" : "light";
        // biome-ignore lint/suspicious/noDocumentCookie: kept like the language, where the server can read it.
        document.cookie = `${COOKIE}=${next}; path=/; max-age=${YEAR_S}; samesite=lax`;
        setMode(next);
      },
    }),
    [mode],
  );
  const p = palettes[mode];
  return (
    <ThemeContext value={value}>
      <ConfigProvider
        csp={{ nonce: pageConfig().nonce }}
        locale={lang === "zh" ? zhCN : enUS}
        button={{ autoInsertSpace: false }}
        theme={{
          cssVar: { key: "lh" },
          hashed: false,
          algorithm: mode === "dark" ? antTheme.darkAlgorithm : antTheme.defaultAlgorithm,
          token: {
            colorPrimary: p.brand,
            colorLink: p.brand,
            colorSuccess: p.ok,
            colorWarning: p.warn,
            colorError: p.danger,
            colorInfo: p.info,
            colorText: p.text,
            colorTextSecondary: p.text2,
            colorTextTertiary: p.text3,
            colorTextDescription: p.text3,
            colorTextPlaceholder: p.text3,
            colorBorder: p.border,
            colorBorderSecondary: p.line,
            colorBgLayout: p.bg,
            colorBgContainer: p.surface,
            colorBgElevated: p.surface,
            borderRadius: 6,
            controlHeight: 34,
            fontFamily: "inherit",
          },
          components: {
            Button: {
              primaryColor: p.onBrand,
              dangerColor: p.onBrand,
              primaryShadow: "none",
              dangerShadow: "none",
              defaultShadow: "none",
            },
          },
        }}
      >
        <AntApp>{children}</AntApp>
      </ConfigProvider>
    </ThemeContext>
  );
}
