"""``lumihost demo``: load the demo shop, take its show live, say where to look."""

from __future__ import annotations

import asyncio
import json
import time

from lumihost.cli import installation
from lumihost.cli.terminal import coloured, say
from lumihost.cli.up import Place, Refused, django_command

GIVE_UP_S = 300.0
_SAY_EVERY_S = 5.0


async def take_live(place: Place) -> None:
    """Until the demo show is live.

    Raises:
        Refused: the shop could not be loaded, or the show failed; the message says why and where to look.
    """
    say("loading the demo shop …")
    shop = json.loads((await asyncio.to_thread(django_command, place, "load_demo", "--json")).strip().splitlines()[-1])
    started_s = time.monotonic()
    session_id = await asyncio.to_thread(installation.start_show, shop["tenant_id"], shop["show_id"])
    await _until_live(place, session_id, started_s)
    _invite(place, shop, session_id, time.monotonic() - started_s)


async def _until_live(place: Place, session_id: str, started_s: float) -> None:
    told_s, told_state = started_s, ""
    while True:
        view = await asyncio.to_thread(installation.session_view, session_id)
        if view is None or view.state in ("failed", "ended"):
            reason = view.end_reason if view is not None else "the session is gone"
            raise Refused(
                f"the demo show did not start: {reason}\nlogs: {place.logs}/agent.log and "
                f"{place.var}/node/sessions/{session_id}.*/engine.log; `lumihost doctor` explains the machine"
            )
        if view.state == "live":
            return
        now_s = time.monotonic()
        if view.state != told_state or now_s - told_s >= _SAY_EVERY_S:
            told_s, told_state = now_s, view.state
            say(f"the host is getting ready: {view.state}, {now_s - started_s:.0f} s (a first start compiles and loads models)")
        if now_s - started_s > GIVE_UP_S:
            raise Refused(
                f"the demo show is still '{view.state}' after {GIVE_UP_S:g} s: see {place.logs}/agent.log, `lumihost doctor`"
            )
        await asyncio.sleep(0.3)


def _invite(place: Place, shop: dict[str, str], session_id: str, took_s: float) -> None:
    lines = [
        f"The demo shop is live / 演示直播间已开播 ({took_s:.1f} s)",
        "",
        f"  Watch / 观看     {place.url}/live/{session_id}",
        f"  E-mail / 邮箱    {shop['email']}",
        f"  Password / 密码  {shop['password']}",
        "",
        "  Ask the host / 向主播提问: 多少钱？  ·  How much is it?",
        "  Ctrl-C stops everything / 按 Ctrl-C 全部停止",
    ]
    rule = coloured("─" * 76, "green")
    say("\n".join(["", rule, *lines, rule, ""]))
