"""The generator by rules: what it asks, and what it leaves alone."""

from __future__ import annotations

import pytest

from ragbed.builder.drafting import draft_question
from ragbed.builder.rules import WRITERS, join_questions, write_fields
from ragbed.schema import Article, Lang


def facts(lang: Lang, text: str, title: str = "") -> dict[str, str]:
    return {fact.question: fact.answer for fact in WRITERS[lang](title, text)}


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("The Aldermoor Tower was opened in 1931. The tower is 88 metres high.", "How high is the Aldermoor Tower?",
         "88 metres"),
        ("The Aldermoor Tower was opened in 1931.", "In what year was the Aldermoor Tower opened?", "1931"),
        ("The Aldermoor Tower was designed by Mia Holt.", "By whom was the Aldermoor Tower designed?", "Mia Holt"),
        ("Orland Foods was founded in 1988 and is based in Wick.", "Where is Orland Foods based?", "Wick"),
        ("“Nobody believed that the Aldermoor Tower could be saved,” said Mia Holt. The Aldermoor Tower was closed.",
         "Who said “Nobody believed that the Aldermoor Tower could be saved”?", "Mia Holt"),
        ("The ferry company Norsund, which is based in Wick, has four ships.",
         "Where is the ferry company Norsund based?", "Wick"),
        ("The Copperhill mine was opened in 1843. It was closed on 30 April 1978.",
         "On what date was the Copperhill mine closed?", "30 April 1978"),
        ("Mia Holt was an engineer. She was born on 4 May 1861 in Wick.", "On what date was Mia Holt born?",
         "4 May 1861"),
        ("Amalia Thorne was a botanist. In 1890 she left school. Thorne died on 2 December 1952.",
         "On what date did Amalia Thorne die?", "2 December 1952"),
    ],
)  # fmt: skip
def test_english_facts(text: str, question: str, answer: str) -> None:
    assert facts("en", text)[question] == answer


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("云岭大桥于2020年5月1日通车。大桥全长1200米。", "云岭大桥全长多少米？", "1200米"),
        ("云岭大桥于2020年5月1日通车。", "云岭大桥于哪一天通车？", "2020年5月1日"),
        ("云岭大桥由建筑师沈知秋设计。", "云岭大桥由谁设计？", "沈知秋"),
        ("云岭公司成立于1958年，总部位于安州市。", "云岭公司总部位于哪里？", "安州市"),
        (
            "云岭大桥由建筑师沈知秋设计。“云岭大桥改变了我们的生活，”沈知秋说。",
            "谁说过“云岭大桥改变了我们的生活”？",
            "沈知秋",
        ),
        ("苏婉清（1898—1976），植物学家。", "苏婉清出生于哪一年？", "1898年"),
        ("2023年10月12日，云岭大桥正式通车。", "云岭大桥于哪一天正式通车？", "2023年10月12日"),
        ("云岭公司成立于1958年，总经理为沈知秋。", "云岭公司的总经理是谁？", "沈知秋"),
    ],
)
def test_chinese_facts(text: str, question: str, answer: str) -> None:
    assert facts("zh", text)[question] == answer


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "The Aldermoor Tower will be opened in 2031."),
        ("en", "The Aldermoor Tower may have been opened in 1931."),
        ("en", "The tower was opened in 1931."),
        ("en", "It was designed by Mia Holt."),
        ("en", "The Aldermoor Tower was opened in 1931 and 1950."),
        ("en", "The Palm House was built in 1871."),  # the name does not say which one
        ("en", "The Boreas was built in 1991."),  # the kind of thing is not stated
        ("en", "“We kept half of the original planks for you,” said Mia Holt."),
        ("en", "The abbreviation GRN stands for goods received note."),
        ("en", "Holt was headed by Mia Holt."),
        ("en", "Mount Emberly erupted on 25 March 2023."),
        ("en", "The Orsa Institute was founded by Mia Holt, Jan Orr and Lea Marsh."),
        ("zh", "培训中心建于2015年。"),
        ("zh", "炎岭火山于2023年3月25日喷发。"),
        ("zh", "“两年前我们差一点破产，”沈知秋说。"),
        ("zh", "云岭大桥预计于2030年5月1日通车。"),
        ("zh", "大桥全长1200米。"),
        ("zh", "该桥由沈知秋设计。"),
    ],
)
def test_plans_guesses_and_unknown_subjects_are_left_alone(lang: Lang, text: str) -> None:
    assert facts(lang, text) == {}


HOLT = "Mia Holt was an engineer from Orsa. "


@pytest.mark.parametrize(
    ("title", "text", "question", "answer"),
    [
        ("Orsa Viaduct", "The Orsa Viaduct is a bridge. In 1903 the Orsa Viaduct collapsed during a storm.",
         "In what year did the Orsa Viaduct collapse during a storm?", "1903"),
        ("", HOLT + "In 1884 Mia Holt bought the Copperhill mine, which had closed.",
         "In what year did Mia Holt buy the Copperhill mine?", "1884"),
        ("The mills of Orsa", "The last mill of Orsa was torn down in 1903 by soldiers under Jan Orr.",
         "Which year completes this sentence from “The mills of Orsa”: “The last mill of Orsa was torn down in ____ by"
         " soldiers under Jan Orr”?", "1903"),
        ("The mills of Orsa", "A fund for the millers of Orsa collected £31,200 in the summer.",
         "Which amount of money completes this sentence from “The mills of Orsa”: “A fund for the millers of Orsa"
         " collected ____ in the summer”?", "£31,200"),
        ("The mills of Orsa", "The first mill in Orsa employed 340 weavers.",
         "Which number completes this sentence from “The mills of Orsa”: “The first mill in Orsa employed ____"
         " weavers”?", "340"),
        ("", "The tower of Orsa Church, which was built in 1931, is closed.",
         "Which year completes the sentence “The tower of Orsa Church, which was built in ____, is closed”?", "1931"),
        ("Orsa Codex", "The Orsa Codex is a manuscript from the abbey of Wick. It consists of 318 leaves of vellum.",
         "Which number completes this sentence from “Orsa Codex”: “The Orsa Codex consists of ____ leaves of vellum”?",
         "318"),
    ],
)  # fmt: skip
def test_english_events_and_blanks(title: str, text: str, question: str, answer: str) -> None:
    assert facts("en", text, title)[question] == answer


@pytest.mark.parametrize(
    ("title", "text", "question", "answer"),
    [
        (
            "云岭书院史",
            "1903年，云岭书院改为安州中学堂，首任校长是沈知秋。",
            "哪一年云岭书院改为安州中学堂？",
            "1903年",
        ),
        ("云岭书院史", "2019年，云岭书院接待游客32.5万人次。", "2019年，云岭书院接待游客多少人次？", "32.5万人次"),
        (
            "云岭大桥",
            "大桥主跨648米，桥塔高186米。",
            "《云岭大桥》一文有这样一句：“大桥主跨____，桥塔高186米。”空格处应填什么数量？",
            "648米",
        ),
    ],
)
def test_chinese_events_and_blanks(title: str, text: str, question: str, answer: str) -> None:
    assert facts("zh", text, title)[question] == answer


@pytest.mark.parametrize(
    ("lang", "title", "text"),
    [
        ("en", "The mills of Orsa", "He bought the mill of Orsa in 1903 with his brother."),  # unknown pronoun
        ("en", "The mills of Orsa", "In 1903 the company sold the mills of Orsa to its owner."),
        ("en", "The mills of Orsa", "The mills of Orsa were sold again in the same year, 1903."),
        ("en", "The mills of Orsa", "Orsa had some 340 mills and more than 9,000 weavers."),
        ("en", "The mills of Orsa", "The mills of Orsa were valued at 200 to 220 million crowns."),
        ("en", "A short guide", "A storm on 8 January 2005 felled 640 trees."),  # the title names nothing
        ("zh", "云岭桥", "1903年考入安州大学，师从沈知秋教授。"),  # no subject
        ("zh", "云岭公司发布新品", "2020年，公司推出手机理赔系统。"),
        ("zh", "云岭大桥", "该桥于1903年改建，全长120米。"),
        ("zh", "云岭市议会选举", "选举于2023年5月7日举行。"),  # elections are held repeatedly
        ("zh", "云岭大桥", "云岭大桥每天约有3.4万辆汽车通过。"),
    ],
)
def test_sentences_that_need_their_context_are_left_alone(lang: Lang, title: str, text: str) -> None:
    questions = facts(lang, text, title)
    assert all("云岭公司" in question for question in questions) if "公司" in text else not questions


DEAL = "Dockers accept pay deal after long strike"
ASKED = f"completes this sentence from “{DEAL}”: "


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("Members approved the deal by 611 votes to 402.",
         f"Which number {ASKED}“Members approved the deal by ____ votes to 402”?", "611"),
        ("It was their longest strike since 1998.",
         f"Which year {ASKED}“It was their longest strike since ____”?", "1998"),
        ("They receive a pay rise of 5.2 per cent this year.",
         f"Which percentage {ASKED}“They receive a pay rise of ____ this year”?", "5.2 per cent"),
        ("The port lost £1.2m a day, the owners reported.",
         f"Which amount of money {ASKED}“The port lost ____ a day, the owners reported”?", "£1.2m"),
        ("The old contract, which covered 900 workers, ran to 30 April 2025.",
         f"Which date {ASKED}“The old contract, which covered 900 workers, ran to ____”?", "30 April 2025"),
    ],
)  # fmt: skip
def test_english_sentences_are_quoted_with_their_title(text: str, question: str, answer: str) -> None:
    assert facts("en", text, DEAL)[question] == answer


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("去年停运期间，每天有21万名乘客改乘公交。", "“去年停运期间，每天有____乘客改乘公交。”空格处应填什么数量？",
         "21万名"),
        ("司机基本工资上调5.5%，由公司逐月发放。", "“司机基本工资上调____，由公司逐月发放。”空格处应填什么百分比？",
         "5.5%"),
        ("公司另外发放了一次性补助3000元。", "“公司另外发放了一次性补助____。”空格处应填什么金额？", "3000元"),
    ],
)  # fmt: skip
def test_chinese_sentences_are_quoted_with_their_title(text: str, question: str, answer: str) -> None:
    assert facts("zh", text, "三号线停运风波平息")[f"《三号线停运风波平息》一文有这样一句：{question}"] == answer


@pytest.mark.parametrize(
    "text",
    [
        "Members should approve the deal by 611 votes.",
        "The owners expect a loss of £1.2m a day.",
        "“We lost £1.2m a day,” one of the owners said.",
        "The strike, according to the owners, cost £1.2m a day.",
        "Call the office on 01632 960 118 before the end of the strike.",
        "The office of the union has the number 01632 960 118.",
        "The dockers met on Route 66 near the gates of the port.",
        "The night shift of the dockers starts at 6.30 in the evening.",
        "The strike cost the owners between 12 and 15 ships a day.",
        "The last meeting of the strike took 2 hours, 24 minutes and 50 seconds.",
        "Lunch for all dockers: 240 meals a day.",
        "A total of 43 ships, none of them small.",
        "The first vote gave 43 ships. The first vote gave 51 ships.",
    ],
)
def test_english_sentences_without_a_stated_value_are_left_alone(text: str) -> None:
    assert facts("en", text, DEAL) == {}


@pytest.mark.parametrize(
    "text",
    [
        "公司预计每天损失450万元，由沿线商户分摊。",
        "工会最初提出上调9.5%，公司没有同意。",
        "票价分为80元、160元和280元三档，学生半价。",
        "女子组冠军由葛蕾获得，成绩为2小时24分50秒。",
        "请乘客提前30分钟到站，以免耽误行程。",
        "7053次列车每天往返于青石与沙坪之间。",
        "公司2024年度报告在网站上公布，可以下载。",
        "取面粉400克、糖浆150克，放入盆中搅拌。",
        "车站的服务窗口24小时开放，由值班员轮流值守。",
    ],
)
def test_chinese_sentences_without_a_stated_value_are_left_alone(text: str) -> None:
    assert facts("zh", text, "三号线停运风波平息") == {}


def test_quoted_sentences_may_refer_to_their_text_only_with_its_title() -> None:
    text = "It carried 412,000 passengers last year."
    article = Article(id="a", url="a.md", title=DEAL, text=text, lang="en", sha256="", source="docs")
    (fields,) = write_fields(article, 5)
    assert draft_question(fields, "en", article).draft is not None
    bare = {**fields, "question": "Which number completes the sentence “It carried ____ passengers last year”?"}
    assert draft_question(bare, "en", article).outcome == "vague"


def test_each_sentence_gives_one_question_and_quotations_come_last() -> None:
    text = "The last mill of Wick closed in 1950. Orland Foods was founded in 1988 by Mia Holt and is based in Wick."
    article = Article(id="a", url="a.md", title="The mills of Wick", text=text, lang="en", sha256="", source="docs")
    first, second = write_fields(article, 5)
    assert first["question"] == "In what year was Orland Foods founded?"
    assert second["question"].startswith("Which year completes")


def test_fields_are_bounded_and_not_repeated() -> None:
    text = (
        "The Aldermoor Tower was opened in 1931. The Aldermoor Tower was opened in 1931. The tower is 88 metres high."
    )
    article = Article(id="a", url="a.md", title="", text=text, lang="en", sha256="", source="docs")
    assert len(write_fields(article, 20)) == 2
    assert len(write_fields(article, 1)) == 1


def test_two_questions_become_one() -> None:
    assert join_questions("How long is A?", "How long is B?", "en") == "How long is A, and how long is B?"
    assert join_questions("甲桥全长多少米？", "乙桥全长多少米？", "zh") == "甲桥全长多少米，以及乙桥全长多少米？"
