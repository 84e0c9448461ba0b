"""Check whether a Chinese sentence is complete, and whether its text presents it as a fact."""

from __future__ import annotations

import re

from ragbed.builder.rules.chinese_words import SURNAMES

_HAN = r"[\u4e00-\u9fff]"
# Words that join a part of a list or of a sentence to the part before it.
_JOINING = re.compile(
    "以及|及(?!格|第)|和(?![平田谐睦县顺龙静硕林布政记泰丰])|并(?!非|购|列|州)|而(?!立)|或(?!许)|且|与(?!会)|还有|加上|外加"
)
# Words at the start of a sentence that says that the sentence before it is wrong or uncertain.
_DOUBTED = re.compile(
    r"\s*[^。]{0,12}(?:不实|有误|笔误|否认|质疑|不认同|不同意|存疑|误传|更正|夸大|不对|不属实|不正确|不准确|不是这样|不是这么|[记搞弄说算写看]错|错了|胡说|瞎说"
    r"|[讲说]不清|摇头|哪有|没那么多|实为|实际[为是上只有]|经核|后经|后来查明|其实)|\s*“(?:预计|可能|大概|应该)”"
)
# Words at the start of a paragraph with which another speaker contradicts the paragraph before it.
_DENIED = re.compile(
    rf"(?:(?:{_HAN}{{2,6}}|{_HAN}·{_HAN}{{1,6}})(?:（[^）]*）)?[：:\s\u3000]+)?“?(?:不对|不是的|错了|胡说|瞎说"
    rf"|[他她你您这那]{_HAN}{{0,8}}?(?:不对|不准|不正确|不属实|不是这样|不是这么|错|胡说|瞎说))"
)
_NEXT = 2  # number of paragraphs after a statement in which it may be contradicted
_SPEAKER = re.compile(rf"(?P<who>{_HAN}{{2,6}}?)(?:（[^）]*）|\([^)]*\))?(?:[：:][\s\u3000]*|[\s\u3000]+)(?=\S)")
_ASKING = re.compile("记者|主持|采访|受访|受访者|提问|旁白")
_FIRST_PERSON = re.compile("我|咱|俺")


def is_fragment(sentence: str, full: str) -> bool:
    """Check whether a sentence is the last part of a list or of a longer sentence, after a semicolon."""
    if not _JOINING.match(sentence):
        return False
    return sentence.startswith("以及") or full.partition(sentence)[0].rstrip().endswith(("；", ";", "，", "、"))


def is_doubted(sentence: str, full: str) -> bool:
    """Check whether the next sentence, or the start of one of the next paragraphs, says that a sentence is wrong."""
    rest = full.partition(sentence)[2]
    paragraphs = [line.strip() for line in rest[:2_000].split("\n")[1:] if line.strip()]
    return _DOUBTED.match(rest) is not None or any(map(_DENIED.match, paragraphs[:_NEXT]))


def has_speaker(sentence: str, full: str) -> bool:
    """Check whether a sentence starts with the name of the person who says it, as in an interview."""
    label = _SPEAKER.match(sentence)
    if label is None:
        return False
    if _ASKING.search(label["who"]):
        return True
    is_name = label["who"][0] in SURNAMES and len(label["who"]) <= 3
    lines = re.findall(rf"(?m)^{re.escape(label['who'])}(?:（[^）]*）)?[：:\s\u3000]", full)
    return _FIRST_PERSON.search(sentence, label.end()) is not None or (is_name and len(lines) > 1)
