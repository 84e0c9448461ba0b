"""Further calls that confirm a diagnosis."""

from __future__ import annotations

from msgspec import structs

from ragbed.analysis.diagnosis.classify import diagnose_trial
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.records import Diagnosis, Evidence
from ragbed.analysis.diagnosis.reruns import confirm, hang, intervene, knock_out
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Completion, Stance
from tests.analysis.diagnosis.printed import CHINESE, ENGLISH, Printed, make_case
from tests.analysis.diagnosis.test_rules import ANSWER, OTHER_YEAR, QUESTION, SUPPORT


def _ask_again(printed: Printed, kind: str) -> tuple[Case, Case]:
    stored = printed.stored()
    diagnosis = diagnose_trial(stored, None)
    assert diagnosis is not None
    changed = intervene(stored.case, next(one for one in diagnosis.evidence if one.type == kind))
    assert changed is not None
    return stored.case, changed


def _texts(case: Case) -> list[str]:
    return [document.text for document in case.documents]


def _named(printed: tuple[Printed, ...], name: str) -> Printed:
    return next(one for one in printed if one.name == name)


def _wrong(*documents: tuple[Stance, str]) -> tuple[Case, Diagnosis]:
    case = make_case(QUESTION, ANSWER, documents)
    diagnosis = diagnose_trial(StoredResult(case, "m", 0, Completion(outcome="ok", reply="Bo Karlin")), None)
    assert diagnosis is not None
    return case, diagnosis


def test_distance_is_removed_by_joining_name_and_answer() -> None:
    far = "The Aster Cup of 2020 was wet. Nobody slept. Buses were late. The winner, she said, was Ada Merton."
    case = make_case("Who won the Aster Cup of 2020?", ANSWER, (("supports", far), OTHER_YEAR))
    stored = StoredResult(case, "m", 0, Completion(outcome="ok", reply="Bo Karlin"))
    diagnosis = diagnose_trial(stored, None)
    assert diagnosis is not None
    changed = intervene(case, next(one for one in diagnosis.evidence if one.type == "E1"))
    assert changed is not None
    assert _texts(changed)[0] == "The Aster Cup of 2020 was wet. The winner, she said, was Ada Merton."


def test_words_that_start_like_the_name_are_not_the_name() -> None:
    far = "The asterisk is old. The Aster Cup was wet. Nobody slept. Buses were late. The winner was Ada Merton."
    case = make_case("Who won the Aster Cup?", ANSWER, (("supports", far), OTHER_YEAR))
    diagnosis = diagnose_trial(StoredResult(case, "m", 0, Completion(outcome="ok", reply="Cy Dray")), None)
    assert diagnosis is not None
    changed = intervene(case, next(one for one in diagnosis.evidence if one.type == "E1"))
    assert changed is not None
    assert _texts(changed)[0] == "The Aster Cup was wet. The winner was Ada Merton."


def test_documents_for_other_parts_remain_if_distance_is_removed() -> None:
    far = "Marta Velin plays chess. Buses were late. Nobody slept. The player was born in Tallinn."
    texts: tuple[tuple[Stance, str], ...] = (("supports", far), ("supports", "Bo Karlin was born in Oslo."))
    question = "Where was Marta Velin born, and where was Bo Karlin born?"
    case = make_case(question, (("Tallinn",), ("Oslo",)), texts)
    documents = tuple(structs.replace(one, part=part) for part, one in enumerate(case.documents))
    case = structs.replace(case, documents=documents)
    reply = "Marta Velin was born in Riga, and Bo Karlin was born in Oslo."
    diagnosis = diagnose_trial(StoredResult(case, "m", 0, Completion(outcome="ok", reply=reply)), None)
    assert diagnosis is not None
    changed = intervene(case, next(one for one in diagnosis.evidence if one.type == "E1"))
    assert changed is not None
    assert _texts(changed) == [
        "Marta Velin plays chess. The player was born in Tallinn.",
        "Bo Karlin was born in Oslo.",
    ]


def test_uncertainty_is_removed_with_its_sentence_and_confusion_with_its_document() -> None:
    before, after = _ask_again(_named(ENGLISH, "headset"), "E2")
    assert _texts(after) == [_texts(before)[0], "..."]
    before, after = _ask_again(_named(CHINESE, "特斯拉"), "E3")
    assert _texts(after) == _texts(before)[:1]
    assert _texts(before)[1] not in after.messages[0].content


def test_a_sub_question_is_asked_alone_with_its_own_answer() -> None:
    for printed in (_named(ENGLISH, "super bowl"), _named(CHINESE, "超级碗")):
        before, after = _ask_again(printed, "E5")
        assert after.answer == before.answer[1:]
        assert "2023" in after.question
        assert "2022" not in after.question
        assert after.question in after.messages[0].content


def test_a_changed_case_is_named_by_its_change_and_prompt() -> None:
    case = make_case(QUESTION, ANSWER, (SUPPORT, OTHER_YEAR))
    first, second = knock_out(case, 0), knock_out(case, 1)
    assert first is not None
    assert second is not None
    assert first.case.startswith(f"{case.case},without=0,prompt=")
    assert first.case != second.case


def test_a_prompt_without_the_original_documents_is_not_changed() -> None:
    case = make_case(QUESTION, ANSWER, (SUPPORT,))
    other = structs.replace(case, messages=(structs.replace(case.messages[0], content="Something else."),))
    assert knock_out(other, 0) is None


def test_a_type_is_confirmed_if_the_reply_without_the_cause_is_right() -> None:
    case, diagnosis = _wrong(SUPPORT, OTHER_YEAR)
    changed = intervene(case, diagnosis.evidence[0])
    assert changed is not None
    for reply, confirmed in (("Ada Merton", True), ("Cy Dray", False)):
        replies = {changed.case: StoredResult(changed, "m", 0, Completion(outcome="ok", reply=reply))}
        assert confirm(diagnosis, case, replies).evidence[0].confirmed is confirmed
    assert confirm(diagnosis, case, {}).evidence[0].confirmed is None


def test_over_trust_is_not_confirmed_without_a_call() -> None:
    case = make_case("What is the capital of Tanzania?", (("Dodoma",),), (("contradicts", "The capital is Arusha."),))
    case = structs.replace(case, fake=(("Arusha",),))
    evidence = Evidence(type="E9", **tell("trusted", said="Arusha"), document=0, start=0, end=22)
    diagnosis = Diagnosis(
        case=case.case,
        model="m",
        repeat=0,
        lang="en",
        types=("E9",),
        wrong=True,
        evidence=(evidence,),
        source="contradicts",
    )
    assert intervene(case, evidence) is None  # only false documents: none would be left
    assert confirm(diagnosis, case, {}).evidence[0].confirmed is None


def test_an_answer_depends_on_the_document_whose_removal_changes_it() -> None:
    case, diagnosis = _wrong(SUPPORT, OTHER_YEAR)
    replies = {}
    for number, reply in enumerate(("Bo Karlin", "Ada Merton")):
        changed = knock_out(case, number)
        assert changed is not None
        replies[changed.case] = StoredResult(changed, "m", 0, Completion(outcome="ok", reply=reply))
    assert hang(diagnosis, case, replies).hangs_on == (1,)
    assert hang(diagnosis, case, {}).hangs_on is None
