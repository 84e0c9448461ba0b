"""What asking again could confirm a type with: the same case without the cause that was found."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from ragbed.analysis.diagnosis.case_edits import with_documents, with_question
from ragbed.analysis.diagnosis.parsed_text import open_page
from ragbed.analysis.diagnosis.records import ErrorType, Evidence
from ragbed.analysis.diagnosis.subquestions import split_question
from ragbed.schema import Case


def bring_together(case: Case, evidence: Evidence) -> Case | None:
    """E1: every supporting document becomes the sentence that names the matter and the one that answers."""
    if evidence.document is None or evidence.start is None:
        return None
    page = open_page(case.documents[evidence.document].text, case.lang)
    answer = next((one for one in page.sentences if one.start == evidence.start), None)
    names = (evidence.asked or "").split(", ")
    naming = [one for one in page.sentences if any(name in one.folded or name[:3] in one.folded for name in names)]
    if answer is None or not naming:
        return None
    space = " " if case.lang == "en" else ""
    short = f"{naming[0].text.strip()}{space}{answer.text.strip()}"
    documents = [
        structs.replace(one, text=short) if number == evidence.document else one
        for number, one in enumerate(case.documents)
        if number == evidence.document or one.stance != "supports"
    ]
    return with_documents(case, documents, f"cause={evidence.type}")


def drop_sentence(case: Case, evidence: Evidence) -> Case | None:
    """E2: the sentence that hedges is left out of its document."""
    if evidence.document is None or evidence.start is None or evidence.end is None:
        return None
    text = case.documents[evidence.document].text
    rest = text[: evidence.start] + text[evidence.end :]
    documents = [
        structs.replace(one, text=rest) if number == evidence.document else one
        for number, one in enumerate(case.documents)
        if number != evidence.document or rest.strip()
    ]
    return with_documents(case, documents, f"cause={evidence.type}")


def drop_document(case: Case, evidence: Evidence) -> Case | None:
    """E3: the document goes, or, if it is one that supports the answer, the sentence."""
    if evidence.document is None:
        return None
    if case.documents[evidence.document].stance == "supports":
        return drop_sentence(case, evidence)
    rest = [one for number, one in enumerate(case.documents) if number != evidence.document]
    return with_documents(case, rest, f"cause={evidence.type}")


def ask_part(case: Case, evidence: Evidence) -> Case | None:
    """E4 to E6: the sub-question alone."""
    parts = split_question(case.question, case.lang, len(case.answer))
    if evidence.part is None or not parts:
        return None
    return with_question(case, parts[evidence.part].text, evidence.part, f"cause={evidence.type},part={evidence.part}")


def drop_false(case: Case, evidence: Evidence) -> Case | None:
    """E9: every false document goes; where none is left there is nothing to ask that closed book has not answered."""
    rest = [one for one in case.documents if one.stance != "contradicts"]
    return with_documents(case, rest, f"cause={evidence.type}") if rest else None


INTERVENTIONS: dict[ErrorType, Callable[[Case, Evidence], Case | None]] = {
    "E1": bring_together,
    "E2": drop_sentence,
    "E3": drop_document,
    "E4": ask_part,
    "E5": ask_part,
    "E6": ask_part,
    "E9": drop_false,
}
"""Types that can be confirmed; the others are what they are by definition."""
