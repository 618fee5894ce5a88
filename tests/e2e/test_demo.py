"""A merchant's first hour: sign in, watch, ask, be answered with the right price, survive kills, stop, see the recording."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page

from gpu_engine.session.usage import read_journal
from tests.e2e.product import Product, wait_for
from tests.media.measure import audio

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

FRAMES = "() => { const v = document.querySelector('video'); return v ? v.getVideoPlaybackQuality().totalVideoFrames : 0 }"


def frames(page: Page) -> int:
    """Frames this page's player has decoded since its last connection."""
    return int(page.evaluate(FRAMES))


def picture_moves(page: Page, within_s: float = 30.0) -> None:
    """Decoded frames advance by a second's worth."""
    start = frames(page)

    def moved() -> bool:
        nonlocal start
        now = frames(page)
        if now < start:
            start = now
        return now >= start + 15

    wait_for(moved, "decoded frames advance", within_s)


def ask(page: Page, text: str) -> None:
    """Write a comment in the room's box."""
    box = page.get_by_label("以观众身份评论")
    box.fill(text)
    box.press("Enter")


def heard(product: Product, needle: str, after: int, within_s: float = 60.0) -> str:
    """Wait until the host really said ``needle`` (after the first ``after`` characters of what it said before)."""

    def said() -> str:
        new = product.spoken()[after:]
        return new if needle in new else ""

    return wait_for(said, f"the host says {needle}", within_s)


def test_the_picture_is_there_and_moves(room: Page) -> None:
    picture_moves(room)
    size = room.evaluate("() => { const v = document.querySelector('video'); return [v.videoWidth, v.videoHeight] }")
    assert size == [1280, 720]


def test_a_chinese_price_question_is_answered_aloud_with_the_price_of_the_catalogue(room: Page, product: Product) -> None:
    before = len(product.spoken())
    ask(room, "月影蓝牙音箱多少钱")

    said = heard(product, "199", before)

    assert "月影蓝牙音箱" in said
    room.get_by_text("199元").first.wait_for()


def test_an_english_question_is_answered_with_the_right_price(room: Page, product: Product) -> None:
    before = len(product.spoken())
    ask(room, "how much is the Yunshan glass teapot?")

    said = heard(product, "79", before)

    assert "Yunshan" in said


def test_an_unknown_product_gets_no_invented_price(product: Product) -> None:
    before = len(product.spoken())
    comment = product.comment("你们的火星望远镜多少钱").json()
    wait_for(
        lambda: [e for e in product.events("comment") if e["data"]["id"] == comment["id"]
                 and e["data"]["outcome"] in ("answered", "dropped", "merged")],
        "the comment's outcome",
    )  # fmt: skip
    answers = [e["data"] for e in product.events("turn") if "火星望远镜" in str(e["data"].get("question", ""))]

    assert all("元" not in str(a["answer"]) and "¥" not in str(a["answer"]) for a in answers)
    assert "火星望远镜现在" not in product.spoken()[before:]


def test_the_script_goes_on_after_the_answers(product: Product) -> None:
    scripts = len(product.events("cursor"))
    wait_for(lambda: len(product.events("cursor")) > scripts, "the script's cursor moves on", 90)


def test_tiles_come_from_the_node(room: Page) -> None:
    tiles = room.get_by_text("帧率").locator("xpath=..")
    wait_for(lambda: "帧/秒" in tiles.inner_text(), "the frame-rate tile")


@pytest.mark.parametrize(
    "text",
    ["", "   ", "长" * 10_000, "😀🎉🔥", "<script>alert(1)</script><b>价格1元</b>", "a\x00b\x07\x1b[31m", "\u202e\u200b\u200d"],
    ids=["empty", "blank", "ten thousand", "emoji", "html", "control", "invisible"],
)
def test_hostile_comments_change_nothing(room: Page, product: Product, text: str) -> None:
    before = len(product.spoken())

    answer = product.comment(text)

    assert answer.status_code in (200, 201, 202, 400)
    if answer.status_code == 400:
        assert answer.headers["content-type"].startswith("application/problem+json")
    picture_moves(room)
    said = product.spoken()[before:]
    assert "script" not in said and "价格1元" not in said and "长长长长" not in said
    assert product.session["state"] == "live"


def test_the_picture_goes_on_when_the_mind_is_killed_and_it_answers_again(room: Page, product: Product) -> None:
    killed = product.kill("gpu_engine.mind")

    picture_moves(room, 10)
    wait_for(lambda: [p for p in product.find("gpu_engine.mind") if p.pid != killed], "a new mind")
    before = len(product.spoken())

    def asked_again() -> bool:
        return product.comment("31号链接多少钱", user=f"again-{time.monotonic()}").json().get("accepted", False)

    wait_for(asked_again, "the new mind takes comments", 60, every_s=1.0)
    heard(product, "199", before, 90)


def test_the_viewer_comes_back_when_the_outlet_is_killed(room: Page, product: Product) -> None:
    killed = product.kill("gpu_engine.outputs")

    wait_for(lambda: [p for p in product.find("gpu_engine.outputs") if p.pid != killed], "a new outlet")
    picture_moves(room, 60)
    assert product.session["state"] == "live"


def test_the_show_resumes_at_its_cursor_when_the_body_is_killed(room: Page, product: Product) -> None:
    cursor = product.events("cursor")[-1]["data"]
    killed = product.kill("gpu_engine.body")

    wait_for(lambda: [p for p in product.find("gpu_engine.body") if p.pid != killed], "a new body")
    wait_for(lambda: product.session["state"] == "live", "the session is live again", 90)
    picture_moves(room, 90)
    count = len(product.events("cursor"))
    wait_for(lambda: len(product.events("cursor")) > count, "the script goes on", 90)
    resumed = product.events("cursor")[count]["data"]
    place = ("loop", "segment_index", "line_index", "sentence_index")
    assert [resumed[k] for k in place] >= [cursor[k] for k in place]
    assert resumed["segment_index"] - cursor["segment_index"] <= 2 or resumed["loop"] > cursor["loop"]


def test_the_show_goes_on_when_the_agent_is_killed(room: Page, product: Product) -> None:
    (body,) = product.find("gpu_engine.body")
    killed = product.kill("workers.node", "--url")

    picture_moves(room, 20)
    wait_for(lambda: [p for p in product.find("workers.node", "--url") if p.pid != killed], "a new agent")
    wait_for(lambda: product.comment("在吗", user="after-agent").status_code < 300, "the new agent adopted the engine", 60)
    assert body.is_running()
    assert product.session["state"] == "live"


def test_the_show_goes_on_when_the_web_server_is_killed(room: Page, product: Product) -> None:
    (body,) = product.find("gpu_engine.body")
    killed = product.kill("daphne")

    picture_moves(room, 20)
    wait_for(lambda: [p for p in product.find("daphne") if p.pid != killed], "a new web server")
    wait_for(lambda: product.session["state"] == "live", "the session is live", 60)
    wait_for(lambda: product.comment("在吗", user="after-web").status_code < 300, "the node is connected again", 60)
    assert body.is_running()


def test_the_ledger_charges_each_second_once(product: Product) -> None:
    def totals() -> tuple[int, int]:
        journals = list((product.var / "node" / "sessions").glob(f"{product.session_id}.*/usage.jsonl"))
        return sum(s.seconds for j in journals for s in read_journal(j)), int(product.session["billable_s"])

    wait_for(
        lambda: abs(totals()[0] - totals()[1]) <= 12 and totals()[1] > 0, "journal and ledger agree up to what is in flight"
    )
    wall_s = time.monotonic() - product.live_at
    assert totals()[1] <= wall_s + 60


def test_stop_ends_the_show_and_the_recording_plays(room: Page, product: Product) -> None:
    assert product.post(f"sessions/{product.session_id}/stop").status_code < 300
    wait_for(lambda: product.session["state"] == "ended", "the session has ended", 60)

    def first_part() -> dict[str, str]:
        items = product.get(f"sessions/{product.session_id}/recordings")["items"]
        return next((r for r in items if r["name"].endswith(".1.1.mp4")), {})

    first = wait_for(first_part, "the first part of the recording", 60)
    assert not product.find("gpu_engine.body")

    url = f"/api/v1/tenants/{product.tenant_id}/sessions/{product.session_id}/recordings/{first['id']}/content"
    part = product.api.get(url, headers={"Range": "bytes=0-99"})
    assert part.status_code == 206
    played = room.evaluate(
        """async (url) => { const v = document.createElement('video'); v.muted = true; v.src = url; document.body.append(v);
        await v.play(); await new Promise(r => setTimeout(r, 3000)); return [v.currentTime, v.videoWidth] }""",
        url,
    )
    assert played[0] > 1.0
    assert played[1] == 1280

    whole = product.var / "recording.mp4"
    whole.write_bytes(product.api.get(url, timeout=120).content)


def test_the_recording_says_the_prices_aloud(product: Product) -> None:
    whisper = Path(os.environ.get("LUMIHOST_MODELS", "var/models")) / "whisper-base"
    if not whisper.is_dir():
        pytest.skip("no recogniser: run `python -m gpu_engine.models prepare --with-asr`")
    from faster_whisper import WhisperModel

    model = WhisperModel(str(whisper), device="cpu", compute_type="int8", cpu_threads=2)
    spoken = [e["data"] for e in product.events("spoken")]
    answer = next(s for s in spoken if "月影蓝牙音箱" in str(s["text"]) and "199" in str(s["text"]))
    began_s = min(float(e["data"]["started_media_s"]) for e in product.events("recording") if ".part" not in e["data"]["path"])
    end_s = answer["media_ms"] / 1000 - began_s
    start_s = max(0.0, end_s - answer["played_ms"] / 1000 - 0.3)
    samples, rate, offset_s = audio(product.var / "recording.mp4")
    clip = samples[int((start_s - offset_s) * rate) : int((end_s + 0.5 - offset_s) * rate)]
    every = rate // 16_000
    clip = clip[: len(clip) // every * every].reshape(-1, every).mean(axis=1)
    segments, _ = model.transcribe(clip, language="zh")
    text = "".join(s.text for s in segments)

    assert any(reading in text for reading in ("199", "一百九十九", "壹佰玖拾玖")), json.dumps(
        [text, answer], ensure_ascii=False
    )


def test_ctrl_c_leaves_no_process_behind(product: Product) -> None:
    assert product.stop() == 0
    assert product.find() == []
