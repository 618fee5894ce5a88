"""The web front alone, with the demo shop and nobody on the air: enough for pages that need no show, and up in seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.sync_api import Page

from tests.e2e.product import ROOT, free_port, wait_for

SOFTWARE_GPU = [
    "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-unsafe-swiftshader", "--use-angle=swiftshader",
    "--ignore-gpu-blocklist",
]  # fmt: skip
"""Chromium's flags for WebGPU and WebGL without a graphics card."""


@dataclass
class ConsoleOnly:
    """A running web server."""

    url: str
    email: str
    password: str
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, var: Path) -> ConsoleOnly:
        """Migrate, load the demo shop, serve."""
        environment = {
            **os.environ, "LUMIHOST_VAR": str(var), "DJANGO_SETTINGS_MODULE": "lumihost.config.settings.embedded",
            "PYTHONPATH": str(ROOT / "platform"),
        }  # fmt: skip

        def manage(*words: str) -> str:
            command = [sys.executable, str(ROOT / "manage.py"), *words]
            return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout

        manage("migrate", "-v0")
        demo = json.loads(manage("load_demo", "--json").strip().splitlines()[-1])
        port = free_port()
        serve = ["-m", "lumihost.web.daphne_server", "-b", "127.0.0.1", "-p", str(port), "lumihost.config.asgi:application"]
        with (var / "web.out").open("wb") as out:
            process = subprocess.Popen([sys.executable, *serve], cwd=ROOT, env=environment, stdout=out, stderr=out)
        started = cls(f"http://127.0.0.1:{port}", demo["email"], demo["password"], process)
        wait_for(started._answers, "the web server's answer", 60)
        return started

    def _answers(self) -> bool:
        assert self.process.poll() is None, "the web server ended"
        try:
            return httpx.get(f"{self.url}/healthz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def open(self, page: Page, path: str) -> None:
        """Open the page at ``path`` and sign in."""
        page.goto(self.url + path)
        page.get_by_label("邮箱").fill(self.email)
        page.locator("input[type=password]").fill(self.password)
        page.keyboard.press("Enter")

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait(20)
