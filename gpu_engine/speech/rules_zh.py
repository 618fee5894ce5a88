"""Reading rules for Chinese sentences, first match wins."""

from __future__ import annotations

import re

from gpu_engine.speech import money, numbers_zh
from gpu_engine.speech.rules import EDGE, NUM, SHOUTED, SIGN, SIGNS, TO, Rule, after, before, rule, valid_date
from gpu_engine.speech.units import MEASURE_ZH, MEASURE_ZH_LONG, PER_UNIT_ZH, UNITS_ZH, alternation

_number = numbers_zh.number
_counted = numbers_zh.counted
_digits = numbers_zh.spell_digits
_CURRENCY_WORDS = r"(?:元|块钱|块|美元|美金|欧元|英镑|日元|韩元|港币|港元|人民币)"
_UNIT = rf"(?:{alternation(UNITS_ZH)})(?![A-Za-z])"
_FESTIVAL = r"(?=\s?(?:大促|活动|年中|狂欢|预售|购物|促销|期间|当天|来了|女王|女神|节|好价|返场|特惠|专场|开抢|福利))"
_PHONE_WORDS = re.compile(r"(?:电话|热线|拨打|致电|手机号?|客服|座机|传真|联系)[是为：:\s]*$")
_ID_WORDS = re.compile(
    r"(?:订单号?|单号|编号|券码|条码|货号|型号|款号|号码|尾号|验证码|密码|口令|ID|id|QQ|微信号?|口令码|优惠码|编码|批号|证号|SKU|sku|代码|码)[是为：:#\s]*$"
)
_PRICE_WORDS = re.compile(
    r"(?:只要|仅需|仅售|只需|到手价?|券后价?|现价|特价|秒杀价?|售价|原价|价格|活动价|直播价|拍下|低至|才|卖|仅)[是为：:\s]*$"
)
_DATE_AFTER = re.compile(r"\s?(?:发货|开始|截止|结束|开抢|活动|预售|上新|开播|到货|当天|之前|前|起|日|号|晚|早|上午|下午|恢复)")


def _month_day(month: str, day: str) -> str:
    return f"{_number(str(int(month)))}月{_number(str(int(day)))}日"


def _full_date(m: re.Match[str]) -> str | None:
    if not valid_date(m["m"], m["d"]):
        return None
    return f"{_digits(m['y'])}年{_month_day(m['m'], m['d'])}"


def _slash_range(m: re.Match[str]) -> str | None:
    if not (valid_date(m["m1"], m["d1"]) and valid_date(m["m2"], m["d2"])):
        return None
    return f"{_month_day(m['m1'], m['d1'])}到{_month_day(m['m2'], m['d2'])}"


def _slash(m: re.Match[str]) -> str | None:
    first, second = m["a"], m["b"]
    if valid_date(first, second) and (
        _DATE_AFTER.match(after(m)) or (int(second) > 12 and int(first) <= 12 and before(m, 1) in "在于从到")
    ):
        return _month_day(first, second)
    if 0 < int(first) < int(second) <= 100:
        return f"{_number(second)}分之{_number(first)}"
    return f"{_number(first)}、{_number(second)}"


def _time(m: re.Match[str]) -> str | None:
    parts = [_clock(m["h"], m["m"], m["s"])]
    if m["h2"]:
        parts.append(_clock(m["h2"], m["m2"], None))
    return None if None in parts else "到".join(p for p in parts if p)


def _clock(hour: str, minute: str, second: str | None) -> str | None:
    if int(hour) > 24 or int(minute) > 59:
        return None
    out = _counted(str(int(hour))) + "点"
    if int(minute):
        out += ("零" if int(minute) < 10 else "") + _number(str(int(minute))) + "分"
    elif not second:
        return out + "整"
    if second:
        out += ("零分" if not int(minute) else "") + _number(str(int(second))) + "秒"
    return out


def _phone(m: re.Match[str]) -> str:
    return ("加" if m.group().startswith("+") else "") + _digits(m.group(), phone=True)


def _digits_after(words: re.Pattern[str], *, phone: bool) -> object:
    def say(m: re.Match[str]) -> str | None:
        if not words.search(before(m, 8)):
            return None
        pieces = re.split(r"[-\s]", m.group())
        return "".join(_digits(piece, phone=phone) for piece in pieces)

    return say


def _percent(m: re.Match[str]) -> str:
    whole = "百分之" if m["p"] == "%" else "千分之"
    sign = "负" if m["neg"] else ""
    first = sign + whole + _number(m["a"])
    return f"{first}到{whole}{_number(m['b'])}" if m["b"] else first


def _money(m: re.Match[str]) -> str:
    currency = money.by_sign(m["sign"])
    scale = {"k": "千", "K": "千", "w": "万", "W": "万"}.get(m["scale"] or "", m["scale"] or "")
    negative = "负" if m["neg"] else ""
    if m["b"]:
        return f"{negative}{_number(m['a'], drop_zeros=True)}到{money.say_amount(m['b'], currency, 'zh', scale=scale)}"
    return negative + money.say_amount(m["a"], currency, "zh", scale=scale)


def _money_behind(m: re.Match[str]) -> str:
    return money.say_amount(m["a"], money.by_sign(m["sign"]), "zh")


def _money_word(m: re.Match[str]) -> str:
    first = f"{_number(m['a'], drop_zeros=True)}到" if m["a"] else ""
    return first + _counted(m["b"], drop_zeros=True) + (m["scale"] or "") + m["word"]


def _bare_price(m: re.Match[str]) -> str | None:
    # 9.9包邮 and 到手价19.9 are said 九块九; with 元 behind it the decimal is read.
    if not (after(m, 2) == "包邮" or _PRICE_WORDS.search(before(m, 8))):
        return None
    if re.match(rf"\s?(?:{_UNIT}|{_CURRENCY_WORDS}|折|倍|万|亿|%|[{MEASURE_ZH}]|{'|'.join(MEASURE_ZH_LONG)})", after(m, 6)):
        return None
    return f"{_counted(m['a'])}块{_digits(m['b'])}"


def _per(m: re.Match[str]) -> str | None:
    # 'M/L/XL' is a list of sizes, '100km/h' a rate: only a number makes it one.
    if m["u"] and not re.search(r"\d\s?[A-Za-z²³]*$", before(m, 8)):
        return None
    return "每" + (PER_UNIT_ZH.get(m["u"], m["u"]) if m["u"] else "")


def _quantity(m: re.Match[str]) -> str:
    unit = UNITS_ZH[m["unit"]]
    negative = "零下" if m["neg"] and unit in ("摄氏度", "华氏度", "度") else ("负" if m["neg"] else "")
    if m["b"]:
        first = _counted(m["a"])
        return f"{negative}{first}到{_counted(m['b'])}{unit}"
    return f"{negative}{_counted(m['a'])}{unit}"


def _times(m: re.Match[str]) -> str:
    return "乘"


def _range(m: re.Match[str]) -> str | None:
    a, b = m["a"].replace(",", ""), m["b"].replace(",", "")
    first = _number(m["a"]) if a != "2" or not _measured(m) else "两"
    if float(a) < float(b) or m["sep"].strip() in ("~", "至", "到"):
        return f"{first}到{_number(m['b'])}"
    return f"{_digits(a)}杠{_digits(b)}"


def _measured(m: re.Match[str]) -> bool:
    follows = after(m, 3).lstrip()
    return follows[:1] != "" and (follows[0] in MEASURE_ZH or follows.startswith(MEASURE_ZH_LONG))


def _discount(m: re.Match[str]) -> str:
    whole = m["a"]
    return (_digits(whole) if len(whole) == 2 and whole.isdigit() and not whole.endswith("0") else _number(whole)) + "折"


def _code(m: re.Match[str]) -> str:
    letters, digits, tail = m["letters"], m["digits"], m["tail"] or ""
    number = _digits(digits) if len(digits) >= 3 or digits.startswith("0") else _number(digits)
    return letters.rstrip("-") + number + (f"点{_digits(tail[1:])}" if tail else "")


def _spaced_model(m: re.Match[str]) -> str:
    digits = m["digits"]
    spelt = len(digits) >= 3 and m["word"].isupper() and m["word"] not in SHOUTED
    return f"{m['word']} {_digits(digits) if spelt else _number(digits)}"


def _standard(m: re.Match[str]) -> str:
    return f"{m['name']}{'杠T' if m['t'] else ''} {_version(m['number'])}{'杠' + _digits(m['year']) if m['year'] else ''}"


def _version(written: str) -> str:
    return "点".join(_digits(part) for part in written.split("."))


def _serial(m: re.Match[str]) -> str:
    digits = m["n"]
    return f"第{_number(digits)}" if len(digits) <= 2 and not digits.startswith("0") else f"编号{_digits(digits)}"


def _plus_signs(m: re.Match[str]) -> str:
    count = len(m["plus"])
    return f"{m['name']}{'' if count == 1 else _number(str(count)) + '个'}加"


def _spf(m: re.Match[str]) -> str:
    return f"SPF{_number(m['n'])}{'加' if m['plus'] else ''}"


def _year(m: re.Match[str]) -> str | None:
    return _digits(m.group()) if 1900 <= int(m.group()) <= 2099 else None


def _plain(m: re.Match[str]) -> str:
    written = m["n"]
    negative = "负" if m["neg"] else ""
    plus = "加" if m["plus"] else ""
    bare = written.replace(",", "")
    if "." not in bare and len(bare) >= 11:
        return negative + _digits(bare) + plus
    liang = written == "2" and before(m, 1) not in ("第", "星", "周") and _measured(m)
    return negative + ("两" if liang else _number(written)) + plus


def _dotted(m: re.Match[str]) -> str:
    return "点".join(_number(part) for part in m.group().split("."))


RULES: tuple[Rule, ...] = (
    rule(EDGE + r"(?P<y>\d{4})年(?P<m>\d{1,2})月(?P<d>\d{1,2})[日号]", _full_date),
    rule(EDGE + r"(?P<y>(?:19|20)\d\d)(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})(?![\d.])", _full_date),
    rule(EDGE + r"(?:19|20)\d\d(?=年(?![之以]?[内前后间]))", _year),
    rule(EDGE + r"20[2-4]\d(?=\s?(?:新款|全新|款|版|春|夏|秋|冬|年度|财年|早|上新|升级))", _year),
    rule(EDGE + r"(?P<m1>\d{1,2})[/.](?P<d1>\d{1,2})" + TO + r"(?P<m2>\d{1,2})[/](?P<d2>\d{1,2})(?![\d/])", _slash_range),
    rule(r"双(?P<n>11|12|10)(?!\d)", lambda m: f"双{_number(m['n'])}"),
    rule(EDGE + r"(?P<a>11|12)\.(?P=a)" + _FESTIVAL, lambda m: f"双{_number(m['a'])}"),
    rule(EDGE + r"(?P<a>[1-9])\.(?P<b>[1-9])" + _FESTIVAL, lambda m: _digits(m["a"] + m["b"])),
    rule(EDGE + r"(?:618|520|521|1111|1212|1010|99|88|38|818|919|315|101)" + _FESTIVAL, lambda m: _digits(m.group())),
    rule(EDGE + r"(?P<n>88|99)\s?(?P<v>S?VIP)", lambda m: f"{_digits(m['n'])}{m['v']}"),
    rule(
        r"(?<![\d:：])(?P<h>\d{1,2})[:：](?P<m>\d{2})(?:[:：](?P<s>\d{2}))?(?:"
        + TO
        + r"(?P<h2>\d{1,2})[:：](?P<m2>\d{2}))?(?![\d:：])",
        _time,
    ),
    rule(EDGE + r"(?P<a>\d+)[:：](?P<b>\d+)(?!\d)", lambda m: f"{_number(m['a'])}比{_number(m['b'])}"),
    rule(r"\+?(?<!\d)86[- ]?1[3-9]\d[- ]?\d{4}[- ]?\d{4}(?!\d)", _phone),
    rule(EDGE + r"1[3-9]\d[- ]?\d{4}[- ]?\d{4}(?![\d.])", _phone),
    rule(EDGE + r"[48]00[- ]?\d{3}[- ]?\d{4}(?!\d)|" + EDGE + r"[48]00-\d{4}-\d{3}(?!\d)", _phone),
    rule(EDGE + r"0\d{2,3}-\d{7,8}(?:-\d{1,5})?(?!\d)", _phone),
    rule(EDGE + r"\d{3,}(?:[- ]\d{2,})*(?![\d.])", _digits_after(_PHONE_WORDS, phone=True)),  # type: ignore[arg-type]
    rule(EDGE + r"\d{3,}(?:-\d+)*(?![\d.%])", _digits_after(_ID_WORDS, phone=False)),  # type: ignore[arg-type]
    rule(
        r"(?<![A-Za-z])(?P<name>GB|QB|ISO|IEC|EN|YY|QC|DB)(?P<t>/T)?\s?(?P<number>\d+(?:\.\d+)*)(?:-(?P<year>\d{4}))?(?![\d.A-Za-z])",
        _standard,
    ),
    rule(r"(?P<neg>(?<![\dA-Za-z])-)?" + EDGE + rf"(?P<a>{NUM})(?:[%‰]?{TO}(?P<b>{NUM}))?\s?(?P<p>[%‰])", _percent),
    rule(
        rf"(?P<neg>(?<!\d)-)?(?P<sign>{SIGNS})\s?(?P<a>{NUM})(?:{TO}{SIGNS}?\s?(?P<b>{NUM}))?(?P<scale>[万亿kKwW](?![A-Za-z]))?(?:{_CURRENCY_WORDS})?",
        _money,
    ),
    rule(EDGE + rf"(?P<a>{NUM})\s?(?P<sign>{SIGN})(?!\s?\d)", _money_behind),
    rule(EDGE + rf"(?:(?P<a>{NUM}){TO})?(?P<b>{NUM})\s?(?P<scale>[万亿千百]?)(?P<word>{_CURRENCY_WORDS})", _money_word),
    rule(EDGE + r"(?P<a>\d+)\.(?P<b>[1-9])0?(?![\d.])", _bare_price),
    rule(EDGE + r"(?P<n>\d+(?:\.\d+)?)k(?![A-Za-z])", lambda m: f"{_number(m['n'])}千"),
    rule(r"(?P<neg>(?<![\dA-Za-z])-)?" + EDGE + rf"(?P<a>{NUM})(?:{TO}-?(?P<b>{NUM}))?\s?(?P<unit>{_UNIT})", _quantity),
    rule(EDGE + r"(?P<a>\d{1,2})/(?P<b>\d{1,3})(?![\d/])", _slash),
    rule(EDGE + r"\d+(?:\.\d+){2,}", _dotted),
    rule(EDGE + rf"(?P<a>{NUM})折", _discount),
    rule(
        r"(?<=[\d.㎡²³A-Za-z片个袋包瓶盒])\s?[*×]\s?(?=\d)|(?<=\d)\s?[xX]\s?(?=\d)|(?:(?<=[cm]m)|(?<=m[lL])|(?<![!-~]))\s?[xX](?=\d)",
        _times,
    ),
    rule(r"(?<=^)[*×xX](?=\d)", _times),
    rule(EDGE + rf"(?P<a>{NUM})(?P<sep>{TO})(?P<b>{NUM})(?![\d/])", _range),
    rule(r"(?<![A-Za-z])SPF\s?(?P<n>\d+)(?P<plus>\+)?", _spf, re.IGNORECASE),
    rule(r"(?<![A-Za-z])(?P<name>PA)(?P<plus>\++)", _plus_signs),
    rule(r"(?<![A-Za-z])No\.?\s?(?P<n>\d+)(?![\d.])", _serial, re.IGNORECASE),
    rule(r"(?P<letters>(?<![A-Za-z])[A-Za-z]+-?)(?P<digits>\d+)(?P<tail>\.\d+)?(?![\d,.]\d)", _code),
    rule(
        r"(?<![A-Za-z])(?P<word>[A-Za-z]+)\s(?P<digits>\d{1,5})(?![\d.,/:%-])(?!\s?"
        + _UNIT
        + r")(?=$|[\s\u4e00-\u9fff，。！？])",
        _spaced_model,
    ),
    rule(EDGE + r"(?P<n>720|1080|1440|2160|4320)(?=[PpIi](?![A-Za-z]))", lambda m: _digits(m["n"])),
    rule(r"(?P<neg>(?<![\dA-Za-z])-)?" + EDGE + rf"(?P<n>{NUM})(?P<plus>\+(?!\d))?", _plain),
    rule(r"(?<=[\d元角分块%斤克米升A-Za-z])/(?P<u>(?:min|kg|ml|m²|㎡|[hsgmLd])(?![A-Za-z]))", _per),
    rule(r"(?<=[\d元角分块])/(?P<u>)(?=[\u4e00-\u9fff])", _per),
)

SYMBOLS: dict[str, str] = {
    "%": "百分号", "‰": "千分号", "℃": "摄氏度", "℉": "华氏度", "°": "度", "×": "乘", "÷": "除以", "=": "等于",
    "&": "和", "±": "正负",
    "≥": "大于等于", "≤": "小于等于", "≈": "约", "²": "平方", "³": "立方", "㎡": "平方米", "μ": "微", "/": "、",
    "|": "，", "→": "，", "+": "加",
    "~": "", "*": "", "#": "", "@": "", "^": "", "_": " ", "\\": " ", "<": "", ">": "", "[": "，", "]": "，",
    "{": "，", "}": "，", "`": "", "·": "",
}  # fmt: skip
