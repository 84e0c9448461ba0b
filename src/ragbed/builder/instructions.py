"""Detect sentences that give instructions to a model instead of informing a reader, as in prompt injections.

Words such as "ignore" and "your" also occur in ordinary texts. They count only in the combinations below.
"""

from __future__ import annotations

import re

# All repetitions are limited, because a hostile document could otherwise make the search take hours.
_GAP, _SPACE = r"[\s,]{1,3}", r"\s{0,3}"
_FORGET = r"\b(?:ignore|disregard|forget|override)\b"
_EARLIER = r"(?:above|previous|prior|earlier|preceding)"
# Words that may surround "previous" or "your". Other words make a text ordinary, as in "ignore all traffic rules".
_BETWEEN = (
    rf"(?:{_GAP}(?:any|all|each|every|everything|anything|and|of|in|the|that|is|was|what|written|said|my|your|these|those"
    r"|other|system|developer|user|original|initial|existing|text|content|context|instructions?|prompts?|messages?"
    r"|above|previous|prior|earlier|preceding)){0,6}"
)
_NOUN = (
    r"(?:instructions?|prompts?|rules?|text|context|messages?|directions?|documents?|passages?|guidelines?)\b(?![-’'])"
)
# The lookaheads make the search faster: other words are skipped before the characters in front of them are examined.
_NOT_NEGATED = rf"(?={_FORGET})(?<!not )(?<!n't )(?<!n’t )(?<!never )"
# The start of a sentence, or a word that precedes an imperative; "drivers ignore all rules" has neither.
_IMPERATIVE = (
    rf"(?={_FORGET})(?:\A|(?<=\n)|(?<=[^\w\s])|(?<=[^\w\s]\s)|(?<=please )|(?<=now )|(?<=then )|(?<=must )"
    r"|(?<=should )|(?<=you to ))"
)

_ZH_FORGET = r"(?:忽略|无视|忘记|不要理会)"
_ZH_EARLIER = r"(?:以上|上述|前面|之前|先前|所有|全部)"
_ZH_BETWEEN = r"(?:的|你|您|我|给出|收到|系统|用户|其他|任何|一切|以上|上述|前面|之前|先前|所有|全部){0,6}"
_ZH_NOUN = r"(?:指令|内容|指示|要求|提示|规则|文字|问题)(?![牌灯标音])"
_ZH_NOT_NEGATED = rf"(?={_ZH_FORGET})(?<!不要)(?<!不能)(?<!不可)"
_ZH_IMPERATIVE = (
    rf"(?={_ZH_FORGET})(?:\A|(?<=[。！？；：!?;:\n“\"（(请并])|(?<=请[你您])|(?<=务必)|(?<=必须)"
    r"|(?<=现在)|(?<=起，)|(?<=开始，))"
)

_INSTRUCTIONS = re.compile(
    "|".join(
        (
            rf"{_NOT_NEGATED}{_FORGET}(?:[^.\n]{{0,40}}\b{_EARLIER}|{_BETWEEN}{_GAP}(?:your|system)){_BETWEEN}{_GAP}"
            r"(?:instructions?|prompts?)\b",
            rf"{_NOT_NEGATED}{_FORGET}{_BETWEEN}{_GAP}(?:above|previous|preceding)(?={_SPACE}(?:[^\w\s-]|\Z|and\b))",
            rf"{_IMPERATIVE}{_FORGET}{_BETWEEN}{_GAP}(?:{_EARLIER}|all|your|these){_BETWEEN}{_GAP}{_NOUN}",
            r"\b(?:you are (?:now )?(?:an? )?assistant|(?:you are|act as|pretend to be) (?:now )?(?:an? )?(?:ai"
            r"|language model|chatbot|llm|gpt))\b",
            r"\b(?:dear|attention|note to|instructions? for|message to) (?:the )?(?:ai|assistant|language model|llm"
            r"|generator|model|chatbot)\b",
            r"\b(?:ai|assistants?|language models?|llms?|chatbots?) (?:must|should|are required to|shall) (?:always "
            r"|only |never )?(?:answer|reply|respond|say|write|output|ignore|state)\b",
            r"\b(?:always|only) (?:answer|reply|respond|output)(?: with\b|\s?[:\"“‘'])",
            r"\bsystem prompt\b|<\|?(?:im_start|system|endoftext)\|?>|\[/?INST\]",
            r"\b(?:answer|respond|reply) (?:every|any|all|each|the) questions? with\b",
            r"\bthe (?:correct |right )?answer (?:to (?:every|any|all|each) questions? )?is (?:always )?42\b",
            rf"{_ZH_NOT_NEGATED}{_ZH_FORGET}(?:{_ZH_BETWEEN}{_ZH_EARLIER}{_ZH_BETWEEN}(?:指令|提示词)"
            rf"|(?:以上|上述)(?:的?(?:所有|全部|一切))?(?={_SPACE}(?:[^\w\s]|\Z|并|然后)))",
            rf"{_ZH_IMPERATIVE}{_ZH_FORGET}{_ZH_BETWEEN}{_ZH_EARLIER}{_ZH_BETWEEN}{_ZH_NOUN}",
            r"(?:你|您)(?:现在)?是(?:一个|一名)?(?:AI|人工智能|语言模型|助手|聊天机器人)",
            r"(?:请|必须|务必|只能|一律)(?:回答|回复|输出|写出?)(?:“|\"|：|:|答案|42|是|为)",
            r"(?:所有|任何|每个|一切)问题的(?:正确)?答案(?:都|均|一律)?(?:是|为)",
            r"系统提示词",
            r"(?:AI|人工智能|语言模型|大模型)(?:必须|应当|应该|请|只能)(?:始终|总是|一律|只|仅)?(?:回答|回复|输出|写|说"
            r"|忽略|无视)",
        )
    ),
    re.IGNORECASE,
)


def find_instruction(text: str) -> str:
    """Return the words in a text that address a model, or an empty string if there are none."""
    found = _INSTRUCTIONS.search(text)
    return "" if found is None else found[0][:80]
