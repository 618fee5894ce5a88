"""What the ORM cannot close is kept out of our code: raw SQL, hand-made query sets, django-scopes behind tenancy's back."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("platform/lumihost", "tenants") for path in sorted((ROOT / folder).rglob("*.py"))]

RAW_SQL = {"cursor", "raw", "extra", "RawSQL"}
RAW_SQL_ALLOWED = {
    "platform/lumihost/web/views.py": "SELECT 1 of the health check",
    "tenants/managers.py": "the methods that refuse raw SQL",
}
SCOPES_ALLOWED = {"tenants/context.py", "tenants/errors.py"}


def calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield node.lineno, name


def test_sources_are_found() -> None:
    assert len(SOURCES) > 50


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_source_keeps_to_the_orm(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    migration = "/migrations/" in name

    found = [f"{name}:{line}: {call}()" for line, call in calls(tree) if call in RAW_SQL and name not in RAW_SQL_ALLOWED]
    found += [f"{name}:{line}: hand-made QuerySet" for line, call in calls(tree) if call == "QuerySet"]
    for node in ast.walk(tree):
        modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if name not in SCOPES_ALLOWED and not migration:
            found += [
                f"{name}:{node.lineno}: imports django_scopes: use tenants.context"
                for m in modules
                if m.startswith("django_scopes")
            ]

    assert found == []
