"""Commands and options in running text exist, like those in code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ragbed.cli import app
from tests.docs.blocks import ROOT, pages

_FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2\s*$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
_FOREIGN = {"--apply_chat_template", "--log_samples", "--array"}  # options of other programs
_SHORT = {"-m", "-d", "-o", "-f", "-h"}


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))


_COMMANDS = dict(_commands(app))
_OPTIONS = {path: {word for param in command.params for word in param.opts} for path, command in _COMMANDS.items()}
_KNOWN = set().union(*_OPTIONS.values()) | {"--help", "--version", "-h"}


def _spans(page: Path) -> list[str]:
    return _SPAN.findall(_FENCE.sub("", page.read_text("utf-8")))


def _wrong(span: str) -> str | None:
    """Return what is wrong with a command or option in running text, or None."""
    words = span.split()
    options = [word for word in _OPTION.findall(span) if word not in _FOREIGN]
    if words[0] != "ragbed" or len(words) == 1:
        foreign = words[0] in ("pip", "python", "make", "ray", "inspect", "lm_eval", "export", "srun", "vllm")
        unknown = [] if foreign else [word for word in options if word.startswith("--") and word not in _KNOWN]
        return f"no command has {unknown[0]}" if unknown else None
    path = tuple(words[1:3]) if tuple(words[1:3]) in _COMMANDS else tuple(words[1:2])
    if path == ("COMMAND",) or words[1].startswith("-"):
        return None
    known = path in _COMMANDS
    if known and isinstance(_COMMANDS[path], click.Group) and words[2:] and words[2].islower():
        known = words[2].startswith("-") or "|" in words[2]  # `data get|list|path` names them all
    if not known:
        return f"there is no command {' '.join(words[1:3])}"
    missing = [word for word in options if word not in _OPTIONS[path] | {"--help", "-h"}]
    return f"ragbed {' '.join(path)} has no {missing[0]}" if missing else None


_PAGES = [page for page in pages() if page.name != "CHANGELOG.md"]  # which names what was renamed


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_in_text_exist(page: Path) -> None:
    assert [(span, wrong) for span in _spans(page) if (wrong := _wrong(span))] == []


@pytest.mark.parametrize(
    "span",
    ["ragbed runn -d en", "ragbed run --modell x", "ragbed build runn RECIPE", "--docks 2", "ragbed data fetch rgb"],
)
def test_a_wrong_command_is_found(span: str) -> None:
    assert _wrong(span)
