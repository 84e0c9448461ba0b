"""Detect sentences that give instructions to a model instead of informing a reader, as in prompt injections."""

from __future__ import annotations

import re

_INSTRUCTIONS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:above|previous|prior|earlier|preceding|all|your"
    r"|these)\b[^.\n]{0,40}"
    r"\b(?:instructions?|prompts?|rules?|text|context|messages?|directions?|documents?|passages?|guidelines?)?"
    r"|\b(?:you are|act as|pretend to be) (?:now )?(?:an? )?(?:ai|assistant|language model|chatbot|llm|gpt)\b"
    r"|\b(?:dear|attention|note to|instructions? for|message to) (?:the )?(?:ai|assistant|language model|llm"
    r"|generator|model|chatbot)\b"
    r"|\b(?:ai|assistants?|language models?|llms?|chatbots?) (?:must|should|are required to|shall) (?:always "
    r"|only |never )?"
    r"(?:answer|reply|respond|say|write|output|ignore|state)\b"
    r"|\b(?:always|only) (?:answer|reply|respond|output)(?: with)?\b|\bsystem prompt\b|<\|?(?:im_start|system"
    r"|endoftext)\|?>|\[/?INST\]"
    r"|\b(?:answer|respond|reply) (?:every|any|all|each|the) questions? with\b|\bthe (?:correct "
    r"|right )?answer (?:to (?:every|any|all|each)"
    r" questions? )?is (?:always )?42\b"
    r"|(?:忽略|无视|忘记|不要理会)(?:以上|上述|前面|之前|先前|所有|全部)[^。\n]{0,20}(?:指令|内容|指示|要求|提示|规则|文字|问题)?"
    r"|(?:你|您)(?:现在)?是(?:一个|一名)?(?:AI|人工智能|语言模型|助手|聊天机器人)"
    r"|(?:请|必须|务必|只能|一律)(?:回答|回复|输出|写出?)(?:“|\"|：|:|答案|42|是|为)"
    r"|(?:所有|任何|每个|一切)问题的(?:正确)?答案(?:都|均|一律)?(?:是|为)|系统提示词?|(?:AI|人工智能|语言模型|大模型)(?:必须|应当|应该|请|只能)",
    re.IGNORECASE,
)


def find_instruction(text: str) -> str:
    """Return the words in a text that address a model, or an empty string if there are none."""
    found = _INSTRUCTIONS.search(text)
    return "" if found is None else found[0][:80]
