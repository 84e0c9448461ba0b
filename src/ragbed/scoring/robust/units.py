"""Units, measure words and number scales, with their spellings."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

_FORMS: Final = {
    "%": "% percent pct percentage 百分点 个百分点",
    "usd": "$ us$ usd dollar dollars 美元 美金",
    "hkd": "hkd 港元 港币",
    "eur": "€ eur euro euros 欧元",
    "gbp": "£ gbp pound pounds 英镑",
    "cny": "¥ rmb cny yuan 元 人民币 块 块钱 元人民币",
    "jpy": "jpy yen 日元",
    "krw": "krw won 韩元",
    "inr": "inr rupee rupees 卢比",
    "florin": "florin florins 弗罗林",
    "crown": "crown crowns krona kronor krone kroner 克朗",
    "thaler": "thaler thalers 塔勒",
    "franc": "franc francs 法郎",
    "mark": "mark marks deutschmark deutschmarks 马克",
    "guilder": "guilder guilders 荷兰盾",
    "silver": "银元",
    "mm": "mm millimetre millimetres millimeter millimeters 毫米 公厘",
    "cm": "cm centimetre centimetres centimeter centimeters 厘米 公分",
    "m": "m metre metres meter meters 米 公尺",
    "km": "km kph kmh kilometre kilometres kilometer kilometers 公里 千米",  # 300 km/h reads as 300 km
    "li": "里 里地 里路 华里",
    "foot": "ft foot feet 英尺",
    "mile": "mile miles mi mph 英里",
    "mg": "mg milligram milligrams 毫克",
    "g": "gram grams 克",
    "kg": "kg kilogram kilograms kilo kilos 公斤 千克",
    "tonne": "tonne tonnes ton tons 吨",
    "lb": "lb lbs 磅",
    "m2": "m2 sqm 平方米 平方公尺",
    "km2": "km2 平方公里 平方千米",
    "m3": "m3 立方米 立方公尺 立方 方",
    "ml": "ml millilitre millilitres milliliter milliliters 毫升",
    "litre": "l litre litres liter liters 升 公升",
    "hectare": "hectare hectares ha 公顷",
    "degree": "degree degrees deg",
    "celsius": "°c c ℃ celsius centigrade 摄氏度",
    "fahrenheit": "°f f fahrenheit 华氏度",
    "second": "second seconds 秒 秒钟",
    "minute": "minute minutes min mins 分钟",
    "hour": "hour hours hr hrs h 小时 个小时",
    "day": "day days 天 日",
    "week": "week weeks 周 星期 个星期",
    "month": "month months 个月",
    "year": "year years yr yrs 年 周年",
    "age": "岁 周岁",
    "level": "级",
    "w": "watt watts 瓦",
    "kw": "kw kilowatt kilowatts 千瓦",
    "mw": "mw megawatt megawatts 兆瓦",
    "gw": "gw gigawatt gigawatts 吉瓦",
    "gb": "gb gigabyte gigabytes",
    "kcal": "kcal 千卡",
    "hp": "hp horsepower 马力",
    "person": (
        "people person persons resident residents employee employees worker workers staff spectator spectators fan "
        "fans members member men women voters players students passengers victims inhabitants attendees visitors "
        "人 名 位 口 个人 人次"
    ),
    "vote": "vote votes 票 张选票 张票",
    "ticket": "ticket tickets 张",
    "item": "unit units copy copies piece pieces device devices 台 部 件 只 枚 辆 架 艘 款 套",
    "time": "times 次 回 遍 趟",
    "pair": "pair pairs 双",
    "couple": "对",  # 5对 can be couples or pairs
    "thing": "个 家 座 所 处 项 条 种 场 届 层 门 篇 首 支 届 集 本 块 把 颗 轮 局 盘 排",
}

# Units, keyed by the words and signs that denote them.
UNITS: Final = {form: unit for unit, forms in _FORMS.items() for form in forms.split()}

# For each unit, its base unit and the conversion factor.
BASES: Final = {
    unit: (base, factor)
    for base, units in (
        ("m", "mm 0.001, cm 0.01, km 1000"),
        ("kg", "mg 0.000001, g 0.001, tonne 1000"),
        ("m3", "ml 0.000001, litre 0.001"),
        ("m2", "hectare 10000, km2 1000000"),
        ("second", "minute 60, hour 3600, day 86400, week 604800"),
        ("month", "year 12"),
        ("w", "kw 1000, mw 1000000, gw 1000000000"),
    )
    for unit, factor in (size.split() for size in units.split(", "))
}

# Words and letters that multiply the number before them.
SCALES: Final = {
    "hundred": 100,
    **dict.fromkeys(("thousand", "k"), 10**3),
    "lakh": 10**5,
    **dict.fromkeys(("million", "mn", "mln", "m"), 10**6),
    "crore": 10**7,
    **dict.fromkeys(("billion", "bn", "b"), 10**9),
    **dict.fromkeys(("trillion", "tn"), 10**12),
}

# Units that writers often omit or use interchangeably. Any other difference in units makes a response wrong.
LOOSE: Final = frozenset({"person", "vote", "ticket", "item", "time", "thing", ""})


def are_same(unit: str, other: str) -> bool:
    """Return whether two units are the same; the scale of a temperature may be omitted ('40 degrees')."""
    return unit == other or {unit, other} in ({"degree", "celsius"}, {"degree", "fahrenheit"})


def to_base(value: Decimal, unit: str) -> tuple[Decimal, str]:
    """Convert a quantity to its base unit, e.g. 2.4 km to 2400 m."""
    if unit not in BASES:
        return value, unit
    base, factor = BASES[unit]
    return value * Decimal(factor), base
