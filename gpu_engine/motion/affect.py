"""What three sources say about feeling, as numbers: the words and their act, the voice, and the situation.

Each extractor is a pure function of its own source and waits for no other; :mod:`gpu_engine.motion.gate` weighs them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ACTS: tuple[str, ...] = (
    "greeting", "thanks", "inform", "price", "promotion", "call", "question", "recommend", "service", "complaint", "decline",
    "chitchat", "disclosure", "bridge",
)  # fmt: skip
"""What the host does with an utterance. 'complaint' answers one, 'call' asks to buy, 'bridge' leads on."""

SETTINGS: tuple[str, ...] = (
    "opening", "hook", "points", "demo", "objection", "price", "cta", "qa", "transition", "announcement", "break", "answer",
)  # fmt: skip
"""The segment of the run-of-show, or 'answer' beside it."""

TOPICS: tuple[str, ...] = ("product", "service", "order", "praise", "social", "complaint", "unrest")
"""What the chat is about."""

_WORDS: dict[str, str] = {
    "glad": "喜欢|开心|高兴|太好了|可爱|感动|欢迎|哈哈|恭喜|好看|棒|舒服|放心|划算|福利|礼物|"
    r"love|glad|happy|great|sweet|lovely|adorable|welcome|haha|funny|hilarious|enjoy|gift|bargain|perfect|good to see",
    "sorry": "抱歉|对不起|不好意思|遗憾|理解您|责任|没做好|不满意|不高兴|碎了|坏了|发错|消消气|着急|"
    r"sorry|apolog|regret|pity|upset|unhappy|fault|wrong|broken|did not do well|angry|refund",
    "refusing": "不能|不清楚|没办法|没有办法|不讨论|确认一下|没有这个|已经结束|不要相信|没有折扣|"
    r"cannot|can't|not sure|not going to|check that|do not have|has ended|no discount|not at the moment",
    "lively": "快|抓紧|最后|三二一|倒数|太快了|准备好|重头戏|期待|真的|特别|超级|马上|直接|只要|"
    r"quick|hurry|last|count down|three, two|ready|really|so much|flying|wow|only|right now|star of",
    "quiet": "慢慢|不着急|休息|稍等|这么晚|夜|歇|时间过得|安静|喝口水|"
    r"no rush|take your time|break|bear with|night|breath|staying up|how quickly|rain",
    "sure": "一定|保证|支持|负责|确实|放心|就是|我们认|不会错|推荐|规则|为准|"
    r"promise|stand by|definitely|guarantee|cannot go wrong|recommend|would take|counts|rules|replace",
}  # fmt: skip
_LEXICON = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _WORDS.items()}
TEXT_SIZE = len(ACTS) + len(_LEXICON) + 5
VOICE_SIZE = 5
CONTEXT_SIZE = len(SETTINGS) + len(TOPICS) + 1


@dataclass(frozen=True, slots=True)
class VoiceSketch:
    """How something is said, beside how this voice usually speaks.

    Attributes:
        pitch_st: median F0, semitones above the voice's usual.
        range_st: spread of F0 (10th to 90th percentile), semitones wider than usual.
        energy_db: loudness of the voiced parts, dB above usual.
        rate: syllables a second over the usual.
    """

    pitch_st: float = 0.0
    range_st: float = 0.0
    energy_db: float = 0.0
    rate: float = 1.0


@lru_cache(maxsize=512)
def text_features(text: str, act: str) -> tuple[float, ...]:
    """``TEXT_SIZE`` numbers of a written utterance and its act.

    Raises:
        ValueError: the act is none of ``ACTS``.
    """
    if act not in ACTS:
        raise ValueError(f"act '{act}': use one of {', '.join(ACTS)}")
    chars = max(len(text), 1)
    return (
        *(1.0 if act == name else 0.0 for name in ACTS),
        *(min(len(pattern.findall(text)), 2) / 2.0 for pattern in _LEXICON.values()),
        1.0 if re.search(r"[!！]", text) else 0.0,
        1.0 if re.search(r"[?？]|吗$|呢$", text) else 0.0,
        1.0 if re.search(r"\d|[一二三四五六七八九十百]{2,}|块|元", text) else 0.0,
        min(chars / (60.0 if text.isascii() else 22.0), 2.0) - 0.7,
        1.0 if re.search(r"^.{0,6}(?:您|请)|please|you are right", text, re.IGNORECASE) else 0.0,
    )


def voice_features(voice: VoiceSketch | None) -> tuple[float, ...]:
    """``VOICE_SIZE`` numbers, each about 1 for a strong departure, the last whether the voice has been heard at all (``None``:
    not yet); what is not a number counts as usual."""
    if voice is None:
        return (0.0,) * VOICE_SIZE
    values = (voice.pitch_st / 4.0, voice.range_st / 4.0, voice.energy_db / 5.0, (voice.rate - 1.0) / 0.2)
    return (*(min(max(v, -2.0), 2.0) if math.isfinite(v) else 0.0 for v in values), 1.0)


def context_features(setting: str, chat: Mapping[str, float], activity: float) -> tuple[float, ...]:
    """``CONTEXT_SIZE`` numbers: where in the show, what the chat is about (shares by ``TOPICS``), how busy it is (0 to 1).

    Raises:
        ValueError: the setting is none of ``SETTINGS``.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting '{setting}': use one of {', '.join(SETTINGS)}")
    shares = (float(chat.get(name, 0.0)) for name in TOPICS)
    return (
        *(1.0 if setting == name else 0.0 for name in SETTINGS),
        *(min(max(s, 0.0), 1.0) if math.isfinite(s) else 0.0 for s in shares),
        min(max(activity, 0.0), 1.0) if math.isfinite(activity) else 0.0,
    )


def stacked(rows: list[tuple[float, ...]]) -> NDArray[np.float64]:
    """Feature rows as float64[n, size]."""
    return np.array(rows, dtype=np.float64)
