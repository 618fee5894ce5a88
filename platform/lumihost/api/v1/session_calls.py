"""Talking to a running host: comments, say, cut, pin, pause, resume, next; and the WHEP offer of a viewer.

Each waits for the engine's answer, relayed through the node's socket. No transaction is open while it waits.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.core.audit import actor_of
from lumihost.core.ids import new_id
from lumihost.core.problems import Conflict, DomainError, Invalid, Missing, Unavailable, register
from lumihost.fleet.models import NodeState
from lumihost.knowledge.models import Product
from lumihost.live import selectors
from lumihost.live.models import LiveSession, SessionState
from lumihost.realtime.calls import CallOutcome, EngineAddress, call_engine
from tenants.drf import TenantViewSet
from tenants.roles import Permission
from workers.contracts.node import CallError

CALL_TIMEOUT_S = 4.0
WHEP_TIMEOUT_S = 8.0
MAX_COMMENT_CHARS = 2000
MAX_SAY_CHARS = 500
MAX_SDP_BYTES = 65_536
NOT_LIVE = register("session_not_live", "该场次不在直播中", "The session is not live")
ENGINE_AWAY = register("engine_unavailable", "主播暂时无法响应，请稍后再试", "The host does not answer now")

_REACHABLE = frozenset({SessionState.STARTING, SessionState.LIVE})


class EngineAway(Unavailable):
    """503: the engine or its node does not answer now."""

    code = ENGINE_AWAY


class CommentIn(serializers.Serializer[Any]):
    """A viewer's comment."""

    text = serializers.CharField(max_length=MAX_COMMENT_CHARS)
    user = serializers.CharField(max_length=60, required=False, default="viewer")


class CommentAnswer(serializers.Serializer[Any]):
    """Whether the host took it up; what becomes of it follows in events."""

    id = serializers.CharField()
    accepted = serializers.BooleanField()
    reason = serializers.CharField(allow_blank=True)


class CommentOut(serializers.Serializer[Any]):
    """A comment and what became of it."""

    id = serializers.CharField()
    text = serializers.CharField()
    user = serializers.CharField()
    outcome = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    at = serializers.IntegerField()


class CommentListOut(serializers.Serializer[Any]):
    """The last comments."""

    items = CommentOut(many=True)
    next = serializers.CharField(allow_null=True)


class SayIn(serializers.Serializer[Any]):
    """A sentence to say next."""

    text = serializers.CharField(max_length=MAX_SAY_CHARS)
    lang = serializers.ChoiceField(choices=["zh", "en"], required=False)


class PinIn(serializers.Serializer[Any]):
    """The product whose card to show."""

    product = serializers.CharField(max_length=32)


class ResultOut(serializers.Serializer[Any]):
    """The engine's own answer."""

    result = serializers.DictField()


class SdpParser(BaseParser):
    """``application/sdp`` as text."""

    media_type = "application/sdp"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The offer.

        Raises:
            Invalid: too long or not UTF-8.
        """
        raw = stream.read(MAX_SDP_BYTES + 1)
        if len(raw) > MAX_SDP_BYTES:
            raise Invalid(f"an SDP offer has at most {MAX_SDP_BYTES} bytes")
        try:
            return str(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise Invalid("the SDP offer is not UTF-8 text") from error


class SdpRenderer(BaseRenderer):
    """Lets a client ask for ``application/sdp``; errors still go out as problem JSON."""

    media_type = "application/sdp"
    format = "sdp"

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> Any:
        """Whatever is not SDP text is JSON."""
        return data if isinstance(data, str) else JSONRenderer().render(data)


class SessionCallViewSet(TenantViewSet):
    """Actions on a session that is on the air."""

    permissions: ClassVar[dict[str, Permission]] = {
        "comments": Permission.SESSIONS_VIEW,
        "comment": Permission.SESSIONS_SAY,
        "say": Permission.SESSIONS_SAY,
        "cut": Permission.SESSIONS_SAY,
        "pin": Permission.SESSIONS_SAY,
        "pause": Permission.SESSIONS_SAY,
        "resume": Permission.SESSIONS_SAY,
        "next_segment": Permission.SESSIONS_SAY,
    }
    serializer_class = ResultOut

    def rows(self) -> Any:
        """Sessions of the tenant."""
        return selectors.sessions()

    def ask(self, method: str, params: dict[str, Any], timeout_s: float = CALL_TIMEOUT_S) -> dict[str, Any]:
        """Call the engine of the session in the URL and return its result.

        Raises:
            Conflict: the session is not on the air, or the engine refuses. EngineAway: nobody answers now.
            Invalid, Missing: the engine says so.
        """
        session: LiveSession = self.get_object()
        return ask_engine(session, method, params, timeout_s)

    @extend_schema(tags=["host"], operation_id="comments_list", responses=CommentListOut)
    def comments(self, request: Request, pk: str, **kwargs: str) -> Response:
        """The last 100 comments with what became of each, newest first."""
        return Response({"items": selectors.recent_comments(self.get_object().pk), "next": None})

    @extend_schema(tags=["host"], operation_id="comments_create", request=CommentIn, responses={201: CommentAnswer})
    def comment(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Write a comment as a viewer would."""
        form = CommentIn(data=request.data)
        form.is_valid(raise_exception=True)
        comment_id = new_id("cmt")
        result = self.ask(
            "comment",
            {"id": comment_id, "source": "console", "at_ms": int(time.time() * 1000), **form.validated_data},
        )
        answer = {"id": comment_id, "accepted": bool(result.get("accepted")), "reason": str(result.get("reason", ""))}
        return Response(answer, status=201)

    @extend_schema(tags=["host"], operation_id="sessions_say", request=SayIn, responses=ResultOut)
    def say(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Have the host say a sentence next, as written."""
        form = SayIn(data=request.data)
        form.is_valid(raise_exception=True)
        return Response({"result": self.ask("say", {**form.validated_data, "actor": actor_of(request.user).label})})

    @extend_schema(tags=["host"], operation_id="sessions_cut", request=None, responses=ResultOut)
    def cut(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Stop what is being said."""
        return Response({"result": self.ask("cut", {"reason": f"cut by {actor_of(request.user).label}"})})

    @extend_schema(tags=["host"], operation_id="sessions_pin", request=PinIn, responses=ResultOut)
    def pin(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Show a product's card now."""
        form = PinIn(data=request.data)
        form.is_valid(raise_exception=True)
        product_id = form.validated_data["product"]
        if not Product.objects.filter(pk=product_id).exists():
            raise Invalid(f"there is no product '{product_id}'", code="does_not_exist", pointer="/product")
        return Response({"result": self.ask("pin", {"product_id": product_id})})

    @extend_schema(tags=["host"], operation_id="sessions_pause", request=None, responses=ResultOut)
    def pause(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Pause the script; comments are still answered."""
        return Response({"result": self.ask("pause", {})})

    @extend_schema(tags=["host"], operation_id="sessions_resume", request=None, responses=ResultOut)
    def resume(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Go on with the script."""
        return Response({"result": self.ask("resume", {})})

    @extend_schema(tags=["host"], operation_id="sessions_next", request=None, responses=ResultOut)
    def next_segment(self, request: Request, pk: str, **kwargs: str) -> Response:
        """Go to the next segment."""
        return Response({"result": self.ask("next_segment", {})})


class WhepViewSet(TenantViewSet):
    """Viewers by WebRTC: an SDP offer in, the engine's answer out (WHEP, draft-ietf-wish-whep)."""

    permissions = {"offer": Permission.SESSIONS_VIEW, "leave": Permission.SESSIONS_VIEW}
    parser_classes = (SdpParser, JSONParser)
    renderer_classes = (SdpRenderer, JSONRenderer)
    serializer_class = ResultOut

    def rows(self) -> Any:
        """Sessions of the tenant."""
        return selectors.sessions()

    @extend_schema(
        tags=["host"], operation_id="whep_offer", request={"application/sdp": str}, responses={(201, "application/sdp"): str}
    )  # fmt: skip
    def offer(self, request: Request, pk: str, **kwargs: str) -> HttpResponse:
        """Watch: answers with SDP and, in Location, the resource to DELETE when leaving."""
        sdp = request.data
        if not isinstance(sdp, str) or not sdp.startswith("v=0"):
            raise Invalid("send an SDP offer (Content-Type: application/sdp, starting with v=0)")
        viewer_id = new_id("vwr")
        result = ask_engine(self.get_object(), "whep_offer", {"viewer_id": viewer_id, "sdp": sdp}, WHEP_TIMEOUT_S)
        location = f"{request.path.rstrip('/')}/{viewer_id}"
        return HttpResponse(result["sdp"], status=201, content_type="application/sdp", headers={"Location": location})

    @extend_schema(tags=["host"], operation_id="whep_leave", request=None, responses={204: None})
    def leave(self, request: Request, pk: str, viewer_id: str, **kwargs: str) -> Response:
        """Stop watching; leaving twice is no error."""
        session = self.get_object()
        try:
            ask_engine(session, "whep_close", {"viewer_id": viewer_id[:64]})
        except (Missing, Conflict):
            pass
        return Response(status=204)


def ask_engine(session: LiveSession, method: str, params: dict[str, Any], timeout_s: float = CALL_TIMEOUT_S) -> dict[str, Any]:
    """Call ``method`` of the session's engine; see :meth:`SessionCallViewSet.ask`."""
    if session.state not in _REACHABLE:
        raise Conflict(f"session {session.pk} is {session.state}: only a session on the air can be asked", code=NOT_LIVE)
    if session.node is None or session.node.state == NodeState.OFFLINE:
        raise EngineAway("the node of this session is not connected: try again in a few seconds")
    address = EngineAddress(session.node.pk, session.pk, session.epoch)
    outcome: CallOutcome = async_to_sync(call_engine)(address, method, params, timeout_s=timeout_s)
    if outcome.ok:
        return outcome.result
    raise _problem(outcome)


def _problem(outcome: CallOutcome) -> DomainError:
    detail = outcome.detail or outcome.error
    match outcome.error:
        case CallError.BAD_REQUEST:
            return Invalid(detail)
        case "refused":
            return Conflict(detail)
        case "not_found":
            return Missing(detail)
        case _:
            return EngineAway(detail)
