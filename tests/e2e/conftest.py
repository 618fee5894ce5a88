"""One running demo and one browser for all end-to-end tests, in the order they are written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.product import ROOT, Product

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required",
    "--allow-loopback-in-peer-connection",
]  # fmt: skip


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    models = Path(os.environ.get("LUMIHOST_MODELS", ROOT / "var" / "models"))
    if not models.is_dir():
        pytest.skip(f"no speech model in {models}: run `python -m gpu_engine.models prepare`")
    running = Product.start(tmp_path_factory.mktemp("product"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not os.path.exists(CHROMIUM):
        pytest.skip("Debian's chromium is not installed: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, headless=True)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def room(product: Product, browser: Browser) -> Iterator[Page]:
    """The live room, signed in through the form, in Chinese."""
    page = browser.new_page(viewport={"width": 1440, "height": 900}, locale="zh-CN")
    page.set_default_timeout(30_000)
    page.goto(f"{product.url}/live/{product.session_id}")
    page.get_by_label("邮箱").fill(product.email)
    page.locator("input[type=password]").fill(product.password)
    page.keyboard.press("Enter")
    page.get_by_label("以观众身份评论").wait_for()
    yield page
    page.close()
