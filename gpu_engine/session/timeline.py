"""The wire between mind and body: clips, cuts, and what the body says it played.

The mind appends clips; the body owns what is committed and reports it. A clip is a header, append-only chunks and a
seal. All times inside a clip are milliseconds from the clip's first sample. PCM is signed 16-bit little-endian, mono,
48 kHz. ``lips`` rows are the 32 weights of ``gpu_engine.motion.vocabulary`` as uint8 (weight * 255) at 50 rows a second.

Messages travel as length-prefixed msgpack over a local stream socket (see :mod:`gpu_engine.session.link`).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec

from gpu_engine.session.clock import SAMPLE_RATE_HZ as SAMPLE_RATE_HZ

LIP_RATE_HZ = 50
COMMIT_MS = 400
"""What the body may already have promised to the encoder; edits apply beyond it, cuts at the next cut point."""


class ClipKind(StrEnum):
    """Why a clip exists; the body treats them alike, history and captions do not."""

    SCRIPT = "script"
    ANSWER = "answer"
    SAY = "say"
    BRIDGE = "bridge"
    ANNOUNCEMENT = "announcement"


class Priority(IntEnum):
    """Higher plays first among waiting clips; equal priorities play in order of arrival."""

    SCRIPT = 10
    BRIDGE = 20
    ANSWER = 30
    SAY = 40


class Fact(msgspec.Struct, frozen=True):
    """A fact a clip states: product, field ('price', 'stock', 'attr:material', 'faq:…'), the value as written, version."""

    product_id: str
    field: str
    value: str
    version: int


class Caption(msgspec.Struct, frozen=True):
    """Written text shown from ``start_ms`` until the next caption or the clip's end."""

    start_ms: int
    text: str


class Card(msgspec.Struct, frozen=True):
    """What the product card shows; texts are already rendered. Empty ``title`` hides the card."""

    product_id: str = ""
    title: str = ""
    price: str = ""
    list_price: str = ""
    note: str = ""
    link_no: int = 0
    image: str = ""


class Emotion(msgspec.Struct, frozen=True):
    """Valence, arousal, dominance in [-1, 1]: the target while the clip plays."""

    valence: float = 0.35
    arousal: float = 0.1
    dominance: float = 0.2


class GestureKind(StrEnum):
    """What the hands may be asked to do."""

    GREET = "greet"
    THANK = "thank"
    POINT = "point"
    COUNT = "count"


class Gesture(msgspec.Struct, frozen=True):
    """A gesture at a time within the clip (in a :class:`ClipBegin`) or in media time (in the body). ``at_ms`` of a word that is
    not spoken yet is an estimate: the body lets the hand land on the stressed word nearest to it."""

    kind: GestureKind
    at_ms: int = 0


# --- mind -> body -------------------------------------------------------------------------------------------------


class ClipBegin(msgspec.Struct, frozen=True, tag="begin"):
    """Open a clip. ``cursor`` is opaque to the body and comes back in every report about the clip."""

    clip_id: str
    turn_id: str
    kind: ClipKind
    priority: int
    interruptible: bool = True
    lang: str = "zh"
    text: str = ""
    facts: tuple[Fact, ...] = ()
    card: Card | None = None
    emotion: Emotion = Emotion()
    cursor: tuple[int, int, int, int] | None = None
    gap_after_ms: int = 0
    gesture: tuple[Gesture, ...] = ()


class ClipChunk(msgspec.Struct, frozen=True, tag="chunk"):
    """More of a clip. ``cut_ms`` are the ends of phrases in this chunk: places where the clip may be cut. ``emotion``: from
    here on, now that the voice has been heard (``None``: as before)."""

    clip_id: str
    pcm: bytes
    lips: bytes
    captions: tuple[Caption, ...] = ()
    cut_ms: tuple[int, ...] = ()
    emphasis_ms: tuple[int, ...] = ()
    emotion: Emotion | None = None


class ClipSeal(msgspec.Struct, frozen=True, tag="seal"):
    """No more chunks. A clip with no audio may be sealed at once (a pause: see ``gap_after_ms``)."""

    clip_id: str


class ClipDrop(msgspec.Struct, frozen=True, tag="drop"):
    """Forget clips. A waiting clip vanishes; the playing one is faded out if it is not sealed, else plays on."""

    clip_ids: tuple[str, ...]
    reason: str


class CutMode(StrEnum):
    """NOW fades within 40 ms; PHRASE ends at the playing clip's next cut point."""

    NOW = "now"
    PHRASE = "phrase"


class Cut(msgspec.Struct, frozen=True, tag="cut"):
    """End the playing clip early. Numbered; the body answers with :class:`CutAck`. Clips that are not interruptible refuse."""

    number: int
    mode: CutMode
    reason: str


class Pass(msgspec.Struct, frozen=True, tag="pass"):
    """Virtual clock only: the mind has nothing more before this media time, the body may run to it."""

    until_ms: int


class ShowCard(msgspec.Struct, frozen=True, tag="card"):
    """Change the product card now (operator pin), outside any clip."""

    card: Card


MindMessage = ClipBegin | ClipChunk | ClipSeal | ClipDrop | Cut | Pass | ShowCard


# --- body -> mind -------------------------------------------------------------------------------------------------


class Playhead(msgspec.Struct, frozen=True, tag="playhead"):
    """Five times a second, and first of all after connecting.

    ``media_ms`` is the media time already encoded; ``buffered_ms`` the audio waiting (playing clip's rest and queue);
    ``clip_id`` the playing clip or ''; ``waiting`` the queue in playing order; ``starved`` true while a clip that is not
    sealed has run out of chunks.
    """

    media_ms: int
    clip_id: str
    offset_ms: int
    buffered_ms: int
    waiting: tuple[str, ...]
    starved: bool = False
    cursor: tuple[int, int, int, int] | None = None


class ClipStarted(msgspec.Struct, frozen=True, tag="started"):
    """The clip's first sample was encoded at ``media_ms``; ``wall_ns`` is time.monotonic_ns() at that moment."""

    clip_id: str
    turn_id: str
    media_ms: int
    wall_ns: int


class EndReason(StrEnum):
    """How a clip left the playhead."""

    COMPLETED = "completed"
    CUT = "cut"
    DROPPED = "dropped"


class ClipEnded(msgspec.Struct, frozen=True, tag="ended"):
    """What was heard: ``played_ms`` of the clip, up to ``media_ms``. ``text`` is the captions that were reached."""

    clip_id: str
    turn_id: str
    reason: EndReason
    played_ms: int
    media_ms: int
    text: str
    cursor: tuple[int, int, int, int] | None = None


class CutAck(msgspec.Struct, frozen=True, tag="cut_ack"):
    """Answer to a cut: the media time it takes effect, or ``accepted`` false with why ('idle', 'not interruptible')."""

    number: int
    accepted: bool
    clip_id: str
    at_media_ms: int
    why: str = ""


BodyMessage = Playhead | ClipStarted | ClipEnded | CutAck
