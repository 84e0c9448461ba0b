"""`ragbed demo`: the four abilities on the examples of the paper's Figure 1."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ragbed.cli import options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ragbed.schema import Case

_ABILITIES = {
    "noise": ("Noise robustness", "one document has the answer, the other is only about the matter"),
    "rejection": ("Negative rejection", "no document has the answer, and the model should say so"),
    "integration": ("Information integration", "the answer has two parts, in different documents"),
    "counterfactual": ("Counterfactual robustness", "the model knows better than the documents, and is warned"),
}
_MARKS = {"supports": ("✓", "green"), "distracts": ("·", "yellow"), "contradicts": ("✗", "red")}


def demo(lang: options.Lang = "en,zh") -> None:
    """Show the four abilities on the examples of the paper's Figure 1, laid out as a model would get them.

    Examples:
      ragbed demo

      ragbed demo --lang zh
    """
    from ragbed.cli.console import console

    out = console()
    for heading, example in _examples(lang):
        out.print(heading)
        _print_case(out, example)
    out.print(_legend())
    out.print("Next: ragbed cases figure1 -o cases.jsonl   the same as one JSON object a case, prompts included")
    out.print("      ragbed data get rgb                   RGB's eight published files")


def _examples(lang: str) -> list[tuple[Text, Case]]:
    from rich.text import Text

    from ragbed.catalog import open_datasets
    from ragbed.cli.layout import read_langs
    from ragbed.testbeds import TESTBEDS
    from ragbed.testbeds.settings import Settings

    (dataset,) = open_datasets(["figure1"])
    examples = []
    for chosen in read_langs(lang):
        for name, (title, meaning) in _ABILITIES.items():
            noise = {"noise": Fraction(1, 2), "rejection": Fraction(1)}.get(name, Fraction(0))
            settings = Settings(noise=(noise,), docs=2, langs=(chosen,))
            for case in TESTBEDS[name].cases(dataset, settings):
                heading = Text.assemble((f"\n{title}", "bold"), (f" ({chosen}): {meaning}", "dim"))
                examples.append((heading, case))
    return examples


def _print_case(out: Console, case: Case) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from ragbed.cli.console import printable

    out.print(Padding(Text.assemble(("Question  ", "bold"), printable(case.question)), (0, 0, 0, 2)))
    for number, document in enumerate(case.documents, start=1):
        mark, colour = _MARKS[document.stance]
        line = Text.assemble((f"{mark} Document {number}  ", colour), printable(document.text))
        for colour, answers in (("green", case.answer), ("red", case.fake or ())):
            line.highlight_words([alias for aliases in answers for alias in aliases], f"bold {colour}")
        out.print(Padding(line, (0, 0, 0, 2)))
    out.print(Padding(Text.assemble(("Expected  ", "bold"), (_expected(case), "italic")), (0, 0, 0, 2)))


def _expected(case: Case) -> str:
    """What a perfect model says, in the words that the instruction asks for."""
    from ragbed.prompts import FLAG, REFUSAL

    joint = " and " if case.lang == "en" else "和"
    gold = joint.join(aliases[0] for aliases in case.answer)
    if case.expect == "refuse":
        return REFUSAL[case.lang]
    if case.expect == "correct":
        return f"{FLAG[case.lang]} {gold}"
    return gold


def _legend() -> Text:
    from rich.text import Text

    words = {"supports": "holds the answer", "distracts": "does not", "contradicts": "holds a false one"}
    legend = Text("\n")
    for stance, (mark, colour) in _MARKS.items():
        legend.append(f"{mark} ", colour).append(f"{words[stance]}   ", "dim")
    return legend
