"""``lumihost status``: nodes and open sessions."""

from __future__ import annotations

import dataclasses
import json

from lumihost.cli import installation
from lumihost.cli.terminal import coloured, complain, say

_GOOD = {"online": "green", "live": "green", "offline": "red", "failed": "red", "interrupted": "red"}


def run_status(*, as_json: bool) -> int:
    """Print; 0 when the database can be read."""
    from django.db import DatabaseError

    try:
        nodes, sessions = installation.nodes(), installation.open_sessions()
    except DatabaseError as error:
        complain(f"error: the database cannot be read ({error}): has `lumihost up` ever run here?")
        return 1
    if as_json:
        say(
            json.dumps({"nodes": nodes, "sessions": [dataclasses.asdict(s) for s in sessions]}, default=str, ensure_ascii=False)
        )
        return 0
    for node in nodes:
        seen = f"{node['last_seen']:%Y-%m-%d %H:%M:%S} UTC" if node["last_seen"] else "never"
        say(f"node {node['name']:<20} {_state(node['state'])}  {node['capacity_sessions']} session(s)  last seen {seen}")
    for session in sessions:
        say(f"session {session.id}  {_state(session.state)}  {session.media_s:8.0f} s  {session.tenant} › {session.title}")
    if not sessions:
        say("no open session")
    return 0


def _state(state: str) -> str:
    return coloured(f"{state:<12}", _GOOD.get(state, "yellow"))
