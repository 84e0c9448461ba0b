"""Instructions: the exact sentences of the paper, and documents that cannot act as templates."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbed.errors import UsageError
from ragbed.schema import Lang
from ragbed.testbeds.prompts import FLAG, REFUSAL, Instructions
from ragbed.testbeds.settings import PROFILES

_LANGS: tuple[Lang, ...] = ("en", "zh")


def _of(profile: str) -> Instructions:
    return Instructions(PROFILES[profile].prompts)


@pytest.mark.parametrize(
    ("profile", "lang", "user"),
    [
        ("paper", "en", "Document: \nd1\nd2 \n\nQuestion: \nq"),
        ("robust", "en", "Document: \nd1\nd2 \n\nQuestion: \nq"),
        ("code-2024", "en", "Document:\nd1\nd2 \n\nQuestion:\nq"),
        ("paper", "zh", "文档：\nd1\nd2 \n\n问题：\nq"),
        ("robust", "zh", "文档：\nd1\nd2 \n\n问题：\nq"),
        ("code-2023", "zh", "文档：\nd1\nd2 \n\n问题：\nq"),
    ],
)
def test_the_user_message_is_that_of_figure_3(profile: str, lang: Lang, user: str) -> None:
    assert _of(profile).messages(lang, "q", ["d1", "d2"])[-1].content == user


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("lang", _LANGS)
def test_one_instruction_names_refusal_and_flag(profile: str, lang: Lang) -> None:
    system = _of(profile).messages(lang, "q", ["d"])[0]
    assert system.role == "system"
    assert REFUSAL[lang] in system.content
    assert FLAG[lang] in system.content


def test_figure_3_and_the_code_differ_by_one_full_stop() -> None:
    stops: dict[Lang, tuple[str, str]] = {
        "en": ("documents.‘ If", "documents.‘. If"),
        "zh": ("该问题。”如果", "该问题。”。如果"),
    }
    for lang, (paper, code) in stops.items():
        texts = [_of(profile).messages(lang, "q", ["d"])[0].content for profile in ("paper", "code-2024")]
        assert texts[0].replace(paper, code) == texts[1] != texts[0]


@pytest.mark.parametrize(
    ("profile", "turns"),
    [
        ("paper", ["q"]),
        ("code-2024", ["You are a helpful assistant.", "Document:\n \n\nQuestion:\nq"]),
        ("robust", ["You are an accurate", "q"]),
    ],
)
def test_closed_book_prompts(profile: str, turns: list[str]) -> None:
    messages = _of(profile).messages("en", "q", None)
    assert len(messages) == len(turns)
    assert all(message.content.startswith(turn) for message, turn in zip(messages, turns, strict=True))


@pytest.mark.parametrize("lang", _LANGS)
def test_our_closed_book_instruction_does_not_speak_of_documents(lang: Lang) -> None:
    together = "".join(message.content for message in _of("robust").messages(lang, "q", None))
    assert "document" not in together.lower()
    assert "文档" not in together


@pytest.mark.parametrize("lang", _LANGS)
def test_no_documents_are_the_usual_prompt_around_nothing(lang: Lang) -> None:
    usual, empty = _of("robust").messages(lang, "q", ["text"]), _of("robust").messages(lang, "q", [])
    assert [message.content.replace("text", "") for message in usual] == [message.content for message in empty]


_NASTY = st.sampled_from(
    ["{QUERY}", "{DOCS}", "{", "}", "%s", "$x", "{0.__class__}", "\\1", "\\g<0>", "\n\nQuestion:\n"]
)


@given(st.lists(st.text() | _NASTY, min_size=1), st.text() | _NASTY)
def test_documents_and_question_arrive_byte_for_byte(documents: list[str], question: str) -> None:
    user = _of("paper").messages("en", question, documents)[-1].content
    assert user == "Document: \n" + "\n".join(documents) + " \n\nQuestion: \n" + question


def test_own_files_go_before_the_shipped_ones_and_leave_a_mark(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "system.md").write_text("Be brief.\n")
    own = Instructions(("paper",), tmp_path)
    assert [message.content for message in own.messages("en", "q", ["d"])] == [
        "Be brief.",
        "Document: \nd \n\nQuestion: \nq",
    ]
    assert own.messages("zh", "q", ["d"]) == _of("paper").messages("zh", "q", ["d"])
    assert own.own
    assert _of("paper").own is None


def test_own_files_that_hide_the_question_are_refused(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    with pytest.raises(UsageError, match="contains no instructions"):
        Instructions(("paper",), tmp_path).messages("en", "q", ["d"])
    (tmp_path / "en" / "user.md").write_text("{DOCS}")
    with pytest.raises(UsageError, match=r"user\.md does not contain \{QUERY\}"):
        Instructions(("paper",), tmp_path).messages("en", "q", ["d"])


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("system.md", "Use {DOCS}", r"contains \{DOCS\}, which is replaced only in user\.md"),
        ("sytem.md", "Be brief.", "unknown instruction file 'en/sytem.md'. Did you mean 'en/system.md'"),
    ],
)
def test_own_files_that_would_not_do_what_they_seem_to_are_refused(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / name).write_text(text)
    with pytest.raises(UsageError, match=problem):
        Instructions(("paper",), tmp_path).messages("en", "q", ["d"])
