"""Build patterns for answers other than dates and quantities: phrases, scores, yes/no answers and names."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from ragbed.schema import Lang
from ragbed.scoring.robust.normalise import fold
from ragbed.scoring.robust.patterns import any_of, lazy, words
from ragbed.text import in_words

_RUN = lazy(r"[a-z]+|[0-9]+|[^\W\da-z_]+")
_ACRONYM = lazy(r"\b[A-Z]{2,4}\b")
SCORE = lazy(r"([0-9]+) ?(?:-|:|比|to) ?([0-9]+)")
_LAST_WORD = lazy(r"(?:^|[ -])([a-z]{3,})(?<!ss)$")
_MIN_PHRASE_ZH = 6  # Chinese phrases with at least this many characters also match with gaps between the characters
_PHRASE_ZH = lazy("(?:(?![不未非没无])[\u4e00-\u9fff])+")
_LONGEST = 15  # numbers with up to this many digits are also matched when written in words
_MAX_STEMS = 5  # maximum number of stems in a phrase; the search time grows exponentially with this number
_NOT_NEGATED = r"(?!(?:not|no|never|without)\b|[a-z]+n't)"
_NEGATION = lazy(r"\b(?:not|no|never|without|nor|neither)\b|n't")
_COMMON = frozenset({"that", "with", "from", "were", "have", "been", "into", "than", "this", "their", "there"})
# Nouns that denote a person, in addition to nouns that end in -ist or -ician.
_PEOPLE = any_of(
    "actor actress ambassador architect astronaut athlete author boxer candidate captain ceo chairman chairwoman "
    "champion chancellor chef coach commander composer dancer designer director doctor driver editor emperor engineer "
    "explorer filmmaker footballer founder general goalkeeper governor inventor judge king laureate lawyer leader man "
    "manager mayor minister monarch musician officer owner painter person philosopher player poet pope president "
    "prince princess producer professor queen rapper runner scholar secretary senator singer skater swimmer teacher "
    "winner woman writer"
)
_WORDS_BETWEEN = r"(?:(?!(?:by|of|in|the|an?|[a-z]+ing|[a-z]+ed) )[a-z-]+ ){0,2}?"
ASKS_WHO = lazy(  # 'Name the country's president' asks for a person, but 'Which country's president' does not.
    rf"\bwho(?:m|se)?\b|\b(?:(?:which|what) {_WORDS_BETWEEN}|(?:name|identify|name of) (?:(?:the )?\w+'s )?"
    rf"(?:[a-z'-]+ ){{0,3}}?)(?:{_PEOPLE}|[a-z]{{3,}}(?:(?<!l)ist|ician))(?:'s)?\b"
    r"(?! (?:club|team|company|city|country|state|election|award|prize|board))",
    "谁|哪位|哪一位|哪名|什么人|人是(?!否)",
)
# Chinese verbs that answer a question with yes.
_AFFIRMATIVE_ZH = words("有 能 会 可以 需要 可见 属于 可能 允许 支持 存在")
# Short answers that are neither names nor phrases, with the expressions for them at the start of a response. 'It is.'
# means yes, but 'It is unclear.' does not; 'Indeed, it is not.' means no.
_HE_IS = r"(?:it|they|he|she|that|there) (?:is|was|are|were|do|does|did|has|have|had|can|could|will|would)"
_END = r"(?: indeed)?(?=[,.;!]| -|\Z)(?![^.;!\n]*\b(?:not|never|no|nor|cannot|false|wrong|however|but)\b)"
_INDEED = rf"(?:indeed,? |[a-z]+ speaking,? |correct,? )?(?:{_HE_IS}|indeed|correct|of course)"
_YES = rf"(?:(?:yep|yeah|yup)\b|{_INDEED}{_END})"
_NO = rf"(?:nope\b|{_HE_IS}(?: not|n't|(?<=can)'t)(?=[,.;!]| -|\Z))"
_YES_ZH = "(?:是的|没错|(?:对|的确|确实|当然)(?=[,。!]))"
_NO_ZH = "(?:(?:不是的?|并非|并不(?:是|会|能|可以|属于)?|不)(?=[,。!]))"
YES_OR_NO = {"yes": _YES, "no": _NO, "是": _YES_ZH, "是的": _YES_ZH, "对": _YES_ZH, "否": _NO_ZH, "不是": _NO_ZH}
# Words that are not surnames but occur in the names of organisations, prizes and competitions.
ORGANISATIONS = words(
    "university company foundation institute committee group ltd inc corp council prize award cup league college "
    "school academy association court museum bank times party club service department ministry union city united "
    "motors music pictures airlines airways platforms studios"
)
_ROMAN = lazy("[ivx]+")
GENERATION = lazy(r",? (?i:jr|sr)\.?$")
_TRANSLITERATING = "[斯尔特克德森内里拉娜亚夫维奇格勒洛雷罗诺蒂利姆布顿伯莱纳塔丽蒙]"  # common in foreign names
_BEFORE_ZH = f"[·{_TRANSLITERATING[1:]}"
EDGES = " \n\"'.,;:!?。、《》〈〉()[]<>"


class Name(NamedTuple):
    """An alias that is neither a date nor a quantity.

    Attributes:
        key: Its longest sequence of letters or digits; a text without the key does not contain the name.
        pattern: The source of its pattern. It is compiled on first use, because compiling takes half of the time of
            preparing an answer and most responses do not need it.
        rule: How close it is to the alias: `name`, `name.surname` or, for a shorter or longer form, `name.variant`.
        given: The given names of the person.
        written: A case-sensitive pattern that the unfolded response must match, or an empty string.
    """

    key: str
    pattern: str
    rule: str = "name"
    given: str = ""
    written: str = ""


def as_name(alias: str, folded: str, lang: Lang) -> Name | None:
    """Return the pattern for an alias, or None if the alias contains no letters or digits."""
    if score := SCORE.fullmatch(folded):
        first, second = (_any_script(number) for number in score.groups())
        return Name("", rf"(?<![0-9.十-]){first} ?(?:-|:|比|(?:goals? )?to) ?{second}(?![0-9十]|\.[0-9])")
    if folded in YES_OR_NO:
        negated = "" if folded.isascii() else "(?<![不并未非没])"
        return Name("", rf"{negated}{_bounded(folded, folded[0], folded[-1])}|\A\W*{YES_OR_NO[folded]}")
    if folded in _AFFIRMATIVE_ZH:
        return Name(folded, f"(?<![不没未无否]){folded}(?![否不没])")  # 是否有, 能否 and 有没有 ask
    split = _ACRONYM.sub(lambda match: " ".join(match[0]), alias)
    spaced = folded if lang == "en" and split == alias else fold(split, "en").strip(EDGES)
    phrase = spaced.replace("&", " and ").removeprefix("the ")
    runs = list(_RUN.finditer(phrase))
    if not runs:
        return None
    parts = [re.escape(runs[0][0])]
    for before, run in pairwise(runs):
        between = phrase[before.end() : run.start()]
        are_words = before[0].isalpha() and run[0].isalpha() and min(len(before[0]), len(run[0])) > 1
        are_separate = lang == "en" and are_words and between.strip("'-")
        parts += [
            r"[\W_]{1,3}" if are_separate else r"[\W_]{0,3}",
            "(?:and|&)" if run[0] == "and" else re.escape(run[0]),
        ]
    key = max((run[0] for run in runs if run[0] != "and"), key=len, default=runs[0][0])
    last = _LAST_WORD.search(alias) if lang == "en" else None
    if last and not alias.endswith("s"):  # also match 'oaks' for 'oak'
        parts.append("s?")
    elif last and len(runs) > 1:  # also match 'red apple' for 'red apples', but not 'good' for 'goods'
        parts.append("?")
        key = key.removesuffix("s")
    if len(runs) > 1 and max(len(run[0]) for run in runs[-2:]) == 1 and runs[-1][0].isalpha():
        parts.append(r"(?:\.(?=\S))?")  # the full stop in '(U.S.)' does not end a sentence
    is_year = alias.endswith("年")  # 3至5年 must not match 3至5年级
    return Name(key, _bounded("".join(parts), runs[0][0][0], runs[-1][0][-1]) + ("(?!级)" if is_year else ""))


def with_gaps(alias: str, folded: str, lang: Lang) -> Name | None:
    """Return a pattern for a phrase with other words between its words ('missing his pit stop'), or None for a name."""
    if lang == "zh" and len(folded) >= _MIN_PHRASE_ZH and _PHRASE_ZH.fullmatch(folded):
        return Name(folded[0], r"[^,。;!?\n不未非没无]{0,2}".join(folded), "name.variant")
    if not alias.islower() or _NEGATION.search(folded):
        return None
    words_ = [word for word in folded.split() if len(word) > 3 and word.isalpha() and word not in _COMMON]
    stems = [word[: max(4, len(word) - 3)] for word in words_]
    if not 2 <= len(stems) == len(set(stems)) <= _MAX_STEMS:
        return None
    pattern = r"\b" + rf"[a-z]*(?: {_NOT_NEGATED}[^\s.;!?]+){{0,5}}? ".join(stems) + "[a-z]*"
    return Name(max(stems, key=len), pattern, "name.variant")


def _any_script(number: str) -> str:
    forms = [number]
    if len(number) <= _LONGEST:
        forms.append(in_words(int(number)))
    if len(number) == 1:
        forms.append("零一二三四五六七八九"[int(number)])
    return f"(?:{'|'.join(forms)})"


def find_surname(alias: str, folded: str, question: str) -> Name | None:
    """Return the pattern for the surname (the last of two or three words) if the question asks for a person."""
    alias, folded = GENERATION.sub("", alias), GENERATION.sub("", folded)
    parts = folded.replace("·", " ").split(" ")
    if len(parts) not in (2, 3) or not ASKS_WHO.search(question):
        return None
    if not all(part.replace(".", "").replace("-", "").isalpha() for part in parts):
        return None
    last = parts[-1]
    is_short = len(last) < (3 if last.isascii() else 2)
    if is_short or last in question or last in ORGANISATIONS or _ROMAN.fullmatch(last):  # not King Henry VIII
        return None
    written_parts = [part for part in re.split(r"[\s·・•‧∙⋅･●]+", alias.strip(EDGES)) if part]
    *given, family = written_parts if len(written_parts) > 1 else parts
    surname = _bounded(re.escape(last), last[0], last[-1])
    written = ""
    if not last.isascii():  # the surname after a dot is another person's, and 马丁 is not 马丁内斯
        surname = rf"(?<!·){surname}" if len(last) > 2 else rf"(?<!{_BEFORE_ZH}){surname}(?!{_TRANSLITERATING})"
    else:  # 'in London' is not Jack London, and 'a swift end' is not Taylor Swift
        surname = rf"(?<!\bin ){surname}"
        rest = rf"(?i:{re.escape(family[1:])}|{re.escape(last[1:])})(?![A-Za-z])"
        first = f"{re.escape(family[0])}|{re.escape(last[0].upper())}"
        written = rf"(?<![A-Za-z])(?:{first}){rest}|\A[^A-Z]*\Z"
    return Name(last, surname, "name.surname", " ".join(given), written)


def _bounded(pattern: str, first: str, last: str) -> str:
    """Add word-boundary anchors around Latin words and numbers; Chinese text has no spaces between words."""
    # The lookbehinds follow the first character, which makes the search faster.
    head = pattern[:1] if pattern[:1].isalnum() else ""
    any_character = "." if head else ""
    before = head + (rf"(?<![a-z0-9]{any_character})" if first.isascii() else "")
    before += rf"(?<![0-9][.,]{any_character})" if first.isdigit() else ""
    after = r"(?![a-z0-9])" if last.isascii() else ""
    after += r"(?![.,][0-9])" if last.isdigit() else ""
    return before + pattern[len(head) :] + after
