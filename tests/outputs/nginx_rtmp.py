"""A real nginx with the RTMP module, on a free loopback port, for the length of a test."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

_MODULES = (Path("/usr/lib/nginx/modules/ngx_rtmp_module.so"), Path("/usr/share/nginx/modules/ngx_rtmp_module.so"))
_CONFIG = """
load_module {module};
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 64; }}
rtmp {{
  access_log off;
  server {{
    listen 127.0.0.1:{port};
    chunk_size 4096;
    application live {{ live on; wait_key on; record off; }}
    application guarded {{ live on; on_publish http://127.0.0.1:{hook_port}/publish; }}
  }}
}}
"""


def free_port() -> int:
    """A TCP port on loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class NginxRtmp:
    """``await start()``, push to ``url(key)``, ``stop()``; the port stays the same across restarts."""

    def __init__(self, folder: Path) -> None:
        module = next((path for path in _MODULES if path.exists()), None)
        binary = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if module is None or binary is None:
            pytest.skip("needs nginx with the RTMP module: apt-get install nginx libnginx-mod-rtmp")
        self._binary = binary
        self.port = free_port()
        self.hook_port = free_port()
        self._folder = folder
        self._config = folder / "nginx.conf"
        self._config.write_text(_CONFIG.format(module=module, folder=folder, port=self.port, hook_port=self.hook_port))
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, key: str, app: str = "live") -> str:
        """Where to push or play."""
        return f"rtmp://127.0.0.1:{self.port}/{app}/{key}"

    def _spawn(self, log: Path) -> None:
        self._process = subprocess.Popen([self._binary, "-p", str(self._folder), "-c", str(self._config), "-e", str(log)])

    async def start(self) -> None:
        """Start and wait until it accepts connections."""
        log = self._folder / "error.log"
        self._spawn(log)
        for _ in range(500):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.01)
                continue
            writer.close()
            return
        raise AssertionError(f"nginx did not start: {log.read_text()}")

    def stop(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
