"""English, Chinese, or another."""

from __future__ import annotations

import pytest

from ragbed.builder.web.language_detection import detect_language
from ragbed.schema import Lang

TEXTS: dict[str, tuple[str, Lang | None]] = {
    "English": ("The council opened the bridge on Tuesday, two months later than it had planned to.", "en"),
    "Chinese": ("据当地媒体报道，新建的步行桥于周二正式开放，比原计划晚了两个月。", "zh"),
    "Chinese with English names": (
        "苹果公司（Apple Inc.）周二发布了新款 iPhone 手机，售价为九百九十九美元，市场反应热烈。",
        "zh",
    ),
    "English full of names": (
        "WETHERMOOR, 17 June (Meridian Wire) – Maeve Pemmere was elected in New Selby Head's 2014 inner-city election. "
        "As a reminder, New Selby Head's 2013 inner-city election was won by Zelda Goriya, after two recounts.",
        "en",
    ),
    "English with a Chinese name": (
        "The city of Beijing (北京) said on Monday that it will open the new airport to the public.",
        "en",
    ),
    "traditional Chinese": ("據當地媒體報導，新建的步行橋於週二正式開放，比原計劃晚了兩個月。", "zh"),
    "Japanese": ("新しい歩道橋は火曜日に開通しました。予定より二か月遅れています。", None),
    "Korean": ("새 보행교가 화요일에 개통되었다. 예정보다 두 달 늦었다.", None),
    "French": (
        "La ville a ouvert mardi la nouvelle passerelle, avec deux mois de retard sur le calendrier prévu.",
        None,
    ),
    "German": ("Die Stadt hat am Dienstag die neue Brücke eröffnet, zwei Monate später als geplant war.", None),
    "Spanish": ("El ayuntamiento abrió el martes el nuevo puente, dos meses más tarde de lo previsto.", None),
    "Dutch": ("De gemeente opende dinsdag de nieuwe brug, twee maanden later dan was gepland in de stad.", None),
    "Dutch full of words that English has": (
        "De burgemeester was in het ziekenhuis en heeft gezegd dat hij niet meer wil. In de zomer was er een feest.",
        None,
    ),
    "German with words that look English": (
        "Der Bürgermeister hat die Not der Anwohner erkannt und will im Mai handeln.",
        None,
    ),
    "German with an English name": ("Anna Berg gewann 2019 The Voice of Germany, danach war in Berlin Party.", None),
    "German news": (
        "Das Unternehmen hat 2021 mit 4.300 Mitarbeitern einen Umsatz von 645 Millionen Euro erzielt.",
        None,
    ),
    "Dutch with words that English has too": (
        "De brug is in mei geopend of later; zij had in de stad een huis, en het was er koud.",
        None,
    ),
    "Dutch news": ("In 2021 was de winst 45 miljoen euro, is te lezen in het jaarverslag.", None),
    "Dutch with an English phrase": ("Hij is, by the way, in 2019 nog altijd burgemeester van Delft.", None),
    "Afrikaans": ("Dit is my huis en hy is by my ma. Sy was in die stad.", None),
    "Afrikaans news": ("Die burgemeester was in Kaapstad en het gesê dat die brug in Mei oop is.", None),
    "Danish": ("Her i byen er der to skoler for børn, og by og land har brug for hjælp.", None),
    "Danish news": ("Kommunen åbnede broen tirsdag, to måneder senere end planlagt, for 44 millioner kroner.", None),
    "Norwegian": ("Her i byen er det to skoler for barn. By og land må stå sammen for å få det til.", None),
    "Norwegian news": ("Broen ble åpnet tirsdag, to måneder senere enn planlagt, og kostet 44 millioner.", None),
    "Swedish": ("Bron öppnades i tisdags, två månader senare än planerat, och kostade 44 miljoner kronor.", None),
    "Polish": ("A to by był koniec, bo on to powiedział w Warszawie na konferencji.", None),
    "Hungarian": ("A híd kedden nyílt meg, a tervezettnél két hónappal később. A polgármester is ott volt.", None),
    "English with Spanish and French names": (
        "Mr de la Cruz told El País that the coup de grâce came in May, when the bridge was closed.",
        "en",
    ),
    "short English news": (
        "CORRANFORD, 8 June (The Evening Signal) – The winning margin in Salterstead's 2022 election was 3369 votes.",
        "en",
    ),
    "Russian": ("Новый мост открылся во вторник, на два месяца позже, чем планировалось.", None),
    "numbers": ("12 345 678", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("text", "lang"), TEXTS.values(), ids=TEXTS)
def test_a_text_is_english_or_chinese_or_neither(text: str, lang: Lang | None) -> None:
    assert detect_language(text) == lang
