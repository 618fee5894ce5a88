"""The browser's renderer in headless Chromium: frames a second and milliseconds a frame, hybrid and WebGL 2 alone.

Without a graphics card both WebGL and WebGPU run on the processor (SwiftShader), and so does the page: the figures say what the
modes cost relative to each other here, not what a viewer's machine does. ``python -m tests.bench browser``
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import fmean, median
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.bench.table import print_table, save
from tests.e2e.conftest import CHROMIUM, FLAGS
from tests.e2e.console_only import SOFTWARE_GPU, ConsoleOnly

FIELD = {"webgl2": 128.0, "hybrid": 119.0}
"""Frames a second of the field's Chrome on a graphics card: another scene and another machine."""
TICKS = """(seconds) => new Promise((resolve) => {
  const times = []; const canvas = document.querySelector("canvas");
  const costs = []; const steps = []; const began = performance.now();
  const tick = (now) => {
    times.push(now); costs.push(Number(canvas.dataset.drawMs)); steps.push(Number(canvas.dataset.computeMs));
    if (performance.now() - began < seconds * 1000) requestAnimationFrame(tick); else resolve({times, costs, steps});
  };
  requestAnimationFrame(tick);
})"""


def measure(page: Page, seconds: float) -> dict[str, Any]:
    """Frames over ``seconds`` while a burst of hearts is in the air half of the time."""
    page.get_by_role("button", name="送爱心").click()
    got = page.evaluate(TICKS, seconds)
    gaps = [b - a for a, b in zip(got["times"], got["times"][1:], strict=False)]
    return {
        "fps": 1000 * len(gaps) / sum(gaps), "frame_ms_median": median(gaps), "frame_ms_worst": max(gaps),
        "page_thread_ms": fmean(got["costs"]), "compute_round_trip_ms": fmean(got["steps"]), "frames": len(gaps),
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--presenter", default="lin")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        console = ConsoleOnly.start(Path(folder))
        flags = [flag for flag in FLAGS if flag != "--disable-gpu"] + SOFTWARE_GPU
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags, headless=True)
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 900}, locale="zh-CN")
            page.set_default_timeout(90_000)
            console.open(page, f"/presenters/{options.presenter}")
            page.locator(f"canvas[data-presenter={options.presenter}]").wait_for()
            page.get_by_text("技术细节", exact=True).click()
            result: dict[str, Any] = {"seconds": options.seconds, "presenter": options.presenter, "load_average": load}
            for mode, label in (("hybrid", "自动"), ("webgl2", "仅 WebGL 2")):
                page.get_by_text(label, exact=True).first.click()
                page.locator(f"canvas[data-mode={mode}]").wait_for()
                time.sleep(2)
                result[mode] = measure(page, options.seconds)
            told = page.locator("canvas").evaluate("c => ({...c.dataset, width: c.width, height: c.height})")
            result |= {"driver": told["driver"], "size": [told["width"], told["height"]], "chromium": browser.version}
        finally:
            browser.close()
            console.stop()
    rows = [
        [mode, f"{r['fps']:.1f}", f"{r['frame_ms_median']:.0f}", f"{r['frame_ms_worst']:.0f}", f"{r['page_thread_ms']:.1f}",
         f"{r['compute_round_trip_ms']:.2f}", f"{FIELD[mode]:g}"]
        for mode, r in ((mode, result[mode]) for mode in FIELD)
    ]  # fmt: skip
    head = ["mode", "fps", "frame ms", "worst", "page thread ms", "compute ms", "field fps (card)"]
    print_table(f"Presenter in Chromium {result['chromium']}, {result['size'][0]}x{result['size'][1]}", head, rows)
    print(f"  software rendering: {result['driver']}; load average {load:.1f}")
    save("browser", result)


if __name__ == "__main__":
    main()
