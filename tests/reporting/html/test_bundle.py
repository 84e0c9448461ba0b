"""Modules as one script."""

from __future__ import annotations

import pytest

from ragbed.reporting.html import bundle
from ragbed.reporting.pages import read_static


def test_every_module_is_bundled_once_and_before_its_importers() -> None:
    told = bundle("report.js", read_static)
    names = ("dom_js", "words_js", "case_js", "paper_js", "report_js")
    assert [told.count(f"const module_{name} =") for name in names] == [1] * 5
    assert told.index("const module_dom_js") < told.index("const module_case_js") < told.index("const module_report_js")


@pytest.mark.parametrize(
    "line",
    ['import x from "./a.js";', 'import "./a.js";', "export default 1;", "export { x };", "export * from './a.js';"],
)
def test_a_form_that_cannot_be_bundled_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="cannot be bundled"):
        bundle("a.js", lambda _: line)


def test_a_circle_is_named() -> None:
    modules = {"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}
    with pytest.raises(ValueError, match="imports itself"):
        bundle("a.js", modules.__getitem__)
