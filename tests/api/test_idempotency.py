"""A POST repeated with its key has one effect and one answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.utils import timezone
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate

from lumihost.api.idempotency import Idempotent, forget_old_answers
from lumihost.api.models import IdempotentRequest
from lumihost.core import clock
from lumihost.core.models import Outbox
from lumihost.core.problems import Conflict
from lumihost.knowledge.models import Product
from tenants.context import scope, scopes_disabled
from tenants.drf import TenantViewSet
from tenants.roles import Permission, Role
from tenants.testing.tenants import Party, TwoTenants

pytestmark = pytest.mark.api


class Probe(Idempotent, TenantViewSet):
    """Makes a product and answers it."""

    permissions = {"create": Permission.PRODUCTS_WRITE}
    answer: Callable[[Product], Response] = staticmethod(
        lambda product: Response({"id": product.pk}, status=201, headers={"Location": f"/x/{product.pk}"})
    )

    def create(self, request: Any, **kwargs: str) -> Response:
        def effect() -> Response:
            product = Product.objects.create(sku=request.data["sku"], title_zh="t", currency="CNY", price_minor=1)
            return type(self).answer(product)

        return self.once(request, effect)


def send(party: Party, key: str | None, sku: str = "1", role: Role = Role.OWNER, view: type[Probe] = Probe) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    request = APIRequestFactory().post("/probe", {"sku": sku}, format="json", headers=headers)
    force_authenticate(request, party.members[role])
    return view.as_view({"post": "create"})(request, tenant_id=party.tenant.pk)


def skus(party: Party) -> list[str]:
    with scope(party.tenant):
        return sorted(Product.objects.values_list("sku", flat=True))


def test_the_answer_is_replayed(two_tenants: TwoTenants) -> None:
    first, again = send(two_tenants.b, "k1"), send(two_tenants.b, "k1")

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.data == first.data
    assert again.headers["Location"] == first.headers["Location"]
    assert (first.headers.get("Idempotent-Replayed"), again.headers["Idempotent-Replayed"]) == (None, "true")
    assert skus(two_tenants.b) == ["1"]


def test_without_a_key_each_request_counts(two_tenants: TwoTenants) -> None:
    send(two_tenants.b, None, "1")
    send(two_tenants.b, None, "2")

    assert skus(two_tenants.b) == ["1", "2"]


def test_a_key_for_another_body_is_refused(two_tenants: TwoTenants) -> None:
    send(two_tenants.b, "k1", "1")

    answer = send(two_tenants.b, "k1", "2")

    assert (answer.status_code, answer.data["code"]) == (422, "idempotency_mismatch")
    assert skus(two_tenants.b) == ["1"]


def test_keys_belong_to_a_user_within_a_tenant(two_tenants: TwoTenants) -> None:
    send(two_tenants.b, "k1", "1")

    assert send(two_tenants.b, "k1", "2", Role.ADMIN).status_code == 201
    assert send(two_tenants.a, "k1", "1").status_code == 201
    assert (skus(two_tenants.b), skus(two_tenants.a)) == (["1", "2"], ["1"])


def test_a_request_still_running_is_a_conflict(two_tenants: TwoTenants) -> None:
    send(two_tenants.b, "k1")
    with scope(two_tenants.b.tenant):
        IdempotentRequest.objects.update(status=0)

    assert send(two_tenants.b, "k1").data["code"] == "idempotency_in_progress"


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_answers_that_may_change_are_not_kept_and_undo_their_effect(two_tenants: TwoTenants, status: int) -> None:
    class Refusing(Probe):
        answer = staticmethod(lambda product: Response({"no": 1}, status=status))

    assert send(two_tenants.b, "k1", view=Refusing).status_code == status
    assert skus(two_tenants.b) == []
    assert send(two_tenants.b, "k1").status_code == 201


def test_an_effect_that_raises_leaves_nothing(two_tenants: TwoTenants) -> None:
    def refuse(product: Product) -> Response:
        raise Conflict("not now")

    class Raising(Probe):
        answer = staticmethod(refuse)

    assert send(two_tenants.b, "k1", view=Raising).status_code == 409
    assert skus(two_tenants.b) == []
    assert send(two_tenants.b, "k1").status_code == 201


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "键"])
def test_absurd_keys_are_refused(two_tenants: TwoTenants, key: str) -> None:
    assert send(two_tenants.b, key).status_code == 400
    assert skus(two_tenants.b) == []


def test_a_key_is_forgotten_after_a_day(two_tenants: TwoTenants) -> None:
    start = timezone.now()
    with clock.running(lambda: start):
        send(two_tenants.b, "k1", "1")
    with clock.running(lambda: start + timedelta(hours=23)):
        assert send(two_tenants.b, "k1", "1").headers["Idempotent-Replayed"] == "true"
    with clock.running(lambda: start + timedelta(hours=25)):
        assert send(two_tenants.b, "k1", "2").status_code == 201
        assert forget_old_answers() == 0
    with clock.running(lambda: start + timedelta(hours=50)):
        assert forget_old_answers() == 1
    with scopes_disabled("the test counts what is left"):
        assert IdempotentRequest.objects.count() == 0


def test_the_sweep_drops_what_is_over_and_nothing_else(two_tenants: TwoTenants, capsys: pytest.CaptureFixture[str]) -> None:
    now = timezone.now()
    send(two_tenants.b, "fresh", "1")
    with clock.running(lambda: now - timedelta(days=2)):
        send(two_tenants.b, "old", "2")
    Outbox.objects.create(topic="t", payload={}, done_at=now - timedelta(days=8))
    Outbox.objects.create(topic="t", payload={}, done_at=now)
    Outbox.objects.create(topic="t", payload={}, created_at=now - timedelta(days=99), available_at=now - timedelta(days=99))
    for name, expires in (("old", now - timedelta(hours=1)), ("fresh", now + timedelta(hours=1))):
        Session.objects.create(session_key=name, session_data="", expire_date=expires)

    call_command("sweep")

    assert capsys.readouterr().out.strip() == "dropped 1 sign-ins, 1 answers, 1 messages"
    with scopes_disabled("the test looks at what is left"):
        assert list(IdempotentRequest.objects.values_list("key", flat=True)) == ["fresh"]
    assert Outbox.objects.count() == 2
    assert [s.session_key for s in Session.objects.all()] == ["fresh"]
