"""Presenters and backdrops over the API: lists, files that are sent only when they changed, and what a show may name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from gpu_engine.session.spec import SessionSpec
from lumihost.live import services, spec
from lumihost.live.models import Show
from lumihost.web.isolation import static_headers
from tenants.context import scope
from tenants.testing.tenants import TwoTenants
from tests.fakes.live_rows import ACTOR, SEGMENTS

pytestmark = [pytest.mark.api, pytest.mark.django_db]

PACK = Path(__file__).parents[2] / "gpu_engine" / "avatar" / "packs" / "lin.glb"


class Api:
    """The owner of the first tenant."""

    def __init__(self, tenants: TwoTenants) -> None:
        self.base = f"/api/v1/tenants/{tenants.a.tenant.id}/"
        self.client = Client()
        self.client.force_login(tenants.a.owner)

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(self.base + path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def send(self, method: str, path: str, body: Any) -> Any:
        return getattr(self.client, method)(self.base + path, body, content_type="application/json")


@pytest.fixture
def api(two_tenants: TwoTenants) -> Api:
    return Api(two_tenants)


def whole(response: Any) -> bytes:
    async def read() -> bytes:
        return b"".join([chunk async for chunk in response.streaming_content])

    return async_to_sync(read)()


def test_presenters_are_listed_with_what_one_must_know(api: Api) -> None:
    items = {item["id"]: item for item in api.get("avatars").json()["items"]}

    lin = items["lin"]
    assert lin["name"] == {"zh": "小林", "en": "Lin"}
    assert (lin["licence"]["spdx"], lin["consent"]["subject"], lin["has_portrait"]) == ("CC0-1.0", "synthetic", True)
    assert lin["bytes"] == PACK.stat().st_size
    assert (items["marco"]["voice_zh"], items["marco"]["voice_en"]) == ("zm_yunxi", "am_michael")


def test_a_pack_is_streamed_and_asked_for_again_for_nothing(api: Api) -> None:
    first = api.get("avatars/lin/pack")

    assert (first.status_code, first["Content-Type"]) == (200, "model/gltf-binary")
    assert first.streaming
    assert whole(first) == PACK.read_bytes()
    assert first["Cache-Control"] == "private, no-cache, no-transform"
    assert first["Content-Disposition"] == 'inline; filename="lin.glb"'

    again = api.get("avatars/lin/pack", if_none_match=f'"other", W/{first["ETag"]}')
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])

    part = api.get("avatars/lin/pack", range="bytes=0-3")
    assert (part.status_code, whole(part)) == (206, b"glTF")


def test_a_download_is_taken_up_again_only_of_the_same_file(api: Api) -> None:
    tag = api.get("avatars/lin/pack")["ETag"]

    rest = api.get("avatars/lin/pack", range="bytes=4-7", if_range=tag)
    assert (rest.status_code, whole(rest)) == (206, PACK.read_bytes()[4:8])
    for stale in ('"an-older-file"', f"W/{tag}", "Mon, 02 Nov 2026 08:00:00 GMT"):
        whole_again = api.get("avatars/lin/pack", range="bytes=4-7", if_range=stale)
        assert (whole_again.status_code, whole_again["Content-Length"]) == (200, str(PACK.stat().st_size))


@pytest.mark.parametrize(
    "path", ["avatars/nobody/pack", "avatars/nobody/portrait", "avatars/..%2Flin/pack", "backdrops/moon/picture"]
)
def test_what_is_not_there_is_not_found(api: Api, path: str) -> None:
    assert api.get(path).status_code == 404


def test_pictures(api: Api) -> None:
    assert whole(api.get("avatars/lin/portrait")).startswith(b"\xff\xd8")
    assert [item["id"] for item in api.get("backdrops").json()["items"]] == ["daylight", "boutique", "studio"]
    wide, tall = api.get("backdrops/studio/picture"), api.get("backdrops/studio/picture?shape=tall")
    assert whole(wide) != whole(tall)
    assert wide["Content-Type"] == "image/jpeg"
    assert api.get("backdrops/studio/picture?shape=round").status_code == 400


def test_a_show_names_presenter_and_backdrop_that_exist(api: Api, two_tenants: TwoTenants) -> None:
    made = api.send("post", "shows", {"title": "t", "segments": SEGMENTS, "avatar": "lin", "backdrop": "boutique"})
    assert (made.status_code, made.json()["backdrop"]) == (201, "boutique")
    path = f"shows/{made.json()['id']}"

    for field, value, known in (("avatar", "nobody", "lin"), ("backdrop", "moon", "daylight, boutique, studio")):
        refused = api.send("patch", path, {field: value})
        assert refused.status_code == 400
        (error,) = refused.json()["errors"]
        assert (error["pointer"], error["code"]) == (f"/{field}", "does_not_exist")
        assert value in error["detail"]
        assert known in error["detail"]

    with scope(two_tenants.a.tenant):
        built = spec.build(services.start_session(show_id=made.json()["id"], record=False, actor=ACTOR))
    assert SessionSpec.model_validate(built).backdrop == "boutique"


def test_a_show_whose_presenter_is_gone_can_still_be_changed(api: Api, two_tenants: TwoTenants) -> None:
    with scope(two_tenants.a.tenant):
        show = Show.objects.create(title="old", segments=SEGMENTS, avatar="gone")

    answer = api.send("patch", f"shows/{show.pk}", {"title": "new", "avatar": "gone"})

    assert (answer.status_code, answer.json()["title"]) == (200, "new")
    assert api.send("post", "shows", {"title": "t", "avatar": "gone"}).status_code == 400


def voices(show: dict[str, Any]) -> tuple[str, str]:
    return show["voice_zh"], show["voice_en"]


def test_a_presenter_brings_their_own_voices_where_none_are_named(api: Api) -> None:
    def made(**fields: str) -> dict[str, Any]:
        answer = api.send("post", "shows", {"title": "t", "segments": SEGMENTS, **fields})
        assert answer.status_code == 201, answer.content
        show: dict[str, Any] = answer.json()
        return show

    assert voices(made()) == voices(made(avatar="lin")) == ("zf_xiaoxiao", "af_heart")
    assert voices(made(avatar="marco", voice_en="af_bella")) == ("zm_yunxi", "af_bella")

    show = made(avatar="marco")
    assert voices(show) == ("zm_yunxi", "am_michael")
    path = f"shows/{show['id']}"
    assert voices(api.send("patch", path, {"avatar": "amara"}).json()) == ("zf_xiaobei", "af_bella")
    assert voices(api.send("patch", path, {"voice_zh": "zm_yunxi"}).json()) == ("zm_yunxi", "af_bella")
    # The presenter it has already is no change of presenter.
    assert voices(api.send("patch", path, {"avatar": "amara", "title": "new"}).json()) == ("zm_yunxi", "af_bella")
    assert voices(api.send("patch", path, {"avatar": "lin", "voice_zh": "zm_yunxi"}).json()) == ("zm_yunxi", "af_heart")


@pytest.mark.parametrize(
    ("path", "isolated"), [("/presenters", True), ("/presenters/", True), ("/presenters2", False), ("/live", False)]
)
def test_only_the_presenters_page_is_cross_origin_isolated(path: str, isolated: bool) -> None:
    answer = Client().get(path)

    assert answer.get("Cross-Origin-Embedder-Policy") == ("require-corp" if isolated and answer.status_code == 200 else None)
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"


def test_only_the_workers_script_bears_the_header() -> None:
    worker: dict[str, str] = {}
    other: dict[str, str] = {}
    static_headers(worker, "x", "/static/app/assets/compute.worker-B1_x-2.js")
    static_headers(other, "x", "/static/app/assets/main-B1.js")

    assert (worker, other) == ({"Cross-Origin-Embedder-Policy": "require-corp"}, {})
