"""Debian packages the tests want: a browser and real media servers. Without root, says what will not run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

WANTED = {
    "chromium": ("chromium", "end-to-end tests in the browser"),
    "/usr/sbin/nginx": ("nginx", "RTMP push against a real server"),
    "/usr/lib/x86_64-linux-gnu/libEGL.so.1": ("libegl1", "the GPU renderer against Mesa"),
    "/usr/lib/x86_64-linux-gnu/dri/swrast_dri.so": ("libgl1-mesa-dri", "the GPU renderer against Mesa"),
    "/usr/lib/nginx/modules/ngx_rtmp_module.so": ("libnginx-mod-rtmp", "RTMP push against a real server"),
}


def main() -> int:
    """Install what is missing when root; never fails the run."""
    missing = {package: why for probe, (package, why) in WANTED.items() if not (os.path.exists(probe) or shutil.which(probe))}
    if not missing:
        return 0
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        for package, why in missing.items():
            sys.stdout.write(f"[lumihost] {package} is not installed and we are not root: will not run: {why}\n")
        return 0
    sys.stdout.write(f"[lumihost] installing Debian packages: {' '.join(missing)}\n")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, check=False)
    result = subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], env=environment, check=False,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    if result.returncode != 0:
        sys.stdout.write("[lumihost] apt-get could not install all of them; the tests that need them will say so\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
