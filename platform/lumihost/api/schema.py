"""What drf-spectacular does not see: the cookie, and the problems every operation may answer with."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457 problem details",
    "required": ["type", "title", "status", "detail", "code", "request_id"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "description": "stable name of what went wrong"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "code", "detail"],
                "properties": {
                    "pointer": {"type": "string", "description": "JSON pointer into the request body"},
                    "code": {"type": "string"},
                    "detail": {"type": "string"},
                },
            },
        },
    },
}
ALWAYS = {"400": "The request cannot be used", "429": "Too many requests"}
SIGNED_IN = {"401": "Not signed in", "403": "Not allowed", "404": "No such thing for this caller"}
WITH_BODY = {"409": "Conflicts with the current state", "413": "Too large", "415": "Not this content type"}
WITH_KEY = {"422": "The Idempotency-Key was used for another request"}


class SessionCookie(OpenApiAuthenticationExtension):
    """Describes :class:`lumihost.api.authentication.ConsoleSession`."""

    target_class = "lumihost.api.authentication.ConsoleSession"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """The cookie; unsafe methods also need the CSRF token in ``X-CSRFToken``."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "lumihost_session",
            "description": "Unsafe methods also need X-CSRFToken (from GET /auth/session).",
        }


def add_problem_responses(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Postprocessing hook: every operation answers problems as ``application/problem+json``."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    for path, item in result["paths"].items():
        for method, operation in item.items():
            if method not in ("get", "post", "put", "patch", "delete"):
                continue
            answers = dict(ALWAYS)
            if "/tenants/" in path:
                answers |= SIGNED_IN
            else:
                answers |= {"403": SIGNED_IN["403"]}
            if method in ("post", "put", "patch", "delete"):
                answers |= WITH_BODY
            if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", [])):
                answers |= WITH_KEY
            for status, description in answers.items():
                operation["responses"].setdefault(
                    status,
                    {
                        "description": description,
                        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                    },
                )
    return result
