"""`ragbed demo` shows every ability in both languages, as a person would want to read it."""

from __future__ import annotations

from tests.cli.typed import type_command


def test_the_examples_of_figure_1_are_shown_with_what_is_expected() -> None:
    done = type_command("demo")
    shown = " ".join(done.out.split())
    assert done.code == 0
    for expected in (
        "Expected Annie Ernaux",
        "Expected I can not answer the question because of the insufficient information in documents.",
        "Expected May 18 and March 1",
        "Expected There are factual errors in the provided documents. Athens",
        "期望 安妮·埃尔诺",
        "期望 文档信息不足，因此我无法基于提供的文档回答该问题。",
        "期望 5月18日、3月1日",
        "期望 提供文档的文档存在事实性错误。 雅典",
    ):
        assert expected in shown


def test_a_language_can_be_chosen() -> None:
    assert "Annie Ernaux" not in type_command("demo", "--lang", "zh").out
    assert type_command("demo", "--lang", "xx").code == 2
