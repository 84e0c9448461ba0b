"""A fictional world as a web site, and a generator at the wire that knows it: what whole builds are tested with.

The generator is a server that speaks OpenAI's protocol. It answers each of the builder's prompts as a model would that
has read the world, and for some articles as badly as models do: prose, yes/no questions, answers in the question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from ragbed.schema import Item, Lang, Passage
from ragbed.synth import SynthSpec, make_items
from ragbed.text import split_sentences
from tests.servers.function_model import ModelRequest, function_model

LANGS: tuple[Lang, ...] = ("en", "zh")
FAULTS = ("none", "prose", "yes-no", "in-question", "elsewhere", "language", "prose", "nothing")
"""How the generator fails at articles that bear no answer, in turn."""
_BAD = {
    "none": "none",
    "prose": "What a lovely text. I would ask who won, and they did, by a mile.",
    "yes-no": "Sentence: x\nQuestion: Did Anna Karlsson win the 2024 Harrow Cup?\nAnswer: yes\n"
    "问题：安娜是否赢得了2024年哈罗杯？\n答案：是",
    "in-question": "Question: Where in Harrowmouth is the town hall of Harrowmouth?\nAnswer: Harrowmouth\n"
    "问题：霖原市的市政厅在霖原市哪里？\n答案：霖原市",
    "elsewhere": "Sentence: It was founded by Otto Zwetschge.\nQuestion: Who founded the Velden Chess Club in 1904?\n"
    "Answer: Otto Zwetschge\n原句：创办人是欧阳不存在。\n问题：1904年谁创办了维尔登棋社？\n答案：欧阳不存在",
    "language": "Question: 谁在1904年创办了维尔登棋社？\nAnswer: 欧阳\n"
    "问题：Who founded the club in Velden?\n答案：Otto",
    "nothing": "",
}


@cache
def _beginning(lang: str, name: str) -> str:
    text = (files("ragbed.testbeds.prompts") / "build" / lang / f"{name}.md").read_text("utf-8")
    return text[:18].split("{")[0]


@dataclass
class World:
    """Items of a world, their documents as articles, and what was asked about them."""

    items: list[Item]
    asked: Counter[str] = field(default_factory=Counter)
    """Calls by task, as they came over the wire."""
    closed: bool = False
    """Whether the generator takes no key."""

    def documents(self) -> Iterator[tuple[str, Item, Passage]]:
        """The articles, by name: true documents and distracting ones; the false ones are for the builder to make."""
        for item in self.items:
            for number, passage in enumerate(item.passages):
                if passage.stance != "contradicts":
                    yield f"{item.id}-{number}", item, passage

    def write_folder(self, folder: Path) -> None:
        """The articles as Markdown files."""
        folder.mkdir(parents=True)
        for name, _, passage in self.documents():
            (folder / f"{name}.md").write_text(f"---\ndate: {passage.date}\n---\n{passage.text}\n", "utf-8")

    def pages(self) -> dict[str, bytes]:
        """The articles as pages of a site."""
        return {
            name: (
                f"<!doctype html><html><head><meta charset='utf-8'><title>{name}</title>"
                f"<meta property='article:published_time' content='{passage.date}'></head>"
                f"<body><article><p>{passage.text}</p></article></body></html>"
            ).encode()
            for name, _, passage in self.documents()
        }

    def reply(self, turns: list[str]) -> str:
        """What the generator says."""
        prompt = turns[-1]
        for lang in LANGS:
            for name in ("questions", "clear", "reader", "states", "combinations", "falsehoods"):
                if prompt.startswith(_beginning(lang, name)):
                    self.asked[name] += 1
                    return getattr(self, f"_{name}")(lang, prompt)  # type: ignore[no-any-return]
        self.asked["closed-book"] += 1
        known = next((item for item in self.items if item.question in prompt and item.fake is not None), None)
        return known.answer[0][0] if known else "I do not know the answer."

    def _questions(self, lang: str, prompt: str) -> str:
        for number, (_, item, passage) in enumerate(self.documents()):
            if passage.text in prompt:
                if passage.stance == "supports":
                    return _fields(item, passage)
                return _BAD[FAULTS[number % len(FAULTS)]]
        return "The text states no fact."  # an article that is not of this world

    def _clear(self, lang: str, prompt: str) -> str:
        return "VERDICT: yes"

    def _states(self, lang: str, prompt: str) -> str:
        """Yes, for the world's own answers in the world's own words."""
        item = next(item for item in self.items if item.question in prompt)
        return f"VERDICT: {'yes' if any(alias in prompt for alias in item.answer[0]) else 'no'}"

    def _reader(self, lang: str, prompt: str) -> str:
        """The answer, if the documents bear it."""
        item = next(item for item in self.items if item.question in prompt)
        documents = prompt.replace(item.question, "")
        return next((alias for alias in item.answer[0] if alias in documents), "unknown")

    def _combinations(self, lang: str, prompt: str) -> str:
        first, second = (item.question for item in self.items if item.question in prompt)
        joined = f"{first.rstrip('?')}, and {second}" if lang == "en" else f"{first.rstrip('？')}，{second}"
        return f"{'Question: ' if lang == 'en' else '问题：'}{joined}"

    def _falsehoods(self, lang: str, prompt: str) -> str:
        item = next(item for item in self.items if item.question in prompt)
        assert item.fake is not None
        return f"{'Wrong answer: ' if lang == 'en' else '错误答案：'}{item.fake[0][0]}"


def _fields(item: Item, passage: Passage) -> str:
    """The fields, with the answer as this document spells it and the sentence that states it."""
    spelled = next(alias for alias in item.answer[0] if alias in passage.text)
    sentences = (passage.text[start:end].strip() for start, end in split_sentences(passage.text))
    sentence = next(sentence for sentence in sentences if spelled in sentence)
    if item.lang == "zh":
        return f"原句：{sentence}\n答案：{spelled}\n问题：{item.question}"
    return f"Sentence: {sentence}\n**Answer:** {spelled}\nQuestion: {item.question}"


def make_world(base: int = 3, facts: int = 1, langs: tuple[Lang, ...] = LANGS) -> World:
    """A world of so many items a language."""
    items: list[Item] = []
    for lang in langs:
        recipe = SynthSpec(seed=3, lang=lang, supports=4, distractors=6, true_documents=4, tokens=105, perturbations=())
        items += [*make_items(recipe, "base", 0, base), *make_items(recipe, "fact", 0, facts)]
    return World(items)


@contextmanager
def running_generator(world: World) -> Iterator[str]:
    """The generator's base URL, for as long as it runs."""

    def respond(request: ModelRequest) -> str | tuple[int, object]:
        return (401, {"error": {"message": "no such key"}}) if world.closed else world.reply(request.turns)

    with function_model(respond) as url:
        yield url
