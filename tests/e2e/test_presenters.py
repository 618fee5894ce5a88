"""The presenters' page in a real browser: the host is drawn where the engine draws it, and speaks; the compute twin agrees."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from gpu_engine.avatar.framing import lens_for
from gpu_engine.avatar.pack import load_pack
from tests.e2e.conftest import CHROMIUM, FLAGS
from tests.e2e.console_only import SOFTWARE_GPU, ConsoleOnly
from tests.e2e.product import wait_for

pytestmark = pytest.mark.e2e

HOST = "lin"
Picture = NDArray[np.float32]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleOnly]:
    running = ConsoleOnly.start(tmp_path_factory.mktemp("console"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def gpu_browser() -> Iterator[Browser]:
    """Chromium with WebGPU on the processor."""
    if not os.path.exists(CHROMIUM):
        pytest.skip("Debian's chromium is not installed: apt install chromium")
    with sync_playwright() as playwright:
        flags = [flag for flag in FLAGS if flag != "--disable-gpu"] + SOFTWARE_GPU
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags, headless=True)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def faults() -> list[str]:
    return []


@pytest.fixture(scope="module")
def page(console: ConsoleOnly, gpu_browser: Browser, faults: list[str]) -> Iterator[Page]:
    page = gpu_browser.new_page(viewport={"width": 1280, "height": 900}, locale="zh-CN")
    page.set_default_timeout(60_000)
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    console.open(page, f"/presenters/{HOST}")
    page.locator(f"canvas[data-presenter={HOST}]").wait_for()
    yield page
    page.close()


def picture(page: Page) -> Picture:
    """The preview as it is on the screen, float32[h, w, 3]."""
    shot = page.locator(".lh-preview-screen").screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), np.float32)


def part(image: Picture, at: tuple[float, float], size: float) -> Picture:
    x, y, half = round(at[0]), round(at[1]), max(2, round(size / 2))
    return image[y - half : y + half, x - half : x + half]


def test_the_mouth_moves_where_the_engine_has_it(page: Page, faults: list[str]) -> None:
    wait_for(lambda: picture(page).std() > 20, "a picture on the canvas")
    first = picture(page)
    height, width = first.shape[:2]
    pack = load_pack(HOST)
    even = (width // 2 * 2, height // 2 * 2)
    lens, _ = lens_for(pack, *even, "16:9")

    def pixel(point: NDArray[np.float32]) -> tuple[float, float]:
        f = lens[0] / (lens[3] - point[2])
        return float(lens[4] + (point[0] - lens[1]) * f), float(lens[5] - (point[1] - lens[2]) * f)

    teeth = pack.rest[slice(*pack.part("teeth_upper").verts)].mean(0)
    eyes = (pack.eye("l")[0] + pack.eye("r")[0]) / 2
    between = float(np.hypot(*np.subtract(pixel(teeth), pixel(eyes))))
    mouth, wall = pixel(teeth), (width * 0.93, height * 0.3)
    seen = [first]

    def spread(at: tuple[float, float]) -> float:
        return float(np.stack([part(image, at, between * 0.6) for image in seen]).std(axis=0).mean())

    def moved() -> bool:
        seen.append(picture(page))
        return len(seen) > 4 and spread(mouth) > 6

    wait_for(moved, "the mouth's movement", 40)
    assert spread(wall) < 1
    assert faults == []


def test_the_hybrid_mode_is_on_and_says_so(page: Page, faults: list[str]) -> None:
    told = page.locator("canvas").evaluate("canvas => ({...canvas.dataset, isolated: crossOriginIsolated})")

    assert (told["mode"], told["reason"], told["memory"], told["isolated"]) == ("hybrid", "available", "shared", True)
    before = picture(page)
    page.get_by_role("button", name="送爱心").click()

    def pink() -> bool:
        image = picture(page)
        return bool(((image[..., 0] - image[..., 1] > 120) & (np.abs(image - before).max(2) > 60)).sum() > 60)

    wait_for(pink, "hearts", 40)
    page.get_by_text("技术细节", exact=True).click()
    page.get_by_text("仅 WebGL 2", exact=True).first.click()
    page.locator("canvas[data-mode=webgl2][data-reason=chosen]").wait_for()
    assert faults == []


STEP = """async ([url, particles, studio, steps, dt, head]) => {
  const worker = new Worker(url, {type: "module"});
  const hear = () => new Promise((resolve) => { worker.onmessage = (event) => resolve(event.data); });
  const count = 4096, stride = 12, aligned = (n) => Math.ceil(n / 256) * 256;
  const slot = aligned(count * stride * 4), first = 256 + 512;
  const memory = new SharedArrayBuffer(first + 2 * slot);
  let answer = hear();
  worker.postMessage({type: "start", memory, count});
  const ready = await answer;
  if (ready.type !== "ready") return {ready};
  worker.postMessage({type: "studio", light: new Float32Array(studio)});
  worker.postMessage({type: "spawn", first: 0, particles: new Float32Array(particles)});
  for (let sequence = 1; sequence <= steps; sequence += 1) {
    answer = hear();
    worker.postMessage({type: "step", sequence, dt, head});
    await answer;
  }
  const at = steps & 1;
  const out = {
    ready, sequence: new Int32Array(memory)[0],
    particles: [...new Float32Array(memory, first + at * slot, particles.length)],
    probe: [...new Float32Array(memory, 256 + at * 256, 27)],
  };
  worker.terminate();
  return out;
}"""


def test_the_devices_program_does_what_the_reference_does(page: Page) -> None:
    """Particles and the probe's mean after four steps, against the formulas written here once more."""
    rng = np.random.default_rng(5)
    particles = rng.uniform(0.1, 1.0, (64, 12)).astype(np.float32)
    particles[:, 10] = rng.integers(0, 8, 64)
    particles[:8, 7] = 0
    studio = rng.uniform(0, 2, (16, 32, 4)).astype(np.float32)
    head, dt, steps = [0.0, 0.6, 0.1], 0.03, 4
    scripts = page.evaluate("performance.getEntriesByType('resource').map((r) => r.name)")
    (worker,) = {name for name in scripts if "compute.worker" in name}

    got: dict[str, Any] = page.evaluate(STEP, [worker, particles.ravel().tolist(), studio.ravel().tolist(), steps, dt, head])

    assert (got["ready"]["type"], got["sequence"]) == ("ready", steps)
    expected = particles.astype(np.float64)
    alive = expected[:, 7] > 0
    for _ in range(steps):
        live = alive & (expected[:, 7] > 0)
        p = expected[live]
        p[:, 8] += p[:, 9] * dt
        p[:, 4:7] = (p[:, 4:7] + np.stack([0.35 * np.sin(p[:, 8]), np.full(len(p), -0.55), np.zeros(len(p))], 1) * dt) * np.exp(
            -1.6 * dt
        )
        p[:, :3] += p[:, 4:7] * dt
        p[:, 7] -= dt / p[:, 11]
        expected[live] = p
    np.testing.assert_allclose(np.array(got["particles"]).reshape(-1, 12), expected, atol=2e-5)

    solid = 2 * np.pi / 32 * np.pi / 16 * np.cos(np.pi / 2 - (np.arange(16) + 0.5) / 16 * np.pi)
    light = (studio[..., :3] * solid[:, None, None]).sum((0, 1)) * 0.282095
    away = expected[:, :3] - head
    distance = np.maximum(0.08, np.linalg.norm(away, axis=1))
    power = 260 * expected[:, 3] ** 2 / distance**2 * np.minimum(1, expected[:, 7]) * 0.01 * (expected[:, 7] > 0)
    colours = np.array(
        [[1, 0.07, 0.16], [1, 0.22, 0.34], [1, 0.62, 0.08], [0.1, 0.5, 1], [0.12, 0.8, 0.35], [0.95, 0.25, 0.75],
         [0.98, 0.88, 0.3], [0.6, 0.4, 1]]
    )  # fmt: skip
    light += (power[:, None] * colours[expected[:, 10].astype(int)]).sum(0) * 0.282095
    np.testing.assert_allclose(got["probe"][:3], light, rtol=2e-3)


def test_without_webgpu_the_page_draws_with_webgl_alone(console: ConsoleOnly, gpu_browser: Browser) -> None:
    context = gpu_browser.new_context(viewport={"width": 390, "height": 844}, locale="zh-CN")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'gpu', {get: undefined}); delete Navigator.prototype.gpu")
    console.open(page, "/presenters")
    page.locator("canvas[data-mode=webgl2][data-reason=no-webgpu]:not([data-presenter=''])").wait_for()
    wait_for(lambda: picture(page).std() > 20, "a picture on the canvas")

    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_text("技术细节", exact=True).click()
    assert page.get_by_text("此浏览器没有 WebGPU").is_visible()
    context.close()


def test_only_this_page_loads_three(page: Page) -> None:
    def scripts() -> set[str]:
        return {name.rsplit("/", 1)[-1].split("-")[0] for name in page.evaluate(
            "performance.getEntriesByType('resource').map((r) => r.name).filter((n) => n.endsWith('.js'))"
        )}  # fmt: skip

    assert "Preview" in scripts()
    page.goto(page.url.split("/presenters")[0] + "/shows")
    page.get_by_role("heading", name="节目").wait_for()
    assert "Preview" not in scripts()
    assert page.evaluate("crossOriginIsolated") is False
