"""Pages in the charsets that news comes in, declared rightly, wrongly and not at all."""

from __future__ import annotations

import pytest

from ragbed.builder.web.formats import decode_page

SIMPLE = (
    "据中央气象台消息，今天夜间到明天白天，我国南方地区的雨势将逐渐减弱，但是部分地区仍有大雨，请市民注意出行安全。" * 3
)
TRADITIONAL = (
    "據中央氣象局消息，今天夜間到明天白天，我國南部地區的雨勢將逐漸減弱，但是部分地區仍有大雨，請民眾注意出行安全。" * 3
)
ENGLISH = "The café’s owner said the résumé was “naïve”. Heavy rain is expected on Friday. " * 5


def html(text: str, declared: str = "") -> str:
    return f'<html><head><meta http-equiv="Content-Type" content="text/html; charset={declared}"></head><p>{text}</p>'


RIGHT = {
    "UTF-8": (SIMPLE, "utf-8", "utf-8", ""),
    "UTF-8, not declared": (SIMPLE, "utf-8", "", ""),
    "UTF-8 that is called GBK by the page": (SIMPLE, "utf-8", "gbk", ""),
    "UTF-8 that is called Latin-1 by the server": (SIMPLE, "utf-8", "", "text/html; charset=iso-8859-1"),
    "UTF-8 with a mark": (SIMPLE, "utf-8-sig", "gbk", "text/html; charset=big5"),
    "UTF-16 with a mark": (ENGLISH, "utf-16", "", ""),
    "UTF-16 of which only the server speaks": (ENGLISH, "utf-16-le", "", "text/html; charset=utf-16le"),
    "GBK": (SIMPLE, "gbk", "gb2312", ""),
    "GBK, declared by the server": (SIMPLE, "gbk", "", "text/html;charset=GBK"),
    "GBK, not declared": (SIMPLE, "gbk", "", ""),
    "GBK that is called UTF-8 by the server": (SIMPLE, "gbk", "", "text/html; charset=utf-8"),
    "GBK that is called Latin-1 by the server": (SIMPLE, "gbk", "gb2312", "text/html; charset=ISO-8859-1"),
    "GB18030 beyond GBK": (SIMPLE + "𠮷㐂", "gb18030", "gb2312", ""),
    "Big5": (TRADITIONAL, "big5", "big5", ""),
    "Big5, not declared": (TRADITIONAL, "big5", "", ""),
    "Latin-1": (ENGLISH, "cp1252", "iso-8859-1", ""),
    "Windows, not declared": (ENGLISH, "cp1252", "", ""),
    "a charset that does not exist": (SIMPLE, "utf-8", "klingon", "text/html; charset=x-unknown"),
    "a codec that is no charset": (SIMPLE, "gbk", "gbk", "text/html; charset=base64"),
}


@pytest.mark.parametrize(("text", "charset", "meta", "header"), RIGHT.values(), ids=RIGHT)
def test_the_text_comes_out_as_it_was_written(text: str, charset: str, meta: str, header: str) -> None:
    decoded = decode_page(html(text, meta).encode(charset), header)
    assert text in decoded.text
    assert decoded.broken == 0


def test_a_page_that_is_cut_inside_a_character_is_still_read() -> None:
    for charset in ("utf-8", "gbk"):
        assert SIMPLE[:-10] in decode_page(html(SIMPLE, charset).encode(charset)[:-11]).text


def test_noise_is_told_from_text() -> None:
    noise = bytes(range(128, 256)) * 20
    assert decode_page(noise, "text/html; charset=gbk").broken > 0.01
    assert decode_page(noise).broken > 0.01
