"""Prepare answers for matching: read each alias as a date, a quantity or a name."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ragbed.schema import Answer, Lang
from ragbed.scoring.robust.dates import Date, find_dates, lone_years
from ragbed.scoring.robust.normalise import fold, fold_question
from ragbed.scoring.robust.numerals import Digits, digits_of
from ragbed.scoring.robust.patterns import Terms, lazy, terms_of
from ragbed.scoring.robust.quantities import Quantity, find_quantities
from ragbed.scoring.robust.units import LOOSE, UNITS
from ragbed.scoring.robust.variants import spellings
from ragbed.text import in_words

_EDGES = " \n\"'.,;:!?。、《》〈〉()[]<>"
_RUN = lazy(r"[a-z]+|[0-9]+|[^\W\da-z_]+")
_CAMEL = lazy(r"(?<=[a-z])(?=[A-Z])")
_ACRONYM = lazy(r"\b[A-Z]{2,4}\b")
_PARENTHESIS = lazy(r"^([^()（）]+?)\s*[(（]([^()（）]+)[)）]$")
_SCORE = lazy(r"([0-9]+) ?(?:-|:|比|to) ?([0-9]+)")
_CAPITAL_AFTER_NUMBER = lazy(r"^[\d.,]+ [A-Z]")
_ASKS_WHEN = lazy(r"\bwhen\b|\byear\b|\bdate\b|\bday\b|年|时候|何时|日期|哪天|哪一天|时间")
_ASKS_WHO = lazy(
    r"\bwho(?:m|se)?\b|\bwhich (?:\w+ )?(?:director|author|architect|person|artist|designer|player|candidate"
    r"|minister|general|scientist|historian|actor|actress|singer|writer|poet"
    r"|composer|painter|politician|athlete|swimmer|driver|coach|chef|judge|executive|president|mayor|officer|explorer|engineer|professor|journalist)\b|谁|哪位|哪一位|人是"
)
_ASKS_PERCENTAGE = lazy(r"%|per ?cent|percentage|share|rate|turnout|百分|率|比例")
_HOW_MANY = lazy(r"\bhow many ([a-z]+)")
_LAST_WORD = lazy(r" [a-z]{4,}$")
_ONLY_HAN = lazy("[\u4e00-\u9fff]+")
_MIN_PHRASE_ZH = 6  # characters
_LONGEST = 15  # digits of a number that is also written in words
_MAX_STEMS = 5  # The time to search a text grows exponentially with the number of stems.
_NOT_NEGATED = r"(?!(?:not|no|never|without)\b|[a-z]+n't)"
_NEGATION = lazy(r"\b(?:not|no|never|without|nor|neither)\b|n't|[不未非没无]")
_COMMON = frozenset({"that", "with", "from", "were", "have", "been", "into", "than", "this", "their", "there"})
# A yes or a no at the start of a response, in other words.
_VERBS = "is are was were does do did has have had can could will"
_HE_IS = rf"(?:it|they|he|she|that|there) (?:{'|'.join(_VERBS.split())})"
# Nothing else may follow in the clause: 'It is.' means yes, but 'It is unclear.' does not.
_END = r"(?=[,.;!]|\Z)"
_YES = (
    r"(?:yep|yeah|yup|affirmative"
    rf"|(?:indeed|correct|absolutely|certainly|of course|definitely|{_HE_IS}){_END})"
)
_NO = (
    rf"(?:nope|nah|(?:never|not (?:at all|really|quite|so)|{_HE_IS}(?: not|n't)"
    rf"|(?:it|they|he|she) (?:can't|cannot|won't)){_END})"
)
_END_ZH = r"(?=[,。!]|\Z)"
_YES_ZH = rf"(?:是的|没错|(?:对|的确|确实|当然|有|可以|会){_END_ZH})"
_NO_ZH = rf"(?:(?:不是的?|并?非|不|没有|并?不(?:会|能|可以|行|对|属于)|错了?){_END_ZH})"
_YES_OR_NO = {"yes": _YES, "no": _NO, "是": _YES_ZH, "是的": _YES_ZH, "对": _YES_ZH, "否": _NO_ZH, "不是": _NO_ZH}
_NO_LETTER = lazy(r"\W")
_LONG_WORD = lazy(r"[a-z]{3,}")
_COMMA = lazy("[,，]")
# Forms of an auxiliary verb inside an answer such as 'deposits were counted twice', whose tense may differ.
_AUXILIARIES = frozenset({"was", "were", "is", "are"})
_COUNTED = frozenset({"person", "thing", "item"})
_NO_DATE = Date(None, None, None, 0, 0)


class Name(NamedTuple):
    """An alias that is neither a date nor a quantity.

    Attributes:
        key: Its longest sequence of letters or digits; a text without the key does not contain the name.
        pattern: The source of its pattern. It is compiled on first use, because compiling takes half of the time of
            preparing an answer and most responses do not need it.
        bearers: For a surname that is not an alias: its unfolded form.
        given: The given name of the person.
    """

    key: str
    pattern: str
    bearers: str | None = None
    given: str = ""


class GoldSlot(NamedTuple):
    """A part of the answer with its alternative forms.

    Attributes:
        nouns: The nouns that the quantities count.
        fullest_date: The parts of all dates together.
        digits: What a text must contain to express each quantity.
        forms: The normalised forms, to detect whether another answer means the same.
    """

    names: tuple[Name, ...]
    dates: tuple[Date, ...]
    quantities: tuple[Quantity, ...]
    nouns: frozenset[str]
    fullest_date: Date
    digits: tuple[Digits, ...]
    forms: frozenset[object]

    @property
    def kind(self) -> str:
        """The kind of answer. Only answers of the same kind can be confused."""
        if self.dates:
            return "date"
        if self.quantities:
            return f"quantity {self.quantities[0].unit}"
        return "name"


class Gold(NamedTuple):
    """The prepared answers of a case.

    Attributes:
        question_date: The parts of a date that the question gives.
        asks_percentage: Whether the question asks for a percentage, so that the sign can be omitted.
        fake_is_gold: Whether the false answer means the same as the true one and cannot mislead.
        rivals: Values that documents give as an answer and that are neither the true nor the false one.
    """

    lang: Lang
    slots: tuple[GoldSlot, ...]
    fakes: tuple[GoldSlot, ...]
    question_date: Date
    asks_percentage: bool
    fake_is_gold: bool
    rivals: tuple[GoldSlot, ...] = ()


compiled = lru_cache(maxsize=16_384)(re.compile)  # The cache in `re` holds only a few hundred patterns.


@lru_cache(maxsize=16_384)
def prepare(
    question: str, answer: Answer, fake: Answer | None, lang: Lang, stated: frozenset[str] = frozenset()
) -> Gold:
    """Read the true and the false answer; the result is cached because a question occurs under many conditions.

    Args:
        question: The question.
        answer: The true answer.
        fake: The false answer, if there is one.
        lang: The language.
        stated: Recorded values of the documents that do not support the answer.
    """
    gold, folded, known = _read_answers(question, answer, fake, lang)
    if not stated:
        return gold
    rivals = [_slot((value,), folded, lang) for value in sorted(stated)]
    return gold._replace(rivals=tuple([rival for rival in rivals if rival.forms and rival.forms.isdisjoint(known)]))


@lru_cache(maxsize=16_384)  # The cases of a question have different documents, which state different values.
def _read_answers(
    question: str, answer: Answer, fake: Answer | None, lang: Lang
) -> tuple[Gold, str, frozenset[object]]:
    """Return the prepared answers without rivals, the folded question and all forms of the answers."""
    folded = fold_question(question, lang)
    slots = tuple(_slot(aliases, folded, lang) for aliases in answer)
    fakes = tuple(_slot(aliases, folded, lang) for aliases in fake or ())
    dates = find_dates(folded, terms_of(folded))[0] + lone_years(folded)
    same = any(false.forms & true.forms for false in fakes for true in slots)
    gold = Gold(
        lang=lang,
        slots=slots,
        fakes=() if same else fakes,
        question_date=_merge_dates(dates)._replace(day=None),
        asks_percentage=_ASKS_PERCENTAGE.search(folded) is not None,
        fake_is_gold=same,
    )
    return gold, folded, frozenset[object]().union(*(slot.forms for slot in (*slots, *fakes)))


def _merge_dates(dates: list[Date]) -> Date:
    """Return the parts on which all dates agree."""
    if not dates:
        return _NO_DATE
    parts = ({date[at] for date in dates} - {None} for at in range(3))
    year, month, day = (values.pop() if len(values) == 1 else None for values in parts)
    return Date(year, month, day, 0, 0)


@lru_cache(maxsize=16_384)  # The cases of a question have the same answer and mostly the same rivals.
def _slot(aliases: tuple[str, ...], question: str, lang: Lang) -> GoldSlot:
    names: list[Name] = []
    dates: list[Date] = []
    quantities: list[Quantity] = []
    nouns: set[str] = set()
    forms: set[object] = set()
    for alias in _variants(aliases):
        folded = fold(alias, lang).strip(_EDGES)
        if not folded:
            continue
        forms.add(_NO_LETTER.sub("", folded))
        terms = terms_of(folded)
        if date := _as_date(folded, terms, question):
            dates.append(date)
            forms.add(date[:3])
        elif readings := _as_quantities(alias, folded, terms):
            values = {
                quantity.value for quantity in quantities
            }  # if an alias has two readings (5.5 m), prefer the one that another alias confirms
            quantities += [reading for reading in readings if reading.value in values] or readings
            forms |= {(reading.value, reading.unit) for reading in readings}
            nouns |= {reading.unit for reading in readings} | set(_LONG_WORD.findall(folded))
        elif name := _as_name(alias, folded, lang):
            surname = _surname(alias, folded, question)
            names.append(name._replace(given=surname[0].given) if surname else name)
            names += [short for short in surname if short.key not in {fold(other, lang) for other in aliases}]
            names += _with_gaps(alias, folded, lang, is_person=bool(surname))
    return GoldSlot(
        names=tuple(names),
        dates=tuple(dates),
        quantities=tuple(quantities),
        nouns=frozenset(nouns) | {asked_unit(question)} - {""},
        fullest_date=_merge_dates(dates),
        digits=tuple({digits_of(quantity.value) for quantity in quantities}),
        forms=frozenset(forms),
    )


def asked_unit(question: str) -> str:
    """Return the unit that a folded question asks for, e.g. `person` for 'how many people', or an empty string."""
    counted = _HOW_MANY.search(question)
    return UNITS.get(counted[1], f"~{counted[1].removesuffix('s')}") if counted else ""


def _variants(aliases: tuple[str, ...]) -> list[str]:
    """Return the aliases, other spellings, the parts of 'A (B)', and what an alias lists ('J·K·罗琳,J.K.罗琳')."""
    found = list(aliases)
    for alias in aliases:
        if match := _PARENTHESIS.match(alias):
            found += match.groups()
        parts = _COMMA.split(alias)
        if len(parts) > 1 and len({re.sub(r"[\W_]", "", part).casefold() for part in parts}) == 1:
            found += parts
        found += spellings(alias)
    return found


def _as_date(folded: str, terms: Terms, question: str) -> Date | None:
    for date in find_dates(folded, terms)[0]:
        if date.start == 0 and date.end == len(folded):
            return date
    years = lone_years(folded) if len(folded) == 4 else ()
    return years[0] if years and _ASKS_WHEN.search(question) else None


def _as_quantities(alias: str, folded: str, terms: Terms) -> list[Quantity]:
    """Return the readings of an alias that is a number with a unit; none for names such as '7 Rings' or 三亚."""
    if _CAPITAL_AFTER_NUMBER.match(alias.strip()) or _SCORE.fullmatch(folded):
        return []
    quantities = find_quantities(folded, terms)
    return [each for each in quantities if each.start == 0 and _may_be_followed_by(each, folded[each.end :])]


def _may_be_followed_by(quantity: Quantity, rest: str) -> bool:
    if rest and rest[0] >= "\u4e00":  # 39730名员工: a counting word and its noun
        return quantity.unit in _COUNTED and len(rest) <= 4
    return not rest or (quantity.unit in LOOSE and re.fullmatch(r"(?: [a-z]+){1,3}", rest) is not None)


def _as_name(alias: str, folded: str, lang: Lang) -> Name | None:
    if score := _SCORE.fullmatch(folded):
        first, second = (_any_script(number) for number in score.groups())
        return Name("", rf"(?<![0-9.十-]){first} ?(?:-|:|比|(?:goals? )?to) ?{second}(?![0-9十]|\.[0-9])")
    if folded in _YES_OR_NO:
        return Name("", rf"{_bounded(folded, folded[0], folded[-1])}|\A\W*{_YES_OR_NO[folded]}")
    spaced = fold(_ACRONYM.sub(lambda match: " ".join(match[0]), _CAMEL.sub("-", alias)), "en").strip(_EDGES)
    words = spaced.replace("&", " and ").removeprefix("the ")
    runs = list(_RUN.finditer(words))
    if not runs:
        return None
    parts = [re.escape(runs[0][0])]
    for before, run in pairwise(runs):
        between = words[before.end() : run.start()]
        are_words = before[0].isalpha() and run[0].isalpha() and min(len(before[0]), len(run[0])) > 1
        are_separate = lang == "en" and are_words and between.strip("'-")
        parts += [r"[\W_]{1,3}" if are_separate else r"[\W_]{0,3}", _escape(run[0])]
    key = max((run[0] for run in runs if run[0] != "and"), key=len, default=runs[0][0])
    if alias[-1:].islower() and _LAST_WORD.search(alias):  # Swiss francs
        parts.append("s?")
    return Name(key, _bounded("".join(parts), runs[0][0][0], runs[-1][0][-1]))


def _with_gaps(alias: str, folded: str, lang: Lang, *, is_person: bool) -> list[Name]:
    """Return a phrase with other words between its own ('missing his pit stop'), or a person with a middle name."""
    if lang == "zh":
        if len(folded) < _MIN_PHRASE_ZH or not _ONLY_HAN.fullmatch(folded):
            return []
        return [] if _NEGATION.search(folded) else [Name(folded[0], r"[^,。;!?\n不未非没无]{0,2}".join(folded))]
    words = folded.split()
    if is_person and len(words) == 2:
        first, last = map(re.escape, words)
        return [Name(words[1], _bounded(rf"{first} [a-z]\.? {last}", words[0][0], words[1][-1]))]
    stems = [
        word[: max(4, len(word) - 3)] for word in words if len(word) > 3 and word.isalpha() and word not in _COMMON
    ]
    is_phrase = 2 <= len(stems) == len(set(stems)) <= _MAX_STEMS and alias.islower()
    if not is_phrase or _NEGATION.search(folded):
        return []
    return [Name(max(stems, key=len), r"\b" + rf"[a-z]*(?: {_NOT_NEGATED}[^\s.;!?]+){{0,5}}? ".join(stems) + "[a-z]*")]


def _any_script(number: str) -> str:
    forms = [number]
    if len(number) <= _LONGEST:
        forms.append(in_words(int(number)))
    if len(number) == 1:
        forms.append("零一二三四五六七八九"[int(number)])
    return f"(?:{'|'.join(forms)})"


def _surname(alias: str, folded: str, question: str) -> list[Name]:
    """Return the surname (the last of two or three words) if the question asks for a person."""
    parts = re.split(r"[ ·]", folded)
    is_name = all(part.replace(".", "").replace("-", "").isalpha() for part in parts)
    if len(parts) not in (2, 3) or not is_name or not _ASKS_WHO.search(question):
        return []
    last = parts[-1]
    if len(last) < 3 or last in question:
        return []
    given, *_, family = re.split(r"[\s·・•]+", alias.strip())
    return [Name(last, _bounded(re.escape(last), last[0], last[-1]), family, given)]


def _escape(run: str) -> str:
    if run in _AUXILIARIES:
        return "(?:was|were|is|are|(?:has|have|had) been)"
    return "(?:and|&)" if run == "and" else re.escape(run)


def _bounded(pattern: str, first: str, last: str) -> str:
    """Add boundaries to Latin words and numbers; Chinese has no word boundaries."""
    # The lookbehinds follow the first character, because the regex engine finds characters faster.
    head = pattern[:1] if pattern[:1].isalnum() else ""
    any_character = "." if head else ""
    before = head + (rf"(?<![a-z0-9]{any_character})" if first.isascii() else "")
    before += rf"(?<![0-9][.,]{any_character})" if first.isdigit() else ""
    after = r"(?![a-z0-9])" if last.isascii() else ""
    after += r"(?![.,][0-9])" if last.isdigit() else ""
    return before + pattern[len(head) :] + after
