"""Detect sentences that give instructions to a model instead of informing a reader, as in prompt injections.

Words such as "ignore" and "your" also occur in ordinary texts. They count only in the combinations below.
"""

from __future__ import annotations

import re

# All repetitions are limited, because a hostile document could otherwise make the search take hours.
_GAP = r"[\s,]{1,3}"
_BETWEEN = (
    rf"(?:{_GAP}(?:any|all|everything|and|of|the|that|is|was|said|my|your|these|those|other|system)){{0,5}}{_GAP}"
)
_MODEL = r"(?:ai|assistants?|language models?|llms?|chatbots?)"
# Patterns for lower-case texts, and the words one of which a text must contain. Few texts contain one, so the search is
# fast.
_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        "ignore|disregard|forget|override",
        # "Ignore all previous instructions", "Disregard your system prompt", "Forget the above."
        rf"(?<!not )(?<!n't )(?<!n’t )(?<!never )\b(?:ignore|disregard|forget|override)\b{_BETWEEN}"
        rf"(?:(?:above|previous|prior|earlier|preceding)(?:{_GAP}(?:system|text|and|all)){{0,2}}{_GAP}"
        r"(?:instructions?|prompts?|messages?|context|text)\b|above\s{0,3}(?:[^\w\s-]|\Z|and\b)"
        r"|(?:instructions|prompts?)\b)",
    ),
    (
        "you are |act as |pretend to be ",
        r"\b(?:you are|act as|pretend to be) (?:now )?(?:an? )?(?:ai|language model|chatbot|llm|gpt|assistant)\b",
    ),
    (
        "dear |attention |note to |instruction|message to ",
        r"\b(?:dear|attention|note to|instructions? for|message to) (?:the )?(?:ai|language model|llm|chatbot)\b",
    ),
    (
        "must |should |required to ",
        rf"\b{_MODEL} (?:must|should|are required to) (?:always |only )?"
        r"(?:answer|reply|respond|say|write|output|ignore)\b",
    ),
    ("always |only ", r"\b(?:always|only) (?:answer|reply|respond|output)(?: with\b|\s?[:\"“‘'])"),
    (
        "question",
        r"\b(?:answer|respond to) (?:every|any|all|each) questions? with\b"
        r"|\bthe (?:correct |right )?answer to (?:every|any|all|each) questions? is\b",
    ),
    ("system|<|[inst]", r"\bsystem prompt\b|<\|?(?:im_start|system|endoftext)\|?>|\[/?inst\]"),
    (
        "忽略|无视|忘记|不要理会",
        r"(?<!不要)(?<!不能)(?:忽略|无视|忘记|不要理会)(?:你|您|的|所有|全部|给出|系统){0,3}"
        r"(?:以上|上述|前面|之前|先前)(?:的|所有|全部|系统|一切){0,3}(?:指令|内容|指示|要求|提示|文字)",
    ),
    ("回答|回复|输出", r"(?:请|必须|务必|只能|一律)(?:回答|回复|输出)(?:“|\"|：|:|答案|42)"),
    ("问题的|提示词", r"(?:所有|任何|每个|一切)问题的(?:正确)?答案(?:都|均|一律)?(?:是|为)|系统提示词"),
    ("你|您", r"(?:你|您)(?:现在)?是(?:一个|一名)?(?:ai|人工智能|语言模型|聊天机器人)"),
    (
        "必须|应当|应该|请|只能",
        r"(?:ai|人工智能|语言模型|大模型)(?:必须|应当|应该|请|只能)(?:始终|总是|一律|只|仅)?(?:回答|回复|输出|忽略|无视)",
    ),
)
_COMPILED = [(words.split("|"), re.compile(pattern)) for words, pattern in _PATTERNS]


def find_instruction(text: str) -> str:
    """Return the words in a text that address a model, or an empty string if there are none."""
    lowered = text.lower()
    for words, pattern in _COMPILED:
        if any(word in lowered for word in words) and (found := pattern.search(lowered)):
            return found[0][:80]
    return ""
