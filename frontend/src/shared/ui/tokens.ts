/** Colours once: antd tokens and CSS variables come from here, and a test recomputes every contrast. */

export type Mode = "light" | "dark";

export interface Palette {
  bg: string;
  surface: string;
  sunk: string;
  text: string;
  text2: string;
  text3: string;
  line: string;
  border: string;
  brand: string;
  live: string;
  ok: string;
  warn: string;
  danger: string;
  info: string;
  takeover: string;
  idle: string;
  softBrand: string;
  softLive: string;
  softOk: string;
  softWarn: string;
  softDanger: string;
  softInfo: string;
  softTakeover: string;
  softIdle: string;
  onBrand: string;
}

export const palettes: Record<Mode, Palette> = {
  light: {
    bg: "#F6F7F9",
    surface: "#FFFFFF",
    sunk: "#EEF0F3",
    text: "#14171C",
    text2: "#4A5261",
    text3: "#626B7A",
    line: "#DDE1E7",
    border: "#7E8798",
    brand: "#3B4FE0",
    live: "#C8102E",
    ok: "#0B7A3E",
    warn: "#8A5300",
    danger: "#B3261E",
    info: "#1D5FBF",
    takeover: "#7A2FBF",
    idle: "#566070",
    softBrand: "#E9ECFD",
    softLive: "#FDE8EB",
    softOk: "#E3F5EA",
    softWarn: "#FFF3DC",
    softDanger: "#FCEBE9",
    softInfo: "#E6F0FD",
    softTakeover: "#F2E9FC",
    softIdle: "#EDEFF2",
    onBrand: "#FFFFFF",
  },
  dark: {
    bg: "#0E1116",
    surface: "#171B22",
    sunk: "#0A0D11",
    text: "#ECEFF4",
    text2: "#B3BBC8",
    text3: "#939DAE",
    line: "#2B323D",
    border: "#6B7585",
    brand: "#8C9BFF",
    live: "#FF6B7A",
    ok: "#4CC38A",
    warn: "#E0A83A",
    danger: "#FF7A70",
    info: "#6CAEFF",
    takeover: "#C79BFF",
    idle: "#9AA5B5",
    softBrand: "#1E2547",
    softLive: "#3A141B",
    softOk: "#0F2E1F",
    softWarn: "#33260B",
    softDanger: "#3A1714",
    softInfo: "#10263F",
    softTakeover: "#2A1A3D",
    softIdle: "#20262F",
    onBrand: "#0E1116",
  },
};

/** `softOk` → `--lh-soft-ok`. */
export function cssName(token: string): string {
  return `--lh-${token.replace(/[A-Z0-9]+/g, (part) => `-${part.toLowerCase()}`)}`;
}

/** WCAG 2.2 contrast of two `#rrggbb` colours, 1 … 21. */
export function contrast(a: string, b: string): number {
  const luminance = (hex: string) => {
    const [r = 0, g = 0, blue = 0] = [1, 3, 5].map((at) => {
      const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
      return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * blue;
  };
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}
