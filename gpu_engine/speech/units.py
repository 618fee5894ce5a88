"""Units of measure and counting words: written form to spoken form."""

from __future__ import annotations

import re

UNITS_ZH: dict[str, str] = {
    "kg": "公斤", "KG": "公斤", "Kg": "公斤", "g": "克", "mg": "毫克", "μg": "微克", "ug": "微克", "t": "吨",
    "ml": "毫升", "mL": "毫升", "ML": "毫升", "L": "升", "l": "升", "cl": "厘升",
    "mm": "毫米", "cm": "厘米", "CM": "厘米", "dm": "分米", "m": "米", "km": "公里", "KM": "公里", "nm": "纳米",
    "μm": "微米", "um": "微米",
    "m²": "平方米", "㎡": "平方米", "cm²": "平方厘米", "m³": "立方米", "km²": "平方公里",
    "W": "瓦", "w": "瓦", "kW": "千瓦", "KW": "千瓦", "kw": "千瓦", "V": "伏", "v": "伏", "A": "安", "mA": "毫安",
    "mAh": "毫安时", "mah": "毫安时",
    "MAH": "毫安时", "Ah": "安时", "Wh": "瓦时", "kWh": "千瓦时", "Hz": "赫兹", "hz": "赫兹", "HZ": "赫兹", "kHz": "千赫兹",
    "MHz": "兆赫兹", "GHz": "吉赫兹", "dB": "分贝", "db": "分贝", "lm": "流明", "rpm": "转每分钟", "fps": "帧每秒",
    "s": "秒", "ms": "毫秒", "min": "分钟", "h": "小时", "Pa": "帕", "kPa": "千帕", "MPa": "兆帕", "N": "牛",
    "J": "焦", "kJ": "千焦", "kcal": "千卡", "cal": "卡", "oz": "盎司", "lb": "磅", "lbs": "磅", "inch": "英寸",
    "in": "英寸", "ft": "英尺",
    "Mbps": "兆每秒", "Gbps": "吉比特每秒", "px": "像素", "D": "D", "℃": "摄氏度", "°C": "摄氏度", "℉": "华氏度",
    "°F": "华氏度", "°": "度", "‰": "‰",
}  # fmt: skip

UNITS_EN: dict[str, str] = {
    "kg": "kilogram", "KG": "kilogram", "g": "gram", "mg": "milligram", "μg": "microgram", "ml": "milliliter",
    "mL": "milliliter",
    "L": "liter", "l": "liter", "mm": "millimeter", "cm": "centimeter", "m": "meter", "km": "kilometer", "nm": "nanometer",
    "m²": "square meter", "㎡": "square meter", "m³": "cubic meter", "ft²": "square foot",
    "W": "watt", "w": "watt", "kW": "kilowatt", "V": "volt", "v": "volt", "A": "amp", "mA": "milliamp",
    "mAh": "milliamp hour", "Ah": "amp hour", "Wh": "watt hour", "kWh": "kilowatt hour", "Hz": "hertz",
    "kHz": "kilohertz", "MHz": "megahertz",
    "GHz": "gigahertz", "dB": "decibel", "lm": "lumen", "s": "second", "sec": "second", "ms": "millisecond",
    "min": "minute", "mins": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "Pa": "pascal", "kPa": "kilopascal",
    "J": "joule",
    "kJ": "kilojoule", "kcal": "kilocalorie", "oz": "ounce", "lb": "pound", "lbs": "pound", "inch": "inch",
    "in": "inch", "ft": "foot",
    "KB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte", "px": "pixel",
    "Mbps": "megabit per second", "rpm": "revolution per minute",
    "fps": "frame per second", "℃": "degree Celsius", "°C": "degree Celsius", "℉": "degree Fahrenheit",
    "°F": "degree Fahrenheit", "°": "degree",
}  # fmt: skip

PER_UNIT_ZH: dict[str, str] = {
    "h": "小时", "s": "秒", "min": "分钟", "m²": "平方米", "㎡": "平方米", "kg": "公斤", "g": "克", "ml": "毫升",
    "L": "升", "m": "米", "d": "天",
}  # fmt: skip

MEASURE_ZH = "瓶个件天盒包袋支片条双套款台只张箱份人位年周秒次斤米层种块元倍颗粒杯罐桶本部枚根对把顶句组期升克磅寸吨万千亿遍道间碗管抽卷枝盏辆架副步场课节夜"  # noqa: E501
"""After exactly 2 these make it 两; 月, 号, 日, 楼, 代, 级 and 线 do not."""

MEASURE_ZH_LONG = (
    "小时",
    "分钟",
    "公斤",
    "公里",
    "毫升",
    "厘米",
    "毫米",
    "毫克",
    "英寸",
    "平方",
    "美元",
    "欧元",
    "英镑",
    "港元",
    "百",
)


def alternation(words: dict[str, str]) -> str:
    """A regular expression part that matches any key, longest first."""
    return "|".join(re.escape(w) for w in sorted(words, key=len, reverse=True))
