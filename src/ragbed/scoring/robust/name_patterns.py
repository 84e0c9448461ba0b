"""Build patterns for answers other than dates and quantities: phrases, scores, yes/no answers and names."""

from __future__ import annotations

import re
from itertools import pairwise, takewhile
from typing import NamedTuple

from ragbed.schema import Lang
from ragbed.scoring.robust.normalise import fold
from ragbed.scoring.robust.patterns import any_of, lazy, words
from ragbed.text import in_words

_RUN = lazy(r"[a-z]+|[0-9]+|[^\W\da-z_]+")
_ACRONYM = lazy(r"\b[A-Z]{2,4}\b")
SCORE = lazy(r"([0-9]+) ?(?:-|:|比|to) ?([0-9]+)")
_LAST_WORD = lazy(r"(?:^|[ -])([a-z]{3,})(?<!ss)$")
# Words whose plural means something else.
_NO_PLURAL = words("arm custom draw force good mean new saving spectacle wood")
_MIN_PHRASE_ZH = 6  # Chinese phrases with at least this many characters also match with gaps between the characters
_LONGEST = 15  # numbers with up to this many digits are also matched when written in words
_MAX_STEMS = 5  # maximum number of stems in a phrase; the search time grows exponentially with this number
_NOT_NEGATED = r"(?!(?:not|no|never|without)\b|[a-z]+n't)"
_NEGATION = lazy(r"\b(?:not|no|never|without|nor|neither)\b|n't|[不未非没无]")
_COMMON = frozenset({"that", "with", "from", "were", "have", "been", "into", "than", "this", "their", "there"})
# Nouns that denote a person, in addition to all nouns that end in -ist or -ician.
_PEOPLE = any_of(
    "actor actress admiral ambassador architect assassin astronaut athlete author banker billionaire boxer boy "
    "businessman businesswoman candidate captain celebrity ceo cfo chairman chairwoman champion chancellor chef "
    "co-founder coach comedian commander composer cosmonaut cricketer cto dancer designer dictator diplomat director "
    "doctor driver drummer editor emperor empress engineer entrepreneur executive explorer filmmaker footballer "
    "founder general girl goalkeeper golfer governor head_of_state heir hero historian illustrator inventor investor "
    "judge king laureate lawyer leader man manager mayor minister monarch murderer musician nominee nurse officer "
    "official owner painter person philosopher photographer pilot pioneer pitcher player playwright poet pope "
    "president presenter prince princess producer professor prophet quarterback queen racer rapper recipient "
    "researcher ruler runner runner-up sailor saint scholar screenwriter sculptor secretary senator singer skater "
    "skier soldier spokesman spokesperson spokeswoman sprinter star striker surgeon swimmer teacher translator winner "
    "woman wrestler writer"
)
# Words that cannot precede such a noun in 'which American singer': 'which city elected a mayor' asks for a city.
_NO_ADJECTIVE = r"(?:is|was|are|were|did|does|do|has|had|by|of|in|on|at|to|for|from|with|and|that)\b"
_VERB = r"(?:an?|the|its|his|her|their|made|won|lost|led|chose|beat|sold|bought|about|[a-z]+ed|[a-z]+ing)\b"
_BEFORE_NOUN = rf"(?:the )?(?:(?!{_NO_ADJECTIVE})[\w.-]+ (?:(?!{_NO_ADJECTIVE}|{_VERB})[\w.-]+ ){{0,3}}?)??"
ASKS_WHO = lazy(  # 'Name the country's president' asks for a person, but 'Which country's president' does not.
    r"\bwho(?:m|se)?\b|"
    rf"\b(?:(?:which|what) {_BEFORE_NOUN}|(?:name|identify|name of) (?:(?:the )?\w+'s )?{_BEFORE_NOUN})"
    rf"(?:{_PEOPLE}|[a-z]{{3,}}(?:(?<!l)ist|ician))(?:'s)?\b"
    r"(?! (?:club|team|company|city|country|state|election|award|prize|board))",
    "谁|哪位|哪一位|哪名|什么人|人是(?!否)",
)
# A question that asks for a team, whose name can be shortened to its last word if that is a plural: the Rams.
_ASKS_TEAM = lazy(r"\b(?:which|what|name) (?:[\w'.-]+ ){0,3}?(?:team|club|franchise|side)\b")
# Expressions that mean yes or no at the start of a response.
_VERBS = "is are was were does do did has have had can could will"
_HE_IS = rf"(?:it|they|he|she|that|there) (?:{'|'.join(_VERBS.split())})"
# A short answer must end the clause: 'It is.' means yes, but 'It is unclear.' does not.
_END = r"(?=[,.;!]| -|\Z)"
# 'It is, however, closed.' and 'Indeed, it is not.' do not mean yes.
_NOT_BEFORE_BUT = r"(?!, (?:however|but|though|in fact|actually)\b)"
_NOT_BEFORE_NO = r"(?![^.;!\n]*(?:\b(?:not|no|never|nor|cannot|false|wrong)\b|n't\b))"
_YES = (
    rf"(?:yep|yeah|yup|affirmative|(?:indeed,? {_HE_IS}|(?:[a-z]+ speaking,? )?{_HE_IS}(?: indeed)?)"
    rf"{_END}{_NOT_BEFORE_BUT}|(?:indeed|correct|absolutely|certainly|of course|definitely){_END}{_NOT_BEFORE_NO})"
)
_NO = (
    rf"(?:nope|nah|(?:never|not (?:at all|really|quite|so)|{_HE_IS}(?: not|n't)"
    rf"|(?:it|they|he|she) (?:can't|cannot|won't)){_END})"
)
_END_ZH = r"(?=[,。!]|\Z)"
_YES_ZH = rf"(?:是的|没错|(?:对|的确|确实|当然|有|可以|会){_END_ZH})"
_NO_ZH = rf"(?:(?:不是的?|并?非|不|没有|并?不(?:会|能|可以|行|对|属于)|错了?){_END_ZH})"
YES_OR_NO = {"yes": _YES, "no": _NO, "是": _YES_ZH, "是的": _YES_ZH, "对": _YES_ZH, "否": _NO_ZH, "不是": _NO_ZH}
# Chinese verbs that answer a question with yes. With a negation before them, they answer it with no.
AFFIRMATIVE_ZH = words("有 能 会 可以 需要 可见 属于 可能 允许 支持 存在")
# A person's name of two words, or of three words if it includes a middle name or initial.
_FULL_NAME = lazy(r"(?!The )[A-Z][\w'-]+ (?:[A-Z](?:\.|\w*) )?[A-Z][\w'-]+")
# Words that are not surnames but occur in the names of organisations, prizes and competitions.
ORGANISATIONS = words(
    "university company foundation institute committee group ltd inc corp council prize award cup league college "
    "school academy association court museum bank times party club service department ministry union city united "
    "motors music pictures airlines airways platforms studios"
)
_HEAD = lazy(r"^(?:[Tt]he )?(\S.*\S) ([A-Za-z]{3,})$")
_HEAD_ZH = lazy("^(.{2,10}?)(?:(?:股份|责任|集团)*有限)?(公司|集团|队)$")
# Short names of universities. Some also occur in other names: 东北大学, 北大西洋, 清华附中.
_SCHOOLS_ZH = {
    "清华大学": "清华", "北京大学": "北大", "复旦大学": "复旦", "浙江大学": "浙大", "上海交通大学": "上海交大",
    "西安交通大学": "西安交大", "中国科学技术大学": "中科大", "哈尔滨工业大学": "哈工大", "北京师范大学": "北师大",
}  # fmt: skip
_WATERS = frozenset({"sea", "ocean", "river", "desert", "mountains", "canal", "strait"})
_CITIES = frozenset({"city", "town"})  # words that are never dropped from a name: Mexico is not Mexico City
_MIN_HEADLESS = 3  # minimum number of letters in a name after its last word is dropped
_AFTER_SHORT = r"(?=[.,;!?)\n]|\Z| \(| (?:is|was|has|had|in|on|at|to|from|for|by)\b)"
# Adjectives that do not identify anything without their noun.
_ADJECTIVES = words(
    "the a an new old north south east west northern southern eastern western great grand little big small young high "
    "low upper lower royal national central united international general first second third last black white red green "
    "blue yellow brown golden silver summer winter spring autumn public open free good bad hard soft long short indian "
    "arabian persian norwegian korean chinese japanese american british english french german russian"
)
# Words that can separate two names, and so are not middle names.
_NO_MIDDLE_NAME = (
    r"(?!(?:an?|and|or|but|the|of|in|on|at|to|for|by|with|from|as|is|was|were|are|has|had|who|that|not|nor|vs?|versus|over"
    r"|than|then|beats?|met|won|lost|led|told|said|says|[a-z]+ed|[a-z]+ing|[a-z]+ly)\b)"
)
# Auxiliary verbs whose tense may differ in an answer such as 'deposits were counted twice'.
_AUXILIARIES = frozenset({"was", "were", "is", "are"})
_INITIALS = lazy("[A-Z]{3,6}")
_ROMAN = lazy("[ivx]+")
# First words of names of places and clubs, which have no surname.
_NO_GIVEN_NAMES = words(
    "new north south east west great central equatorial united saudi san santa fort port real inter republic democratic"
)
_BETWEEN_INITIALS = "[ -](?:(?:of|the|and|for|in|on|&) ){0,2}"
_LONG_NAME = lazy(r"[A-Z][a-z]+(?:[ -](?:of|the|and|for|in|on|&|[A-Z](?:\.|[a-z]+))){2,7}")
_PARTICLES = words("van von de da del della di du la le der den ter ten")
GENERATION = lazy(r",? (?i:jr|sr)\.?$")
_TRANSLITERATING = "[斯尔特克德森内里拉娜亚夫维奇格勒洛雷罗诺蒂利姆布顿伯莱纳塔丽蒙]"  # common in foreign names
EDGES = " \n\"'.,;:!?。、《》〈〉()[]<>"


class Name(NamedTuple):
    """An alias that is neither a date nor a quantity.

    Attributes:
        key: Its longest sequence of letters or digits; a text without the key does not contain the name.
        pattern: The source of its pattern. It is compiled on first use, because compiling takes half of the time of
            preparing an answer and most responses do not need it.
        rule: How close it is to the alias: `name`, `name.surname` or, for a shorter or longer form, `name.variant`.
        bearers: For a surname that is not an alias: its unfolded form.
        given: The given name of the person.
        written: A case-sensitive pattern that the unfolded response must match, e.g. NBA, or an empty string.
    """

    key: str
    pattern: str
    rule: str = "name"
    bearers: str | None = None
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
    if folded in AFFIRMATIVE_ZH:
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
        parts += [r"[\W_]{1,3}" if are_separate else r"[\W_]{0,3}", _escape(run[0])]
    key = max((run[0] for run in runs if run[0] != "and"), key=len, default=runs[0][0])
    last = _LAST_WORD.search(alias) if lang == "en" else None
    if last and not alias.endswith("s"):  # also match 'oaks' for 'oak'
        parts.append("" if last[1] in _NO_PLURAL else "s?")
    elif last and len(runs) > 1:  # also match 'red apple' for 'red apples', but not 'good' for 'goods'
        parts.append("?")
        key = key.removesuffix("s")
    if len(runs) > 1 and max(len(run[0]) for run in runs[-2:]) == 1 and runs[-1][0].isalpha():
        parts.append(r"(?:\.(?=\S))?")  # the full stop in '(U.S.)' does not end a sentence
    is_year = alias.endswith("年")  # 3至5年 must not match 3至5年级
    return Name(key, _bounded("".join(parts), runs[0][0][0], runs[-1][0][-1]) + ("(?!级)" if is_year else ""))


def with_gaps(alias: str, folded: str, lang: Lang, *, is_person: bool) -> list[Name]:
    """Return patterns for a phrase with extra words ('missing his pit stop') or a person's name with a middle name."""
    if lang == "zh":
        if len(folded) < _MIN_PHRASE_ZH or not _is_han(folded):
            return []
        return [] if _NEGATION.search(folded) else [_variant(folded[0], r"[^,。;!?\n不未非没无]{0,2}".join(folded))]
    parts = folded.split()
    if is_person and _FULL_NAME.fullmatch(alias.strip()):
        return [_with_middle_name(*parts)]
    if not alias.islower():
        return []
    stems = [
        word[: max(4, len(word) - 3)] for word in parts if len(word) > 3 and word.isalpha() and word not in _COMMON
    ]
    if not 2 <= len(stems) == len(set(stems)) <= _MAX_STEMS or _NEGATION.search(folded):
        return []
    return [
        _variant(max(stems, key=len), r"\b" + rf"[a-z]*(?: {_NOT_NEGATED}[^\s.;!?]+){{0,5}}? ".join(stems) + "[a-z]*")
    ]


def _is_han(text: str) -> bool:
    """Return whether a text has only Han characters. Compiling a pattern for them takes longer than scoring."""
    return min(text) >= "\u4e00" and max(text) <= "\u9fff"


def _variant(key: str, pattern: str) -> Name:
    return Name(key, pattern, "name.variant")


def _with_middle_name(first: str, *rest: str) -> Name:
    """Return a pattern for a person's name with a middle initial, with a middle name, or with neither."""
    *middle, last = rest
    initial = re.escape(middle[0][0]) if middle else "[a-z]"
    forms = rf"{initial}\.?"
    if middle and len(middle[0].rstrip(".")) == 1:
        forms += rf"|{_NO_MIDDLE_NAME}{initial}[a-z-]+"
    between = rf"(?: (?:{forms})){'?' if middle else ''} "
    return _variant(last, _bounded(re.escape(first) + between + re.escape(last), first[0], last[-1]))


def without_head(alias: str, question: str) -> list[Name]:
    """Return patterns for a name without its last word if the question contains that word: 'Ortega' for 'Ortega map'.

    The names of waters and deserts can be shortened after any question, but only after an article: the Nile.
    """
    if school := _SCHOOLS_ZH.get(alias):
        return [_variant(school, f"(?<![东西河湖华台以]){school}(?![学附园西荒同青方约])")]
    if not alias.isascii() and (found := _HEAD_ZH.match(alias)) and _is_han(found[1]):
        is_asked = found[2] in question and found[1] not in question
        return [_variant(found[1], rf"(?:\A|(?<=[是为:\"])){found[1]}(?=\(|\W*\Z)")] if is_asked else []
    found = _HEAD.match(alias)
    if found is None:
        return []
    short, head = fold(found[1], "en"), found[2].lower()
    is_asked = head in question and re.search(rf"\b{head}s?\b", question) is not None
    is_adjective = short.rpartition(" ")[2] in _ADJECTIVES
    is_number = short.replace(",", "").replace(".", "").isdigit()
    if is_adjective or is_number or head in _CITIES or len(short) < _MIN_HEADLESS or short in question:
        return []
    name = re.escape(short)
    forms = [rf"(?<=\bthe ){name}{_AFTER_SHORT}"] if is_asked or head in _WATERS else []
    if is_asked:
        forms += [rf"\b{name}(?='s(?:[.,;!?)\n]|\Z))", rf"(?:\A|(?<=\bit is )|(?<=\bit was )){name}(?=\W*\Z)"]
    return [_variant(short, "|".join(forms))] if forms else []


def abbreviations(alias: str, question: str) -> list[Name]:
    """Return patterns for the initials of a name, e.g. MIT.

    If the question contains the initials, it asks for what they mean, so they are not an answer. If the response also
    contains another complete name with these initials, that name counts instead: 'USC (University of South Carolina)'.
    """
    alias = GENERATION.sub("", alias).removeprefix("The ")
    if not _LONG_NAME.fullmatch(alias) or (". " not in alias and ASKS_WHO.search(question)):  # unlike John F. Kennedy
        return []
    initials = "".join(word[0] for word in alias.replace("-", " ").split() if word[0].isupper())
    if not _INITIALS.fullmatch(initials) or initials == "USA":  # the United States Army is not the USA
        return []
    short = initials.lower()
    if short in question:
        return []
    complete = _BETWEEN_INITIALS.join(rf"{letter}(?:[a-z]+|\.)" for letter in initials)
    written = rf"(?s)\A(?!.*\b(?!{re.escape(alias)}){complete}).*?\b{initials}\b"
    return [Name(short, _bounded(short, short[0], short[-1]), "name.variant", written=written)]


def _any_script(number: str) -> str:
    forms = [number]
    if len(number) <= _LONGEST:
        forms.append(in_words(int(number)))
    if len(number) == 1:
        forms.append("零一二三四五六七八九"[int(number)])
    return f"(?:{'|'.join(forms)})"


def find_surname(alias: str, folded: str, question: str) -> list[Name]:
    """Return patterns for the surname (the last of two or three words) if the question asks for a person.

    A surname with particles, e.g. van Gogh, also has a pattern that includes the particles.
    """
    alias, folded = GENERATION.sub("", alias), GENERATION.sub("", folded)
    parts = folded.replace("·", " ").split(" ")
    particles = list(takewhile(_PARTICLES.__contains__, reversed(parts[1:-1])))
    if len(parts) - len(particles) not in (2, 3):
        return []
    if not all(part.replace(".", "").replace("-", "").isalpha() for part in parts):
        return []
    last = parts[-1]
    if len(last) < (3 if last.isascii() else 2) or last in question or last in ORGANISATIONS:
        return []
    written_parts = [part for part in re.split(r"[\s·・•‧∙⋅･●]+", alias.strip(EDGES)) if part]
    given, *middle, family = written_parts if len(written_parts) > 1 else parts
    surname = _bounded(re.escape(last), last[0], last[-1])
    if not ASKS_WHO.search(question):
        is_team = last.endswith("s") and _ASKS_TEAM.search(question)
        return [Name(last, rf"(?<=\bthe ){surname}", "name.surname", family, [given, *middle][-1])] if is_team else []
    if parts[0] in _NO_GIVEN_NAMES or _ROMAN.fullmatch(last):  # South Korea, King Henry VIII
        return []
    written = ""
    if len(last) == 2:  # 马丁 is not 马丁内斯
        surname = rf"(?<!{_TRANSLITERATING}){surname}(?!{_TRANSLITERATING})"
    elif last.isascii():  # 'in London' is not Jack London, and 'a swift end' is not Taylor Swift
        surname = rf"(?<!\bin ){surname}"
        rest = rf"(?i:{re.escape(family[1:])}|{re.escape(last[1:])})(?![A-Za-z])"
        first = f"{re.escape(family[0])}|{re.escape(last[0].upper())}"
        written = rf"(?<![A-Za-z])(?:{first}){rest}|\A[^A-Z]*\Z"
    found = [Name(last, surname, "name.surname", family, given, written)]
    if particles:
        whole = " ".join([*reversed(particles), last])
        found.append(Name(whole, _bounded(re.escape(whole), whole[0], last[-1]), "name.surname", None, given))
    return found


def _escape(run: str) -> str:
    if run in _AUXILIARIES:
        return "(?:was|were|is|are|(?:has|have|had) been)"
    return "(?:and|&)" if run == "and" else re.escape(run)


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
