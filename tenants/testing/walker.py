"""Every REST operation there is, taken from the OpenAPI schema, with a request an attacker would send."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator

METHODS = ("get", "post", "put", "patch", "delete")
PARAMETER = re.compile(r"\{(\w+)\}")
MAX_DEPTH = 6


@dataclass(frozen=True)
class Operation:
    """One method of one path of the schema."""

    method: str
    path: str
    body: Mapping[str, Any] = field(default_factory=dict, hash=False, compare=False)
    """Content type → schema of the request body."""

    @property
    def name(self) -> str:
        """For test ids."""
        return f"{self.method.upper()} {self.path}"

    @property
    def in_tenant(self) -> bool:
        """Whether the path names a tenant."""
        return "{tenant_id}" in self.path

    @property
    def row_parameters(self) -> list[tuple[str, str]]:
        """(parameter, collection it picks from) for each path parameter but the tenant: ``("id", "products")``."""
        parts = self.path.split("/")
        found = []
        for before, part in itertools.pairwise(parts):
            match = PARAMETER.fullmatch(part)
            if match and match[1] != "tenant_id":
                found.append((match[1], before))
        return found

    def url(self, tenant_id: str, ids: Mapping[str, str]) -> str:
        """The path with the tenant and, for each collection, a row of it.

        Raises:
            KeyError: ``ids`` has no row for a collection: a new endpoint needs a row in the test world.
        """
        url = self.path.replace("{tenant_id}", tenant_id)
        for parameter, collection in self.row_parameters:
            if collection not in ids:
                raise KeyError(f"{self.name}: the test world has no row for '{collection}': add one, so that it is attacked")
            url = url.replace("{" + parameter + "}", ids[collection], 1)
        return url


def schema() -> dict[str, Any]:
    """The OpenAPI document, generated in this process."""
    return dict(SchemaGenerator().get_schema(request=None, public=True))


def operations(document: dict[str, Any] | None = None) -> list[Operation]:
    """Every operation, in the document's order."""
    document = document or schema()
    return [
        Operation(
            method,
            path,
            {
                kind: _resolved(media.get("schema", {}), document)
                for kind, media in item[method].get("requestBody", {}).get("content", {}).items()
            },
        )
        for path, item in document["paths"].items()
        for method in METHODS
        if method in item
    ]


def _resolved(node: Any, document: dict[str, Any], depth: int = 0) -> Any:
    """``node`` with references replaced, to a bounded depth."""
    if depth > MAX_DEPTH * 4:
        return {}
    if isinstance(node, dict):
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[1]
            return _resolved(document["components"]["schemas"][name], document, depth + 1)
        return {key: _resolved(value, document, depth + 1) for key, value in node.items()}
    if isinstance(node, list):
        return [_resolved(value, document, depth + 1) for value in node]
    return node


@dataclass
class Sample:
    """A request body made from its schema. ``foreign`` names the fields into which a row's id was put."""

    ids: Mapping[str, str]
    """Field name → id to put wherever a field of that name occurs."""
    url: str = "rtmp://live.example.com/app"
    foreign: list[str] = field(default_factory=list)

    def of(self, node: Mapping[str, Any], name: str = "", depth: int = 0) -> Any:
        """A plausible value for a schema."""
        if name in self.ids:
            self.foreign.append(name)
            return self.ids[name]
        for key in ("allOf", "oneOf", "anyOf"):
            if node.get(key):
                return self.of(node[key][0], name, depth)
        if node.get("enum"):
            return next(value for value in node["enum"] if value is not None)
        kinds = node.get("type", "object")
        kind = next((k for k in kinds if k != "null"), "null") if isinstance(kinds, list) else kinds
        match kind:
            case "object":
                if depth > MAX_DEPTH:
                    return {}
                return {
                    key: self.of(value, key, depth + 1)
                    for key, value in node.get("properties", {}).items()
                    if not value.get("readOnly")
                }
            case "array":
                return [self.of(node.get("items", {}), name.removesuffix("s"), depth + 1)]
            case "integer":
                return max(1, int(node.get("minimum", 1)))
            case "number":
                return max(1.0, float(node.get("minimum", 1)))
            case "boolean":
                return True
            case "null":
                return None
        if node.get("format") == "date-time":
            return "2027-01-02T03:04:05Z"
        if name == "url":
            return self.url
        return ("probe-" + name)[: int(node.get("maxLength", 40))]


def request_arguments(operation: Operation, ids: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Arguments for Django's test client, and the body fields that hold an id of ``ids``."""
    if not operation.body:
        return {}, []
    kind, node = next(iter(operation.body.items()))
    # An address is of the kind its collection takes, or validation would answer before tenancy does.
    sample = Sample(ids, "wss://chat.example.com/room" if "/sources" in operation.path else "rtmp://live.example.com/app")
    if kind == "multipart/form-data":
        file = SimpleUploadedFile("probe.csv", "sku,title_zh,price\nprobe-1,探针,9.9\n".encode())
        return {"data": {"file": file}}, []
    if kind != "application/json":
        return {"data": "v=0\r\n", "content_type": kind}, []
    return {"data": sample.of(node), "content_type": "application/json"}, sample.foreign


def url_patterns() -> list[tuple[str, Any]]:
    """Every URL pattern of the product as (route, view callback), includes flattened."""

    def walk(prefix: str, patterns: list[URLPattern | URLResolver]) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                found += walk(route, pattern.url_patterns)
            else:
                found.append((route, pattern.callback))
        return found

    return walk("", get_resolver().url_patterns)


def schema_path(route: str) -> str:
    """A URLconf route in the schema's spelling: ``faq/<str:pk>`` becomes ``/faq/{id}``."""
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda m: "{id}" if m[1] == "pk" else "{" + m[1] + "}", route)
