"""Find values in a text that are corrected, disputed or only planned."""

from __future__ import annotations

import re

from ragbed.schema import Lang

# Words in a sentence that corrects or denies a statement in the same text or in an earlier version of it.
_CORRECTION: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:corrections?|corrected|errat(?:um|a)|corrigend\w+|misprint\w*|typos?|typing error|in error|incorrect\w*"
        r"|mistake[ns]?|mistakenly|wrong|wrongly|(?:earlier|previous|first|original|printed|online) (?:version|draft"
        r"|edition|article|report|notice|leaflet|count|figure|estimate|minutes|recipe)|should have (?:read|been|said)"
        r"|should read|(?:overstat|understat|misstat|exaggerat|misquot|misread|miscount|mislabel|miscalculat)\w*"
        r"|(?:previously|originally|first) (?:given|stated|reported|announced|printed)|turned out|contrary to|disput\w+"
        r"|retract\w*|withdrawn|superseded|amended|den(?:y|ies|ied))\b"
        r"|\bnot (?:by |on |in |at )?[£$€]?\d[\d.,]*(?: \w+)?(?=[.,;)]| as\b| but\b)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        "更正|勘误|订正|修订说明|改正|误[写作录记当报称传载植刊]|[传记写抄算弄搞印看报说][错反漏]了?|笔误|有误|之误|旧误|错把|应[为是](?=[“\\d一二三四五六七八九十])"
        "|当为|实[为是]|实际[为是]|[写印报说]成|以[^，。]{1,12}为准|经查|查了|核实|上一?[期版](?:目录|手册|公告|通知|写)|否认|夸大|不[相]?符|不属实|不准确|存疑|有争议|不是[^，。]{1,15}，?而是|并非|初报|核减|核查后"
    ),
}
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:\.(?=\S)[^.!?。！？\n]+)*[.!?。！？\n]*")
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_MIN_DIGITS = 2  # minimum number of digits for comparing a number without its unit
_HEADING = re.compile(r"(?m)^(?:(?P<level>#{1,6})[ \t]+(?P<name>.+?)|\*\*(?P<bold>[^*\n]{2,40})\*\*)[ \t]*#*$")
# Headings of sections that state plans, corrections or a litigant's claims instead of facts.
_NO_FACTS: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:plans?|planned|next steps?|what(?:[’']s| is| comes) next|next (?:year|season|month|week)|future|outlook"
        r"|looking ahead|proposals?|proposed|recommend\w+|forecasts?|targets?|goals?|aims?|budget|to[- ]do|corrections?"
        r"|errata|erratum|roadmap|coming (?:soon|up)|known issues|arguments?|submissions?|pleadings?|allegations?|"
        r"(?:claimant|plaintiff|defendant|applicant|respondent|appellant)(?:[’']s|s[’'])? (?:case|claims?|position))\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        "计划|展望|规划(?!局)|目标|打算|下一步|明年|未来|建议|预算|更正|勘误|设想|预测|预报|拟|待办|提案|[诉辩]称|诉请|答辩|主张|控方|辩方"
    ),
}


def leave_out_sections(text: str, lang: Lang) -> str:
    """Return a text without the sections whose headings announce plans, corrections or a litigant's claims."""
    headings = list(_HEADING.finditer(text))
    kept, start, at = [], 0, 0
    while at < len(headings):
        found = headings[at]
        level = len(found["level"] or "#######")
        at += 1
        if found["level"] == "#" or not _NO_FACTS[lang].search(found["name"] or found["bold"]):
            continue
        while at < len(headings) and len(headings[at]["level"] or "#######") > level:
            at += 1
        kept.append(text[start : found.start()])
        start = headings[at].start() if at < len(headings) else len(text)
    return "".join((*kept, text[start:]))


class Corrections:
    """The sentences in a text that correct or deny something, plus the neighbours of those without a number.

    Args:
        text: The text.
        lang: Language of the text.
    """

    def __init__(self, text: str, lang: Lang) -> None:
        self._text, self._numbers = "", frozenset[str]()
        if _CORRECTION[lang].search(text):
            sentences = _SENTENCE.findall(text)
            places = [at for at, sentence in enumerate(sentences) if _CORRECTION[lang].search(sentence)]
            near = {at + step for at in places for step in _reach(sentences[at])}
            self._text = " ".join(sentences[at] for at in sorted(near) if 0 <= at < len(sentences))
            self._numbers = frozenset(_NUMBER.findall(self._text))

    def contain(self, answer: str, sentence: str) -> bool:
        """Check whether the corrections mention an answer, one of its numbers, or a longer number from its sentence."""
        if not self._text:
            return False
        if answer.lower() in self._text.lower():
            return True
        own = (number for number in _NUMBER.findall(answer) if _size(number) >= _MIN_DIGITS)
        others = (number for number in _NUMBER.findall(sentence) if _size(number) > _MIN_DIGITS)
        return not self._numbers.isdisjoint((*own, *others))


def _size(number: str) -> int:
    return len(re.sub(r"\D", "", number))


def _reach(sentence: str) -> tuple[int, ...]:
    """Return the offsets of the sentences that a correction may refer to.

    If the correction contains a number, it refers only to its own sentence (offset 0).
    """
    return (0,) if _NUMBER.search(sentence) else (-1, 0, 1)
