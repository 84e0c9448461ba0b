"""Read the code blocks of the pages."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
GENERATED = ("docs/reference/cli.md",)  # generated from the code and checked by another test
FILE = re.compile(r"# (\w+\.py)\n")  # the first line of a Python block that a reader saves

_OPENING = re.compile(r"( *)(`{3,})(\w*)\s*")
_UNRUN = re.compile(r"<!-- not run: (.+) -->")
_COMMAND = re.compile(r"(\$ )?([A-Z_]+=\S+ )*(\.venv/bin/)?(ragbed|make|pip|python3?|export) ")


class Block(NamedTuple):
    """A fenced code block.

    Attributes:
        kind: The language; `sh` also for commands without a language.
        unrun: Why it is not run: the text of the comment before it, `<!-- not run: … -->`.
    """

    page: Path
    line: int
    kind: str
    text: str
    unrun: str | None

    @property
    def place(self) -> str:
        return f"{os.path.relpath(self.page, ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Return all pages, including those in Chinese and of the examples."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    return sorted(page for page in found if str(page.relative_to(ROOT)) not in GENERATED)


def read_blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in order."""
    lines = page.read_text("utf-8").splitlines()
    number, before = 0, ""
    while number < len(lines):
        opening = _OPENING.fullmatch(lines[number])
        if opening is None:
            before = lines[number].strip() or before
            number += 1
            continue
        indent, fence, kind = opening.groups()
        end = next(at for at in range(number + 1, len(lines)) if lines[at].strip() == fence)
        text = "".join(f"{line.removeprefix(indent)}\n" for line in lines[number + 1 : end])
        unrun = _UNRUN.fullmatch(before)
        shell = not kind and any(_COMMAND.match(line) for line in text.splitlines())
        yield Block(page, number + 1, "sh" if shell else kind, text, None if unrun is None else unrun[1])
        number, before = end + 1, ""


class Command(NamedTuple):
    """A command of a shell block.

    Attributes:
        environ: The variables that are set for this command.
        output: The output that the page shows: the lines after a line that starts with `$`.
    """

    words: list[str]
    environ: dict[str, str]
    output: list[str]


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a shell block; a backslash continues a line."""
    lines = block.text.replace("\\\n", " ").splitlines()
    shown = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    for at, line in enumerate(lines):
        if shown and at not in shown:
            continue
        end = next((after for after in shown if after > at), len(lines))
        for words in _split(shlex.split(line.removeprefix("$ "), comments=True)):
            environ = {}
            while words and re.match(r"[A-Z_]+=", words[0]):
                name, _, value = words.pop(0).partition("=")
                environ[name] = value
            if words:
                yield Command(words, environ, lines[at + 1 : end] if shown else [])


def _split(words: list[str]) -> Iterator[list[str]]:
    """Yield the commands of a line without pipes and redirections."""
    command: list[str] = []
    for word in [*words, "&&"]:
        if word == "&&":
            stop = next((at for at, part in enumerate(command) if part in ("|", ">", "&")), len(command))
            yield command[:stop]
            command = []
        else:
            command.append(word)
