"""What the supervisor may ask of the mind (methods of :mod:`gpu_engine.session.control`)."""

from __future__ import annotations

import re
import time
from typing import Any

from pydantic import ValidationError

from gpu_engine.chat.events import ChatEvent, clean_text
from gpu_engine.mind.show import Show
from gpu_engine.session.child import Handler, RequestRefused
from gpu_engine.session.spec import Knowledge, Lang

MAX_SAY_CHARS = 500


def handlers(show: Show) -> dict[str, Handler]:
    """Method name to coroutine."""

    async def ping(_: dict[str, Any]) -> dict[str, Any]:
        return {}

    async def comment(params: dict[str, Any]) -> dict[str, Any]:
        at_ms = params.get("at_ms")
        event = ChatEvent(
            id=str(params.get("id") or ""),
            text=str(params.get("text") or ""),
            user=str(params.get("user") or ""),
            user_id=str(params.get("user_id") or ""),
            source=str(params.get("source") or "console"),
            at_ms=int(at_ms) if isinstance(at_ms, int | float) else None,
        )
        verdict = show.take_comment(event, received_ns=time.monotonic_ns())
        return {"accepted": verdict.outcome != "dropped", "reason": verdict.reason}

    async def say(params: dict[str, Any]) -> dict[str, Any]:
        text = str(params.get("text") or "").strip()
        if not clean_text(text):
            raise RequestRefused("bad_request", "there is nothing to say: give a text with words")
        if len(text) > MAX_SAY_CHARS:
            raise RequestRefused("bad_request", f"{len(text)} characters are too many at once: say at most {MAX_SAY_CHARS}")
        turn_id, verdict = show.director.say(text, _lang(params.get("lang"), text))
        if not turn_id:
            found = "; ".join(f"'{f.word}' ({f.rule})" for f in verdict.findings) or "nothing is left to say"
            raise RequestRefused("refused", f"not spoken: {found}. Change the text and try again")
        return {"turn_id": turn_id}

    async def cut(params: dict[str, Any]) -> dict[str, Any]:
        return {"accepted": await show.director.cut(str(params.get("reason") or "operator"))}

    async def pin(params: dict[str, Any]) -> dict[str, Any]:
        product_id = str(params.get("product_id") or "")
        product = show.director.knowledge.product(product_id)
        if product is None:
            raise RequestRefused("not_found", f"there is no product '{product_id}' in this show's knowledge base")
        show.director.pin(product)
        return {}

    async def pause(_: dict[str, Any]) -> dict[str, Any]:
        show.director.pause()
        return {}

    async def resume(_: dict[str, Any]) -> dict[str, Any]:
        show.director.resume()
        return {}

    async def next_segment(_: dict[str, Any]) -> dict[str, Any]:
        show.director.next_segment()
        return {}

    async def knowledge(params: dict[str, Any]) -> dict[str, Any]:
        try:
            fresh = Knowledge.model_validate(params.get("knowledge"))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise RequestRefused("bad_request", f"knowledge: {where}: {first['msg']}") from error
        show.set_knowledge(fresh)
        return {"version": fresh.version}

    return {
        "ping": ping, "comment": comment, "say": say, "cut": cut, "pin": pin, "pause": pause, "resume": resume,
        "next_segment": next_segment, "knowledge": knowledge,
    }  # fmt: skip


def _lang(asked: object, text: str) -> Lang:
    if asked == "zh":
        return "zh"
    if asked == "en":
        return "en"
    return "zh" if re.search(r"[\u3400-\u9fff]", text) else "en"
