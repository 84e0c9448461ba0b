"""Separate thoughts from answers in the response formats of models whose servers do not do it.

| Format | Models |
|---|---|
| `<think>…</think>`, also with a prefix as in `<seed:think>` | DeepSeek-R1, Qwen3, MiniMax, Seed-OSS, LongCat |
| `<thought>…</thought>`, `<reasoning>…</reasoning>` | EXAONE Deep, gpt-oss on Bedrock |
| `[THINK]…[/THINK]`, `◁think▷…◁/think▷` | Magistral, Kimi-VL |
| `<|begin_of_thought|>…<|end_of_thought|>`, `<|START_THINKING|>…` | Sky-T1, Command A |
| `<unused94>…<unused95>`, `<|channel>thought…<channel|>` | MedGemma, Gemma 4 |
| a closing tag alone, because the chat template puts the opening one into the prompt | DeepSeek-R1, QwQ |
| an opening tag alone, because the response ended while the model was thinking | all of these |
| `<|channel|>analysis<|message|>…<|channel|>final<|message|>…` (harmony) | gpt-oss |

After a thought, tags around the answer are removed: `<answer>` (Hunyuan-A13B), `<response>` (Granite 3.2),
`<|begin_of_solution|>` (Sky-T1) and `<|START_RESPONSE|>` (Command A).

A tag inside a sentence of an answer is plain text, so a pair of tags counts only at the start of the response, after
another thought, or at the start of a line. Any other closing tag ends a thought, as in the parsers of vLLM and SGLang.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import NamedTuple


class SplitResponse(NamedTuple):
    """A response split into thought and answer; `is_complete` is False if the response ends inside a thought."""

    thought: str | None
    answer: str
    is_complete: bool


_NAME = r"(?:(?!no[:_-])[a-z]+[:_-])?(?:think(?:ing)?|thought|reasoning)"
_OPEN = (
    rf"<(?P<name>{_NAME})>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>|<unused94>(?:thought\n)?"
    r"|<\|channel>thought\b"
)
_CLOSE = rf"</(?:{_NAME})\s{{0,9}}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>|<unused95>|<channel\|>"
# Tags around the answer. They are removed only after a thought, because otherwise they may be part of the answer.
_ANSWER_TAG = r"(?:<(?:answer|response)>|<\|begin_of_solution\|>|<\|START_RESPONSE\|>)"
_ANSWER_CLOSE = r"</(?:answer|response)>|<\|end_of_solution\|>|<\|END_RESPONSE\|>"
_CHANNEL = r"(?:<\|start\|>assistant)?<\|channel\|>\s{0,9}(?P<channel>\w{1,30})[^<]{0,80}<\|message\|>"
_CHANNEL_END = r"<\|(?:end|return|call)\|>"
_HARMONY = frozenset(("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"))
# Whitespace, invisible characters and tokens at the start of a sequence that some servers do not remove.
_START = re.compile(
    r"(?:[\s\ufeff\u200b-\u200d\u2060]|<s>|<bos>|<[|｜](?:begin|start)[_▁]?of[_▁]?(?:text|sentence)[|｜]>|\[gMASK\]|<sop>)*+"
)
_MARK = re.compile(r"[<\[◁]")  # a response without these characters need not be searched for tags
_MAX_THOUGHTS = 1_000  # maximum number of thoughts per response; a genuine response has far fewer


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because most responses have no tags."""
    return re.compile(pattern, re.IGNORECASE)


def split_response(text: str) -> SplitResponse:
    """Return a response's thoughts and answer, without tags and surrounding whitespace."""
    if _MARK.search(text) is None:  # most responses contain no thoughts
        return SplitResponse(None, text, is_complete=True)
    return _split_channels(text) or _split_tags(text) or SplitResponse(None, text, is_complete=True)


def find_tags(tokens: Collection[str]) -> frozenset[str]:
    """Return those of a tokenizer's special tokens that separate thoughts from answers."""
    harmony = _HARMONY if "<|channel|>" in tokens else frozenset()
    tag = _compiled(f"{_OPEN}|{_CLOSE}")
    return frozenset(token for token in tokens if token in harmony or tag.fullmatch(token))


def find_opened(prompt: str) -> str:
    """Return the tag at the end of a prompt that opens a thought, or an empty string if there is none."""
    found = _compiled(rf"(?:{_OPEN})\s*\Z").search(prompt)
    return "" if found is None else found[0]


def _join(thoughts: list[str], answers: list[str], *, is_complete: bool) -> SplitResponse:
    kept = [thought.strip() for thought in thoughts if thought.strip()]
    return SplitResponse("\n\n".join(kept) or None, "".join(answers).strip(), is_complete)


def _split_channels(text: str) -> SplitResponse | None:
    """Split the harmony format: the `final` channel is the answer, and all others are thoughts."""
    channel, thoughts, answers, is_complete = _compiled(_CHANNEL), list[str](), list[str](), True
    head = channel.match(text, _skip_start(text, 0))
    if head is None:
        return None
    while head is not None:
        following = channel.search(text, head.end())
        end = len(text) if following is None else following.start()
        stop = _compiled(_CHANNEL_END).search(text, head.end(), end)
        is_final = head["channel"] == "final"
        (answers if is_final else thoughts).append(text[head.end() : end if stop is None else stop.start()])
        is_complete, head = is_final or stop is not None, following
    return _join(thoughts, answers, is_complete=is_complete)


def _split_tags(text: str) -> SplitResponse | None:
    """Split a response into thoughts, which are enclosed in tags, and the answers between the thoughts."""
    at, thoughts, answers = 0, list[str](), list[str]()
    for _ in range(_MAX_THOUGHTS):
        opening = _find_opening(text, at, has_thought=bool(thoughts))
        closing = None if thoughts else _compiled(_CLOSE).search(text, at)
        if closing is not None and (opening is None or closing.start() < opening.start()):
            if _compiled(_OPEN).search(text, at, closing.start()) is not None:
                return None  # both tags are inside a sentence of the answer
            thoughts.append(text[at : closing.start()])
            at = closing.end()
            continue
        if opening is None:
            break
        answers.append(_unwrap(text[at : opening.start()], has_thought=bool(thoughts)))
        name = opening["name"]  # a closing tag with the same name is preferred
        same = rf"</{re.escape(name)}\s{{0,9}}>" if name else _CLOSE
        closing = _compiled(same).search(text, opening.end()) or _compiled(_CLOSE).search(text, opening.end())
        if closing is None:
            return _join([*thoughts, text[opening.end() :]], answers, is_complete=False)
        thoughts.append(text[opening.end() : closing.start()])
        at = closing.end()
    if not thoughts:
        return None
    return _join(thoughts, [*answers, _unwrap(text[at:], has_thought=True)], is_complete=True)


def _skip_start(text: str, at: int) -> int:
    found = _START.match(text, at)
    return at if found is None else found.end()


def _find_opening(text: str, at: int, *, has_thought: bool) -> re.Match[str] | None:
    """Return the next opening tag that starts a thought; see the rule in the module docstring."""
    opening = _compiled(_OPEN).match(text, _skip_start(text, at))
    if opening is not None:
        return opening
    last = -1 if has_thought else max((tag.start() for tag in _compiled(_CLOSE).finditer(text, at)), default=-1)
    for found in _compiled(rf"(?<=\n)(?:{_OPEN})").finditer(text, at):
        if has_thought or found.end() <= last:
            return found
    return None


def _unwrap(text: str, *, has_thought: bool) -> str:
    """Return an answer without the tags around it if it follows a thought."""
    opening = _compiled(rf"\s*{_ANSWER_TAG}").match(text) if has_thought else None
    if opening is None:
        return text if _skip_start(text, 0) < len(text) else ""
    closing = _compiled(_ANSWER_CLOSE).search(text, opening.end())
    end, after = (len(text), len(text)) if closing is None else closing.span()
    return text[opening.end() : end] + text[after:]
