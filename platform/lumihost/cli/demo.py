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


async def take_live(place: Place, *, until_first_frame: bool = False) -> None:
    """Until the demo show is live. A session that a crash left running goes on; one that ended meanwhile is replaced.

    Args:
        until_first_frame: wait until the engine has made pictures in this run, too.

    Raises:
        Refused: the shop could not be loaded, or the show failed; the message says why and where to look.
    """
    say("loading the demo shop …")
    shop = json.loads((await asyncio.to_thread(django_command, place, "load_demo", "--json")).strip().splitlines()[-1])
    started_s = time.monotonic()
    session_id, found = await asyncio.to_thread(installation.start_show, shop["tenant_id"], shop["show_id"])
    if found:
        say("going on with the show that was left running …")
        before = await asyncio.to_thread(installation.session_view, session_id)
        if not await _until_live(place, session_id, started_s, may_be_over=True):
            say("that show is over; starting it anew …")
            session_id, before = (await asyncio.to_thread(installation.start_show, shop["tenant_id"], shop["show_id"]))[0], None
            await _until_live(place, session_id, started_s)
    else:
        before = None
        await _until_live(place, session_id, started_s)
    live_s = time.monotonic() - started_s
    _invite(place, shop, session_id, live_s)
    if until_first_frame:
        await _until_pictures(place, session_id, before.media_s if before is not None else 0.0, started_s)


async def _until_pictures(place: Place, session_id: str, media_before_s: float, started_s: float) -> None:
    """Media seconds are written every two seconds, so this is late by up to that."""
    while True:
        view = await asyncio.to_thread(installation.session_view, session_id)
        if view is None or view.state in ("failed", "ended"):
            raise Refused(f"the demo show ended before its first picture: see {place.logs}/agent.log")
        if view.media_s > media_before_s:
            say(f"the show makes pictures: {view.media_s - media_before_s:.1f} s of it, {time.monotonic() - started_s:.1f} s "
                "after it was asked for")  # fmt: skip
            return
        if time.monotonic() - started_s > GIVE_UP_S:
            raise Refused(f"the demo show is live and makes no pictures: see {place.logs}/agent.log, `lumihost doctor`")
        await asyncio.sleep(0.2)


async def _until_live(place: Place, session_id: str, started_s: float, *, may_be_over: bool = False) -> bool:
    """True once it is live; false, with ``may_be_over``, when it ended instead."""
    told_s, told_state = started_s, ""
    while True:
        view = await asyncio.to_thread(installation.session_view, session_id)
        if view is None or view.state in ("failed", "ended"):
            if may_be_over:
                return False
            reason = view.end_reason if view is not None else "the session is gone"
            raise Refused(
                f"the demo show did not start: {reason}\nlogs: {place.logs}/agent.log and "
                f"{place.var}/node/sessions/{session_id}.*/engine.log; `lumihost doctor` explains the machine"
            )
        if view.state == "live" and (not may_be_over or view.node_is_online):
            return True
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
