"""The whole product as a person has it: ``lumihost demo`` on a free port, in a folder of its own."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil

logging.getLogger("httpx").setLevel(logging.WARNING)

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 240.0
_T = TypeVar("_T")


def wait_for(condition: Callable[[], _T], what: str, timeout_s: float = 60.0, every_s: float = 0.2) -> _T:
    """Poll until the condition is true-like and return its value."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        time.sleep(every_s)


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@dataclass
class Product:
    """A running demo."""

    var: Path
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    url: str = ""
    email: str = ""
    password: str = ""
    session_id: str = ""
    live_at: float = 0.0
    api: httpx.Client = field(default_factory=httpx.Client)
    tenant_id: str = ""

    @classmethod
    def start(cls, var: Path) -> Product:
        """Start the demo and wait until its show is live; signs the API client in."""
        port = free_port()
        log = var / "demo.out"
        models = Path(os.environ.get("LUMIHOST_MODELS", ROOT / "var" / "models"))
        environment = {**os.environ, "LUMIHOST_VAR": str(var), "LUMIHOST_MODELS": str(models), "PYTHONUNBUFFERED": "1"}
        environment.pop("DJANGO_SETTINGS_MODULE", None)  # pytest's own settings are not the product's
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(Path(sys.executable).parent / "lumihost"), "demo", "--port", str(port), "--quiet"],
                cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        product = cls(var, port, process, log)
        wait_for(product._invitation, "the demo's invitation", START_TIMEOUT_S)
        product.live_at = time.monotonic()
        product._sign_in()
        return product

    def _invitation(self) -> bool:
        text = self.log.read_text(errors="replace")
        assert self.process.poll() is None, f"lumihost demo ended:\n{text[-3000:]}"
        watch = re.search(r"(http://\S+)/live/(ses_\w+)", text)
        password = re.search(r"Password\D+密码\s+(\S+)", text)
        email = re.search(r"\S+@\S+", text)
        if not (watch and password and email):
            return False
        self.url, self.session_id, self.password, self.email = watch[1], watch[2], password[1], email[0]
        return True

    def _sign_in(self) -> None:
        self.api = httpx.Client(base_url=self.url, timeout=20.0)
        token = self.api.get("/api/v1/auth/session").json()["csrf_token"]
        self.api.post(
            "/api/v1/auth/login", json={"email": self.email, "password": self.password}, headers={"X-CSRFToken": token}
        ).raise_for_status()
        session = self.api.get("/api/v1/auth/session").json()
        self.tenant_id = session["memberships"][0]["tenant"]["id"]
        self.api.headers["X-CSRFToken"] = session["csrf_token"]

    # --- what the API says ------------------------------------------------------------------------------------------

    def get(self, path: str, **params: Any) -> Any:
        """GET below the tenant; a web server that is just restarting is asked again."""
        deadline = time.monotonic() + 30
        while True:
            try:
                answer = self.api.get(f"/api/v1/tenants/{self.tenant_id}/{path}", params=params)
                if answer.status_code < 500:
                    answer.raise_for_status()
                    return answer.json()
            except httpx.TransportError:
                pass
            assert time.monotonic() < deadline, f"no answer from {path}"
            time.sleep(0.2)

    def post(self, path: str, body: Any = None) -> httpx.Response:
        """POST below the tenant."""
        return self.api.post(f"/api/v1/tenants/{self.tenant_id}/{path}", json=body or {})

    @property
    def session(self) -> dict[str, Any]:
        """The session as the API shows it."""
        return dict(self.get(f"sessions/{self.session_id}"))

    def comment(self, text: str, user: str = "viewer") -> httpx.Response:
        """Write a comment as a viewer."""
        return self.post(f"sessions/{self.session_id}/comments", {"text": text, "user": user})

    def events(self, kind: str) -> list[dict[str, Any]]:
        """All events of one kind, oldest first."""
        found: list[dict[str, Any]] = []
        after = 0
        while True:
            page = self.get(f"sessions/{self.session_id}/events", after=after)
            items = page["items"]
            found += [e for e in items if e["kind"] == kind]
            if not items or items[-1]["seq"] <= after:
                return found
            after = items[-1]["seq"]

    def spoken(self) -> str:
        """Everything the host really said, in order."""
        return "\n".join(str(e["data"].get("text", "")) for e in self.events("spoken"))

    # --- its processes ----------------------------------------------------------------------------------------------

    def find(self, *words: str) -> list[psutil.Process]:
        """Processes of this product whose command line has all the words."""
        found = []
        for process in psutil.process_iter(["cmdline", "environ"]):
            command = " ".join(process.info["cmdline"] or [])
            mine = str(self.var) in command or (process.info["environ"] or {}).get("LUMIHOST_VAR") == str(self.var)
            if mine and all(word in command for word in words):
                found.append(process)
        return found

    def kill(self, *words: str) -> int:
        """SIGKILL the one process whose command line has all the words; returns its pid."""
        (process,) = self.find(*words)
        process.kill()
        return int(process.pid)

    def stop(self) -> int:
        """Ctrl-C; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(40)
        finally:
            for process in self.find():
                process.kill()
