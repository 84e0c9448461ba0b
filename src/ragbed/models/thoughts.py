"""Separate thoughts from answers in the response formats that reasoning models and servers use.

`split_segments` splits a response into segments whose concatenation is the response, so nothing is lost or added. The
formats are:

| Format | Models |
|---|---|
| `<think>…</think>`, also with other names, brackets or attributes | DeepSeek, Qwen, GLM, MiniMax, Seed, LongCat, Hy |
| `[THINK]…[/THINK]`, `◁think▷…◁/think▷`, `<ifm|think>…` | Magistral, Kimi-VL, K2 Horizon |
| `<|begin_of_thought|>…<|end_of_thought|>`, `<|START_THINKING|>…` | Sky-T1, Command A |
| `<unused94>…<unused95>`, `<|channel>thought…<channel|>`, `<|inner_prefix|>…` | MedGemma, Gemma 4, Apertus |
| `<|plamo:begin_think:plamo|>…`, `<|think:start|>…`, `<|think|>…` | PLaMo 3, Solar Open |
| `<思考>…</思考>`, `【推理】…` | prompts in Chinese |
| a closing tag alone, because the chat template puts the opening one into the prompt | DeepSeek-R1, QwQ |
| an opening tag alone, because the response ended while the model was thinking | all of these |
| `<|channel|>analysis<|message|>…<|channel|>final<|message|>…` (harmony) | gpt-oss |
| fixed texts before the thought and before the answer | see `_FRAMES` |

An answer tag at the start of a line also ends a thought. Brackets such as `[Analysis]` may be a heading in an answer,
so without a closing tag, they open a thought only if the model did not end the response itself.

A tag inside a sentence of an answer is plain text, so a pair of tags counts only at the start of the response, after
another thought, or at the start of a line that is not in a code block. A closing tag in quotation marks is plain text,
too, and so is one that a sentence mentions, as in 'the </think> tag'. Any other closing tag ends a thought, as in the
parsers of vLLM and SGLang.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache, partial
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["thought", "answer", "marker"]


class Segment(NamedTuple):
    """A segment of a response: a thought, an answer, or a marker, which is a tag with the whitespace around it."""

    kind: Kind
    text: str


class SplitResponse(NamedTuple):
    """A response split into thought and answer; `is_complete` is False if the response ends inside a thought."""

    thought: str | None
    answer: str
    is_complete: bool


_WORD = (
    r"think(?:ing|_fast(?:er)?)?|(?:chain_of_)?thoughts?|reason(?:ing)?|reflection|reflect|scratchpad|inner_monologue"
    r"|thought_process|analysis"
)
_WORD_ZH = r"思考|思考过程|思考過程|推理|推理过程|推理過程|思维链|思維鏈|想法"
_NAME = rf"(?:(?!no[:_-])[a-z]+[:_-]|ifm\|)?(?:{_WORD})(?::opensource)?|{_WORD_ZH}"
_LEFT, _RIGHT = r"[<\[【＜◁〈]\|?", r"\|?[>\]】＞▷〉]"
_PAIR = rf"(?P<left>{_LEFT})(?P<name>{_NAME})(?:\s[^<>\[\]\n]{{0,80}}(?<!/))?(?P<right>{_RIGHT})"
_BEGIN = rf"[<\[]\|?(?:plamo:)?(?:begin|start)[_ ](?:of[_ ])?(?:{_WORD}|working_out)(?::plamo)?\|?[>\]]"
_AFTER = rf"[<\[]\|?(?P<name2>{_WORD})(?:[_ ]|:(?=\w+\|))(?:begin|start)\|?[>\]]"
_OTHER = r"<unused94>(?:thought\n)?|<\|channel>thought\b|<\|inner_prefix\|>"
_OPEN = f"{_PAIR}|{_BEGIN}|{_AFTER}|{_OTHER}"
_CLOSE = (
    rf"{_LEFT}[/／](?:{_NAME})\s{{0,9}}{_RIGHT}"
    rf"|[<\[]\|?(?:plamo:)?end[_ ](?:of[_ ])?(?:{_WORD}|working_out)(?::plamo)?\|?[>\]]"
    rf"|[<\[]\|?(?:{_WORD})(?:[_ ]|:(?=\w+\|))end\|?[>\]]|<unused95>|<channel\|>|<\|inner_suffix\|>"
    r"|<\|end\|><\|begin\|>assistant<\|content\|>"
)
# Tags around the answer. They are removed only after a reasoning block, because otherwise they may be part of
# the answer.
_ANSWER_WORD = r"answer|response|final|final_answer|solution|output|(?:最终|正式)?(?:回答|答案|答复)"
_ANSWER_TAG = (
    rf"(?:{_LEFT}(?:{_ANSWER_WORD}){_RIGHT}"
    rf"|[<\[]\|?(?:begin|start)[_ ](?:of[_ ])?(?:final[_ ])?(?:{_ANSWER_WORD})\|?[>\]])"
)
_ANSWER_OPEN = rf"\s*{_ANSWER_TAG}"
_ANSWER_LINE = rf"\n[ \t]{{0,9}}{_ANSWER_TAG}"
_ANSWER_CLOSE = (
    rf"(?:{_LEFT}[/／](?:{_ANSWER_WORD}){_RIGHT}"
    rf"|[<\[]\|?end[_ ](?:of[_ ])?(?:final[_ ])?(?:{_ANSWER_WORD})\|?[>\]])"
)
_CHANNEL = (
    r"(?:<\|start\|>assistant)?<\|channel\|>\s{0,9}(?P<name>\w{1,30})[^<]{0,80}"
    r"(?:<\|constrain\|>[^<]{0,80})?<\|message\|>"
)
_HARMONY = frozenset(("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"))
_CHANNEL_END = r"<\|(?:end|return|call)\|>"


class _Frame(NamedTuple):
    """Fixed texts before a thought, before the answer and after it, as patterns.

    Attributes:
        models: The models that use them.
        head: The text before the thought.
        border: The text between the thought and the answer.
        tail: The text after the answer.
        unfinished: The head of a response that was truncated inside the thought; by default, `head`.
    """

    models: str
    head: str
    border: str
    tail: str = ""
    unfinished: str = ""


# Many servers remove the special tokens among the texts.
_FRAMES = (
    _Frame("Granite", r"Here(?: is|'s) my thought process:", r"Here(?: is|'s) my response:"),
    _Frame(
        "Apriel",
        r"Here are my reasoning steps:",
        r"\n[ \t]*\[BEGIN FINAL RESPONSE\]",
        r"\[END FINAL RESPONSE\](?:\s*<\|end\|>)?",
    ),
    _Frame(
        "gpt-oss without special tokens",
        r"(?:analysis(?=\S)|commentary(?=[A-Z\u4e00-\u9fff]))",
        r"assistantfinal|assistant\s*final\s*message",
        unfinished=r"analysis(?=[A-Z])",
    ),
    _Frame("s1", r"<\|im_start\|>think\n", r"\n<\|im_start\|>answer\n", r"<\|im_end\|>"),
    _Frame("s1 without special tokens", r"think\n", r"\nanswer\n"),
    _Frame("HyperCLOVA X", r"/think\n", r"<\|im_end\|>\n<\|im_start\|>assistant\n", r"<\|im_end\|>(?:<\|\w+\|>)?"),
    _Frame("HyperCLOVA X without special tokens", r"/think\n", r"\nassistant\n"),
    _Frame("openPangu", r"\[unused16\]", r"\[unused17\]", r"\[unused10\]"),
    _Frame(
        "Inkling",
        r"<\|content_thinking\|>",
        r"<\|end_message\|><\|message_model\|><\|content_text\|>",
        r"<\|end_message\|>",
    ),
    _Frame(
        "Muse Glimmer",
        r"(?:<\|start\|>assistant )?to=self<\|message\|>",
        r"<\|eom\|><\|start\|>assistant(?: to=user)?<\|message\|>",
        r"<\|eot\|>",
    ),
    _Frame(
        "Kimi K3",
        r"(?:<\|open\|>think<\|sep\|>)?",
        r"<\|close\|>think<\|sep\|><\|open\|>response<\|sep\|>",
        r"<\|close\|>response<\|sep\|>(?:<\|close\|>message<\|sep\|>)?(?:<\|end_of_msg\|>)?",
        unfinished=r"<\|open\|>think<\|sep\|>",
    ),
)
# Apriel without the text before the thought, which may contain tags, so tags are searched first.
_FINAL_FRAMES = (_Frame("Apriel", "", r"\n\[BEGIN FINAL RESPONSE\]", _FRAMES[1].tail),)
_UNFINISHED = rf"(?s)(\s*(?:{'|'.join(frame.unfinished or frame.head for frame in _FRAMES)}))(.*)"
_SPACE = r"[\s\ufeff\u200b-\u200d\u2060]*+"  # whitespace, byte order marks and zero-width characters
_HEADS = re.compile(rf"{_SPACE}(?:analysis|commentary|Here(?: is|'s| are) my|/?think\n)")  # reasoning without tags
# Tokens at the start of a sequence that some servers do not remove.
_BOS = r"<s>|<bos>|<[|｜](?:begin|start)[_▁]?of[_▁]?(?:text|sentence)[|｜]>|\[gMASK\]|<sop>"
_START = re.compile(rf"{_SPACE}(?:(?:{_BOS}){_SPACE})*+")
_MARK = re.compile(r"[<\[【＜◁〈]")  # a response without these characters need not be searched for tags
_FENCE = "\n```"  # starts or ends a code block; at the start of a response, it encloses the entire response
_QUOTES = {"`": "`", '"': '"', "'": "'", "“": "”", "‘": "’", "「": "」", "『": "』", "(": ")", "（": "）"}
_TAG_NOUN = r" (?:tag|token|marker)s?\b| ?(?:标签|标记|標籤|標記)"
_SENTENCE_ENDS = frozenset(".!?。！？\n")
_MAX_QUOTED = 500  # maximum number of characters before a tag in which to look for the start of a quotation
_MAX_THOUGHTS = 1_000  # maximum number of reasoning blocks per response; a genuine response has far fewer


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because most responses have no tags."""
    return re.compile(pattern, re.IGNORECASE)


def _skip_space(text: str, at: int) -> int:
    """Return the position after whitespace, invisible characters and tokens at the start of a sequence."""
    found = _START.match(text, at)
    return at if found is None else found.end()


def split_response(text: str, *, has_ended: bool | None = None) -> SplitResponse:
    """Return a response's thoughts and answer, without tags and surrounding whitespace.

    Args:
        text: The response.
        has_ended: Whether the model ended the response itself; False if it was truncated, and None if this is unknown.
    """
    if _MARK.search(text) is None and not _HEADS.match(text):  # most responses contain no reasoning
        return SplitResponse(None, text, is_complete=True)
    segments = split_segments(text, has_ended=has_ended)
    thoughts = [segment.text for segment in segments if segment.kind == "thought"]
    answer = "".join(segment.text for segment in segments if segment.kind == "answer")
    last = max((at for at, segment in enumerate(segments) if segment.kind != "marker"), default=-1)
    rest = "".join(segment.text for segment in segments[last + 1 :])
    ends_in_thought = last >= 0 and segments[last].kind == "thought" and not rest.strip()
    return SplitResponse("\n\n".join(thoughts) or None, answer, not (ends_in_thought or _ends_open(rest)))


def find_tags(tokens: Collection[str]) -> frozenset[str]:
    """Return those of a tokenizer's special tokens that separate thoughts from answers."""
    harmony = _HARMONY if "<|channel|>" in tokens else frozenset()
    tag = _compiled(f"{_OPEN}|{_CLOSE}")
    return frozenset(token for token in tokens if token in harmony or tag.fullmatch(token))


def find_opened(prompt: str) -> str:
    """Return the tag at the end of a prompt that opens a thought, or an empty string if there is none."""
    found = _compiled(rf"(?:{_OPEN})\s*\Z").search(prompt)
    return "" if found is None else found[0]


def split_segments(text: str, *, has_ended: bool | None = None) -> list[Segment]:
    """Split a response into segments whose concatenation is the response; see `split_response`."""
    layouts = (
        partial(_split_frames, frames=_FRAMES),
        _split_channels,
        partial(_split_tags, has_ended=bool(has_ended)),
        partial(_split_frames, frames=_FINAL_FRAMES),
    )
    for layout in layouts:
        segments = list(layout(text))
        if segments:
            return _tidy(segments)
    if has_ended is False and (found := re.match(_UNFINISHED, text)) is not None:
        return _tidy([Segment("marker", found[1]), Segment("thought", found[2])])
    return [Segment("answer", text)] if text else []


def _ends_open(marker: str) -> bool:
    """Return whether the last tag in a marker opens a thought that has no text."""
    if not marker:
        return False
    opened = [found.start() for found in _compiled(_OPEN).finditer(marker)]
    closed = [found.start() for found in _compiled(_CLOSE).finditer(marker)]
    return bool(opened) and (not closed or closed[-1] < opened[-1])


def _tidy(segments: list[Segment]) -> list[Segment]:
    """Convert whitespace to markers if it is around a thought, before the answer or before a final marker."""
    answers = [at for at, segment in enumerate(segments) if segment.kind == "answer" and segment.text.strip()]
    tidied: list[Segment] = []
    for at, (kind, text) in enumerate(segments):
        core = text
        if kind == "thought" or (kind == "answer" and at in answers[-1:] and at < len(segments) - 1):
            core = core.rstrip()
        tail = text[len(core) :]
        if kind == "thought" or (kind == "answer" and at in answers[:1]) or not core.strip():
            core = core.lstrip()
        head = text[: len(text) - len(tail) - len(core)]
        tidied += [Segment("marker", head), Segment(kind, core), Segment("marker", tail)]
    return [segment for segment in tidied if segment.text]


def _split_frames(text: str, *, frames: Iterable[_Frame]) -> Iterator[Segment]:
    """Split a response in which fixed texts enclose the thought and the answer."""
    at = _skip_space(text, 0)
    for _, head, border, tail, _ in frames:
        opening = re.compile(head).match(text, at)
        found = None if opening is None else re.compile(border).search(text, opening.end())
        if opening is None or found is None:
            continue
        if not opening[0] and (_is_quoted(text, found) or text.count(_FENCE, at, found.start()) % 2 == 1):
            continue  # the answer quotes the text, possibly in a code block
        closing = re.compile(rf"(?:{tail})\s*\Z").search(text, found.end()) if tail else None
        end = len(text) if closing is None else closing.start()
        yield Segment("marker", text[: opening.end()])
        yield Segment("thought", text[opening.end() : found.start()])
        yield Segment("marker", found[0])
        yield Segment("answer", text[found.end() : end])
        if closing is not None:
            yield Segment("marker", closing[0])
        return


def _split_channels(text: str) -> Iterator[Segment]:
    """Split the harmony format: the `final` channel is the answer, and all others are thoughts."""
    at, channel = _skip_space(text, 0), re.compile(_CHANNEL)
    head = channel.match(text, at)
    if head is not None:
        yield Segment("marker", text[:at])
    while head is not None:
        following = channel.search(text, head.end())
        end = len(text) if following is None else following.start()
        stop = next(_find_unquoted(re.compile(_CHANNEL_END), text, head.end(), end), None)
        body = end if stop is None else stop.start()
        yield Segment("marker", head[0])
        yield Segment("answer" if head["name"] == "final" else "thought", text[head.end() : body])
        yield Segment("marker", text[body:end])
        head = following


def _split_tags(text: str, *, has_ended: bool) -> Iterator[Segment]:
    """Split a response into thoughts, which are enclosed in tags, and the answers between the thoughts."""
    at, has_thought = 0, False
    if _MARK.search(text) is None:
        return
    for _ in range(_MAX_THOUGHTS):
        opening = _find_opening(text, at, has_thought=has_thought)
        closing = next((tag for tag in _find_unquoted(_compiled(_CLOSE), text, at) if not _is_named(text, tag)), None)
        if not has_thought and closing is not None and (opening is None or closing.start() < opening.start()):
            if _compiled(_OPEN).search(text, at, closing.start()) is not None:
                return  # both tags are inside a sentence of the answer
            yield Segment("thought", text[at : closing.start()])
            yield Segment("marker", closing[0])
            at, has_thought = closing.end(), True
        elif opening is not None:
            end, after = _find_end(text, opening, has_ended=has_ended)
            if has_ended and end == after == len(text) and _may_be_heading(opening):
                break
            yield from _unwrap(text[at : opening.start()], has_thought=has_thought)
            yield Segment("marker", opening[0])
            yield Segment("thought", text[opening.end() : end])
            yield Segment("marker", text[end:after])
            at, has_thought = after, True
        else:
            break
    if has_thought:
        yield from _unwrap(text[at:], has_thought=True)


def _find_opening(text: str, at: int, *, has_thought: bool) -> re.Match[str] | None:
    """Return the next opening tag that starts a thought; see the rule in the module docstring."""
    first = _compiled(_OPEN).match(text, _skip_space(text, at))
    if first is not None:
        return first
    last = -1 if has_thought else max((tag.start() for tag in _compiled(_CLOSE).finditer(text, at)), default=-1)
    fences, counted = 0, at
    for found in _compiled(_OPEN).finditer(text, at):
        fences, counted = fences + text.count(_FENCE, counted, found.start()), found.start()
        starts_line = text[max(at, found.start() - 9) : found.start()].rstrip(" \t").endswith("\n")
        if starts_line and fences % 2 == 0 and (has_thought or found.end() <= last):
            return found
    return None


def _find_unquoted(tag: re.Pattern[str], text: str, at: int, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
    """Yield the matches of a tag that are not in quotation marks."""
    return (found for found in tag.finditer(text, at, end) if not _is_quoted(text, found))


def _find_first(tag: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """Return the first unquoted match of a tag, preferring one that is not just mentioned in a sentence."""
    first = None
    for found in _find_unquoted(tag, text, at):
        if not _is_named(text, found):
            return found
        first = first or found
    return first


def _is_named(text: str, tag: re.Match[str]) -> bool:
    """Return whether a sentence mentions a tag, as in 'the </think> tag'."""
    before = text[max(0, tag.start() - 2) : tag.start()].rstrip(" ")
    if not before or before[-1] in _SENTENCE_ENDS:
        return False
    return re.compile(_TAG_NOUN).match(text, tag.end()) is not None


def _is_quoted(text: str, tag: re.Match[str]) -> bool:
    quote = text[tag.start() - 1 : tag.start()]
    if not quote or text[tag.end() : tag.end() + 1] != _QUOTES.get(quote):
        return False
    if quote == "'":  # otherwise it is an apostrophe or the end of a quotation
        return text[max(0, tag.start() - 2) : tag.start() - 1] in ("", " ", "\n", "(", "[", "=")
    # If the same character starts and ends a quotation, an even number of them on the line ends one before the tag.
    start = max(0, tag.start() - _MAX_QUOTED)
    line = max(start, text.rfind("\n", start, tag.start()))
    return _QUOTES[quote] != quote or text.count(quote, line, tag.start()) % 2 == 1


def _may_be_heading(opening: re.Match[str]) -> bool:
    """Return whether an opening tag could be a heading in an answer; `[THINK]` could not, as it is a Mistral token."""
    return opening["left"] in ("[", "【", "〈") and opening[0] != "[THINK]"


def _closing_of(text: str, opening: re.Match[str], *, has_ended: bool) -> re.Match[str] | None:
    """Return the first closing tag for an opening tag, preferring one with the same name.

    If the model ended the response itself, the thought has a closing tag, even if quotation marks surround the tag.
    """
    name = opening["name"] or opening["name2"]
    if name is not None:
        same = rf"{_LEFT}[/／]{re.escape(name)}\s{{0,9}}{_RIGHT}|[<\[]\|?{re.escape(name)}[_ :]end\|?[>\]]"
        found = _find_first(re.compile(same, re.IGNORECASE), text, opening.end())
        if found is not None:
            return found
    found = _find_first(_compiled(_CLOSE), text, opening.end())
    return _compiled(_CLOSE).search(text, opening.end()) if found is None and has_ended else found


def _find_end(text: str, opening: re.Match[str], *, has_ended: bool) -> tuple[int, int]:
    """Return the end of a thought and the end of its closing tag.

    Without a closing tag, both are the position of the next answer tag, or the end of the text if there is none.

    A thought that repeats its opening tag ends at the matching closing tag, if the tags are balanced.
    """
    closing = _closing_of(text, opening, has_ended=has_ended)
    if closing is None:
        answer = _compiled(_ANSWER_LINE).search(text, opening.end())
        end = len(text) if answer is None else answer.start()
        return end, end
    inner = len(re.findall(re.escape(opening[0]), text[opening.end() : closing.start()]))
    last = closing
    for _ in range(inner):
        following = re.compile(re.escape(closing[0])).search(text, last.end())
        if following is None:
            return closing.start(), closing.end()
        last = following
    return last.start(), last.end()


def _unwrap(text: str, *, has_thought: bool) -> Iterator[Segment]:
    """Yield an answer's segments. If the answer follows a thought, tags around it become markers."""
    opening = _compiled(_ANSWER_OPEN).match(text) if has_thought else None
    if opening is None:
        yield Segment("marker" if _skip_space(text, 0) == len(text) else "answer", text)
        return
    closing = _compiled(rf"{_ANSWER_CLOSE}\s*\Z").search(text, opening.end())
    closing = closing or _compiled(_ANSWER_CLOSE).search(text, opening.end())
    end, after = (len(text), len(text)) if closing is None else closing.span()
    yield Segment("marker", text[: opening.end()])
    yield Segment("answer", text[opening.end() : end])
    yield Segment("marker", text[end:after])
    yield Segment("answer", text[after:])
