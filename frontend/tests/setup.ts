import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

/** What antd asks of a browser and jsdom lacks. */
class NoResizeObserver implements ResizeObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
globalThis.ResizeObserver ??= NoResizeObserver;
window.matchMedia ??= (query: string) =>
  ({
    matches: false,
    media: query,
    onchange: null,
    addListener: () => {},
    removeListener: () => {},
    addEventListener: () => {},
    removeEventListener: () => {},
    dispatchEvent: () => false,
  }) as MediaQueryList;
Element.prototype.scrollTo ??= () => {};

// A shared, busy machine: what is right within ten seconds is right.
configure({ asyncUtilTimeout: 10_000 });

afterEach(() => cleanup());
