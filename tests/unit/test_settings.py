"""Production settings: nothing invented, everything locked, Django's own deployment check clean."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
NEEDED = {
    "LUMIHOST_SECRET_KEY": secrets.token_urlsafe(60),
    "LUMIHOST_INTERNAL_SECRET": "x",
    "LUMIHOST_NODE_TOKEN": "x",
    "LUMIHOST_MASTER_KEYS_FILE": "/run/secrets/keys",
    "LUMIHOST_ALLOWED_HOSTS": "shop.example",
    "LUMIHOST_DATABASE_URL": "postgresql://u:p%40ss@db:5433/lumihost",
    "LUMIHOST_REDIS_URL": "redis://cache:6379",
}


def run(code: str, environment: dict[str, str], tmp_path: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LUMIHOST", "DJANGO"))}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=clean | environment | {"LUMIHOST_VAR": str(tmp_path), "PYTHONPATH": f"{ROOT}/platform{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("missing", sorted(set(NEEDED) - {"LUMIHOST_ALLOWED_HOSTS"}))
def test_a_missing_secret_stops_the_start_by_name(missing: str, tmp_path: Path) -> None:
    done = run(
        "import lumihost.config.settings.production",
        {name: value for name, value in NEEDED.items() if name != missing},
        tmp_path,
    )

    assert done.returncode == 1
    assert missing in done.stderr.strip().splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_the_deployment_check_is_clean(tmp_path: Path) -> None:
    # PostgreSQL's driver is an extra; the check itself asks no database.
    (tmp_path / "checked.py").write_text(
        "from lumihost.config.settings.production import *\n"
        "assert DATABASES['default']['PASSWORD'] == 'p@ss' and DATABASES['default']['PORT'] == 5433\n"
        "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}\n"
    )
    code = "from django.core.management import call_command as go; import django; django.setup(); "
    code += "go('check', deploy=True, fail_level='WARNING')"

    done = run(code, NEEDED | {"DJANGO_SETTINGS_MODULE": "checked"}, tmp_path)

    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout
