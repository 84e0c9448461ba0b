r"""Ordinary responses in the formats of current models: LaTeX, lists in another order, yes or no, surnames."""

from __future__ import annotations

import pytest

from ragbed.schema import Lang
from ragbed.scoring import score
from tests.scoring.robust.cases import make_case


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    [
        ("346 km", r"The river is $346 \mathrm{~km}$ long.", True),
        ("346 km", r"The answer is \(346 \text{ km}\).", True),
        ("62%", r"$62\%$ of voters supported it.", True),
        ("77,544", r"\boxed{77{,}544}", True),
        ("$3.2 billion", r"\boxed{\$3.2\text{ billion}}", True),
        ("1987", "It opened in $1987$.", True),
        ("346 km", r"The river is $364 \text{ km}$ long.", False),
        ("$5 million", "It cost $5 million, not $6 million.", True),
        ("$6 million", "It cost $5 million, not $6 million.", False),
        ("$5", "It is between $5 and US$ 6.", False),
    ],
)
def test_numbers_in_latex_are_read_and_dollars_are_not_latex(answer: str, reply: str, correct: bool) -> None:
    assert score(make_case("How much is it?", [[answer]]), reply)["correct"] is correct


def test_the_evidence_of_a_number_in_latex_has_its_original_position() -> None:
    from ragbed.scoring.robust.verdict import explain  # noqa: PLC0415 - only this test needs it

    _, evidence = explain(make_case("How long is the river?", [["346 km"]]), r"It is $\text{about } 346$ km long.")
    assert [found.text for found in evidence] == ["346$ km"]


@pytest.mark.parametrize(
    ("question", "answer", "reply", "lang", "correct"),
    [
        ("Who founded Google?", [["Larry Page"], ["Sergey Brin"]], "Sergey Brin and Larry Page.", "en", True),
        ("Which countries share the island?", [["Haiti"], ["Cuba"]], "Cuba and Haiti share it.", "en", True),
        ("芬兰的官方语言是什么？", [["芬兰语"], ["瑞典语"]], "瑞典语和芬兰语。", "zh", True),
        ("2023年公开赛男女单打冠军", [["李山"], ["王海"]], "男单冠军是王海，女单冠军是李山。", "zh", False),
        ("Who leads Apple & Google?", [["Tim Cook"], ["Sundar Pichai"]], "Sundar Pichai, Tim Cook.", "en", False),
        ("Who leads Apple as well as Google?", [["Tim Cook"], ["Bo Kim"]], "Bo Kim, Tim Cook.", "en", False),
        ("Who won gold and who won silver?", [["Ann Lee"], ["Bo Kim"]], "Bo Kim and Ann Lee.", "en", False),
        ("小说的作者是谁？他的祖父叫什么？", [["曹山"], ["曹海"]], "作者是曹海，祖父叫曹山。", "zh", False),
    ],
)
def test_the_order_counts_only_if_the_question_asks_for_several_things(
    question: str, answer: list[list[str]], reply: str, lang: Lang, correct: bool
) -> None:
    assert score(make_case(question, answer, None, lang), reply)["correct"] is correct


@pytest.mark.parametrize(
    ("question", "answer", "reply", "lang", "verdict"),
    [
        ("游客可以带宠物入园吗？", "可以", "游客不可以带宠物入园。", "zh", "incorrect"),
        ("游客可以带宠物入园吗？", "可以", "可以，游客能带宠物入园。", "zh", "correct"),
        ("参观需要预约吗？", "需要", "参观无需预约。", "zh", "incorrect"),
        ("参观需要预约吗？", "需要", "文档中没有说明参观是否需要预约。", "zh", "refused"),
        ("参观需要预约吗？", "需要", "关于能否参观、有没有要求，需要先预约。", "zh", "correct"),
        ("馆内有电梯吗？", "有", "不清楚馆内有没有电梯。", "zh", "refused"),
        ("该药孕妇能服用吗？", "能", "孕妇不能服用该药。", "zh", "incorrect"),
        ("Did Nvidia acquire Arm?", "Yes", "No, the company did not acquire it.", "en", "incorrect"),
        ("Did Nvidia acquire Arm?", "Yes", "No, the documents do not say whether it did.", "en", "refused"),
        ("Did Messi win the cup?", "Yes", "Yes, Lionel Messi won it with Argentina in Qatar.", "en", "correct"),
        (
            "Was it designed by Gaudi?",
            "Yes",
            "Yes, the church in Barcelona was designed by Antoni Gaudi.",
            "en",
            "correct",
        ),
    ],
)
def test_yes_and_no(question: str, answer: str, reply: str, lang: Lang, verdict: str) -> None:
    assert score(make_case(question, [[answer]], None, lang), reply)["verdict"] == verdict


@pytest.mark.parametrize(
    ("answer", "reply", "document", "correct"),
    [
        ("Christopher Nolan", "It was directed by Nolan [1].", "Christopher Nolan made it. But Nolan was late.", True),
        ("Christopher Nolan", "It was directed by Nolan [1].", "Jonathan Nolan wrote it.", False),
        ("Olaf Scholz", "It was signed by Chancellor Scholz.", "", True),
        ("Vincent van Gogh", "Van Gogh painted it.", "", True),
        ("Robert De Niro", "De Niro plays him.", "", True),
        ("Ursula von der Leyen", "It was von der Leyen.", "", True),
        ("Jim Morrison", "The singer was Van Morrison.", "", False),
        ("Spike Lee", "It was General Lee.", "", False),
    ],
)
def test_titles_and_particles_are_not_other_given_names(answer: str, reply: str, document: str, correct: bool) -> None:
    case = make_case("Who did it?", [[answer]], None, "en", [document] if document else [])
    assert score(case, reply)["correct"] is correct
