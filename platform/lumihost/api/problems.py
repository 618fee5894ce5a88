"""Every error of the API as RFC 9457 problem details: DRF's, Django's, our services'."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.exceptions import RequestDataTooBig
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.html import format_html
from rest_framework import exceptions
from rest_framework.response import Response

from lumihost.core.problems import CONTENT_TYPE, DomainError, FieldError, Problem, title_of
from tenants.errors import TenantMismatch

log = logging.getLogger(__name__)

MACHINE_PREFIXES = ("/api/", "/nodes/", "/internal/")
"""Paths whose callers read problem documents, not pages."""

DRF_CODES: list[tuple[type[Exception], str]] = [
    (exceptions.ValidationError, "invalid"),
    (exceptions.ParseError, "malformed"),
    (exceptions.AuthenticationFailed, "not_authenticated"),
    (exceptions.NotAuthenticated, "not_authenticated"),
    (exceptions.PermissionDenied, "permission_denied"),
    (exceptions.NotFound, "not_found"),
    (exceptions.MethodNotAllowed, "method_not_allowed"),
    (exceptions.NotAcceptable, "not_acceptable"),
    (exceptions.UnsupportedMediaType, "unsupported_media_type"),
    (exceptions.Throttled, "throttled"),
]


def request_id(request: Any) -> str:
    """The id stamped on the request by the middleware."""
    return getattr(getattr(request, "_request", request), "request_id", "")


def respond(request: HttpRequest, problem: Problem) -> JsonResponse:
    """The problem as a plain Django response."""
    return JsonResponse(
        problem.as_dict(request_id(request)), status=problem.status, content_type=CONTENT_TYPE, headers=problem.headers
    )


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook: a problem for what is the caller's doing, ``None`` (a 500) for what is ours."""
    problem = problem_of(error)
    if problem is None:
        return None
    response = Response(problem.as_dict(request_id(context["request"])), status=problem.status, headers=problem.headers)
    response.content_type = CONTENT_TYPE
    return response


def problem_of(error: Exception) -> Problem | None:
    """The problem ``error`` means to the caller, or ``None`` if it is a fault of ours."""
    if isinstance(error, DomainError):
        return error.as_problem()
    if isinstance(error, Http404 | TenantMismatch):
        # To a caller another tenant's row does not exist; the same answer as for no row at all.
        return Problem(404, "not_found", title_of("not_found"))
    if isinstance(error, DjangoPermissionDenied):
        return Problem(403, "permission_denied", str(error))
    if isinstance(error, RequestDataTooBig):
        return Problem(413, "too_large", str(error))
    if isinstance(error, IntegrityError):
        log.warning("a request lost a race or broke a constraint: %s", error)
        return Problem(409, "conflict", title_of("conflict"))
    if isinstance(error, RecursionError):
        return Problem(400, "malformed", "the body is nested too deeply")
    if isinstance(error, UnicodeEncodeError):
        return Problem(400, "malformed", "the request holds half a character (a lone surrogate)")
    if isinstance(error, exceptions.APIException):
        return _of_drf(error)
    return None


def _of_drf(error: exceptions.APIException) -> Problem:
    code = next((name for kind, name in DRF_CODES if isinstance(error, kind)), "bad_request")
    if isinstance(error, exceptions.PermissionDenied) and "CSRF" in str(error.detail):
        code = "csrf_refused"
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = error.auth_header  # type: ignore[attr-defined]
    wait_s = getattr(error, "wait", None)
    if wait_s is not None:
        headers["Retry-After"] = str(max(1, round(wait_s)))
    errors = tuple(_walk(error.detail, "")) if isinstance(error, exceptions.ValidationError) else ()
    detail = (
        "; ".join(f"{e.pointer[1:]}: {e.detail}" if e.pointer else e.detail for e in errors[:3])
        if errors
        else str(error.detail)
    )
    return Problem(error.status_code, code, detail, errors, headers)


def _walk(detail: Any, pointer: str) -> Iterator[FieldError]:
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _walk(inner, pointer if name == "non_field_errors" else f"{pointer}/{_escape(str(name))}")
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, dict | list)
            yield from _walk(inner, f"{pointer}/{index}" if nested else pointer)
    else:
        yield FieldError(pointer=pointer, code=str(getattr(detail, "code", "invalid")), detail=str(detail))


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _page_or_problem(request: HttpRequest, problem: Problem) -> HttpResponse:
    if request.path.startswith(MACHINE_PREFIXES):
        return respond(request, problem)
    return render(request, "web/error.html", {"problem": problem, "title": title_of(problem.code)}, status=problem.status)


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's own refusals of a request."""
    if isinstance(exception, RequestDataTooBig):
        return _page_or_problem(request, Problem(413, "too_large", str(exception)))
    return _page_or_problem(request, Problem(400, "bad_request", title_of("bad_request")))


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Permission denied outside DRF."""
    return _page_or_problem(request, Problem(403, "permission_denied", title_of("permission_denied")))


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """No such URL."""
    return _page_or_problem(request, Problem(404, "not_found", title_of("not_found")))


def handler500(request: HttpRequest) -> HttpResponse:
    """A fault of ours; Django has logged it. The page may not need a template or anything else that could be what broke."""
    title = title_of("internal")
    if request.path.startswith(MACHINE_PREFIXES):
        return respond(request, Problem(500, "internal", title))
    page = format_html(
        "<!doctype html><meta charset=utf-8><title>500</title><h1>500 · {}</h1><p>{}</p>", title, request_id(request)
    )
    return HttpResponse(page, status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """An unsafe request without the CSRF token."""
    return _page_or_problem(request, Problem(403, "csrf_refused", title_of("csrf_refused")))
