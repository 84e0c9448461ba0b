"""Load instructions from text files, with one folder per instruction set and one subfolder per language.

A set has up to four files per language: `system.md` and `user.md` for cases with documents, `closed-book.system.md` and
`closed-book.user.md` for cases without documents. `{DOCS}` and `{QUERY}` are placeholders for the documents and the
question. A single line feed at the end of a file is not part of the text. `strategies/` contains prompting strategies,
which can be combined with any set.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

from msgspec import Struct

from ragbed.errors import RagbedError, UnknownName, UsageError, option
from ragbed.io.locations import read_regular, report_errors
from ragbed.plugins import FUNCTION, load_function
from ragbed.schema import Lang, Message
from ragbed.testbeds.prompts.strategies import STRATEGIES, fill, profile_name, read_texts

# The response that the instruction requests if no document contains the answer (paper, Figure 3).
REFUSAL: dict[Lang, str] = {
    "en": "I can not answer the question because of the insufficient information in documents.",
    "zh": "文档信息不足，因此我无法基于提供的文档回答该问题。",
}
# The response that the instruction requests if documents contradict the facts.
FLAG: dict[Lang, str] = {
    "en": "There are factual errors in the provided documents.",
    "zh": "提供文档的文档存在事实性错误。",
}

_LANGS: tuple[Lang, ...] = ("en", "zh")
_PLACEHOLDER = re.compile(r"\{(?:DOCS|QUERY)\}")
_NEEDED = {"user.md": ("{DOCS}", "{QUERY}"), "closed-book.user.md": ("{QUERY}",)}
_FILES = ("system.md", "user.md", "closed-book.system.md", "closed-book.user.md")
_STRATEGY_FILES = ("system.md", "user.md", "document.md", "without.md")


class Instructions(Struct, frozen=True, dict=True):
    """The prompt texts that turn a question and its documents into messages.

    Args:
        sets: Names of the bundled sets; each file is taken from the first set that has it.
        folder: The user's own folder with the same files, which override those of the sets.
        strategy: A prompting strategy for cases with documents: a name, a folder of texts, or a function.
    """

    sets: tuple[str, ...]
    folder: Path | None = None
    strategy: str | None = None

    @cached_property
    def _systems(self) -> dict[tuple[Lang, str], tuple[Message, ...]]:
        """The system messages so far, by language and file name prefix; all cases share them."""
        return {}

    def messages(self, lang: Lang, question: str, documents: Sequence[str] | None) -> tuple[Message, ...]:
        """Render the closed-book prompt if `documents` is None, otherwise the prompt with documents."""
        prefix = "closed-book." if documents is None else ""
        shown = "\n".join(self._documents(lang, documents or ()))
        own = {} if documents is None else read_texts(self.strategy, lang)
        template = own.get("user.md", self._texts[lang, f"{prefix}user.md"])
        user = fill(template, {"DOCS": shown, "QUERY": question})
        if (lang, prefix) not in self._systems:
            system = self._texts[lang, f"{prefix}system.md"]
            if documents is not None:
                system = self._apply_strategy(lang, system)
            self._systems[lang, prefix] = (Message(role="system", content=system),) if system else ()
        return (*self._systems[lang, prefix], Message(role="user", content=user))

    def _documents(self, lang: Lang, texts: Sequence[str]) -> Sequence[str]:
        frame = read_texts(self.strategy, lang).get("document.md")
        if frame is None:
            return texts
        return [fill(frame, {"NUMBER": str(number), "DOC": text}) for number, text in enumerate(texts, 1)]

    def _apply_strategy(self, lang: Lang, system: str) -> str:
        """Apply the strategy to the system instruction by adding text or removing a sentence."""
        texts = read_texts(self.strategy, lang)
        if "without.md" in texts:
            shorter = re.sub(rf"\s?{re.escape(texts['without.md'])}", "", system)
            if shorter == system:
                raise UsageError(
                    f"{option('strategies', self.strategy)}: the system instruction does not contain "
                    f"{texts['without.md']!r}, "
                    "which this strategy removes. Add this sentence to the instruction, or omit the strategy."
                )
            return shorter
        return fill(texts.get("system.md", "{SYSTEM}"), {"SYSTEM": system})

    @cached_property
    def own(self) -> str | None:
        """A short hash of all texts if any of them come from the user's folder, otherwise None."""
        return None if self.folder is None else _hash(self._texts)

    @cached_property
    def _texts(self) -> dict[tuple[Lang, str], str]:
        texts = {(lang, name): _read_included(self.sets, lang, name) for lang in _LANGS for name in _FILES}
        return texts if self.folder is None else texts | _read_own("prompt", self.folder)


def identify_strategy(strategy: str) -> str:
    """Check a strategy, and return it as a run stores it: its name and, for a folder of texts, their hash.

    Raises:
        UsageError: A function does not exist or makes no calls, or a folder has no texts.
        UnknownName: The strategy or one of its files is unknown.
    """
    if strategy.startswith(FUNCTION):
        if not inspect.isgeneratorfunction(load_function(strategy)):
            raise UsageError(
                f"{option('strategies', strategy)} makes no calls. A strategy yields each prompt, receives the "
                "response, and returns the answer. A correct one: def ask(given): return (yield given.question)"
            )
        return strategy
    if strategy in STRATEGIES:
        return strategy
    if not Path(strategy).is_dir():
        raise UnknownName("prompting strategy", strategy, [*STRATEGIES, "a folder", f"{FUNCTION}<module>:<function>"])
    return f"{profile_name(strategy)} {_hash(_read_own('strategies', Path(strategy), _STRATEGY_FILES))}"


def _hash(texts: Mapping[tuple[Lang, str], str]) -> str:
    return hashlib.sha256("\0".join(texts[key] for key in sorted(texts)).encode()).hexdigest()[:8]


def prompt_hash(messages: Sequence[Message]) -> str:
    """Return a short hash of the messages, which identifies the prompt in other harnesses' logs."""
    text = "\0".join(f"{message.role}\0{message.content}{_calls_of(message)}" for message in messages)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _calls_of(message: Message) -> str:
    """Return the tool calls in a message as text; for most messages, the text is empty."""
    return "".join(f"\0{call.id}\0{call.name}\0{call.arguments}" for call in message.calls) + (
        "" if message.call is None else f"\0{message.call}"
    )


@cache
def _read_included(sets: tuple[str, ...], lang: str, name: str) -> str:
    paths = (Path(__file__).parent / chosen / lang / name for chosen in sets)
    return next((path.read_bytes().decode().removesuffix("\n") for path in paths if path.is_file()), "")


def _read_own(parameter: str, folder: Path, files: Sequence[str] = _FILES) -> dict[tuple[Lang, str], str]:
    texts = {}
    for lang in _LANGS:
        for path in sorted((folder / lang).glob("*.md")):
            if path.name not in files:
                raise UnknownName("instruction file", f"{lang}/{path.name}", [f"{lang}/{name}" for name in files])
            texts[lang, path.name] = _read_own_text(path)
    if not texts:
        raise UsageError(
            f"{option(parameter, folder)}: the folder contains no instructions. Create at least one of these files "
            f"or its counterpart in zh/: {', '.join(f'en/{name}' for name in files)}."
        )
    return texts


def _read_own_text(path: Path) -> str:
    try:
        with report_errors(path, "read"):
            text = read_regular(path).decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise RagbedError(f"{path} is not encoded as UTF-8. Save the file as UTF-8.") from None
    needed = _NEEDED.get(path.name, ())
    for placeholder in needed:
        if placeholder not in text:
            raise UsageError(
                f"{path} does not contain {placeholder}, so the text for this placeholder would be missing from the "
                "prompt. Add the placeholder."
            )
    for placeholder in set(_PLACEHOLDER.findall(text)) - set(needed):
        raise UsageError(f"{path} contains {placeholder}, which is replaced only in user.md. Remove the placeholder.")
    return text
