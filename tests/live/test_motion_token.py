"""Motion tokens over REST: who gets one, what it says, what is refused, and that only its nonce is kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from lumihost.core.audit import AuditEvent
from lumihost.fleet.models import Node
from lumihost.live import services
from lumihost.live.models import LiveSession
from lumihost.live.motion_tokens import public_keys
from tenants.context import scope
from tenants.roles import Role
from tenants.testing.tenants import Party, TwoTenants
from tests.fakes.live_rows import ACTOR, assigned, make_node
from workers.contracts.motion import SigningKey, VerifyingKeys
from workers.contracts.node import NodeSessionState as N

pytestmark = [pytest.mark.api, pytest.mark.django_db]

GATEWAY = "ws://127.0.0.1:8770/dmcp"
Ask = Callable[..., Any]


def asker(party: Party, user: Any, session_id: str) -> Ask:
    client = Client()
    client.force_login(user)
    url = f"/api/v1/tenants/{party.tenant.pk}/sessions/{session_id}/motion-token"
    return lambda **body: client.post(url, body, content_type="application/json")


@pytest.fixture
def live(two_tenants: TwoTenants) -> LiveSession:
    node = make_node()
    Node.objects.filter(pk=node.pk).update(hardware={"motion_gateway": GATEWAY})
    with scope(two_tenants.a.tenant):
        session = assigned(node)
        services.record_state(session_id=session.pk, epoch=1, reported=N.LIVE, actor=ACTOR)
        session.refresh_from_db()
        return session


def test_a_token_is_for_one_session_and_role_and_names_the_gateway(two_tenants: TwoTenants, live: LiveSession) -> None:
    answer = asker(two_tenants.a, two_tenants.a.owner, live.pk)(role="control")

    assert answer.status_code == 201, answer.content
    assert answer["Cache-Control"] == "no-store"
    issued = answer.json()
    assert {key: issued[key] for key in ("role", "session", "url", "protocol")} == {
        "role": "control", "session": live.pk, "url": GATEWAY, "protocol": "dmcp.1.2",
    }  # fmt: skip
    claims = VerifyingKeys(public_keys()).verify(issued["token"], time.time())
    assert (claims.session, claims.tenant, claims.role) == (live.pk, two_tenants.a.tenant.pk, "control")
    assert 890 <= claims.expires_s - time.time() <= 900


def test_the_audit_trail_keeps_the_nonce_and_not_the_token(two_tenants: TwoTenants, live: LiveSession) -> None:
    token = asker(two_tenants.a, two_tenants.a.owner, live.pk)().json()["token"]

    with scope(two_tenants.a.tenant):
        event = AuditEvent.objects.get(action="session.motion_token_issued")
    claims = VerifyingKeys(public_keys()).verify(token, time.time())
    assert (event.target_id, event.actor_label) == (live.pk, two_tenants.a.owner.email)
    assert event.after is not None
    assert (event.after["role"], event.after["nonce"]) == ("watch", claims.nonce)
    assert token not in str(event.after)


@pytest.mark.parametrize("role", list(Role))
def test_who_may_not_make_the_host_speak_may_watch_but_not_drive(
    two_tenants: TwoTenants, live: LiveSession, role: Role
) -> None:
    ask = asker(two_tenants.a, two_tenants.a.members[role], live.pk)
    may_drive = role in (Role.OWNER, Role.ADMIN, Role.OPERATOR)

    assert ask(role="watch").status_code == 201
    assert ask(role="control").status_code == (201 if may_drive else 403)
    with scope(two_tenants.a.tenant):
        assert AuditEvent.objects.filter(action="session.motion_token_issued").count() == (2 if may_drive else 1)


def test_another_tenants_session_does_not_exist(two_tenants: TwoTenants, live: LiveSession) -> None:
    answer = asker(two_tenants.b, two_tenants.b.owner, live.pk)(role="watch")

    assert answer.status_code == 404


def test_a_session_that_is_over_and_a_node_without_a_gateway_are_refused(two_tenants: TwoTenants, live: LiveSession) -> None:
    ask = asker(two_tenants.a, two_tenants.a.owner, live.pk)
    Node.objects.update(hardware={})
    answer = ask()
    assert (answer.status_code, answer.json()["code"]) == (503, "motion_gateway_unavailable")

    with scope(two_tenants.a.tenant):
        services.record_state(session_id=live.pk, epoch=1, reported=N.ENDED, actor=ACTOR)
    answer = ask()
    assert (answer.status_code, answer.json()["code"]) == (409, "session_not_live")
    with scope(two_tenants.a.tenant):
        assert not AuditEvent.objects.filter(action="session.motion_token_issued").exists()


def test_an_unknown_role_is_refused(two_tenants: TwoTenants, live: LiveSession) -> None:
    assert asker(two_tenants.a, two_tenants.a.owner, live.pk)(role="admin").status_code == 400


def test_without_a_key_there_are_no_tokens_and_nodes_are_welcome_all_the_same(
    two_tenants: TwoTenants, live: LiveSession, tmp_path: Path, settings: Any
) -> None:
    for content in (None, "no key"):
        settings.MOTION_KEY_FILE = tmp_path / f"{content}" / "motion_signing.jwk"
        if content is None:
            (tmp_path / "None").write_text("where the folder should be")
        else:
            settings.MOTION_KEY_FILE.parent.mkdir()
            settings.MOTION_KEY_FILE.write_text(content)

        assert public_keys() == {}
        answer = asker(two_tenants.a, two_tenants.a.owner, live.pk)()
        assert (answer.status_code, answer.json()["code"]) == (503, "motion_gateway_unavailable")


def test_nodes_get_public_keys_only() -> None:
    keys = public_keys()["keys"]

    assert [sorted(key) for key in keys] == [["alg", "crv", "kid", "kty", "use", "x"]]
    with pytest.raises(ValueError, match="not a private"):
        SigningKey.from_text(str(keys[0]).replace("'", '"'))
