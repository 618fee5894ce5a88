"""Routes of version 1. Everything of a tenant is under ``tenants/<tenant_id>/``."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.permissions import AllowAny

from lumihost.api.v1.auth import LoginView, LogoutView, SessionView
from lumihost.api.v1.avatars import AvatarViewSet, BackdropViewSet, VoiceViewSet
from lumihost.api.v1.knowledge import FaqViewSet, ImportViewSet, ProductViewSet, ShopViewSet

in_tenant: list[URLPattern | URLResolver] = [
    path("products", ProductViewSet.as_view({"get": "list", "post": "create"})),
    path("products/import", ImportViewSet.as_view({"post": "upload"})),
    path("products/<str:pk>", ProductViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"})),
    path("imports", ImportViewSet.as_view({"get": "list"})),
    path("imports/<str:pk>", ImportViewSet.as_view({"get": "retrieve"})),
    path("faq", FaqViewSet.as_view({"get": "list", "post": "create"})),
    path("faq/<str:pk>", FaqViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"})),
    path("shop", ShopViewSet.as_view({"get": "retrieve", "patch": "partial_update"})),
    path("avatars", AvatarViewSet.as_view({"get": "list"})),
    path("avatars/<str:pk>/pack", AvatarViewSet.as_view({"get": "pack"})),
    path("avatars/<str:pk>/portrait", AvatarViewSet.as_view({"get": "portrait"})),
    path("backdrops", BackdropViewSet.as_view({"get": "list"})),
    path("backdrops/<str:pk>/picture", BackdropViewSet.as_view({"get": "picture"})),
    path("voices", VoiceViewSet.as_view({"get": "list"})),
    path("", include("lumihost.api.v1.live_urls")),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("schema", SpectacularJSONAPIView.as_view(permission_classes=[AllowAny], throttle_classes=[]), name="schema"),
    path("auth/session", SessionView.as_view()),
    path("auth/login", LoginView.as_view()),
    path("auth/logout", LogoutView.as_view()),
    path("tenants/<str:tenant_id>/", include(in_tenant)),
]
