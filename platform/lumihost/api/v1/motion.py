"""Motion tokens: how a client gets to watch or drive a session's host over DMCP (docs/dmcp.md)."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from lumihost.api.throttles import MotionToken as MotionTokenThrottle
from lumihost.api.throttles import PerUser
from lumihost.core.audit import actor_of
from lumihost.live import selectors
from lumihost.live.motion_tokens import issue_motion_token
from tenants.drf import TenantViewSet
from tenants.roles import Permission


class MotionTokenIn(serializers.Serializer[Any]):
    """What the token is for. ``control`` also needs the permission to make the host speak."""

    role = serializers.ChoiceField(choices=["watch", "control"], default="watch")


class MotionTokenOut(serializers.Serializer[Any]):
    """A token for one session and role, and where to use it. It is shown once and is not stored."""

    token = serializers.CharField()
    role = serializers.ChoiceField(choices=["watch", "control"])
    session = serializers.CharField()
    url = serializers.CharField(help_text="WebSocket address of the node's gateway")
    protocol = serializers.CharField(help_text="the subprotocol to offer")
    expires_at = serializers.DateTimeField()


class MotionTokenViewSet(TenantViewSet):
    """Tokens of a session."""

    permissions: ClassVar[dict[str, Permission]] = {"issue": Permission.SESSIONS_VIEW}
    serializer_class = MotionTokenOut

    def rows(self) -> Any:
        """Sessions of the tenant."""
        return selectors.sessions()

    def get_throttles(self) -> list[Any]:
        """Tokens are signed one by one, and each is a credential."""
        return [MotionTokenThrottle(), PerUser()]

    @extend_schema(
        tags=["host"], operation_id="motion_token_issue", request=MotionTokenIn, responses={201: MotionTokenOut}
    )  # fmt: skip
    def issue(self, request: Request, pk: str, **kwargs: str) -> Response:
        """A token, good for 15 minutes, with which a client connects to the session's motion gateway."""
        form = MotionTokenIn(data=request.data)
        form.is_valid(raise_exception=True)
        role = form.validated_data["role"]
        if role == "control" and Permission.SESSIONS_SAY not in self.membership.permissions:
            raise PermissionDenied(
                f"role '{self.membership.role}' lacks the permission '{Permission.SESSIONS_SAY}' to drive a host"
            )
        issued = issue_motion_token(session_id=self.get_object().pk, role=role, actor=actor_of(request.user))
        return Response(MotionTokenOut(issued).data, status=201, headers={"Cache-Control": "no-store"})
