"""Print reworded versions of the examples in the paper's Figure 1 for `ragbed demo`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ragbed.cli.console import console
from ragbed.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table
    from rich.text import Text

    from ragbed.schema import Case, Lang

TITLES: dict[Lang, dict[str, tuple[str, str]]] = {
    "en": {
        "noise": ("Noise robustness", "one document contains the answer, the other is only related"),
        "rejection": ("Negative rejection", "no document contains the answer, and the model should say so"),
        "integration": ("Information integration", "the answer has two parts, each in a different document"),
        "counterfactual": ("Counterfactual robustness", "the documents contradict what the model knows"),
    },
    "zh": {
        "noise": ("噪声鲁棒性", "一篇文档含有答案，另一篇只是相关"),
        "rejection": ("拒答能力", "所有文档都不含答案，模型应当说明"),
        "integration": ("信息整合", "答案分为两部分，出自不同文档"),
        "counterfactual": ("反事实鲁棒性", "文档与模型已知的事实相矛盾"),
    },
}
_WORDS: dict[Lang, tuple[str, str, str]] = {"en": ("Question", "Document", "Expected"), "zh": ("问题", "文档", "期望")}
_MARKS = {"supports": ("✓", "green"), "distracts": ("·", "yellow"), "contradicts": ("✗", "red")}


def print_examples(langs: tuple[Lang, ...]) -> None:
    """Print an example of each ability in each language: the input and the expected response."""
    from rich.text import Text

    out = console()
    for case in _examples(langs):
        title, meaning = TITLES[case.lang][case.testbed]
        out.print(Text.assemble("\n", (title, "bold"), "  ", (meaning, "dim")))
        out.print(_table(case))
    out.print(_legend())


def _examples(langs: tuple[Lang, ...]) -> Iterator[Case]:
    from ragbed.data.catalog import open_data
    from ragbed.testbeds import TESTBEDS
    from ragbed.testbeds.settings import Settings

    (dataset,) = open_data(["figure1"])
    for lang in langs:
        for name in TITLES[lang]:
            noise = {"noise": Fraction(1, 2), "rejection": Fraction(1)}.get(name, Fraction(0))
            yield from TESTBEDS[name].cases(dataset, Settings(noise=(noise,), num_docs=(2,), langs=(lang,)))


def _table(case: Case) -> Table:
    from rich.table import Table
    from rich.text import Text

    question, document, expected = _WORDS[case.lang]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(f"  {question}", "bold"), printable(case.question))
    for number, given in enumerate(case.documents, start=1):
        mark, colour = _MARKS[given.stance or "distracts"]
        text = Text(printable(given.text))
        for shade, answers in (("green", case.answer), ("red", case.fake or ())):
            text.highlight_words([alias for aliases in answers for alias in aliases], f"bold {shade}")
        table.add_row(Text(f"{mark} {document} {number}", colour), text)
    table.add_row(Text(f"  {expected}", "bold"), Text(expected_answer(case), "italic"))
    return table


def expected_answer(case: Case) -> str:
    """Return a perfect model's response, worded as the instruction prescribes."""
    from ragbed.testbeds.prompts import FLAG, REFUSAL

    gold = (" and " if case.lang == "en" else "、").join(aliases[0] for aliases in case.answer)
    if case.expect == "refuse":
        return REFUSAL[case.lang]
    if case.expect == "correct":
        return f"{FLAG[case.lang]} {gold}"
    return gold


def _legend() -> Text:
    from rich.text import Text

    words = {
        "supports": "contains the answer 含答案",
        "distracts": "does not contain it 不含答案",
        "contradicts": "contains a false answer 含错误答案",
    }
    legend = Text("\n")
    for stance, (mark, colour) in _MARKS.items():
        legend.append(f"{mark} ", colour).append(f"{words[stance]}   ", "dim")
    return legend
