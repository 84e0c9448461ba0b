"""Trees written as HTML and XML."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from ragbed.reporting.pages.markup import el, raw, write


def test_text_and_attributes_are_never_markup() -> None:
    told = write(el("p", "<script>alert('x')</script>&amp;", title='"><img src=x onerror=alert(1)>'))
    assert told.count("<") == 2
    parsed = ElementTree.fromstring(told)
    assert parsed.text == "<script>alert('x')</script>&amp;"
    assert parsed.attrib == {"title": '"><img src=x onerror=alert(1)>'}


@pytest.mark.parametrize("bad", ["\x00", "\x1b", "\ufffe", "\ud800"])
def test_characters_that_no_document_can_contain_are_replaced(bad: str) -> None:
    assert ElementTree.fromstring(write(el("p", f"a{bad}b"))).text == "a\ufffdb"


def test_python_names_become_html_names() -> None:
    assert write(el("label", for_="a", class_="b", data_x=1.25, hidden=True, lang=None)) == (
        '<label for="a" class="b" data-x="1.2" hidden="hidden"></label>'
    )
    assert write(el("br")) == "<br>"


@pytest.mark.parametrize("content", ["a</script>b", "a</SCRIPT >b", "<!-- x"])
def test_content_that_would_end_its_element_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match="must not contain its closing tag"):
        raw("script", content)
