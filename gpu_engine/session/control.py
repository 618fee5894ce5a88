"""The session's control socket: what a node agent (or a test) may ask a running show, and what the show reports.

The supervisor listens on ``<run_dir>/control.sock``. Frames are those of :mod:`gpu_engine.session.link`; payloads are
msgpack. Methods (params → result):

===================  =====================================================================  =========================
method               params                                                                 result
===================  =====================================================================  =========================
``status``           {}                                                                     {state, media_s, cursor, pids}
``comment``          {id, text, user, user_id?, source, at_ms?}                             {accepted, reason}
``say``              {text, lang?, actor}                                                   {turn_id}
``cut``              {reason}                                                               {accepted}
``pin``              {product_id}                                                           {}
``pause``/``resume`` {}                                                                     {}   (script only)
``next_segment``     {}                                                                     {}
``knowledge``        {knowledge: <spec.Knowledge as dict>}                                  {version}
``whep_offer``       {viewer_id, sdp}                                                       {sdp}
``whep_close``       {viewer_id}                                                            {}
``stop``             {reason}                                                               {}   (drains, then exits 0)
===================  =====================================================================  =========================

``comment``, ``say``, ``cut``, ``pin``, ``pause``, ``resume``, ``next_segment`` and ``knowledge`` are answered by the mind,
``whep_*`` by the outlet, the rest by the supervisor. While the mind or the outlet restarts, its methods fail with code
``unavailable`` and may be tried again.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Request(msgspec.Struct, frozen=True, tag="req"):
    """Ask ``method``; the reply carries the same ``id``."""

    id: int
    method: str
    params: dict[str, Any]


class Reply(msgspec.Struct, frozen=True, tag="rep"):
    """``error`` is '' on success, else a code: 'unavailable', 'bad_request', 'refused', 'not_found', 'internal'."""

    id: int
    result: dict[str, Any] = {}
    error: str = ""
    detail: str = ""


class Event(msgspec.Struct, frozen=True, tag="event"):
    """Something that happened. ``seq`` grows by one per session run; ``data`` holds plain values.

    Kinds and data:

    - ``state``: {state: starting|live|stopping|ended|failed, reason}
    - ``process``: {name: mind|body|outlet, what: started|died|ended|restarted, pid, code}
    - ``comment``: {id, text, user, outcome: received|queued|merged|answered|dropped, reason, turn_id, source}
    - ``turn``: {turn_id, kind, question, answer, intent, facts: [...], first_word_ms, cut_wait_ms, cached,
      outcome: planned|speaking|spoken|cut|dropped}
    - ``spoken``: {clip_id, turn_id, kind, text, media_ms, reason}  what the body really played
    - ``emotion_gate``: {clip_id, turn_id, text, voice, context, valence, arousal, dominance}  how much words, voice and
      situation weighed in an utterance's emotion (the three sum to one), and that emotion
    - ``cursor``: {loop, segment_index, line_index, sentence_index, segment_id, title}
    - ``output``: {id, kind, state: connecting|up|busy|retrying|down|finished, detail}
    - ``viewer``: {viewer_id, what: joined|left}
    - ``gate``: {text, rule, span, action}
    - ``recording``: {id, path, started_media_s, seconds, bytes, finished}
    - ``motion``: {state: live|autonomous, reason}  a source outside took the host over (docs/dmcp.md), or let go
    - ``drop``: {what, count, reason}
    """

    seq: int
    at_ms: int
    kind: str
    data: dict[str, Any]


class Metrics(msgspec.Struct, frozen=True, tag="metrics"):
    """Once a second. Times in milliseconds unless named otherwise; -1 = not known yet."""

    media_s: float
    fps: float
    late_frames: int
    frame_ms: float
    stage_ms: dict[str, float]
    av_offset_ms: float
    first_word_ms: float
    first_word_p50_ms: float
    first_word_p99_ms: float
    inbox: int
    buffered_ms: int
    viewers: int
    bitrate_kbps: float
    cpu_percent: dict[str, float]
    rss_mb: dict[str, float]
    accepted_s: int
    produced_s: int
    outputs: dict[str, str]
    gpu: str = ""


ControlMessage = Request | Reply | Event | Metrics
