"""Routes of machines: nodes with their token, and the platform's own processes."""

from __future__ import annotations

from django.urls import path

from lumihost.nodes_api import views
from lumihost.realtime.internal import notify

urlpatterns = [
    path("nodes/v1/sessions/<str:session_id>/spec", views.session_spec),
    path("nodes/v1/sessions/<str:session_id>/recordings/<str:name>", views.recording),
    path("nodes/v1/usage", views.usage),
    path("internal/v1/notify", notify),
]
