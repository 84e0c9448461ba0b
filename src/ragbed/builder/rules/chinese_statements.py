"""Check whether a Chinese sentence is complete, and whether the text presents it as a fact."""

from __future__ import annotations

import re

from ragbed.builder.rules.chinese_words import SURNAMES

_HAN = r"[\u4e00-\u9fff]"
# Words anywhere in a sentence that indicate a plan, guess, opinion, instruction or reported speech.
NOT_STATED = re.compile(
    "将(?!军|领)|今后|往后|拟|计划|预[计测想期]|可能|可望|或许|也许|大概|有望|估[计算]|认为|希望|如果|若|建议|原[定计本]|最初|设想|方案|算法|按[^，。]{0,12}计[，。]"
    "|听说|传[闻言]|自称|假[设如]|宣传|号称|据称|笔误|有误|误[写作为]|质疑|推[测断]|初[定步]|暂定|打算|准备|有意|不排除|或[将为可]|设计(?=[日年]|值|能力|寿命|时速|容量)|定[于在]|"
    "下[次周期月届]|明[年天]|后年|最[快早晚](?=[要在到明也])|的话|就[该要]|[后了](?:就|便)?(?:能|可以|会)|应[当该]?(?![急对邀届用有县])|须|请|必须|不得|严禁|务必|可以|目标|力争|争取|提醒"
    "|表示|介绍说|[^小传解]说|[^名俗简号职]称(?!重|为|号)|据说|相传|传说|下次|届时|到时|即将|如下|以下是|要求|标准|您|你|左右|最好|提出|提议|申请|可达|至少|否则|万一|据悉|自述|预算|估的|再议|误[称传报记]|一度(?:传|称|报|误)|原(?:报|称|记|载)|更正|勘误|有人[说称据]|网传|谣|不实|口误|按计划|是错的|写作|与实际不符|与事实不符|[从自]下?周[一二三四五六日末]起|主张|辩称|只认可|[说道插补笑][话充忆着]?[：:]|需(?=[绕提携缴付自在于])"
    "|(?<![思梦理联幻空猜设遐])想(?![起到象法必念来])|试着|意[向欲图在]|力图|企图|愿意|渴望|期[待望盼]|寄望|盼(?=[望着能])|指望|考虑|酝酿|筹划|谋划|拟议"
    "|呼吁|倡[议导]|动议|提[案请]|草案|征求意见|讨论稿|待[批定审议]|[未没]定|承诺|许诺|答应|保证(?!金)|规划(?![局院师馆处科])|预备|商议|讨论是否|主张|初[报核稿]|核[减查]后|试图|谈判|协商中|洽谈|要(?=把|在明|到明)"
    "|原稿|上一?[期版](?:目录|手册|公告|通知|写|的)|旧版|以[^，。]{0,12}为准|测算|推算|有[^，。]{0,8}反[馈映]|需(?=[增补])|[二两]者取|孰[高低]|前一稿|第一版把"
)
# Words that join a list item or a clause to the previous one.
_JOINING = re.compile(
    "以及|及(?!格|第)|和(?![平田谐睦县顺龙静硕林布政记泰丰])|并(?!非|购|列|州)|而(?!立)|或(?!许)|且|与(?!会)|还有|加上|外加"
)
# Words at the start of a sentence that corrects or questions the previous one.
_DOUBTED = re.compile(
    r"\s*[^。]{0,12}(?:不实|有误|笔误|否认|质疑|不认同|不同意|存疑|误传|更正|夸大|不对|不属实|不正确|不准确|不是这样|不是这么|[记搞弄说算写看]错|错了|胡说|瞎说"
    r"|[讲说]不清|摇头|哪有|没那么多|实为|实际[为是上只有]|经核|后经|后来查明|其实)|\s*“(?:预计|可能|大概|应该)”"
)
# Words at the start of a paragraph in which another speaker contradicts the previous paragraph.
_DENIED = re.compile(
    rf"(?:(?:{_HAN}{{2,6}}|{_HAN}·{_HAN}{{1,6}})(?:（[^）]*）)?[：:\s\u3000]+)?“?(?:不对|不是的|错了|胡说|瞎说"
    rf"|[他她你您这那]{_HAN}{{0,8}}?(?:不对|不准|不正确|不属实|不是这样|不是这么|错|胡说|瞎说))"
)
_MAX_BEFORE = 400  # maximum number of characters to search in the text before a sentence
_NEXT = 2  # number of paragraphs to check for a contradiction after a statement
_SPEAKER = re.compile(rf"(?P<who>{_HAN}{{1,6}}?)(?:（[^）]*）|\([^)]*\))?(?:[：:][\s\u3000]*|[\s\u3000]+)(?=\S)")
_ASKING = re.compile("记者|主持|采访|受访|受访者|提问|旁白")
_FIRST_PERSON = re.compile("我|咱|俺")


def is_fragment(sentence: str, full: str) -> bool:
    """Check whether a sentence is the last part of a list or of a longer sentence."""
    if not _JOINING.match(sentence):
        return False
    return sentence.startswith("以及") or full.partition(sentence)[0].rstrip().endswith(("；", ";", "，", "、"))


def is_planned(sentence: str, full: str) -> bool:
    """Check whether the text between the previous full stop and a sentence marks the sentence as a plan or a claim."""
    before = full.partition(sentence)[0].rstrip(" \u3000")
    if not before.endswith(("；", ";", "：", ":")):
        return False
    return NOT_STATED.search(re.split("[。！？\n]", before[-_MAX_BEFORE:])[-1]) is not None


def is_doubted(sentence: str, full: str) -> bool:
    """Check whether the next sentence, or the start of a following paragraph, says that the given sentence is wrong."""
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
    is_name = len(label["who"]) == 1 or (label["who"][0] in SURNAMES and len(label["who"]) <= 3)
    lines = re.findall(rf"(?m)^{re.escape(label['who'])}(?:（[^）]*）)?[：:\s\u3000]", full)
    return _FIRST_PERSON.search(sentence, label.end()) is not None or (is_name and len(lines) > 1)
