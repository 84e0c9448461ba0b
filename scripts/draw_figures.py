"""Draw counterparts of the paper's Figures 1 to 3 from our own examples, pipeline and instructions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from importlib.resources import files

from ragbed.builder.pipeline import STEPS
from ragbed.data.catalog import open_data
from ragbed.reporting.pages.charts import WIDTH, Chart, measure, sheet
from ragbed.reporting.pages.markup import Node, el
from ragbed.schema import Case, Lang
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.prompts import FLAG, REFUSAL
from ragbed.testbeds.settings import Settings

_LINE = 17
_LETTER = 6.2  # width of a letter in 12-pixel text, slightly overestimated so that lines fit into their boxes
_MARKS = {"supports": ("✓", "s3"), "distracts": ("·", "s8"), "contradicts": ("✗", "s2")}
_NEVER_FIRST = "，。、；：？！》）”"
_TITLES: dict[Lang, dict[str, tuple[str, str]]] = {
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
_NOISE = {"noise": Fraction(1, 2), "rejection": Fraction(1)}


def draw_figures() -> dict[str, str]:
    """Return the drawings by their paths in the repository."""
    charts = [_draw_abilities("en"), _draw_abilities("zh"), _draw_pipeline()]
    return {f"docs/images/{chart.name}.svg": chart.as_file(follows_theme=True) for chart in charts}


def write_figures(note: str) -> str:
    """Return the page that shows the drawings."""
    parts = ["# The paper's figures, redrawn", note, _ABILITIES, _PIPELINE, _INSTRUCTIONS]
    for lang, title in (("en", "English"), ("zh", "Chinese")):
        for name in ("system", "user"):
            parts += [f"**{title} {name} message**", f"```text\n{_read('paper', lang, name)}\n```"]
    return "\n\n".join(parts) + "\n"


_ABILITIES = """
## Figure 1: four abilities

The bundled `figure1` dataset contains one example per ability, in our own words. `ragbed run -d figure1
--num-docs 2` evaluates a model on them.

![The four abilities: a question, two documents, and what is expected](../images/figure1-en.svg)

![四种能力：问题、两篇文档、期望的回答](../images/figure1-zh.svg)
""".strip()
_PIPELINE = """
## Figure 2: how data is built

Figure 2 shows the [steps of `ragbed build`](../reference/build.md#steps).

![The steps of a build](../images/figure2.svg)
""".strip()
_INSTRUCTIONS = """
## Figure 3: the instructions

`--profile paper` sends the paper's exact instructions, including typos (`’…‘`, “提供文档的文档”). `{DOCS}` is
replaced by the documents, one per line, and `{QUERY}` by the question.
""".strip()


def _read(kind: str, lang: str, name: str) -> str:
    return (files("ragbed.testbeds.prompts") / kind / lang / f"{name}.md").read_text("utf-8").removesuffix("\n")


def _draw_abilities(lang: Lang) -> Chart:
    (dataset,) = open_data(["figure1"])
    marks: list[Node] = []
    top, width = 36.0, (WIDTH - 24) / 2
    for pair in (("noise", "rejection"), ("integration", "counterfactual")):
        panels = [_panel(lang, name, next(_cases(dataset, name, lang)), width) for name in pair]
        height = max(lower for _, lower in panels)
        for column, (inside, _) in enumerate(panels):
            left = 8 + column * (width + 8)
            box = el("rect", class_="rule", x=left, y=top, width=width, height=height, rx=6)
            marks += [box, el("g", inside, transform=f"translate({left:g} {top:g})")]
        top += height + 8
    title = "Figure 1: four abilities" if lang == "en" else "图1：四种能力"
    description = "For each ability a question, two documents and the expected reply."
    return Chart(f"figure1-{lang}", title, description, sheet(title, description, top + 2, marks))


def _cases(dataset: object, name: str, lang: Lang) -> Iterator[Case]:
    settings = Settings(noise=(_NOISE.get(name, Fraction(0)),), num_docs=(2,), langs=(lang,))
    return TESTBEDS[name].cases(dataset, settings)  # type: ignore[arg-type]


def _expected_answer(case: Case) -> str:
    """Return a perfect model's response, worded as the instruction prescribes."""
    gold = (" and " if case.lang == "en" else "、").join(aliases[0] for aliases in case.answer)
    if case.expect == "refuse":
        return REFUSAL[case.lang]
    if case.expect == "correct":
        return f"{FLAG[case.lang]} {gold}"
    return gold


def _panel(lang: Lang, name: str, case: Case, width: float) -> tuple[list[Node], float]:
    """Return the nodes of a panel and its height."""
    title, meaning = _TITLES[lang][name]
    texts: list[tuple[str, str, tuple[str, str] | None]]
    texts = [("strong", title, None), ("note", meaning, None), ("strong", case.question, None)]
    texts += [("", document.text, _MARKS[document.stance or "distracts"]) for document in case.documents]
    texts.append(("strong", _expected_answer(case), ("→", "strong")))
    nodes, y = [], 6.0
    for kind, text, marked in texts:
        if marked is not None:  # drawn separately, because a missing glyph would change the font of the whole text
            nodes.append(el("text", marked[0], class_=marked[1], x=10, y=y + _LINE))
        for line in _wrap(text, width - (36 if marked else 20)):
            y += _LINE
            nodes.append(el("text", line, class_=kind or None, x=26 if marked else 10, y=y))
        y += 4
    return nodes, y + 8


def _wrap(text: str, width: float) -> Iterator[str]:
    """Yield lines of at most the given width; Chinese text can break anywhere."""
    line = ""
    for word in _words(text):
        if line and measure((line + word).rstrip(), _LETTER) > width:
            yield line.rstrip()
            line = ""
        line += word
    yield line.rstrip()


def _words(text: str) -> Iterator[str]:
    word = ""
    for character, after in zip(text, text[1:] + " ", strict=True):
        word += character
        if after not in _NEVER_FIRST and (character == " " or ord(character) > 0x2E7F):
            yield word
            word = ""
    yield word


_MAKES = {
    "articles": "news, pages, files",
    "questions": "question and answer",
    "review": "clear, and answered by the text?",
    "probes": "who knows it already?",
    "hits": "ten pages by search",
    "pages": "fetched and read",
    "passages": "at most 300 tokens",
    "ranking": "the nearest 30",
    "stances": "supports or distracts?",
    "answers": "verified, with sources",
    "combinations": "two questions as one",
    "falsehoods": "a false answer put in",
    "checks": "every item verified",
    "items": "the benchmark",
}
_COLUMNS, _GAP, _ROW, _EDGE = 3, 20.0, 84.0, 14.0
_BOX = (WIDTH - 2 * _EDGE - (_COLUMNS - 1) * _GAP) / _COLUMNS


def _draw_pipeline() -> Chart:
    marks: list[Node] = []
    for number, (name, step) in enumerate(STEPS.items()):
        row, column = divmod(number, _COLUMNS)
        x, y = _EDGE + column * (_BOX + _GAP), 40 + row * _ROW
        asks = bool(step.prompts) or name == "probes"
        marks += [
            el("rect", class_="axis", x=x, y=y, width=_BOX, height=52, rx=6),
            el("text", f"{number + 1} {name}", class_="strong", x=x + 9, y=y + 21),
            el("text", _MAKES[name], class_="note", x=x + 9, y=y + 39),
        ]
        if asks:
            marks.append(el("circle", class_="s1", cx=x + _BOX - 11, cy=y + 12, r=5))
        if number + 1 < len(STEPS):
            marks.append(_arrow(x, y, last=column == _COLUMNS - 1))
    height = 40 + (-(-len(STEPS) // _COLUMNS)) * _ROW
    legend = el("text", "calls a model", class_="note", x=WIDTH - 90, y=height - 22)
    marks += [el("circle", class_="s1", cx=WIDTH - 100, cy=height - 26, r=5), legend]
    title, description = "Figure 2: the steps of ragbed build", "Each step makes a file from those before it."
    return Chart("figure2", title, description, sheet(title, description, height, marks))


def _arrow(x: float, y: float, *, last: bool) -> Node:
    """Draw an arrow to the next box, either to the right or from the end of a row to the start of the next."""
    if not last:
        start = x + _BOX
        return el("path", class_="axis", d=f"M{start + 3:g} {y + 26:g}h{_GAP - 6:g}m-5 -4l5 4l-5 4")
    below = y + 68
    return el("path", class_="axis", d=f"M{x + 60:g} {y + 52:g}V{below:g}H60V{y + _ROW - 2:g}m-4 -5l4 5l4 -5")
