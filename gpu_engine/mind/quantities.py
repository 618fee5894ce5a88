# ruff: noqa: E501 - tables of words read better on long lines
"""Money, percentages, discounts, stock and sales figures in running text, Chinese and English, as exact values.

Reads digits ('1,299.00', full-width, spaced), symbols (¥ $ €), Chinese numerals (九块九, 一千二百九十九元, 两百, 壹圆) and pinyin
units ('yi块钱'). Over-reading is the safe error here: a figure that is not a fact is not spoken.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum


class QuantityKind(StrEnum):
    """What a figure claims."""

    MONEY = "money"
    PERCENT = "percent"
    DISCOUNT = "discount"
    STOCK = "stock"
    SOLD = "sold"


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure. ``value`` is in major units for money, 0–100 for percent, tenths to pay for a discount (8.5 = 八五折).

    ``currency`` is '' when the text does not say. ``span`` counts in the text as given.
    """

    kind: QuantityKind
    value: Decimal
    currency: str
    span: tuple[int, int]
    text: str


_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {
    "〇": 0, "○": 0, "两": 2, "俩": 2, "壹": 1, "贰": 2, "叁": 3, "肆": 4, "伍": 5, "陆": 6, "柒": 7, "捌": 8, "玖": 9, "幺": 1,
}  # fmt: skip
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_BIG = {"万": 10_000, "萬": 10_000, "亿": 100_000_000}
_PINYIN = {"ling": "零", "yi": "一", "liang": "两", "er": "二", "san": "三", "si": "四", "wu": "五", "liu": "六", "qi": "七", "ba": "八", "jiu": "九", "shi": "十", "bai": "百"}  # fmt: skip
_CN = "零〇○一二三四五六七八九十百千万亿两壹贰叁肆伍陆柒捌玖拾佰仟萬幺"
_CN_NUMBER = rf"(?:[{_CN}]+(?:点[{_CN}]+)?|半)"
_AR_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:\s?[万千百亿wWkK](?![a-zA-Z]))?"
_NUMBER = rf"(?:{_AR_NUMBER}|{_CN_NUMBER})"
_PIECES = "电池|手表|香皂|肥皂|皂|毛巾|抹布|蛋糕|巧克力|布|木|屏|表|砖|拼图|饼|肉|石|玉|钢|面料|面包|板|地|糖|地毯|瓷砖|腹肌|芯片|显示|硬盘|橡皮|垫"

_YUAN_WORD = r"元钱|元(?!素|旦|气|宵|件|老|音|宝|首|帅|年|月)|圆(?=[整钱,。!?]|$)|人民币|rmb|cny|yuan"
_KUAI_WORD = rf"块钱|块多|块(?!{_PIECES}|[儿头状])"
_ENGLISH_MONEY = (
    r"dollars?|bucks?|usd|美元|美金|刀(?!具|片|头|叉|架|[一-龥])|euros?|eur|欧元|pounds?|gbp|英镑|日元|yen|jpy|港币|港元|hkd"
)
_CURRENCY_OF = (
    ("美|dollar|buck|usd|刀|\\$", "USD"), ("euro?|eur|欧|€", "EUR"), ("pound|gbp|英镑|£", "GBP"),
    ("日元|yen|jpy", "JPY"), ("港|hkd", "HKD"),
)  # fmt: skip

_MONEY = re.compile(
    rf"(?P<symbol>hk\$|us\$|[¥￥$€£])\s*(?P<a>{_NUMBER})"
    rf"|(?P<b>{_NUMBER})\s*(?P<kuai>{_KUAI_WORD})(?P<after>\s*(?:{_CN_NUMBER}|\d)(?:毛|角)?(?!包(?!邮)|[{_CN}\d\.件个瓶盒支套只双条片袋种款张把台]))?"
    rf"|(?P<c>{_NUMBER})\s*(?:{_YUAN_WORD}|(?P<foreign>{_ENGLISH_MONEY}))"
    rf"|(?P<d>{_NUMBER})\s*(?P<jiao>毛钱|角钱|分钱|cents?\b)"
    rf"|(?<![a-z])(?P<p>(?:ling|yi|liang|er|san|si|wu|liu|qi|ba|jiu|shi|bai)+)\s*(?:块钱|块|元|kuai)",
    re.IGNORECASE,
)
_PRICE_CONTEXT = re.compile(
    rf"(?:到手价?|券后价?|售价|原价|现价|现在|价格|定价|标价|划线价|吊牌价|秒杀价?|特价|活动价|直播价|专属价|一口价|底价|卖|只要|只需|仅需|仅售|低至|才|立减|直降|立省|减|省|优惠|便宜|返|抵|满"
    rf"|(?<![a-z])(?:price|costs?|only|just|now|was|save|for|at)(?:\s+(?:is|of|it's))?)\s*(?:是|为|了|:|：|只要|才|就)?\s*(?P<n>{_NUMBER})",
    re.IGNORECASE,
)
_NOUN_AFTER = re.compile(
    r"\s+(?!(?:today|now|for|with|each|and|or|on|per|tonight|right|this|here|while|instead|down|from|after|before|but|only|plus)\b)[a-z]"
)
_BARE_SHIPPED = re.compile(rf"(?P<n>{_NUMBER})\s*(?:包邮|起售|拿下|到手|秒杀|带走|/件|一件包邮)")
_COUNTED = re.compile(
    r"^\s*(?:[-~至到]\s*[\d.]+\s*)?(?:%|％|折|个|件|人|位|天|日|小时|分钟|秒|次|步|款|种|倍|年|月|周|号|克|g|kg|斤|公斤|ml|l\b|升|毫升|cm|mm|m\b|米|厘米|寸|英寸|w\b|瓦|mah|毫安|度|℃|瓶|盒"
    r"|包|袋|片|支|套|只|双|条|张|把|台|口|层|档|岁|码|点|杯|粒|滴|颗|根|组|对|扇|页|本|期|级|代|pcs|pieces?|items?|left|days?|hours?|minutes?|people|years?|months?|sets?|in stock|percent|times|st|nd|rd|th|of|in|x|"
    r"hz|ghz|gb|tb|oz|lb|inch|ft|am|pm|:|：|\.\d)",
    re.IGNORECASE,
)
_PERCENT = re.compile(
    rf"(?P<a>{_AR_NUMBER})\s*(?:%|％|percent|per cent)|百分之\s*(?P<b>{_NUMBER})|(?P<c>[{_CN}]+)成(?!分|为|人|功|本|品|员|立|长|果|都|就|年|色|套|语)",
    re.IGNORECASE,
)
_DISCOUNT = re.compile(
    rf"(?P<n>{_NUMBER})\s*折(?!叠|扣|射|旧|断|纸|腾|痕|合|返)|(?P<half>半价|half[ -]price|half off)", re.IGNORECASE
)
_COUNT_UNIT = r"(?:个|件|份|台|只|瓶|支|套|盒|双|条|把|单|包|箱|袋|张|本|pieces?|units?|pcs|items?)"
_STOCK = re.compile(
    rf"(?:库存|存货|现货|还有|还剩|剩下|剩余|仅剩|只剩|最后|限量|in stock|stock(?: of| is|:)?)\s*(?:的|下|有|是|为|了|还有|还剩|仅|只|:|：)*\s*(?P<a>{_NUMBER})\s*{_COUNT_UNIT}"
    rf"|库存\s*(?:还有|还剩|是|为|剩|有|只有|仅|:|：)*\s*(?P<b>{_NUMBER})"
    rf"|(?P<c>{_AR_NUMBER})\s*(?:{_COUNT_UNIT}\s*)?(?:left\b|in stock|remaining|available\b)"
    rf"|(?:we have|there are|still have)\s+(?P<d>{_AR_NUMBER})\b",
    re.IGNORECASE,
)
_SOLD = re.compile(
    rf"(?:已售|销量|月销|热销|卖了|卖出|售出|已卖|累计售|成交)\s*(?:了|出|超|超过|突破|:|：)*\s*(?P<a>{_NUMBER})"
    rf"|(?P<b>{_NUMBER})\s*(?:多)?(?:个|位|名)?(?:人|顾客|家庭|朋友|用户)?\s*(?:已购|已买|下单|购买了|都买了|都在用|回购|付款)"
    rf"|(?P<c>{_AR_NUMBER})\s*(?:\+\s*)?(?:people|customers|buyers)?\s*(?:sold\b|bought|ordered)|sold\s+(?:over\s+)?(?P<d>{_AR_NUMBER})",
    re.IGNORECASE,
)
_SPACED_DIGITS = re.compile(r"(?<=\d)[ \u3000\u200b]+(?=\d)")


def parse_number(text: str) -> Decimal | None:
    """'1,299.00', '1.2万', '九十九', '一百二', '三万五', '九点九', '半' as a number; ``None`` if it is none."""
    text = text.strip().lower().replace(" ", "")
    if not text:
        return None
    scale = 1
    if text[0].isdigit():
        if text[-1] in "万w":
            text, scale = text[:-1], 10_000
        elif text[-1] in "千k":
            text, scale = text[:-1], 1_000
        elif text[-1] == "百":
            text, scale = text[:-1], 100
        elif text[-1] == "亿":
            text, scale = text[:-1], 100_000_000
        try:
            return Decimal(text.replace(",", "")) * scale
        except InvalidOperation:
            return None
    if text == "半":
        return Decimal("0.5")
    whole, _, fraction = text.partition("点")
    value = _chinese_integer(whole)
    if value is None:
        return None
    if not fraction:
        return Decimal(value)
    digits = [_DIGITS.get(c) for c in fraction]
    if any(d is None for d in digits):
        return None
    return Decimal(f"{value}." + "".join(str(d) for d in digits))


def _chinese_integer(text: str) -> int | None:
    if not text:
        return None
    if all(c in _DIGITS for c in text):
        return int("".join(str(_DIGITS[c]) for c in text))
    total = section = number = 0
    unit_before = 1
    last_unit = 1
    for c in text:
        if c in _DIGITS:
            number = _DIGITS[c]
            if number == 0:
                last_unit = 1
        elif c in _UNITS:
            unit = _UNITS[c]
            section += (number or (1 if section == 0 or unit < last_unit else 0)) * unit
            number = 0
            last_unit = unit_before = unit
        elif c in _BIG:
            total += (section + number) * _BIG[c] if section + number else _BIG[c]
            section = number = 0
            last_unit = unit_before = _BIG[c]
        else:
            return None
    if number and last_unit >= 100 and text[-2:-1] and text[-2] not in "零〇":
        number *= unit_before // 10
    return total + section + number


def find_quantities(text: str) -> list[Quantity]:
    """Every figure of the text that claims money, a percentage, a discount, stock or sales, in order of kinds then place."""
    plain, places = _plain(text)
    found: list[Quantity] = []
    taken: list[tuple[int, int]] = []

    def add(kind: QuantityKind, value: Decimal | None, currency: str, start: int, end: int) -> None:
        if value is None or any(start < t[1] and t[0] < end for t in taken):
            return
        taken.append((start, end))
        span = (places[start], places[end - 1] + 1)
        found.append(Quantity(kind, value, currency, span, text[span[0] : span[1]]))

    for match in _PERCENT.finditer(plain):
        if match["c"] and (value := parse_number(match["c"])) is not None:
            if value <= 10:
                add(QuantityKind.PERCENT, value * 10, "", *match.span())
        else:
            add(QuantityKind.PERCENT, parse_number(match["a"] or match["b"] or ""), "", *match.span())
    for match in _DISCOUNT.finditer(plain):
        value = Decimal(5) if match["half"] else _discount(match["n"])
        add(QuantityKind.DISCOUNT, value, "", *match.span())
    for match in _MONEY.finditer(plain):
        add(QuantityKind.MONEY, _money_value(match), _currency(match), *match.span())
    for pattern in (_SOLD, _STOCK):
        kind = QuantityKind.SOLD if pattern is _SOLD else QuantityKind.STOCK
        for match in pattern.finditer(plain):
            name = next(n for n in "abcd" if n in match.groupdict() and match[n])
            if pattern is _STOCK and match[name] in ("一", "两", "几"):
                continue
            add(kind, parse_number(match[name]), "", *match.span(name))
    for pattern in (_BARE_SHIPPED, _PRICE_CONTEXT):
        for match in pattern.finditer(plain):
            if pattern is _PRICE_CONTEXT and (
                _COUNTED.match(plain[match.end("n") :]) or _NOUN_AFTER.match(plain[match.end("n") :]) or _too_vague(match["n"])
            ):
                continue
            add(QuantityKind.MONEY, parse_number(match["n"]), "", *match.span("n"))
    return found


def _too_vague(number: str) -> bool:
    """Lone Chinese numerals after 'only', 'for' and the like are words far more often than prices (只要一..., 才两...)."""
    return (len(number) == 1 and number in _CN + "半") or (number.isdigit() and len(number) == 1)


def _discount(number: str) -> Decimal | None:
    value = parse_number(number)
    if value is None:
        return None
    return value / 10 if value >= 10 else value


def _money_value(match: re.Match[str]) -> Decimal | None:
    if match["p"]:
        chinese = re.sub(
            "ling|yi|liang|er|san|si|wu|liu|qi|ba|jiu|shi|bai", lambda m: _PINYIN[m[0].lower()], match["p"].lower()
        )
        return parse_number(chinese)
    if match["d"]:
        value = parse_number(match["d"])
        if value is None:
            return None
        return value / 10 if match["jiao"] in ("毛钱", "角钱") else value / 100
    if match["kuai"]:
        if match["b"] in ("一", "两") and not match["after"] and "钱" not in match["kuai"]:
            before, rest = match.string[: match.start()], match.string[match.end() :]
            told = (
                re.search(r"(?:只要|要|才|就|卖|价|仅|是|加|减|省|便宜|优惠)$", before)
                or not rest
                or rest[0] in ",。!?;,.、 了"
            )
            if not told:
                return None
        value = parse_number(match["b"])
        if value is None or not match["after"]:
            return value
        tail = match["after"].strip().rstrip("毛角")
        part = parse_number(tail)
        return value if part is None else value + (part / 10 if part < 10 else part / 100)
    return parse_number(match["a"] or match["c"] or "")


def _currency(match: re.Match[str]) -> str:
    symbol = (match["symbol"] or "").lower()
    if symbol in ("¥", "￥"):
        return "¥"
    word = symbol or match["foreign"] or (match["jiao"] or "")
    if word.startswith("cent"):
        return "USD"
    if symbol == "hk$":
        return "HKD"
    for pattern, code in _CURRENCY_OF:
        if word and re.search(pattern, word, re.IGNORECASE):
            return code
    return "CNY"


def _plain(text: str) -> tuple[str, list[int]]:
    """NFKC, lower case, digits pulled together; with each character's place in the original."""
    chars: list[str] = []
    places: list[int] = []
    for i, c in enumerate(text):
        for k in unicodedata.normalize("NFKC", c).lower():
            if unicodedata.category(k) in ("Cf", "Cc", "Mn"):
                continue
            chars.append(k)
            places.append(i)
    joined = "".join(chars)
    if _SPACED_DIGITS.search(joined):
        keep = [True] * len(joined)
        for match in _SPACED_DIGITS.finditer(joined):
            for i in range(*match.span()):
                keep[i] = False
        chars = [c for c, k in zip(joined, keep, strict=True) if k]
        places = [p for p, k in zip(places, keep, strict=True) if k]
        joined = "".join(chars)
    return joined, places
