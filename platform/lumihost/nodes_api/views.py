"""``/nodes/v1``: the session's spec down, recordings and usage up. Every request is bound to one node by its token, and to a
(session, epoch) that this node holds or held."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from lumihost.core.audit import Actor
from lumihost.core.problems import CONTENT_TYPE, DomainError, Invalid, Missing, Problem
from lumihost.fleet.models import Node
from lumihost.fleet.services import node_of_token
from lumihost.live import recordings, spec, state
from lumihost.live.models import Desired, LiveSession, SessionAssignment
from lumihost.metering.services import record_usage
from tenants.context import scope, scopes_disabled
from workers.contracts.node import Usage

log = logging.getLogger(__name__)

_CHUNK_BYTES = 256 * 1024
_MAX_DURATION_S = 7 * 24 * 3600
_MAX_USAGE_BYTES = 1024 * 1024
_WHY = "a node names a session by id before its tenant is known"

View = Callable[..., HttpResponse]


class Gone(DomainError):
    """410: the session or this epoch of it is over."""

    status = 410
    code = "not_found"


def node_view(*methods: str) -> Callable[[View], View]:
    """A view for nodes: checks the token, passes the node on, answers a refusal as problem details."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @require_http_methods(methods)
        @functools.wraps(view)
        def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponse:
            given = request.headers.get("Authorization", "")
            node = node_of_token(given.removeprefix("Bearer ")) if given.startswith("Bearer ") else None
            if node is None:
                return _problem(Problem(401, "not_authenticated", "unknown node token", headers={"WWW-Authenticate": "Bearer"}))
            try:
                return view(request, node=node, **kwargs)
            except DomainError as error:
                return _problem(error.as_problem())

        return guarded

    return decorate


@node_view("GET")
def session_spec(request: HttpRequest, *, node: Node, session_id: str) -> HttpResponse:
    """The show file of the session's current epoch, for the node that holds it."""
    epoch = _epoch(request)
    with _session(session_id, epoch, node) as session:
        if session.epoch != epoch or session.state in state.FINAL or session.desired == Desired.STOPPED:
            raise Gone(f"session {session_id}: epoch {epoch} is over")
        return JsonResponse(spec.build(session), headers={"Cache-Control": "no-store"})


@node_view("PUT")
def recording(request: HttpRequest, *, node: Node, session_id: str, name: str) -> HttpResponse:
    """Take in a finished recording. Past epochs may deliver: what was recorded belongs to the merchant."""
    epoch = _epoch(request)
    try:
        duration_s = float(request.GET.get("duration_s", "0"))
        length = int(request.headers["Content-Length"]) if "Content-Length" in request.headers else None
    except ValueError:
        raise Invalid("duration_s and Content-Length are numbers") from None
    if not 0 <= duration_s < _MAX_DURATION_S:
        raise Invalid(f"a recording of {duration_s} s cannot be: 0 to {_MAX_DURATION_S}")
    with _session(session_id, epoch, node) as session:
        key, size = recordings.receive(session, epoch, name, _chunks(request), length)
        stored = recordings.register_recording(
            session_id=session_id,
            epoch=epoch,
            name=name,
            key=key,
            size=size,
            duration_s=duration_s,
            actor=Actor(f"node:{node.pk}"),
        )
    log.info("recording %s of session %s: %d bytes", name, session_id, size)
    return JsonResponse({"id": stored.pk, "bytes": size}, status=201)


@node_view("POST")
def usage(request: HttpRequest, *, node: Node) -> HttpResponse:
    """Usage without a socket; the answer is the highest sequence number that need not be sent again."""
    try:
        message = msgspec.json.decode(request.read(_MAX_USAGE_BYTES), type=Usage)
    except msgspec.DecodeError as error:
        raise Invalid(f"not a usage message: {error}", code="malformed") from error
    with _session(message.session, message.epoch, node):
        acked = record_usage(session_id=message.session, epoch=message.epoch, segments=message.segments)
    return JsonResponse({"seq": acked})


@contextmanager
def _session(session_id: str, epoch: int, node: Node) -> Iterator[LiveSession]:
    """The session, in its tenant's scope, if this node was ever assigned this epoch of it.

    Raises:
        Missing: it was not, which is all a node learns about other nodes' sessions.
    """
    with scopes_disabled(_WHY):
        assignment = (
            SessionAssignment.objects.select_related("tenant").filter(session_id=session_id, epoch=epoch, node=node).first()
        )
    if assignment is None:
        raise Missing(f"session {session_id} epoch {epoch} is not with node {node.pk}")
    with scope(assignment.tenant):
        yield LiveSession.objects.select_related("show", "channel", "tenant").get(pk=session_id)


def _epoch(request: HttpRequest) -> int:
    try:
        return int(request.GET["epoch"])
    except (KeyError, ValueError):
        raise Invalid("the query needs epoch=<number>") from None


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(_CHUNK_BYTES):
        yield chunk


def _problem(problem: Problem) -> JsonResponse:
    return JsonResponse(problem.as_dict(""), status=problem.status, content_type=CONTENT_TYPE, headers=problem.headers)
