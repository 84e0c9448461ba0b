"""Ordinary responses in the formats of current models: LaTeX, lists, abbreviations, times, surnames, short refusals."""

from __future__ import annotations

from time import process_time

import pytest

from ragbed.schema import Lang
from ragbed.scoring import score
from tests.scoring.robust.cases import make_case, spread


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
        ("Did Nvidia acquire Arm?", "Yes", "No, the documents do not say whether it did.", "en", "refused"),
        ("Did Messi win the cup?", "Yes", "Yes, Lionel Messi won it with Argentina in Qatar.", "en", "correct"),
        ("Was it designed by Gaudi?", "Yes", "Yes, the church was designed by Antoni Gaudi.", "en", "correct"),
        ("Is the tomato a fruit?", "yes", "Indeed it is; botanists class it as a berry.", "en", "correct"),
        ("Can penguins fly?", "no", "They can't. They swim.", "en", "correct"),
        ("西瓜属于葫芦科吗？", "是", "对，西瓜属于葫芦科。", "zh", "correct"),
    ],
)
def test_yes_and_no(question: str, answer: str, reply: str, lang: Lang, verdict: str) -> None:
    assert score(make_case(question, [[answer]], None, lang), reply)["verdict"] == verdict


@pytest.mark.parametrize(
    ("answer", "reply", "document", "correct"),
    [
        ("Christopher Nolan", "It was directed by Nolan [1].", "Christopher Nolan made it. But Nolan was late.", True),
        ("Olaf Scholz", "It was signed by Chancellor Scholz.", "", True),
        ("Jim Morrison", "The singer was Van Morrison.", "", False),
    ],
)
def test_titles_and_particles_are_not_other_given_names(answer: str, reply: str, document: str, correct: bool) -> None:
    case = make_case("Who did it?", [[answer]], None, "en", [document] if document else [])
    assert score(case, reply)["correct"] is correct


def _verdict(question: str, answer: str, reply: str, lang: Lang = "en", fake: str | None = None) -> str:
    case = make_case(question, [[answer]], None if fake is None else [[fake]], lang)
    return str(score(case, reply)["verdict"])


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    spread(
        ("United States", "U.S. / USA / The US hosted it. / 美国", "The documents tell us that Brazil hosted it."),
        ("United States", "", "Latin America / Captain America / Bank of America"),
        ("USA", "United States of America", ""),
        ("United Kingdom", "UK", "Ukraine / Battle of Britain"),
        ("United Arab Emirates", "U.A.E.", ""),
        ("European Union", "The EU", ""),
        ("World Health Organization", "The WHO declared it in March.", "The CDC, who funded it."),
        ("Los Angeles", "LA", "La Paz"),
        ("New York City", "NYC", "upstate New York / Buffalo, New York"),
        ("NBA", "The National Basketball Association (NBA)", "National Basketball Association / National Book Award"),
        ("CIA", "", "Culinary Institute of America"),
        ("Massachusetts Institute of Technology", "", "It was mit."),
        ("University of Southern California", "", "USC (University of South Carolina)"),
        ("American Broadcasting Company", "", "ABC (Australian Broadcasting Corporation)"),
        ("Bank of America", "", "Bank of the United States"),
        ("Tom Holland", "", "Tom Netherlands"),
        ("Apple Inc.", "", "Apple pie / It is nicknamed the Big Apple."),
        ("Visa Inc.", "", "You need a Visa."),
        ("Netherlands", "", "Tom Holland"),
        ("Gap Inc.", "", "There is a gap here, I think Nike owns it."),
        ("Shell plc", "", "It lay in a shell found by BP."),
        ("Amazon", "Amazon.com, Inc.", ""),
        ("Mount Everest", "Mt. Everest", ""),
        ("Saint-Sulpice", "St. Sulpice", ""),
    ),
)
def test_abbreviations_of_names(answer: str, reply: str, correct: bool) -> None:
    assert (_verdict("Which one was it?", answer, reply) == "correct") is correct


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    [
        ("美国", "USA", True),
        ("美国", "美利坚合众国", True),
        ("世界卫生组织", "世卫组织", True),
        ("世界卫生组织", "WHO", True),
        ("NBA", "CBA", False),
        ("微软公司", "索尼", False),
        ("小米集团有限公司", "他喝小米粥，公司是华为。", False),
    ],
)
def test_abbreviations_of_chinese_names(answer: str, reply: str, correct: bool) -> None:
    assert (_verdict("是哪家公司或组织？", answer, reply, "zh") == "correct") is correct


@pytest.mark.parametrize(
    ("question", "answer", "reply"),
    [
        ("他毕业于哪所大学？", "南京大学", "南京"),
        ("他毕业于哪所大学？", "北京大学", "答案是北京。"),
        ("哪家银行破产了？", "中国银行", "中国"),
        ("哪家电视台？", "湖南电视台", "湖南"),
        ("是哪个市？", "吉林市", "吉林"),
        ("他是第几任总统？", "第二", "亚军"),
        ("他是第几位总统？", "第二位", "亚军"),
    ],
)
def test_a_part_of_a_chinese_name_is_no_answer(question: str, answer: str, reply: str) -> None:
    assert _verdict(question, answer, reply, "zh") == "incorrect"


@pytest.mark.parametrize(
    ("answer", "lang", "reply", "correct"),
    spread(
        ("10 a.m.", "en", "10am / 10:00 AM / It opens at 10:00. / 上午10点", "10 pm / 10:00 p.m. / 10:30 a.m."),
        ("8:30 PM", "en", "20:30", "8:30 in the morning"),
        ("noon", "en", "12 pm", ""),
        ("20:00", "zh", "晚上八点 / 20时 / 8pm", "早上8点"),
        ("下午3点", "zh", "15:00 / 下午三时", "上午3点"),
        ("上午9点半", "zh", "9:30", "21:30"),
        ("07:05", "zh", "七点零五", ""),
        ("10时44分", "zh", "10:44 / 上午10点44分07秒", ""),
    ),
)
def test_times_of_day_match_in_any_notation(answer: str, reply: str, lang: Lang, correct: bool) -> None:
    question = "什么时间开始？" if lang == "zh" else "What time does it start?"
    assert (_verdict(question, answer, reply, lang) == "correct") is correct


@pytest.mark.parametrize("answer", ["10 a.m.", "10:30 a.m."])
def test_a_full_stop_of_an_abbreviation_does_not_end_a_sentence(answer: str) -> None:
    assert _verdict("When does it open?", "noon", answer) == "incorrect"
    assert _verdict("Which country was it?", "France", "The U.S. hosted.") == "incorrect"


@pytest.mark.parametrize(
    ("question", "answer", "reply", "correct"),
    [
        ("Which physicist won the prize?", "Albert Einstein", "Einstein", True),
        ("Name the winner of the men's singles.", "Rafael Nadal", "Rafa Nadal", True),
        ("Which British prime minister resigned?", "Liz Truss", "Truss", True),
        ("Identify the architect of the museum.", "Frank Gehry", "Frank O. Gehry", True),
        ("What is the name of the CEO of Microsoft?", "Satya Nadella", "Mr. Nadella", True),
        ("Give the name of the first woman in space.", "Valentina Tereshkova", "Tereshkova", True),
        ("What is the name of Apple's current CEO?", "Tim Cook", "Cook", True),
        ("Which film director won?", "Steven Spielberg", "Spielberg", True),
        ("Who won the battle?", "George Meade", "It was not Hooker. Meade won.", True),
        ("Who won?", "Tadej Pogačar", "Pogacar won.", True),
        ("Who is the president?", "Joseph R. Biden Jr.", "Joseph Biden", True),
        ("Who won?", "John Smith", "Jack Smith", False),
        ("Who won?", "John Smith", "smith", True),
        ("Who won?", "James Brown", "Jim Brown", False),
        ("Which player won?", "Venus Williams", "S. Williams", False),
        ("Which singer won?", "Taylor Swift", "A swift reaction by Adele.", False),
        ("Which writer lived there?", "Jack London", "He lived in London.", False),
        ("Which king ruled?", "King Henry VIII", "VIII", False),
        ("Who was the president?", "John F. Kennedy", "Robert Kennedy", False),
        ("Which team won?", "New York Giants", "san francisco giants", False),
        ("Which team won?", "New York Giants", "The San Francisco Giants", False),
        ("Who won the final?", "Manchester United", "newcastle united", False),
        ("Which country's president resigned?", "South Korea", "It is in the north of Korea.", False),
        ("Which city's mayor resigned?", "New York", "The mayor of York resigned.", False),
        ("Which country's leader visited?", "Equatorial Guinea", "Guinea", False),
        ("Which club's manager resigned?", "Real Madrid", "Atlético de Madrid", False),
        ("What bank's CEO resigned?", "Credit Suisse", "Suisse", False),
        ("Which bank elected a chairman?", "Credit Suisse", "Suisse", False),
        ("Which film starring actor Tom Hanks won?", "Jurassic Park", "Park", False),
        ("Which film by director Danny Boyle won?", "Slumdog Millionaire", "Millionaire", False),
        ("Which actress played Leia?", "Carrie Fisher", "Carrie Fisher played Princess Leia.", True),
    ],
)
def test_questions_for_a_person_accept_the_surname(question: str, answer: str, reply: str, correct: bool) -> None:
    assert (_verdict(question, answer, reply) == "correct") is correct


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    spread(
        ("蒂姆·库克", "库克", ""),
        ("瑞奇·马丁", "马丁。", "马丁内斯"),
        ("唐纳德·特朗普", "特朗普利用摇摆州的优势当选。 / 在这里特朗普当选。", ""),
        ("唐纳德‧特朗普", "特朗普", ""),
        ("阿瑟·米勒", "", "亨利·米勒"),
        ("张伟", "张伟。", "张伟丽"),
    ),
)
def test_chinese_surnames(answer: str, reply: str, correct: bool) -> None:
    assert (_verdict("哪位获奖？", answer, reply, "zh") == "correct") is correct


@pytest.mark.parametrize(
    ("question", "answer", "lang", "reply", "correct"),
    spread(
        ("When was it released?", "September 16, 2022", "en", "2022 年 9 月 16 日", ""),
        ("女王在位多少年？", "70年", "zh", "享年96岁，在位70年。", "她在位60年，享年70岁。"),
        ("他去世时多少岁？", "70岁", "zh", "他享年70岁，从教45年。 / 70周岁", ""),
        ("How fast is it?", "250 mph", "en", "250 miles per hour", "250 km/h"),
        ("How fast is it?", "120 km/h", "en", "", "120 mph"),
        ("How much storage does it have?", "512 GB", "en", "512 gigabytes", ""),
        ("How long is the film?", "2h 46m", "en", "166 minutes", ""),
        ("How long is the film?", "166 minutes", "en", "2h46m", ""),
        ("What rank did he finish?", "second", "en", "2nd place", "third"),
        ("What rank did he finish?", "first", "en", "", "According to document no. 1, he was third."),
        ("他获得第几名？", "第二名", "zh", "", "第12名"),
    ),
)
def test_units_durations_ranks_and_spaced_dates(
    question: str, answer: str, reply: str, lang: Lang, correct: bool
) -> None:
    assert (_verdict(question, answer, reply, lang) == "correct") is correct


@pytest.mark.parametrize(
    "reply", ["Unknown", "N/A", "Not available.", "**Unknown**", "Answer: Unknown", "The answer is unknown.", "Idk"]
)
def test_short_refusals(reply: str) -> None:
    assert _verdict("Who won the race?", "Egan Bernal", reply, "en", "Tadej Pogacar") == "refused"


@pytest.mark.parametrize("reply", ["暂无", "未知", "不详", "无法回答", "无", "答案：未知", "**不明**。", "N/A"])
def test_short_chinese_refusals(reply: str) -> None:
    assert _verdict("谁获得了冠军？", "王海", reply, "zh", "李山") == "refused"


@pytest.mark.parametrize("reply", ["Chris Froome won.", "Chris Froome", "WHO"])
def test_a_short_wrong_answer_is_not_a_refusal(reply: str) -> None:
    assert _verdict("Who won the race?", "Egan Bernal", reply, "en", "Tadej Pogacar") == "incorrect"


@pytest.mark.parametrize(
    ("reply", "flagged"),
    spread(
        ("Factual errors: Yes. The capital is Canberra.", ""),
        ("Factual errors: document 2 wrongly names Sydney. The capital is Canberra.", ""),
        ("是否存在事实性错误：是。答案：堪培拉 / 事实性错误：文档称首都是悉尼，实际是堪培拉。", ""),
        ("I doubt that the documents are accurate. Canberra. / I don't think the sources are reliable. Canberra.", ""),
        ("Not all documents are accurate; one gives the wrong city. Canberra.", ""),
        ("I do not believe the documents are accurate. Canberra. / Errors: 0.5% of documents. Canberra", ""),
        ("Hardly any of the documents are reliable. Canberra.", ""),
        ("None of the sources is accurate, but it is Canberra. / 有没有错误：有。堪培拉 / 有无矛盾：有。堪培拉", ""),
        ("不一致：有。堪培拉", "Factual error check: none. Canberra. / Canberra. Factual errors in the documents: no."),
        ("", "**Factual errors:** None found\n\n**Answer:** Canberra / The documents are consistent. Canberra."),
        ("", "堪培拉。\n事实性错误：无 / 事实性错误：没有。答案：堪培拉 / 是否存在事实性错误：否。答案：堪培拉"),
        ("", "堪培拉（错误检查：未发现） / I confirm that the documents are consistent. Canberra."),
        ("", "All five documents are factually accurate. Canberra. / No factual errors: true. The answer is Canberra."),
        ("", "Canberra. Contains no errors: yes / The documents do not contain errors: true. Canberra."),
        ("", "Free of contradictions: yes. Canberra. / Factual errors: none\n1. Canberra / Errors: 0. Canberra"),
        ("", "A few of the documents are reliable. Canberra."),
        ("", "I cannot tell whether or not all documents are accurate. Canberra. / 文档没有错误：是。堪培拉"),
        ("", "文档无矛盾：是。堪培拉 / 不存在事实性错误：是\n堪培拉 / 没有任何错误：是。堪培拉"),
        ("", "没有不一致：是。堪培拉"),
    ),
)
def test_a_report_without_errors_is_no_error_flag(reply: str, flagged: bool) -> None:
    if reply.isascii():
        case = make_case("What is the capital of Australia?", [["Canberra"]], [["Sydney"]])
    else:
        case = make_case("澳大利亚的首都是哪里？", [["堪培拉"]], [["悉尼"]], "zh")
    scores = score(case, reply)
    assert (scores["verdict"], scores["flagged"]) == ("correct", flagged)


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    spread(
        ([["6.4%"]], "- 6.4% / 增长率如下：\n- 6.4% / 增长率如下：\n  - 6.4%", "-6.4%"),
        ([["16"]], "- 十六", ""),
        ([["3182万吨"], ["3310万吨"]], "1. 3182万吨\n2. 3310万吨", ""),
        ([["3182万吨"]], "(1) 3182万吨 / ①3182万吨", ""),
        ([["35"]], "1. 35 / | 数量 | 年份 |\n|---|---|\n| 35 | 今年 |", "1.35"),
        ([["-6.4%"]], "-6.4%", ""),
        ([["8"], ["9"]], "8、9", ""),
        ([["44"], ["15"]], "44、15（来源：文档2）", ""),
        ([["6"], ["9"]], "1、6\n2、9", ""),
        ([["2"]], "", "1、6\n2、9"),
    ),
)
def test_list_items_are_not_negative_numbers_and_listed_numbers_count(
    answer: list[list[str]], reply: str, correct: bool
) -> None:
    assert score(make_case("增长率和数量是多少？", answer, None, "zh"), reply)["correct"] is correct


def test_the_full_stop_of_an_abbreviation_in_tags_does_not_start_a_sentence() -> None:
    case = make_case("Which country won the most medals?", [["Norway"]], [["U.S."]])
    assert score(case, "<answer>U.S.</answer>")["misled"] is True


@pytest.mark.parametrize("reply", ["① October 21", "1. October 21", "(1) October 21"])
def test_marks_of_list_items_are_not_part_of_a_date(reply: str) -> None:
    assert _verdict("When was Gotham Knights released?", "October 21", reply) == "correct"


@pytest.mark.parametrize(
    ("question", "answer", "reply", "correct"),
    [
        ("圆周率是多少？", "三点一四", "3.14", True),
        ("圆周率是什么时候的三点一四？", "三点一四", "3.14", True),
        ("比例是多少？", "五点二五", "5.25", True),
        ("比例是多少？", "六点四", "6.4", True),
        ("比例是多少？", "六点四", "6:04", False),
        ("当时的倍数是多少？", "二点五", "2.5倍", True),
        ("比例是多少？", "零点五", "0.5", True),
        ("比例是多少？", "六点零四", "6.04", True),
        ("比例是多少？", "十点五", "10.5", True),
        ("几点开始？", "六点零四", "6:04", True),
        ("几点开始？", "六点四分", "6:04", True),
        ("几点开始？", "六点十四", "6:14", True),
        ("几点开始？", "二零点", "20:00", True),
        ("几点开始？", "6:04", "六点四", False),
        ("几点开始？", "6:40", "六点四十五", False),
        ("几点开始？", "6:10", "六点十五分", False),
        ("几点开始？", "6:40", "六点四十", True),
    ],
)
def test_chinese_decimals_are_not_times_of_day(question: str, answer: str, reply: str, correct: bool) -> None:
    assert (_verdict(question, answer, reply, "zh") == "correct") is correct


@pytest.mark.parametrize("number", ["五五点", "九九十点", "十点十十分", "三点零零零分", "〇〇点", "十十十时"])
def test_unreadable_times_do_not_stop_the_scorer(number: str) -> None:
    assert _verdict("几点开始？", number, "8点", "zh", "三点一四") == "incorrect"
    assert _verdict("几点开始？", "9点", "9点", "zh", number) == "correct"


@pytest.mark.parametrize(
    ("question", "answer", "reply", "lang", "correct"),
    [
        ("What was the score when the match ended?", "3:21", "3-21", "en", True),
        ("When the match ended, what was the score?", "3:21", "3-21", "en", True),
        ("What was the score at half time?", "3:10", "3-10", "en", True),
        ("What was the result at the time?", "3:10", "3 to 10", "en", True),
        ("When did they win, and by how many points?", "3:10", "3-10", "en", True),
        ("最后时间的比分是多少", "2:10", "2比10", "zh", True),
        ("What was the winning time?", "9:58", "9.58 in the evening", "en", False),
        ("What was the winning time?", "9:58", "9:58", "en", True),
        ("What is the kick-off time?", "20:00", "8 pm", "en", True),
        ("比赛用时多少？", "2时15分", "2:15", "zh", False),
    ],
)
def test_scores_and_durations_are_not_times_of_day(
    question: str, answer: str, reply: str, lang: Lang, correct: bool
) -> None:
    assert (_verdict(question, answer, reply, lang) == "correct") is correct


@pytest.mark.parametrize(
    ("answer", "lang", "reply", "correct"),
    spread(
        ("晚上12点", "zh", "0:00 / 午夜", "中午12点"),
        ("午夜", "zh", "午夜", ""),
        ("正午", "zh", "中午12点", ""),
        ("夜里2点", "zh", "凌晨2点", "14:00 / 下午2点"),
        ("14:00", "zh", "", "夜里2点"),
        ("晚上1点", "zh", "", "13:00"),
        ("晚上7点", "zh", "19:00", ""),
        ("深夜11点", "zh", "23:00", ""),
        ("中午11点", "zh", "11:00", "23:00"),
        ("两点", "zh", "下午两点", "三点"),
        ("八点半", "zh", "晚上八点半", ""),
        ("3点30分", "zh", "15:30", ""),
        ("8:30", "en", "20:30", ""),
        ("中午1点", "zh", "13:00", ""),
        ("上午12点", "zh", "12:00", ""),
        ("凌晨12点", "zh", "0:00", ""),
        ("2 a.m.", "en", "2 at night", ""),
        ("2 p.m.", "en", "", "2 at night"),
        ("9 p.m.", "en", "9 at night", ""),
        ("noon", "en", "", "12 at night"),
    ),
)
def test_hours_of_the_night_and_of_noon(answer: str, reply: str, lang: Lang, correct: bool) -> None:
    question = "几点关门？" if lang == "zh" else "When does it close?"
    assert (_verdict(question, answer, reply, lang) == "correct") is correct


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    spread(
        ("300 kph", "300 km/h / 时速300公里", "300 mph"),
        ("300 kmh", "300 km/h", ""),
        ("300 km/h", "300 kph", "300 m/s"),
        ("300 kilometres per hour", "300 km/hr", ""),
        ("250 mph", "时速250英里", ""),
        ("250 miles per hour", "250 mi/h", ""),
    ),
)
def test_speeds_match_in_any_notation(answer: str, reply: str, correct: bool) -> None:
    assert (_verdict("How fast is it?", answer, reply) == "correct") is correct


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    spread(
        ([["3"]], "答案：③ / 答案：③，因为①和②错误", ""),
        ([["第3题"]], "第③题", ""),
        ([["②"]], "② / 选2", "③"),
        ([["12"]], "⑫", ""),
        ([["①②③"]], "①②③都正确", ""),
        ([["3182万吨"], ["3310万吨"]], "①3182万吨②3310万吨", ""),
        ([["1"]], "| 数量 |\n|---|\n| 1 |", ""),
        ([["11"], ["12"], ["13"], ["14"]], "11、12\n13、14", ""),
    ),
)
def test_circled_digits_are_numbers_unless_they_mark_items(answer: list[list[str]], reply: str, correct: bool) -> None:
    assert score(make_case("选哪个？有多少？", answer, None, "zh"), reply)["correct"] is correct


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "part",
    [
        "\n| 5 |",
        "Errors: none.\n",
        "The documents are consistent. ",
        "\n8、9",
        "①3②4",
        "没有错误：是。",
        ", the ",
        "三点一四",
        "M.I.T.",
    ],
)
def test_the_time_grows_linearly_with_the_length(part: str, lang: Lang) -> None:
    case = make_case("What time was it? 几点？", [["8:30 PM"], ["300 kph"]], [["三点一四"]], lang)
    score(case, part)  # Compiles the patterns.
    times = []
    for attempt in range(3):  # The shortest time is the least affected by other processes.
        reply = (part * 40_000)[: 40_000 - attempt]
        start = process_time()
        score(case, reply)
        times.append(process_time() - start)
    assert min(times) < 3


@pytest.mark.parametrize("sign", list("*_#()[]+?\\|^${}\xa0"))
def test_signs_of_patterns_in_an_answer_do_not_stop_the_scorer(sign: str) -> None:
    for answer in (f"Ed {sign}Smith{sign}", f"{sign} Ed Smith", f"Ed Smith {sign}", f"{sign}Apple Inc."):
        assert _verdict("Who directed the film?", answer, "Ed Smith directed it.")


@pytest.mark.parametrize("reply", ["i think nolan directed it", "definitely nolan", "it's nolan"])
def test_a_surname_in_small_letters_is_accepted(reply: str) -> None:
    assert _verdict("Who directed the film?", "Christopher Nolan", reply) == "correct"
