"""What is the same for every request: ids, problems, headers, health, the console's page, the schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client

from lumihost.web import views
from tenants.testing.tenants import TwoTenants

pytestmark = [pytest.mark.api, pytest.mark.django_db]


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(views, "BUNDLE", tmp_path)
    (tmp_path / ".vite").mkdir()
    manifest = {
        "src/console/main.tsx": {
            "file": "assets/main-1.js", "isEntry": True, "css": ["assets/main.css"], "imports": ["_b", "_a"],
            "dynamicImports": ["_late"],
        },
        "_a": {"file": "assets/a.js", "imports": ["_b"], "css": ["assets/a.css"]},
        "_b": {"file": "assets/b.js", "imports": ["_a"]},
        "_late": {"file": "assets/late.js"},
    }  # fmt: skip
    (tmp_path / ".vite" / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


@pytest.mark.parametrize("path", ["/", "/login", "/products", "/sessions/ses_abc123", "/live/ses_x/"])
def test_the_console_page(bundle: Path, path: str) -> None:
    answer = Client().get(path, headers={"Accept-Language": "en"})

    assert answer.status_code == 200
    page = answer.content.decode()
    policy = answer["Content-Security-Policy"]
    (nonce,) = set(re.findall(r"'nonce-([^']+)'", policy))
    assert f'<script type="module" src="/static/app/assets/main-1.js" nonce="{nonce}">' in page
    assert page.count('rel="stylesheet"') == 2
    assert re.findall(r'modulepreload" href="([^"]+)', page) == [
        "/static/app/assets/b.js",
        "/static/app/assets/a.js",
    ]
    assert "late.js" not in page
    match = re.search(r'<script id="lumihost-config" type="application/json">(.*?)</script>', page)
    assert match is not None
    assert json.loads(match[1]) == {"language": "en", "nonce": nonce, "csrf_cookie": "lumihost_csrf"}
    assert answer.cookies["lumihost_csrf"].value
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy


def test_each_page_has_its_own_nonce(bundle: Path) -> None:
    policies = {Client().get("/")["Content-Security-Policy"] for _ in range(2)}
    nonces = {re.search(r"nonce-([^']+)", policy)[1] for policy in policies}  # type: ignore[index]
    assert len(nonces) == 2


def test_a_missing_bundle_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "BUNDLE", tmp_path)

    answer = Client().get("/")

    assert answer.status_code == 503
    assert "make frontend" in answer.content.decode()
    assert "尚未构建" in answer.content.decode()


def test_a_manifest_without_our_entry_counts_as_missing(bundle: Path) -> None:
    (bundle / ".vite" / "manifest.json").write_text("{}")
    assert Client().get("/").status_code == 503


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/nothing", "/nodes/v1/nothing", "/api/v1/tenants/x/products/a/b/c"])
def test_unknown_machine_paths_are_problems(path: str) -> None:
    answer = Client().get(path)

    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    document = answer.json()
    assert (document["status"], document["code"]) == (404, "not_found")
    assert document["request_id"] == answer["X-Request-Id"]


@pytest.mark.parametrize("path", ["/static/none.js", "/media/t/x", "/favicon.ico", "/../etc/passwd"])
def test_unknown_pages_are_pages(path: str) -> None:
    answer = Client().get(path)

    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")


def test_titles_follow_the_language() -> None:
    titles = {
        lang: Client().get("/api/v1/nothing", headers={"Accept-Language": lang}).json()["title"]
        for lang in ("zh-CN", "en", "fr")
    }
    assert titles == {"zh-CN": "未找到", "en": "Not found", "fr": "未找到"}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("abcd-1234_x", True), ("short", False), ("x" * 65, False), ("a b c d e f g h", False), ("a\tbcdefghij", False)],
)
def test_request_ids_are_kept_when_harmless(sent: str, kept: bool) -> None:
    answered = Client().get("/healthz", headers={"X-Request-Id": sent})["X-Request-Id"]
    assert (answered == sent) is kept
    assert kept or answered.startswith("req_")


def test_every_answer_carries_the_security_headers(bundle: Path) -> None:
    for path in ("/", "/api/v1/auth/session", "/healthz", "/api/v1/nothing"):
        answer = Client().get(path)
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["Referrer-Policy"] == "same-origin"
        assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "default-src 'none'" in answer["Content-Security-Policy"]


def test_health_says_little_and_notices_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}

    class Broken:
        def cursor(self) -> Any:
            raise DatabaseError("password=hunter2")

    monkeypatch.setattr(views, "connection", Broken())
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"status": "no database"})


def test_a_fault_of_ours_is_a_problem_without_its_reason(two_tenants: TwoTenants, monkeypatch: pytest.MonkeyPatch) -> None:
    from lumihost.knowledge import selectors

    def fail(**kwargs: Any) -> None:
        raise RuntimeError("inner secret")

    monkeypatch.setattr(selectors, "find_products", fail)
    client = Client(raise_request_exception=False)
    client.force_login(two_tenants.b.owner)

    answer = client.get(f"/api/v1/tenants/{two_tenants.b.tenant.pk}/products")

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "inner secret" not in answer.content.decode()


def test_the_schema_is_openapi_3_1_and_describes_problems() -> None:
    document = Client().get("/api/v1/schema").json()

    assert document["openapi"] == "3.1.0"
    assert "request_id" in document["components"]["schemas"]["Problem"]["properties"]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            problems = {s for s, r in operation["responses"].items() if "application/problem+json" in r.get("content", {})}
            assert {"400", "429"} <= problems, (method, path)
            assert "{tenant_id}" not in path or {"401", "403", "404"} <= problems, (method, path)
    ids = [operation["operationId"] for item in document["paths"].values() for operation in item.values()]
    assert len(ids) == len(set(ids))


def test_the_console_is_built_from_this_schema() -> None:
    """Its TypeScript types come from the committed document, so a change of the API is seen in review on both sides."""
    committed = Path(__file__).parents[2] / "frontend" / "openapi" / "schema.json"

    served = Client().get("/api/v1/schema").json()

    way_out = (
        f"manage.py spectacular --format openapi-json --file {committed.relative_to(committed.parents[2])}, then npm run api"
    )
    assert json.loads(committed.read_text(encoding="utf-8")) == served, way_out


def test_a_fault_behind_a_page_is_a_page(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("inner secret")

    monkeypatch.setattr(views, "read_bundle", fail)
    answer = Client(raise_request_exception=False).get("/", headers={"X-Request-Id": "abcd-1234"})

    assert (answer.status_code, answer["Content-Type"]) == (500, "text/html; charset=utf-8")
    assert "abcd-1234" in answer.content.decode()
    assert "inner secret" not in answer.content.decode()


def test_the_schema_has_no_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    from drf_spectacular.drainage import GENERATOR_STATS
    from drf_spectacular.generators import SchemaGenerator

    GENERATOR_STATS.reset()
    SchemaGenerator().get_schema(request=None, public=True)

    noted = [*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache]
    GENERATOR_STATS.reset()
    assert noted == []


def test_users_are_slowed_down_one_by_one(two_tenants: TwoTenants, monkeypatch: pytest.MonkeyPatch) -> None:
    from lumihost.api.throttles import PerUser

    monkeypatch.setattr(PerUser, "rate", "2/min", raising=False)
    hasty, other = Client(), Client()
    hasty.force_login(two_tenants.b.owner)
    other.force_login(two_tenants.a.owner)
    url = f"/api/v1/tenants/{two_tenants.b.tenant.pk}/shop"

    assert [hasty.get(url).status_code for _ in range(3)] == [200, 200, 429]
    assert other.get(f"/api/v1/tenants/{two_tenants.a.tenant.pk}/shop").status_code == 200
