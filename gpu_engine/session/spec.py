"""The show a session runs, as data. The platform (or a JSON file) gives it; the engine never asks a database.

Every text that may be spoken or shown is either written by the merchant (lines, FAQ answers) or rendered by the
engine from the typed fields of :class:`Product`. Money is integer minor units of ``currency``.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from gpu_engine.session.clock import FrameGrid
from gpu_engine.stage.backdrop_names import check_name

Lang = Literal["zh", "en"]


class SpecError(ValueError):
    """The show file cannot be used; the message names the file, the field and the way out."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Text(_Model):
    """One written text in the languages it exists in."""

    zh: str = ""
    en: str = ""

    def in_lang(self, lang: Lang) -> str:
        """The text in ``lang``, else in the other language."""
        return (self.zh or self.en) if lang == "zh" else (self.en or self.zh)


class Promotion(_Model):
    """A promotion in force between two instants (ISO 8601 with zone; ``None`` = open)."""

    text: Text
    starts_at: str | None = None
    ends_at: str | None = None


class Product(_Model):
    """The typed row from which every spoken price, stock figure and specification comes."""

    id: str
    sku: str
    link_no: int = Field(default=0, ge=0, description="number viewers use: '3号链接'; 0 = none")
    title: Text
    aliases: tuple[str, ...] = ()
    category: str = ""
    currency: str = "CNY"
    price_minor: int = Field(ge=0)
    list_price_minor: int | None = Field(default=None, ge=0)
    stock: int | None = Field(default=None, ge=0, description="None = not known")
    attributes: dict[str, Text] = Field(default_factory=dict, description="key: stable snake_case name, e.g. 'material'")
    selling_points: tuple[Text, ...] = ()
    shipping: Text = Text()
    after_sales: Text = Text()
    promotion: Promotion | None = None
    image: str | None = Field(default=None, description="path of a picture for the card")


class Faq(_Model):
    """An approved question and answer, spoken as written."""

    id: str
    question: Text
    answer: Text
    product_id: str | None = None


class Knowledge(_Model):
    """The facts a host may state. ``version`` grows with every change and is cited by each answer."""

    version: int = 1
    shop_name: Text = Text()
    shipping: Text = Text()
    after_sales: Text = Text()
    products: tuple[Product, ...] = ()
    faq: tuple[Faq, ...] = ()

    def product(self, product_id: str) -> Product | None:
        """The product with this id, or ``None``."""
        return next((p for p in self.products if p.id == product_id), None)


class SegmentKind(StrEnum):
    """Beats of a run-of-show."""

    OPENING = "opening"
    HOOK = "hook"
    POINTS = "points"
    DEMO = "demo"
    OBJECTION = "objection"
    PRICE = "price"
    CTA = "cta"
    QA = "qa"
    TRANSITION = "transition"
    ANNOUNCEMENT = "announcement"
    BREAK = "break"


class Line(_Model):
    """One or more sentences the host says. ``{price}``, ``{list_price}``, ``{stock}``, ``{title}``, ``{link_no}`` are filled
    from the segment's product when the line is spoken, never earlier."""

    id: str
    text: str
    lang: Lang = "zh"
    interruptible: bool = True
    variants: tuple[str, ...] = Field(default=(), description="other wordings, used in turn on later loops")


class Segment(_Model):
    """A beat: what is on the card, what is said, how long to leave for questions (``gap_s``)."""

    id: str
    kind: SegmentKind
    title: str = ""
    product_id: str | None = None
    lines: tuple[Line, ...] = ()
    gap_s: float = Field(default=0.0, ge=0, le=600)


class RunOfShow(_Model):
    """Ordered segments, looped unless ``loop`` is false."""

    id: str = "show"
    title: str = ""
    segments: tuple[Segment, ...]
    loop: bool = True


class Cursor(_Model):
    """Where the show is: the next sentence to say. Persisted after every sentence, so a restart repeats at most one."""

    loop: int = 0
    segment_index: int = 0
    line_index: int = 0
    sentence_index: int = 0


class Voice(_Model):
    """Voice ids by language, and speaking rate (1.0 = the voice's own)."""

    zh: str = "zf_xiaoxiao"
    en: str = "af_heart"
    speed: float = Field(default=1.0, ge=0.5, le=2.0)


PRESENTER_VOICES: dict[str, dict[str, str]] = {
    "lin": {"zh": "zf_xiaoxiao", "en": "af_heart"},
    "marco": {"zh": "zm_yunxi", "en": "am_michael"},
    "amara": {"zh": "zf_xiaobei", "en": "af_bella"},
}
"""Voices of a shipped presenter where a show names none: a face and a voice that do not belong together are noticed at once."""


class Video(_Model):
    """The one rendition that is encoded."""

    width: int = Field(default=1280, ge=320, le=1920, multiple_of=2)
    height: int = Field(default=720, ge=180, le=1920, multiple_of=2)
    fps: int = Field(default=25, ge=10, le=60)
    bitrate_kbps: int = Field(default=2500, ge=200, le=8000)
    gop_s: float = Field(default=1.0, ge=0.4, le=10)

    @field_validator("fps")
    @classmethod
    def _fps_divides_both_clocks(cls, fps: int) -> int:
        FrameGrid(fps)
        return fps


class RtmpOutput(_Model):
    """Push to one RTMP(S) URL; the stream key is the URL's last path part and is never logged."""

    kind: Literal["rtmp"] = "rtmp"
    id: str
    url: str


class RecordingOutput(_Model):
    """Fragmented MP4 written as the show runs; finished on stop."""

    kind: Literal["recording"] = "recording"
    id: str = "recording"
    path: str


class WebrtcOutput(_Model):
    """WHEP viewers, signalled through the session's control socket."""

    kind: Literal["webrtc"] = "webrtc"
    id: str = "webrtc"
    max_viewers: int = Field(default=50, ge=1, le=250)
    host_addresses: tuple[str, ...] = Field(default=(), description="extra addresses to offer, e.g. 127.0.0.1")


Output = RtmpOutput | RecordingOutput | WebrtcOutput


class ScheduledComment(_Model):
    """A comment that arrives at a media time: rehearsals and tests."""

    at_s: float = Field(ge=0)
    text: str
    user: str = "viewer"


class Feed(_Model):
    """A comment source the mind connects to itself."""

    kind: Literal["websocket"] = "websocket"
    id: str
    url: str


class Producer(_Model):
    """Who is named in the implicit AI-content label (GB 45438-2025 annex E)."""

    content_producer: str = "Lumihost"
    produce_id: str = ""


class SessionSpec(_Model):
    """Everything one session needs, complete in itself."""

    session_id: str = "local"
    tenant_id: str = "local"
    epoch: int = Field(default=0, ge=0)
    seed: int = 1
    clock: Literal["real", "virtual"] = "real"
    duration_s: float | None = Field(default=None, gt=0, description="stop after this much media; None = until stopped")
    lang: Lang = "zh"
    avatar: str = "lin"
    draw_on: Literal["cpu", "gpu"] = Field(default="cpu", description="gpu: OpenGL 4.3 on EGL; the CPU draws where it lacks")
    backdrop: str = Field(default="daylight", description="shipped studio (daylight, boutique, studio) or path of a picture")
    voice: Voice = Voice()
    video: Video = Video()
    label: Text = Text(zh="AI生成 · 数字人", en="AI-generated · digital human")
    knowledge: Knowledge = Knowledge()
    show: RunOfShow
    cursor: Cursor = Cursor()
    outputs: tuple[Output, ...] = ()
    feeds: tuple[Feed, ...] = ()
    comments: tuple[ScheduledComment, ...] = ()
    producer: Producer = Producer()
    cache_dir: str | None = Field(default=None, description="speech cache of this tenant on this node")

    @model_validator(mode="before")
    @classmethod
    def _presenter_speaks_with_its_own_voice(cls, given: Any) -> Any:
        if isinstance(given, dict) and "voice" not in given and given.get("avatar") in PRESENTER_VOICES:
            return {**given, "voice": PRESENTER_VOICES[given["avatar"]]}
        return given

    @field_validator("backdrop")
    @classmethod
    def _backdrop_is_known(cls, backdrop: str) -> str:
        return check_name(backdrop)

    @model_validator(mode="after")
    def _references_hold(self) -> SessionSpec:
        known = {p.id for p in self.knowledge.products}
        for segment in self.show.segments:
            if segment.product_id is not None and segment.product_id not in known:
                raise ValueError(
                    f"segment '{segment.id}' names product '{segment.product_id}', which is not in the knowledge base: "
                    "add the product or clear the segment's product"
                )
        if not self.show.segments:
            raise ValueError("the run-of-show has no segments: add at least one")
        if "AI" not in self.label.zh or "生成" not in self.label.zh or "AI" not in self.label.en:
            raise ValueError("the AI-content label must name AI and generation ('AI生成…', 'AI-generated…')")
        ids = [o.id for o in self.outputs]
        if len(ids) != len(set(ids)):
            raise ValueError("two outputs share an id: give each output its own")
        return self


def load_spec(path: Path) -> SessionSpec:
    """Read a show file (UTF-8 JSON).

    Raises:
        SpecError: the file is missing, is not JSON or does not describe a show.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SpecError(f"show file {path}: {error.strerror or error}: give the path of a readable JSON file") from error
    try:
        return SessionSpec.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise SpecError(f"show file {path}: {where}: {first['msg']} ({error.error_count()} problem(s))") from error
