"""Fixtures every Django test may use: two tenants, their people, and API clients.

Rows are made inside ``scope(...)``; a test that needs the database without a tenant says why through ``scopes_disabled``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tenants.testing.tenants import TwoTenants

DJANGO_MARKERS = {"services", "api", "isolation", "realtime", "e2e"}
PLUGIN_MARKERS = {
    "asyncio",
    "django_db",
    "urls",
    "ignore_template_errors",
    "timeout",
    "parametrize",
    "usefixtures",
    "filterwarnings",
    "skip",
    "skipif",
    "xfail",
    "tryfirst",
    "trylast",
    "no_cover",
    "hypothesis",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every test declares its category (the markers of pyproject.toml), or nothing runs."""
    categories = {line.split(":")[0].split("(")[0].strip() for line in config.getini("markers")} - PLUGIN_MARKERS
    bare = {item.nodeid.split("::")[0] for item in items if not categories & {mark.name for mark in item.iter_markers()}}
    if bare:
        raise pytest.UsageError(f"no category marker in {', '.join(sorted(bare))}: set pytestmark = pytest.mark.<category>")


@pytest.fixture(autouse=True)
def _clean_cache(request: pytest.FixtureRequest) -> None:
    """Throttle counts must not leak from one test into the next."""
    if DJANGO_MARKERS & {mark.name for mark in request.node.iter_markers()}:
        from django.core.cache import cache

        cache.clear()


@pytest.fixture
def two_tenants(db: None) -> TwoTenants:
    """Tenant ``a`` with canaries in every text, tenant ``b`` beside it; each with an owner."""
    from tenants.testing.tenants import make_two_tenants

    return make_two_tenants()


@pytest.fixture(autouse=True, scope="session")
def _emptying_waits_for_a_lock() -> Iterator[None]:
    """SQLite's shared in-memory database answers "table is locked" at once, whatever the timeout, while a thread that served
    an asynchronous test is still closing its transaction; emptying the tables after that test is tried again for 5 s."""
    from django.core.management.base import CommandError
    from django.core.management.commands import flush

    empty = flush.Command.handle

    def patient(self: flush.Command, **options: Any) -> None:
        deadline = time.monotonic() + 5
        while True:
            try:
                return empty(self, **options)
            except CommandError as error:
                if "locked" not in str(error.__cause__) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flush.Command, "handle", patient)
        yield
