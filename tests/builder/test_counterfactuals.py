"""A false answer, and the passages edited to give it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragbed.builder.build_context import Falsehood, Pool, Probe
from ragbed.builder.counterfactuals import check_edit, check_fake, edit_passage, make_falsehoods
from ragbed.builder.recipe import RecipeCounts
from ragbed.builder.statements import label_passage
from ragbed.data import Dataset
from ragbed.schema import Lang, Question, Reject
from tests.builder.steps import draft, make_build, passage, write


def falsify(folder: Path, reply: str) -> Sequence[Falsehood | Reject]:
    supports = (passage("Beijing held the Games of 2008.", "a", supports=True),)
    build = make_build(folder, lambda _request, _case: reply, wanted=RecipeCounts(counterfactual=1))
    write(build, "questions", [draft("q", "Which city held the Games of 2008?", "Beijing")])
    write(build, "probes", [Probe(question="q", known_by=("m/x",), asked=("m/x",))])
    write(build, "answers", [Pool(question="q", passages=supports)])
    return list(make_falsehoods(build))


def test_the_generators_false_answer_is_taken_if_it_will_do(tmp_path: Path) -> None:
    (found,) = falsify(tmp_path, "Wrong answer: Sydney")
    assert isinstance(found, Falsehood)
    assert (found.fake, found.edits[0].text) == ((("Sydney",),), "Sydney held the Games of 2008.")


@pytest.mark.parametrize(
    "reply",
    [
        "Wrong answer: Beijing",
        "Wrong answer: Beijing City",
        "Wrong answer: The wrong answer.",
        "Wrong answer: The Games of 2008 were held in Rome",
        "Question: what?",
    ],
)
def test_a_question_without_a_usable_false_answer_is_rejected(tmp_path: Path, reply: str) -> None:
    (told,) = falsify(tmp_path, reply)
    assert isinstance(told, Reject)
    assert told.outcome == "fake"


def _question(text: str, *aliases: str, lang: Lang = "en") -> Question:
    return Question(question=text, lang=lang, answer=(aliases,))


PRICE = _question("How much did the Orbis group pay for Tidewater Radio?", "$44 billion")
PEOPLE = _question("How many people live in Port Selwyn?", "12,400")
CHIEF = _question("Who is the head of the Harbour Bank?", "Maria Okonjo", "Maria A. Okonjo")
DAY = _question("When was the Lantern Bridge opened?", "12 November 2020", "Nov 12, 2020")
FILM = _question("Which film won the Silver Reel?", "The Low Tide")
LAND = _question("Which country won the cup?", "Croatia")
SUM = _question("奥比斯集团花了多少钱收购潮声电台？", "440亿元", lang="zh")
TAG = _question("灯笼桥何时通车？", "2020年11月12日", lang="zh")
HEAD = _question("海港银行的新任行长是谁？", "玛丽亚·奥孔乔", "奥孔乔", lang="zh")


@pytest.mark.parametrize(
    ("question", "fake", "before", "after"),
    [
        (PRICE, "$17 billion", "It paid $44 billion.", "It paid $17 billion."),
        (PRICE, "$17 billion", "It paid $44bn, or $44 Billion in all.", "It paid $17 billion, or $17 billion in all."),
        (PRICE, "$17 billion", "It paid $44,000 million.", "It paid $17 billion."),
        (PRICE, "$17 billion", "Forty-four billion dollars!", "$17 billion!"),
        (PEOPLE, "9,800", "12400 live there; 12,400, to be sure.", "9,800 live there; 9,800, to be sure."),
        (CHIEF, "Jon Ferreira", "Maria Okonjo spoke. OKONJO'S aides", "Jon Ferreira spoke. FERREIRA'S aides"),
        (CHIEF, "Jon Ferreira", "Okonjo's plan", "Ferreira's plan"),
        (CHIEF, "Jon Ferreira", "Maria Okonjo met Maria Silva.", "Jon Ferreira met Maria Silva."),
        (DAY, "3 May 2019", "on Nov. 12, 2020, or 2020-11-12", "on 3 May 2019, or 3 May 2019"),
        (DAY, "3 May 2019", "NOVEMBER 12th, 2020; November 12", "3 May 2019; 3 May 2019"),
        (DAY, "May 2019", "on 12/11/2020", "on May 2019"),
        (FILM, "Moonrise", 'For "The Low Tide" and the low tide alike', 'For "Moonrise" and moonrise alike'),
        (SUM, "170亿元", "收购价为440亿元，即四百四十亿元。", "收购价为170亿元，即170亿元。"),
        (SUM, "170亿元", "44000000000元", "170亿元"),
        (TAG, "2019年5月3日", "二〇二〇年十一月十二日通车，11月12日", "2019年5月3日通车，2019年5月3日"),
        (HEAD, "约恩·费雷拉", "行长玛丽亚·奥孔乔说，奥孔乔的计划", "行长约恩·费雷拉说，费雷拉的计划"),
    ],
)
def test_every_form_is_exchanged(question: Question, fake: str, before: str, after: str) -> None:
    edit = edit_passage(question, ((fake,),), before)
    assert edit.text == after
    assert edit.spans
    assert all(edit.text[start:end].strip() for start, end in edit.spans)


def test_spans_are_where_the_text_differs() -> None:
    edit = edit_passage(PRICE, (("$17 billion",),), "First $44bn, then $44 billion.")
    assert [edit.text[start:end] for start, end in edit.spans] == ["$17 billion", "$17 billion"]


@pytest.mark.parametrize(
    ("question", "fake", "fault"),
    [
        (PRICE, "$17 billion", None),
        (PRICE, "44bn dollars", "is the same as the true answer"),
        (PEOPLE, "112,400", "contain"),
        (PEOPLE, "2,400", "contain"),
        (PRICE, "Tidewater Radio", "appears in the question"),
        (PRICE, "a fish", "is a name"),
        (PRICE, "$17 million", "differ by a factor of more than"),
        (DAY, "$17 billion", "is a quantity"),
        (HEAD, "奥孔乔夫", "contain"),
    ],
)
def test_a_false_answer_must_be_false_like_and_apart(question: Question, fake: str, fault: str | None) -> None:
    faults = check_fake(question, ((fake,),))
    assert (not faults) if fault is None else any(fault in one for one in faults), faults


@pytest.mark.parametrize(
    ("question", "fake", "edited", "fault"),
    [
        (PRICE, "$17 billion", "It paid $17 billion.", None),
        (PRICE, "$17 billion", "It paid $44 billion.", "unchanged"),
        (PRICE, "$17 billion", "It paid $17 billion, yes, 44bn.", "still contains $44 billion"),
        (PRICE, "$17 billion", "It paid a lot.", "does not give $17 billion"),
        (LAND, "Norway", "Norway won; the Croatian fans sang.", "Croatian"),
        (CHIEF, "Jon Okonjo", "Jon Okonjo spoke; Okonjo left.", None),  # one family
    ],
)
def test_an_edit_must_leave_nothing_of_the_truth(question: Question, fake: str, edited: str, fault: str | None) -> None:
    faults = check_edit(question, ((fake,),), "It paid $44 billion.", edited)
    assert (not faults) if fault is None else any(fault in one for one in faults), faults


def test_published_passages_are_edited_more_thoroughly_than_they_were(rgb_dir: Path) -> None:
    faults = {"ours": 0, "published": 0}
    for item in Dataset("en_fact", rgb_dir / "en_fact.json").items():
        for edited in item.passages:
            if edited.edit_of is not None and item.fake is not None:
                true = item.passages[edited.edit_of].text
                ours = edit_passage(item, item.fake, true).text
                faults["ours"] += bool(check_edit(item, item.fake, true, ours))
                faults["published"] += bool(check_edit(item, item.fake, true, edited.text))
    assert faults == {"ours": 4, "published": 17}  # of 395


_PIECES = [
    *(
        "44",
        "billion",
        "$44bn",
        "12 Nov 2020",
        "twelfth",
        "二〇二〇年",
        "十一月",
        "四百四十亿元",
        "44,000",
        "4.4",
        "%",
        "5/5/2020",
    ),
    *(
        "Maria Okonjo",
        "MARIA",
        "Okonjo's",
        "·",
        "奥孔乔",
        " ",
        "  ",
        "\n",
        "\u00a0",
        "İ",
        "ß",
        "１２",
        "\ud800",
        "-",
        "0",
        "1月",
    ),
]
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=12).map(" ".join) | st.lists(st.sampled_from(_PIECES)).map("".join)


@settings(deadline=None, max_examples=300)
@given(_TEXTS, _TEXTS, _TEXTS, st.sampled_from(["en", "zh"]))
def test_any_text_any_answer_and_any_false_one_give_an_edit(text: str, true: str, false: str, lang: Lang) -> None:
    if true.strip() and false.strip():
        question = Question(question="When, who, how much? 何时？", lang=lang, answer=((true,),))
        edit = edit_passage(question, ((false,),), text)
        places = [place for span in edit.spans for place in span]
        assert places == sorted(places)
        assert all(0 <= place <= len(edit.text) for place in places)
        assert isinstance(check_fake(question, ((false,),)), list)
        assert isinstance(check_edit(question, ((false,),), text, edit.text), list)
        assert label_passage(question, text, fake=((false,),)).reason
