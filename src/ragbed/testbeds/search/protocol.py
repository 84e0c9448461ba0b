"""Parse a model's calls to the search tool, whether made through the tool-calling API or as lines of text.

Parsing is strict: a response contains searches, is the final answer, or has a named problem, which is reported to the
model. docs/reference/testbeds.md lists the problems.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ragbed.errors import MALFORMED_JSON
from ragbed.schema import Completion, Lang, Message, Search, ToolCall
from ragbed.testbeds.search.settings import DEFAULT_K, MAX_K, MAX_QUERY_CHARS
from ragbed.text import storable

TOOL = "search"
_MARK = r"(?m)^[ \t*_#>`]*(SEARCH|ANSWER)[*_]*[ \t]*[:：][*_]*[ \t]*"
# Matches a tool call that the server did not parse, e.g. because the server ignores the model's chat template.
_UNPARSED = r'<tool_call>|<\|tool_call|\[TOOL_CALLS\]|<function=|^\s*\{\s*"name"\s*:\s*"search"'
_VALID_NAME = r"[A-Za-z0-9_-]{1,64}"
_MAX_KEPT = 4_000  # maximum number of characters to store from the arguments of an invalid call
# Search requests of up to this many characters are repeated in full in the next prompt. Valid queries are shorter, even
# with all characters escaped.
_MAX_RESENT = 10 * MAX_QUERY_CHARS


class Parsed(msgspec.Struct, frozen=True):
    """A parsed response: either searches, some of which may be invalid, or a final answer.

    Attributes:
        searches: The searches in order; `problem` is set for those that cannot be executed.
        answer: The final answer.
        kept: The part of the response that contains the searches; the rest is not included in the next prompt.
    """

    searches: tuple[Search, ...] = ()
    answer: str | None = None
    kept: str = ""


@cache
def read_texts(lang: Lang) -> dict[str, Any]:
    """Return the testbed's prompts and messages in the given language."""
    import tomllib  # noqa: PLC0415 - needed only for this testbed

    content = (Path(__file__).parents[1] / "prompts" / "search" / f"{lang}.toml").read_text("utf-8")
    return {name: _fill(value) for name, value in tomllib.loads(content).items()}


def _fill(value: Any) -> Any:  # noqa: ANN401 - a text or a table of texts
    if isinstance(value, dict):
        return {name: _fill(part) for name, part in value.items()}
    return value.replace("{K}", str(DEFAULT_K)).replace("{MOST}", str(MAX_K)).strip("\n")


def tool_parameters(lang: Lang) -> dict[str, Any]:
    """Return the JSON schema of the tool's arguments."""
    texts = read_texts(lang)
    number = {"type": "integer", "minimum": 1, "maximum": MAX_K, "description": texts["k"]}
    query = {"type": "string", "description": texts["query"]}
    return {"type": "object", "properties": {"query": query, "k": number}, "required": ["query"]}


def parse_tools(done: Completion) -> Parsed:
    """Parse a response with tool calls; a response without calls is the final answer."""
    text = done.reply or ""
    if done.calls:
        return Parsed(tuple(_from_call(call) for call in done.calls), kept=text)
    if not text.strip():
        return Parsed((_invalid("empty", ""),))
    if re.search(_UNPARSED, text):
        return Parsed((_invalid("unparsed-call", text),), kept=text)
    return Parsed(answer=text)


def parse_text(done: Completion) -> Parsed:
    """Parse a text-protocol response; the first label determines whether the response is a search or an answer.

    Consecutive SEARCH lines are all executed. The text after them is discarded, because it may contain invented
    results. A SEARCH line after an ANSWER is not executed and is not part of the answer.
    """
    text = done.reply or ""
    if not text.strip():
        return Parsed((_invalid("empty", ""),))
    mark = re.search(_MARK, text)
    if mark is None:
        return Parsed((_invalid("no-call", text),), kept=text)
    if mark[1] == "ANSWER":
        rest = text[mark.end() :]
        after = next((found.start() for found in re.finditer(_MARK, rest) if found[1] == "SEARCH"), len(rest))
        answer = rest[:after].strip()
        return Parsed(answer=answer) if answer else Parsed((_invalid("empty", text),), kept=text)
    searches: list[Search] = []
    end = 0
    while mark is not None and mark[1] == "SEARCH" and (not searches or not text[end : mark.start()].strip()):
        line_end = text.find("\n", mark.end())
        end = len(text) if line_end < 0 else line_end
        searches.append(_from_arguments(text[mark.end() : end].strip().strip("`*_")))
        mark = re.compile(_MARK).search(text, end)
    kept = (line if len(line) <= _MAX_RESENT else f"{line[:MAX_QUERY_CHARS]}…" for line in text[:end].split("\n"))
    return Parsed(tuple(searches), kept="\n".join(kept))


def _from_call(call: ToolCall) -> Search:
    return _from_arguments(call.arguments) if call.name == TOOL else _invalid("unknown-tool", call.name)


def _from_arguments(text: str) -> Search:
    """Parse the arguments of a tool call as a search."""
    try:
        arguments = msgspec.json.decode(text)
    except (*MALFORMED_JSON, UnicodeEncodeError):
        return _invalid("bad-json", text)
    if not isinstance(arguments, dict):
        return _invalid("bad-json", text)
    if not {*arguments} <= {"query", "k"}:
        return _invalid("bad-arguments", text)
    return check_search(arguments.get("query"), arguments.get("k", DEFAULT_K))


def check_search(query: object, k: object) -> Search:
    """Return the search for a query and a number of passages; its `problem` is set if either is invalid."""
    if not isinstance(query, str) or not query.strip():
        return _invalid("bad-query", str(query))
    if len(query) > MAX_QUERY_CHARS:
        return _invalid("query-too-long", query)
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MAX_K:
        return _invalid("bad-k", query)
    return Search(query=storable(query), k=k)


def _invalid(problem: str, written: str) -> Search:
    return Search(query=storable(written[:_MAX_KEPT]), problem=problem)


def show_results(search: Search, lang: Lang) -> str:
    """Return the text that reports a search's results, or its problem, to the model."""
    texts = read_texts(lang)
    if search.problem is not None:
        return str(texts["problems"][search.problem])
    if not search.found:
        return str(texts["nothing"])
    # Each passage is on one line, so that its text cannot imitate the start of another passage.
    passages = (f"[{number}] {' '.join(passage.text.split())}" for number, passage in enumerate(search.found, 1))
    return "\n".join([texts["results"], *passages])


def continue_tools(parsed: Parsed, calls: Sequence[ToolCall], told: Sequence[str]) -> tuple[Message, ...]:
    """Return the messages to add to the prompt after a response: the response itself, and one result per tool call."""
    if not calls:  # the response contained neither a call nor an answer
        return continue_text(parsed, told)
    results = (
        Message(role="tool", content=text, call=call.id, is_error=search.problem is not None)
        for call, text, search in zip(calls, told, parsed.searches, strict=True)
    )
    return (Message(role="assistant", content=parsed.kept, calls=tuple(map(_resend, calls))), *results)


def _resend(call: ToolCall) -> ToolCall:
    """Return a tool call for the next prompt; servers require a valid name, and arguments that form a JSON object.

    Overlong arguments are left out, because the next prompt could exceed the context window.
    """
    try:
        is_object = len(call.arguments) <= _MAX_RESENT and isinstance(msgspec.json.decode(call.arguments), dict)
    except (*MALFORMED_JSON, UnicodeEncodeError):
        is_object = False
    name = call.name if re.fullmatch(_VALID_NAME, call.name) else "search"
    return msgspec.structs.replace(call, name=name, arguments=call.arguments if is_object else "{}")


def continue_text(parsed: Parsed, told: Sequence[str]) -> tuple[Message, ...]:
    """Return the messages to add to the prompt after a response in the text protocol."""
    kept = parsed.kept or "…"  # servers reject an empty message
    return (Message(role="assistant", content=kept), Message(role="user", content="\n\n".join(told)))
