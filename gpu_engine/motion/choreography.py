"""Decides which gestures happen: cues and stressed words in, gesture phrases out.

A phrase is made at the last moment before its hands must leave, from the times of the words alone, so the picture's rate
does not matter; once made it is played to its end whatever the timeline does (a cut takes its words away, not the hand out
of the air). A word that becomes known too late is let go by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_engine.motion.gestures import BEAT_SHAPES, LEFT, RIGHT, Phrase
from gpu_engine.motion.noise import hash01
from gpu_engine.session.timeline import Gesture, GestureKind

PREPARE_S = 0.85
"""Way of a hand from rest to where a beat is made, as in unhurried talk."""
HURRY_S = 0.5
"""Shortest such way, for a word that became known late."""
NOD_LEAD_S = 0.3
"""A stressed word must be known this long before for the head to nod with it."""
HOLD_S = (0.45, 1.1)
"""How long a hand stays after its last stroke, in case another comes."""
RETRACT_S = 1.1
DECIDE_S = 0.1
"""Decisions come this long before a hand leaves, so that it leaves on time whenever pictures are drawn."""
LONGEST_PHRASE_S = 6.0
OPEN_CHANCE, STROKE_CHANCE = 0.62, 0.75
NEXT_STROKE_S = 0.42
"""Shortest time between two strokes of one phrase."""
AGAIN_S: dict[str, float] = {"point": 12.0, "greet": 20.0, "thank": 8.0, "count": 5.0}
"""A hand is not asked twice within this time for the same."""
SNAP_S = 0.7
"""A pointing or counting hand lands on a stressed word this near to its cue."""

PRIORITY: dict[str, int] = {"beat": 0, "count": 1, "point": 2, "greet": 3, "thank": 3}
"""A gesture waits for no other, but one of lower priority is not begun while a higher one is held."""

_CHANCE = 900


class Choreographer:
    """One per session. Ask it in the order of time."""

    def __init__(self, seed: int, *, tall: bool = False) -> None:
        """``tall``: the card lies below the face and beside there is no room: it is shown with eyes and head alone."""
        self._pointing: tuple[int, ...] = () if tall else (LEFT,)
        self._seed = seed
        self._phrases: list[Phrase] = []
        self._stresses: list[float] = []
        self._seen_stress_s = float("-inf")
        self._beat_s = float("-inf")
        self._cue_s: dict[str, float] = {}
        self._rest_until_s = float("-inf")
        self._hand = RIGHT

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """What is being done, in the order of starts."""
        return tuple(self._phrases)

    @property
    def stresses_ms(self) -> tuple[int, ...]:
        """Stressed words that were known early enough for head and brows to go with them."""
        return tuple(round(s * 1000) for s in self._stresses)

    def at(self, media_ms: float, emphasis_ms: Sequence[int] = (), cues: Sequence[Gesture] = (), energy: float = 0.0) -> None:
        """Look at what is known at a media time.

        Args:
            media_ms: media time in ms, not earlier than the last.
            emphasis_ms: media times of stressed words, past and future.
            cues: gestures asked for, ``at_ms`` in media time.
            energy: arousal in [-1, 1]: a lively host gestures more often.
        """
        now = media_ms / 1000.0
        self._phrases = [p for p in self._phrases if p.end_s > now]
        self._stresses = [s for s in self._stresses if s > now - 0.8]
        words = sorted(e / 1000.0 for e in emphasis_ms if now < e / 1000.0 < now + 2.0)
        self._take_words(now, words)
        for cue in cues:
            self._take_cue(now, cue, words)
        self._beat(now, words, energy)

    # --- head and brows -----------------------------------------------------------------------------------------------

    def _take_words(self, now: float, words: list[float]) -> None:
        for word in words:
            if word > self._seen_stress_s + 0.05 and word - now <= NOD_LEAD_S + 0.2:
                self._seen_stress_s = word
                if word - now >= NOD_LEAD_S:
                    self._stresses.append(word)

    # --- gestures that were asked for -----------------------------------------------------------------------------------

    def _take_cue(self, now: float, cue: Gesture, words: list[float]) -> None:
        kind, at = str(cue.kind), cue.at_ms / 1000.0
        if not now - 0.3 <= at + _LEAD_S.get(kind, 0.0) or at - PREPARE_S > now + DECIDE_S:
            return
        if at <= self._cue_s.get(kind, float("-inf")) + AGAIN_S[kind]:
            return
        held = max((PRIORITY[p.kind] for p in self._phrases if p.release_s > now), default=-1)
        if held > PRIORITY[kind]:
            return
        start = max(now, at - PREPARE_S) if kind in (GestureKind.POINT, GestureKind.COUNT) else max(now, at)
        self._cue_s[kind] = at
        self._let_go(now)
        self._phrases.append(self._asked_for(kind, start, at, words))
        self._beat_s = max(self._beat_s, self._phrases[-1].release_s)

    def _asked_for(self, kind: str, start: float, at: float, words: list[float]) -> Phrase:
        key = int(at * 1000)
        chance = hash01(self._seed, _CHANCE, key)
        size = 0.9 + 0.1 * hash01(self._seed, _CHANCE + 1, key)
        if kind == GestureKind.GREET:
            return Phrase(kind, "wave", (RIGHT,), start, (), start + 2.3 + 0.6 * chance, 1.0, 1.2, size, key)
        if kind == GestureKind.THANK:
            return Phrase(kind, "heart", (RIGHT,), start, (), start + 2.2 + 0.7 * chance, 1.0, 1.2, size, key)
        stroke = next((w for w in words if abs(w - at) < SNAP_S and w - start > HURRY_S), max(at, start + PREPARE_S))
        prepare = min(PREPARE_S, stroke - start)
        if kind == GestureKind.POINT:
            return Phrase(
                kind, "point", self._pointing, start, (stroke,), stroke + 0.9 + 0.8 * chance, prepare, RETRACT_S, size, key
            )
        strokes = (stroke, stroke + 0.5, stroke + 1.0)
        return Phrase(kind, "count", (RIGHT,), start, strokes, strokes[-1] + 0.4, prepare, RETRACT_S, size, key)

    def _let_go(self, now: float) -> None:
        """What is held makes room: it begins to go back now, under the hand that comes."""
        self._phrases = [replace(p, release_s=now) if p.release_s > now and p.kind == "beat" else p for p in self._phrases]

    # --- beats ----------------------------------------------------------------------------------------------------------

    def _beat(self, now: float, words: list[float], energy: float) -> None:
        for word in words:
            if word <= self._beat_s + NEXT_STROKE_S or word - PREPARE_S > now + DECIDE_S:
                continue
            key = int(word * 1000)
            held = next((p for p in reversed(self._phrases) if p.release_s > now), None)
            if held is not None and held.kind != "beat":
                return
            if held is not None:
                self._stroke(held, word, key, now)
            elif word - now >= HURRY_S and now >= self._rest_until_s:
                self._open(now, word, key, energy)
            else:
                continue
            self._beat_s = word

    def _stroke(self, held: Phrase, word: float, key: int, now: float) -> None:
        """Another stroke of the hand that is up already."""
        too_long = word - held.start_s > LONGEST_PHRASE_S
        if too_long or word - now < HURRY_S or hash01(self._seed, _CHANCE + 2, key) > STROKE_CHANCE:
            return
        if word > held.release_s + 0.9:
            return
        longer = replace(held, strokes_s=(*held.strokes_s, word), release_s=max(held.release_s, word + self._hold(key)))
        self._phrases[self._phrases.index(held)] = longer
        self._rest_until_s = longer.release_s + 0.3

    def _open(self, now: float, word: float, key: int, energy: float) -> None:
        if hash01(self._seed, _CHANCE + 3, key) > OPEN_CHANCE * (1.0 + 0.3 * energy):
            return
        shape = self._shape(hash01(self._seed, _CHANCE + 4, key))
        hands = self._hands(shape, key)
        start = max(now, word - PREPARE_S)
        size = 0.9 + 0.1 * hash01(self._seed, _CHANCE + 6, key)
        release = word + self._hold(key)
        self._phrases.append(Phrase("beat", shape, hands, start, (word,), release, word - start, RETRACT_S, size, key))
        self._rest_until_s = release + 0.3 + 1.2 * hash01(self._seed, _CHANCE + 7, key) ** 2

    def _hands(self, shape: str, key: int) -> tuple[int, ...]:
        chance = hash01(self._seed, _CHANCE + 5, key)
        if shape in ("offer", "edge", "sweep") and chance < 0.34:
            return (RIGHT, LEFT)
        if chance > 0.62:
            self._hand = LEFT if self._hand == RIGHT else RIGHT
        return (self._hand,)

    def _hold(self, key: int) -> float:
        return HOLD_S[0] + (HOLD_S[1] - HOLD_S[0]) * hash01(self._seed, _CHANCE + 8, key)

    @staticmethod
    def _shape(chance: float) -> str:
        for name, share in BEAT_SHAPES:
            chance -= share
            if chance < 0:
                return name
        return BEAT_SHAPES[-1][0]


_LEAD_S: dict[str, float] = {"point": 0.6, "count": 0.6, "greet": 1.5, "thank": 1.5}
"""How late after its time a cue may still be begun."""
