"""Prompting strategies as texts and as calls, without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.errors import UsageError
from ragbed.schema import Lang
from ragbed.testbeds.prompts import Instructions
from ragbed.testbeds.prompts.strategies import FLOWS, STRATEGIES, Messages, StrategyInput, read_texts
from ragbed.testbeds.settings import PROFILES

_LANGS: tuple[Lang, ...] = ("en", "zh")
DOCUMENTS = ["one {QUERY}", "two {NOTES}"]


def _of(strategy: str | None, profile: str = "robust") -> Instructions:
    return Instructions(PROFILES[profile].prompts, None, strategy)


def _talk(strategy: str, *replies: str, lang: Lang = "en", question: str = "Who won?") -> tuple[list[Messages], str]:
    """Return the messages of each call for these responses, and the answer."""
    plain = _of(strategy).messages(lang, question, DOCUMENTS)
    flow = FLOWS[strategy](StrategyInput(plain, question, DOCUMENTS, lang))
    sent = [next(flow)]
    for reply in replies:
        try:
            sent.append(flow.send(reply))
        except StopIteration as ended:
            assert reply == replies[-1]
            return sent, ended.value
    raise AssertionError(f"it asks on: {sent[-1]}")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_has_the_same_files_in_both_languages(strategy: str) -> None:
    english, chinese = (read_texts(strategy, lang) for lang in _LANGS)
    assert english.keys() == chinese.keys()
    assert all(english.values())
    assert all(any("\u4e00" <= sign <= "\u9fff" for sign in text) for text in chinese.values())


def test_numbered_documents_have_numbers_and_nothing_else_changes() -> None:
    plain, numbered = (_of(strategy).messages("en", "Who won?", DOCUMENTS) for strategy in (None, "numbered"))
    assert plain[0] == numbered[0]
    told = plain[1].content
    assert numbered[1].content == told.replace("one {", "Document 1: one {").replace("two {", "Document 2: two {")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("lang", _LANGS)
def test_unwarned_takes_out_the_warning_and_nothing_else(profile: str, lang: Lang) -> None:
    plain, unwarned = (_of(strategy, profile).messages(lang, "?", DOCUMENTS) for strategy in (None, "unwarned"))
    assert plain[1] == unwarned[1]
    warning = {"en": " Please note that external documents may contain noisy or factually incorrect information."}
    gone = warning.get(lang, "，请注意外部文档可能存在噪声事实性错误")
    assert plain[0].content.count(gone) == 1
    assert unwarned[0].content == plain[0].content.replace(gone, "")


def test_unwarned_is_refused_where_the_instruction_has_no_warning(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "system.md").write_text("Answer from the documents.\n")
    own = Instructions(PROFILES["robust"].prompts, tmp_path, "unwarned")
    with pytest.raises(UsageError, match="strategies=unwarned: the system instruction does not contain 'Please note"):
        own.messages("en", "?", DOCUMENTS)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_leaves_the_closed_book_prompt_as_it_is(strategy: str) -> None:
    assert _of(strategy).messages("en", "?", None) == _of(None).messages("en", "?", None)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Quote: Ann won in 2020, Bob in 2021.\nAnswer: Bob", "Bob"),
        ("**Quote:** x\n\n**Answer:** Bob.", "Bob."),
        ("引文：安妮获胜。\n答案：安妮", "安妮"),
        ("Quote: it fell.\n## Answer: -5", "-5"),
        ("Quote: it cost a lot.\nanswer : $5 million", "$5 million"),
        ("Answer: Ann\nAnswer: no, Bob", "no, Bob"),
        ("Bob", "Bob"),
        ("Quote: x\nAnswer:", "Quote: x\nAnswer:"),
        ("The answer: is this? Bob", "The answer: is this? Bob"),
    ],
)
def test_of_a_quote_only_what_follows_is_the_answer(reply: str, answer: str) -> None:
    sent, told = _talk("quote", reply)
    assert told == answer
    assert len(sent) == 1
    assert sent[0][0].content.startswith(_of(None).messages("en", "?", DOCUMENTS)[0].content)


@pytest.mark.parametrize("lang", _LANGS)
def test_isolate_shows_one_document_at_a_time_and_then_the_notes_alone(lang: Lang) -> None:
    sent, told = _talk("isolate", "Ann,\nthey say", "Bob", "Ann", lang=lang)
    assert told == "Ann"
    shown = [[text in turn.content for text in DOCUMENTS] for turns in sent for turn in turns if turn.role == "user"]
    assert shown == [[True, False], [False, True], [False, False]]
    assert "1. Ann, they say\n2. Bob\n" in sent[-1][-1].content
    assert sent[-1][0] == _of(None).messages(lang, "?", DOCUMENTS)[0]


@pytest.mark.parametrize("said", ["nothing", "Nothing.", "**nothing**", "None", "无", "无。", " 没有\n", ""])
def test_documents_that_say_nothing_do_not_outvote_the_one_that_answers(said: str) -> None:
    sent, _ = _talk("isolate", said, "Ann", "Ann")
    assert "\n1. Ann\n\n" in sent[-1][-1].content
    sent, _ = _talk("isolate", said, said, "I can not answer")
    assert "None of them says anything that answers it." in sent[-1][-1].content


def test_a_note_that_begins_with_nothing_is_a_note() -> None:
    sent, _ = _talk("isolate", "Nothing came of it: Ann lost.", "无锡", "Ann")
    assert "1. Nothing came of it: Ann lost.\n2. 无锡\n" in sent[-1][-1].content


def test_decompose_calls_for_each_part_with_all_documents_and_then_for_the_question() -> None:
    sent, told = _talk("decompose", "1. Who won?\n\n- Who lost?\n2) Who won?", "Ann", "Bob", "Ann beat Bob")
    assert told == "Ann beat Bob"
    assert [turn.content.endswith("Who lost?") for turn in (sent[1][-1], sent[2][-1])] == [False, True]
    assert all(text in turns[-1].content for turns in sent[1:3] for text in DOCUMENTS)
    assert "1. Who won? Ann\n2. Who lost? Bob\n" in sent[-1][-1].content


@pytest.mark.parametrize("split", ["Who won?", "", "\n \n", "Who won? \nWho won?"])
def test_a_question_that_cannot_be_split_is_sent_unchanged(split: str) -> None:
    sent, told = _talk("decompose", split, "Ann")
    assert told == "Ann"
    assert sent[1] == _of(None).messages("en", "Who won?", DOCUMENTS)


def test_a_question_is_split_into_four_at_the_most_however_much_a_model_writes() -> None:
    sent, _ = _talk("decompose", "\n".join(f"Part {n}?" for n in range(1000)), *"abcd", "end")
    assert len(sent) == 1 + 4 + 1


@pytest.mark.parametrize(("strategy", "replies"), [("isolate", 3), ("decompose", 4)])
def test_neither_documents_nor_responses_are_templates(strategy: str, replies: int) -> None:
    tricky = ["{QUERY} one?\n{NOTES} two?"] + ["{NOTES} {QUERY} {SYSTEM}"] * (replies - 1)
    sent, _ = _talk(strategy, *tricky, question="SECRET?")
    together = "".join(turn.content for turns in sent for turn in turns)
    assert together.count("{NOTES} {QUERY} {SYSTEM}") == replies - 2
