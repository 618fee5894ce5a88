"""Who am I, sign in, sign out."""

from __future__ import annotations

from typing import Any

from django.middleware.csrf import get_token
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from lumihost.accounts.services import sign_in, sign_out
from lumihost.api.authentication import ConsoleSession
from lumihost.api.throttles import LoginPerAccount, LoginPerAddress
from tenants.models import Membership


class UserOut(serializers.Serializer[Any]):
    """The signed-in person."""

    id = serializers.CharField()
    email = serializers.EmailField()
    name = serializers.CharField()
    language = serializers.CharField()


class TenantOut(serializers.Serializer[Any]):
    """A tenant the person is a member of."""

    id = serializers.CharField()
    name = serializers.CharField()
    slug = serializers.CharField()
    currency = serializers.CharField()
    locale = serializers.CharField()
    timezone = serializers.CharField()


class MembershipOut(serializers.Serializer[Any]):
    """What the person is to a tenant, and may do there."""

    tenant = TenantOut()
    role = serializers.CharField()
    permissions = serializers.ListField(child=serializers.CharField())


class SessionOut(serializers.Serializer[Any]):
    """The state of the browser's session."""

    user = UserOut(allow_null=True)
    csrf_token = serializers.CharField()
    memberships = MembershipOut(many=True)


class LoginIn(serializers.Serializer[Any]):
    """Credentials."""

    email = serializers.CharField(max_length=254)
    password = serializers.CharField(max_length=1024, trim_whitespace=False, write_only=True)


def session_of(request: Request) -> dict[str, Any]:
    """The answer of all three endpoints."""
    user = request.user if request.user.is_authenticated else None
    memberships = (
        Membership.objects.filter(user=user, tenant__is_active=True).select_related("tenant").order_by("created_at")
        if user
        else []
    )
    return SessionOut(
        {
            "user": user,
            "csrf_token": get_token(request._request),
            "memberships": [
                {"tenant": m.tenant, "role": m.role, "permissions": sorted(str(p) for p in m.permissions)} for m in memberships
            ],
        }
    ).data


class SessionView(APIView):
    """The state of the session."""

    permission_classes = (AllowAny,)

    @extend_schema(operation_id="auth_session", responses=SessionOut, tags=["auth"])
    def get(self, request: Request) -> Response:
        """The signed-in user (or null), a CSRF token and the tenants they may enter."""
        return Response(session_of(request))


class LoginView(APIView):
    """Sign in with e-mail and password."""

    permission_classes = (AllowAny,)
    throttle_classes = (LoginPerAddress, LoginPerAccount)

    @extend_schema(operation_id="auth_login", request=LoginIn, responses=SessionOut, tags=["auth"])
    def post(self, request: Request) -> Response:
        """Start a session. Needs the CSRF token even though nobody is signed in: signing a victim in is an attack too."""
        ConsoleSession().enforce_csrf(request)
        form = LoginIn(data=request.data)
        form.is_valid(raise_exception=True)
        request.user = sign_in(request._request, **form.validated_data)
        return Response(session_of(request))


class LogoutView(APIView):
    """Sign out."""

    permission_classes = (AllowAny,)

    @extend_schema(operation_id="auth_logout", request=None, responses=SessionOut, tags=["auth"])
    def post(self, request: Request) -> Response:
        """End the session; harmless when there is none."""
        sign_out(request._request)
        request.user = request._request.user
        return Response(session_of(request))
