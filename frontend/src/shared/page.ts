/** What the server's page tells the app in `#lumihost-config`. */

export interface PageConfig {
  language?: "zh" | "en";
  /** Styles made at run time are let in by the page's content policy only with this value. */
  nonce?: string;
  csrf_cookie?: string;
}

let config: PageConfig | undefined;

export function pageConfig(): PageConfig {
  if (!config) {
    const element = document.getElementById("lumihost-config");
    config = element?.textContent ? (JSON.parse(element.textContent) as PageConfig) : {};
  }
  return config;
}
