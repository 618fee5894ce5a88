"""The demo's shows: presenters that are installed, voices that suit them, lines the engine takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpu_engine.session.spec import RunOfShow
from lumihost.avatars.catalogue import VOICES
from lumihost.live.models import Show
from lumihost.web.demo import load_demo
from tenants.context import scope
from tenants.models import Tenant

pytestmark = [pytest.mark.services, pytest.mark.django_db]


def shows(tmp_path: Path) -> dict[str, Show]:
    demo = load_demo(tmp_path / "demo_password")
    with scope(Tenant.objects.get(pk=demo.tenant_id)):
        return {show.language: show for show in Show.objects.all()}


def test_the_english_show_has_a_presenter_and_a_voice_of_one_gender(tmp_path: Path) -> None:
    found = shows(tmp_path)

    assert (found["zh"].avatar, found["zh"].backdrop, found["en"].backdrop) == ("lin", "daylight", "studio")
    assert found["en"].avatar == "marco"
    gender = {voice.id: voice.gender for voice in VOICES}
    assert {gender[found["en"].voice_en], gender[found["en"].voice_zh]} == {"male"}
    run = RunOfShow.model_validate({"segments": found["en"].segments})
    assert {line.lang for segment in run.segments for line in segment.lines} == {"en"}


def test_another_presents_where_the_first_is_not_installed(tmp_path: Path, settings: Any) -> None:
    settings.AVATAR_PACK_DIRS = [tmp_path]

    assert shows(tmp_path)["en"].avatar == "lin"
