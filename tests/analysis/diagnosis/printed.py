"""The eight errors that the paper prints (Tables 2, 4 and 6), as far as it prints them, and seven Chinese counterparts.

Of Table 4 the paper shows no documents; what its text says of them is put into a sentence of ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragbed.analysis.diagnosis.records import Diagnosis
from ragbed.analysis.diagnosis.summary import diagnose_trial
from ragbed.analysis.diagnosis.trial import KnownAnswer
from ragbed.runs.store import StoredResult
from ragbed.schema import Answer, Case, Completion, Document, Expectation, Lang, Message, Stance
from ragbed.scoring import score_outcome


@dataclass(frozen=True)
class Printed:
    """An error with the types that the paper gives it."""

    name: str
    lang: Lang
    question: str
    answer: Answer
    reply: str
    types: tuple[str, ...]
    supports: str = ""
    distracts: str = ""
    expect: Expectation = "answer"

    @property
    def documents(self) -> tuple[tuple[Stance, str], ...]:
        """The documents that the paper shows."""
        shown: tuple[tuple[Stance, str], ...] = (("supports", self.supports), ("distracts", self.distracts))
        return tuple((stance, text) for stance, text in shown if text)

    def stored(self) -> StoredResult:
        """As a run would hold it."""
        return StoredResult(
            make_case(self.question, self.answer, self.documents, self.lang, self.expect),
            "chatglm2-6b",
            0,
            Completion(outcome="ok", reply=self.reply),
        )


def make_case(
    question: str,
    answer: Answer,
    documents: tuple[tuple[Stance, str], ...],
    lang: Lang = "en",
    expect: Expectation = "answer",
    fake: Answer | None = None,
    testbed: str | None = None,
) -> Case:
    """Return a case with these documents."""
    usual = {"refuse": "rejection", "correct": "counterfactual"}.get(expect, "noise")
    testbed = testbed or ("integration" if len(answer) > 1 else usual)
    distracting = sum(stance == "distracts" for stance, _ in documents)
    texts = "\n".join(text for _, text in documents)
    return Case(
        case=f"printed/0/{testbed}@profile=robust,seed=0",
        data="printed",
        item="0",
        lang=lang,
        testbed=testbed,
        question=question,
        noise=distracting / len(documents) if documents else None,
        noise_real=None,
        k=len(documents),
        true_ratio=0.0,
        arm="related",
        profile="robust",
        seed=0,
        feasible=True,
        documents=tuple(
            Document(text=text, stance=stance, kind="related", source=number)
            for number, (stance, text) in enumerate(documents)
        ),
        slots=(),
        messages=(Message(role="user", content=f"Documents:\n{texts}\n\nQuestion: {question}"),),
        answer=answer,
        fake=fake,
        expect=expect,
    )


def diagnose_stored(stored: StoredResult, closed_book: KnownAnswer | None = None) -> Diagnosis | None:
    """Score a trial and diagnose it."""
    return diagnose_trial(stored, score_outcome(stored.case, stored.completion), closed_book)


ENGLISH = (
    Printed(
        "swiatek",
        "en",
        "Who did Iga Swiatek defeat to win the Qatar Open 2022?",
        (("Anett Kontaveit",),),
        "Iga Swiatek defeated Ons Jabeur in the second round of the Qatar Open 2022 to win the tournament.",
        ("E1",),
        supports="In February, Swiatek entered into the Qatar Open ... In the final, she won ... Anett Kontaveit ...",
        distracts="This time, she defeated Ons Jabeur 6-2, 7-6(5) to win the 2022 US Open, ...",
    ),
    Printed(
        "headset",
        "en",
        "What is the name of Apple’s headset?",
        (("Vision Pro",),),
        "According to the document, the name of Apple’s headset is Apple Reality Pro.",
        ("E2",),
        supports="Apple (AAPL.O) on Monday unveiled a costly augmented-reality headset called the Vision Pro ...",
        distracts="... is what Gurman believes will be called Apple Reality Pro. ...",
    ),
    Printed(
        "tesla",
        "en",
        "What was Tesla’s revenue in Q1 2022?",
        (("18.76 billion",),),
        "According to the financial results provided in the article, Tesla’s revenue in Q1 2022 was $16.86 billion.",
        ("E3",),
        supports="Tesla, Inc. (TSLA) reported Q1 FY 2022 earnings results ... detailed revenues of $ 18.76 billion ...",
        distracts="...first-quarter earnings for 2022 ... ...Automotive revenue reached $16.86 billion...",
    ),
    Printed(
        "irredeemable",
        "en",
        "who will direct Irredeemable film?",
        (("Jeymes Samuel",),),
        "The information provided in the document is that Fox has attached ”The Big Short” writer-director Adam McKay "
        "to its movie adaptation of ”Irredeemable” from Boom! Comics. Therefore, the answer is Adam McKay.",
        ("E2",),
        distracts="Fox has attached The Big Short writer-director Adam McKay to its movie adaptation of Irredeemable.",
        expect="refuse",
    ),
    Printed(
        "medals",
        "en",
        "Which country won the most medals at the 2022 Winter Olympics?",
        (("Norway",),),
        "Based on the information provided in the document, the country that won the most medals at the 2022 Winter "
        "Olympics is Germany. Germany has won a total of 31 medals, including 14 gold medals, 14 bronze medals, and 31 "
        "silver medals.",
        ("E3",),
        distracts="At the 2018 Winter Olympics Germany won 31 medals, 14 of them gold.",
        expect="refuse",
    ),
    Printed(
        "groups",
        "en",
        "What groupings are France and Germany in World Cup 2022?",
        (("Group D",), ("Group E",)),
        "France and Germany are in Group D of the 2022 FIFA World Cup.",
        ("E4",),
    ),
    Printed(
        "super bowl",
        "en",
        "Who were the MVP of Super Bowl 2022 and 2023?",
        (("Cooper Kupp",), ("Patrick Mahomes",)),
        "According to the provided document, the MVP of Super Bowl LVI was Cooper Kupp of the Los Angeles Rams.",
        ("E5",),
    ),
    Printed(
        "best picture",
        "en",
        "What films won the 2022 and 2023 Academy Awards for Best Picture?",
        (("CODA",), ("Everything Everywhere All at Once",)),
        "The film CODA won the award for Best Picture at the 95th Academy Awards ceremony held on 2023.",
        ("E5", "E6"),
    ),
)

CHINESE = (
    Printed(
        "斯瓦泰克",
        "zh",
        "伊加·斯瓦泰克在2022年卡塔尔公开赛决赛中击败了谁？",
        (("科塔维特", "安内特·科塔维特"),),
        "伊加·斯瓦泰克在2022年卡塔尔公开赛决赛中击败了贾巴尔。",
        ("E1",),
        supports="今年二月，斯瓦泰克出战卡塔尔公开赛……决赛中，她以两个6比2、6比0战胜了科塔维特。",
        distracts="这一次，她以6比2、7比6击败贾巴尔，捧起2022年美国公开赛的奖杯。",
    ),
    Printed(
        "头显",
        "zh",
        "苹果公司的头显叫什么名字？",
        (("Vision Pro",),),
        "根据文档，苹果公司的头显名为Reality Pro。",
        ("E2",),
        supports="苹果公司周一发布了一款售价不菲的增强现实头显，名为Vision Pro。",
        distracts="古尔曼爆料，苹果公司的头显或将命名为Reality Pro。",
    ),
    Printed(
        "导演",
        "zh",
        "电影《无可救药》由谁执导？",
        (("杰梅斯·塞缪尔",),),
        "文档提到福克斯正与亚当·麦凯接触，洽谈改编《无可救药》，因此答案是亚当·麦凯。",
        ("E2",),
        distracts="福克斯正与亚当·麦凯接触，洽谈由他改编漫画《无可救药》。",
        expect="refuse",
    ),
    Printed(
        "奖牌",
        "zh",
        "2022年冬奥会上哪个国家获得的奖牌最多？",
        (("挪威",),),
        "根据文档，2022年冬奥会上获得奖牌最多的国家是德国，德国共获得31枚奖牌。",
        ("E3",),
        distracts="2018年冬奥会上，德国获得31枚奖牌，其中14枚金牌。",
        expect="refuse",
    ),
    Printed(
        "小组",
        "zh",
        "法国和德国在2022年世界杯上分别在哪个小组？",
        (("D组",), ("E组",)),
        "法国和德国在2022年世界杯上都在D组。",
        ("E4",),
    ),
    Printed(
        "超级碗",
        "zh",
        "2022年和2023年超级碗的最有价值球员是谁？",
        (("库珀·库普",), ("帕特里克·马霍姆斯",)),
        "根据文档，第五十六届超级碗的最有价值球员是洛杉矶公羊队的库珀·库普。",
        ("E5",),
    ),
    Printed(
        "最佳影片",
        "zh",
        "2022年和2023年奥斯卡最佳影片分别是什么？",
        (("健听女孩",), ("瞬息全宇宙",)),
        "2023年举行的第95届奥斯卡颁奖礼上，最佳影片是《健听女孩》。",
        ("E5", "E6"),
    ),
)
