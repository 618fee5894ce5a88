"""Every messy file of tests/questions/fixtures-import parses exactly as its expected.json says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lumihost.knowledge.importers.products import Draft, parse_products
from lumihost.knowledge.importers.report import FileRefused

pytestmark = pytest.mark.unit

FIXTURES = Path(__file__).parents[1] / "questions" / "fixtures-import"
CASES = sorted(folder.name for folder in FIXTURES.iterdir() if (folder / "expected.json").is_file())


def parse(name: str, content: bytes) -> Any:
    return parse_products(name, content, currency="CNY", timezone="Asia/Shanghai", max_bytes=10_000_000, max_rows=5000)


def field_of(draft: Draft, name: str) -> Any:
    if name == "row":
        return draft.row
    if name == "sku":
        return draft.sku
    if name.startswith("selling_points_"):
        return [point[name[-2:]] for point in draft.fields["selling_points"]]
    return draft.fields.get(name, "" if name.startswith("title") else None)


def test_there_are_cases() -> None:
    assert len(CASES) >= 21


@pytest.mark.parametrize("case", CASES)
def test_file_parses_as_expected(case: str) -> None:
    expected = json.loads((FIXTURES / case / "expected.json").read_text(encoding="utf-8"))
    content = (FIXTURES / case / expected["file"]).read_bytes()

    if expected["outcome"] == "refused":
        with pytest.raises(FileRefused) as refusal:
            parse(expected["file"], content)
        assert refusal.value.remark.code == expected["file_error"]["reason"]
        assert list(refusal.value.columns) == expected["file_error"].get("columns", [])
        return
    parsed = parse(expected["file"], content)

    got = [{name: field_of(draft, name) for name in row} for draft, row in zip(parsed.drafts, expected["rows"], strict=True)]
    assert got == expected["rows"]
    assert [
        {"row": e["row"], "column": e["column"], "reason": e["code"], "raw": e["value"]}
        for e in (remark.as_dict() for remark in parsed.errors)
    ] == expected["errors"]
    assert [
        {"column": w.column, "reason": w.code} | ({"row": w.row} if w.row is not None else {}) for w in parsed.warnings
    ] == expected["warnings"]
    assert bool(parsed.errors) == (expected["outcome"] == "partial")
