"""Writers at the same moment, on the embedded installation's real SQLite file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]

SCRIPT = """
import json, threading
import django
django.setup()
from django.core.management import call_command
from django.db import connection
call_command("migrate", verbosity=0)
from lumihost.core.audit import SYSTEM
from lumihost.core.models import AuditEvent, Outbox
from lumihost.core.problems import Conflict
from lumihost.knowledge import services
from lumihost.knowledge.models import Product, ShopProfile
from tenants.context import scope
from tenants.models import Tenant

tenant = Tenant.objects.create(name="t", slug="t")
start, seen = threading.Barrier(6), []

def work(n):
    try:
        start.wait()
        with scope(tenant):
            for i in range(5):
                # Every thread wants the same five SKUs; for each, one wins.
                try:
                    services.create_product(fields={"sku": f"s{i}", "title_zh": "t", "price_minor": n}, actor=SYSTEM)
                    seen.append("created")
                except Conflict:
                    seen.append("conflict")
    except BaseException as error:
        seen.append(repr(error))
    finally:
        connection.close()

threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
with scope(tenant):
    print(json.dumps({
        "seen": sorted(seen), "products": Product.objects.count(), "profiles": ShopProfile.objects.count(),
        "version": services.shop_profile().version, "audited": AuditEvent.objects.count(), "messages": Outbox.objects.count(),
    }))
"""


def test_five_skus_wanted_by_six_threads_are_made_once_each(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=os.environ | {"LUMIHOST_VAR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "lumihost.config.settings.embedded"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result == {
        "seen": ["conflict"] * 25 + ["created"] * 5,
        "products": 5,
        "profiles": 1,
        "version": 6,
        "audited": 5,
        "messages": 5,
    }
