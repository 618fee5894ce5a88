"""Problem details (RFC 9457) and the errors services raise to become one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.utils import translation

CONTENT_TYPE = "application/problem+json"
TYPE_BASE = "https://lumihost.example/problems/"
"""Identifies the problem type; a stable name, not promised to resolve."""

TITLES: dict[str, tuple[str, str]] = {
    "bad_request": ("请求有误", "Bad request"),
    "invalid": ("内容未通过校验", "Validation failed"),
    "malformed": ("请求正文无法解析", "The request body cannot be parsed"),
    "not_authenticated": ("请先登录", "Sign in first"),
    "login_refused": ("邮箱或密码不正确", "E-mail or password is wrong"),
    "csrf_refused": ("安全校验失败，请刷新页面", "Security check failed: reload the page"),
    "permission_denied": ("没有权限", "Permission denied"),
    "not_found": ("未找到", "Not found"),
    "method_not_allowed": ("不支持该方法", "Method not allowed"),
    "not_acceptable": ("无法按要求的格式返回", "Not acceptable"),
    "does_not_exist": ("所指的对象不存在", "What is referred to does not exist"),
    "conflict": ("与当前状态冲突", "Conflict with the current state"),
    "duplicate": ("已存在", "It exists already"),
    "too_large": ("内容过大", "Too large"),
    "unsupported_media_type": ("不支持该内容类型", "Unsupported media type"),
    "idempotency_mismatch": ("该 Idempotency-Key 已用于其他请求", "This Idempotency-Key was used for another request"),
    "idempotency_in_progress": ("相同请求正在处理", "The same request is in progress"),
    "throttled": ("请求过于频繁", "Too many requests"),
    "unavailable": ("服务暂不可用", "Service unavailable"),
    "internal": ("服务器内部错误", "Internal error"),
}
"""Stable code → (Chinese, English) title. Rooms add theirs with :func:`register`."""


def register(code: str, zh: str, en: str) -> str:
    """Add a code with its titles; returns the code.

    Raises:
        ValueError: the code is taken with other titles.
    """
    if TITLES.setdefault(code, (zh, en)) != (zh, en):
        raise ValueError(f"problem code '{code}' is registered with other titles")
    return code


def title_of(code: str) -> str:
    """The title in the active language."""
    zh, en = TITLES.get(code, (code, code))
    return zh if (translation.get_language() or "").startswith("zh") else en


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong in the request; ``pointer`` is a JSON pointer into its body (RFC 6901)."""

    pointer: str
    code: str
    detail: str

    def as_dict(self) -> dict[str, str]:
        """For the ``errors`` list."""
        return {"pointer": self.pointer, "code": self.code, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem document."""

    status: int
    code: str
    detail: str = ""
    errors: tuple[FieldError, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)

    def as_dict(self, request_id: str) -> dict[str, Any]:
        """The document, with ``errors`` only when there are some."""
        document: dict[str, Any] = {
            "type": TYPE_BASE + self.code,
            "title": title_of(self.code),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "request_id": request_id,
        }
        if self.errors:
            document["errors"] = [error.as_dict() for error in self.errors]
        return document


class DomainError(Exception):
    """A service refuses: the request was understood and cannot be done. The API answers it as a problem.

    Args:
        detail: names the thing, its value and the way out, for the person who asked.
        code: stable, registered in :data:`TITLES`.
        pointer: JSON pointer of the field at fault, if there is one.
    """

    status = 400
    code = "invalid"

    def __init__(self, detail: str, *, code: str | None = None, pointer: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code
        self.pointer = pointer

    def as_problem(self) -> Problem:
        """The problem document to answer with."""
        errors = (FieldError(self.pointer, self.code, self.detail),) if self.pointer is not None else ()
        return Problem(status=self.status, code=self.code, detail=self.detail, errors=errors)


class Invalid(DomainError):
    """400: a value cannot be used."""


class Conflict(DomainError):
    """409: not in this state, or it exists already."""

    status = 409
    code = "conflict"


class Missing(DomainError):
    """404: no such thing for this caller."""

    status = 404
    code = "not_found"


class Unavailable(DomainError):
    """503: a part of the platform that is needed does not answer now."""

    status = 503
    code = "unavailable"
