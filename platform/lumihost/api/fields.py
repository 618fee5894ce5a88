"""Field types the API's objects share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

LANGUAGES = ("zh", "en")


class Text(serializers.Serializer[Any]):
    """One text in the languages it exists in."""

    zh = serializers.CharField(required=False, allow_blank=True, trim_whitespace=True)
    en = serializers.CharField(required=False, allow_blank=True, trim_whitespace=True)


@extend_schema_field(Text)
class TextField(serializers.Field[Any, Any, Any, Any]):
    """``{zh, en}`` over the model's columns ``<column>_zh`` and ``<column>_en``; a language left out stays as it is."""

    default_error_messages = {
        "not_an_object": "Expected an object with zh and en.",
        "unknown_language": "Unknown language '{lang}': use zh or en.",
        "not_text": "Expected text for '{lang}'.",
        "too_long": "At most {most} characters for '{lang}'.",
        "empty": "Needs a text in at least one language.",
    }

    def __init__(self, column: str, *, most: int, allow_empty: bool = True, **kwargs: Any) -> None:
        self.column = column
        self.most = most
        self.allow_empty = allow_empty
        super().__init__(source="*", **kwargs)

    def to_representation(self, value: Any) -> dict[str, str]:
        """The row's two columns."""
        return {lang: getattr(value, f"{self.column}_{lang}") for lang in LANGUAGES}

    def to_internal_value(self, data: Any) -> dict[str, str]:
        """Column name → text for the languages given."""
        texts = text_of(self, data, self.most)
        if not self.allow_empty and not any(texts.values()):
            self.fail("empty")
        return {f"{self.column}_{lang}": text for lang, text in texts.items()}


def text_of(field: serializers.Field[Any, Any, Any, Any], data: Any, most: int) -> dict[str, str]:
    """Check ``{zh?, en?}``; raises ``field``'s validation error."""
    if not isinstance(data, Mapping):
        field.fail("not_an_object")
    texts = {}
    for lang, text in data.items():
        if lang not in LANGUAGES:
            field.fail("unknown_language", lang=str(lang)[:20])
        if not isinstance(text, str):
            field.fail("not_text", lang=lang)
        if len(text) > most:
            field.fail("too_long", lang=lang, most=most)
        texts[lang] = "".join(ch for ch in text if ch >= " " or ch in "\n\t").strip()
    return texts
