"""Cursor lists: ``{items, next}``. ``next`` is an opaque cursor, or null at the end."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

DEFAULT_ITEMS = 50
MOST_ITEMS = 200


class CursorList(CursorPagination):
    """``?cursor=…&limit=…`` over ``(created_at, id)``, the order every tenant model has an index for."""

    ordering = ("created_at", "id")
    page_size = DEFAULT_ITEMS
    page_size_query_param = "limit"
    max_page_size = MOST_ITEMS

    def decode_cursor(self, request: Request) -> Cursor | None:
        """The cursor of the request.

        Raises:
            NotFound: it was not made by us; its position goes into a query and must be an instant.
        """
        cursor = super().decode_cursor(request)
        if cursor is not None and cursor.position is not None:
            try:
                known = parse_datetime(str(cursor.position)) is not None
            except ValueError:
                known = False
            if not known:
                raise NotFound(self.invalid_cursor_message)
        return cursor

    def get_paginated_response(self, data: Any) -> Response:
        """One page; ``next`` is the value to send as ``cursor``."""
        link = self.get_next_link()
        cursor = parse_qs(urlsplit(link).query)[self.cursor_query_param][0] if link else None
        return Response({"items": data, "next": cursor})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """For OpenAPI."""
        return {
            "type": "object",
            "required": ["items", "next"],
            "properties": {"items": schema, "next": {"type": ["string", "null"], "description": "cursor of the next page"}},
        }


class NewestFirst(CursorList):
    """The same, newest first."""

    ordering = ("-created_at", "-id")
