"""Phoneme symbols to visemes, and visemes to speech-sized mouth weights.

The 15 visemes are the common Oculus/MPEG-4 style set. Phonemes are the symbols of Kokoro's vocabulary (IPA-like; upper
case letters are English diphthongs). Mouth sizes are those of conversation, not of a phonetics chart: an open /a/ drops
the jaw by about a third.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_engine.motion.vocabulary import LIP_WEIGHTS, WEIGHT_COUNT, WEIGHT_INDEX

VISEMES: tuple[str, ...] = (
    "sil", "PP", "FF", "TH", "DD", "kk", "CH", "SS", "nn", "RR", "aa", "E", "ih", "oh", "ou",
)  # fmt: skip
VISEME_INDEX: dict[str, int] = {name: i for i, name in enumerate(VISEMES)}

PAUSE_MARKS = frozenset(';:,.!?—…"()“”，。！？；：、')
"""Symbols that sound like nothing: the mouth may close when they last."""

JOIN_MARKS = frozenset(" -")
"""Word joints: silent on paper, mostly continuous in sound."""

STRESS_MARKS = frozenset("ˈˌ")
"""Their time belongs to the sound that follows."""

LENGTH_MARKS = frozenset("ː↓→↗↘ʰʲᵝ̃")
"""Length, tone, aspiration and co-articulation marks: their time belongs to the sound before."""

_CLASSES: dict[str, str] = {
    "PP": "pbm",
    "FF": "fvʋɸβ",
    "TH": "θð",
    "DD": "tdTɾɽʈɖcɟ",
    "nn": "nlɳɲʎ",
    "kk": "kgɡŋxhχɣqʁʔɰɴ",
    "SS": "szʦʣɕʨʥçʝ",
    "CH": "ʃʒʧʤSʂꭧ",
    "RR": "rɹɻ",
    "aa": "aɑɐæʌ",
    "E": "eɛəɜɤᵊ",
    "ih": "iɪɨᵻjɯ",
    "oh": "oɔɒøœ",
    "ou": "uʊwyɥ",
}
_GLIDES: dict[str, tuple[str, str]] = {
    "A": ("E", "ih"),
    "I": ("aa", "ih"),
    "O": ("oh", "ou"),
    "Q": ("E", "ou"),
    "W": ("aa", "ou"),
    "Y": ("oh", "ih"),
    "ɚ": ("E", "RR"),
}

PHONEME_VISEMES: dict[str, tuple[str, ...]] = {
    **{symbol: (viseme,) for viseme, symbols in _CLASSES.items() for symbol in symbols},
    **_GLIDES,
}
"""One viseme a phoneme, two for diphthongs. Mandarin x/j/q (ɕ ʨ) are spread like /s/; zh/ch/sh (ꭧ ʂ) protrude a little."""

_SHAPES: dict[str, dict[str, float]] = {
    "sil": {},
    "PP": {"jawOpen": 0.02, "mouthClose": 0.09, "mouthPress": 0.22, "mouthRollLower": 0.10, "mouthRollUpper": 0.08},
    "FF": {"jawOpen": 0.05, "mouthRollLower": 0.55, "mouthUpperUp": 0.20, "mouthStretch": 0.06},
    "TH": {"jawOpen": 0.15, "tongueOut": 0.30, "mouthLowerDown": 0.09, "mouthUpperUp": 0.10, "mouthStretch": 0.08},
    "DD": {"jawOpen": 0.12, "mouthLowerDown": 0.10, "mouthUpperUp": 0.10, "mouthStretch": 0.08},
    "kk": {"jawOpen": 0.15, "mouthLowerDown": 0.04, "mouthUpperUp": 0.08},
    "CH": {"jawOpen": 0.09, "mouthFunnel": 0.40, "mouthPucker": 0.16, "mouthLowerDown": 0.06, "mouthUpperUp": 0.12},
    "SS": {"jawOpen": 0.05, "mouthStretch": 0.24, "mouthLowerDown": 0.14, "mouthUpperUp": 0.14},
    "nn": {"jawOpen": 0.11, "mouthLowerDown": 0.06, "mouthUpperUp": 0.08, "mouthStretch": 0.06},
    "RR": {"jawOpen": 0.12, "mouthFunnel": 0.30, "mouthPucker": 0.14, "mouthUpperUp": 0.05},
    "aa": {"jawOpen": 0.36, "mouthLowerDown": 0.03, "mouthUpperUp": 0.16, "mouthStretch": 0.06},
    "E": {"jawOpen": 0.23, "mouthLowerDown": 0.06, "mouthUpperUp": 0.14, "mouthStretch": 0.18},
    "ih": {"jawOpen": 0.12, "mouthLowerDown": 0.07, "mouthUpperUp": 0.12, "mouthStretch": 0.32},
    "oh": {"jawOpen": 0.27, "mouthFunnel": 0.34, "mouthPucker": 0.30},
    "ou": {"jawOpen": 0.09, "mouthFunnel": 0.26, "mouthPucker": 0.66, "jawForward": 0.05},
}

PROTRUSION_GAIN: dict[str, float] = {"zh": 0.6, "en": 1.0}
"""English /ʃ ʧ ɹ/ round the lips; Mandarin retroflexes hardly do."""


def viseme_weights(lang: str) -> NDArray[np.float32]:
    """float32[15, 32]: weights of every viseme in one language; columns outside ``LIP_WEIGHTS`` are zero."""
    table = np.zeros((len(VISEMES), WEIGHT_COUNT), dtype=np.float32)
    for viseme, shape in _SHAPES.items():
        gain = PROTRUSION_GAIN.get(lang, 1.0) if viseme in ("CH", "RR") else 1.0
        for name, value in shape.items():
            assert name in LIP_WEIGHTS
            rounding = name in ("mouthFunnel", "mouthPucker")
            table[VISEME_INDEX[viseme], WEIGHT_INDEX[name]] = value * (gain if rounding else 1.0)
    return table


def lip_opening(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """How far apart the lips are, in jaw units: ``weights`` is float32[..., 32], the result float32[...], never below 0.

    The jaw parts them, raising or lowering a lip adds a little, closing and pressing takes it away.
    """
    at = WEIGHT_INDEX
    parted = weights[..., at["jawOpen"]] + 0.35 * (weights[..., at["mouthLowerDown"]] + weights[..., at["mouthUpperUp"]])
    shut = weights[..., at["mouthClose"]] + 0.3 * weights[..., at["mouthPress"]]
    opening: NDArray[np.float32] = np.maximum(parted - shut, 0.0)
    return opening
