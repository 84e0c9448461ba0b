"""Group options in the help: `group=` assigns an option to a group, and `--help` shows one section per group."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import click

Records: TypeAlias = list[tuple[str, str]]

WHAT: Final = "What to evaluate"
CONTEXT: Final = "Context"
SAMPLING: Final = "Prompting and sampling"
REQUESTS: Final = "Requests and cost"
DISTRIBUTED: Final = "Distributed"
OUTPUT: Final = "CI and output"
_UNGROUPED: Final = "Options"
_ORDER: Final = (_UNGROUPED, WHAT, CONTEXT, SAMPLING, REQUESTS, DISTRIBUTED, OUTPUT)
VARIABLES: Final = "ragbed.variables"  # Key of the environment variables in use, by parameter, in click's metadata.
_WIDEST_TERM: Final = 26  # Maximum width, in characters, of option names that share a line with a description.


class GroupedOption(click.Option):
    """An option that belongs to a help group."""

    def __init__(self, *args: Any, group: str = _UNGROUPED, **settings: Any) -> None:  # noqa: ANN401 - click's arguments
        super().__init__(*args, **settings)
        self.group = group

    def value_from_envvar(self, ctx: click.Context) -> Any:  # noqa: ANN401 - any value, as in click
        """Return the value of the option's environment variable, in which a repeatable option has one value per line.

        click would split the variable at spaces, which occur in headers, paths and stopping conditions.
        """
        value = self.resolve_envvar_value(ctx)
        names = [self.envvar] if isinstance(self.envvar, str) else self.envvar or ()
        if name := next((name for name in names if os.environ.get(name)), None):  # messages show it for the option
            ctx.meta.setdefault(VARIABLES, {})[self.name] = name
        if value is None or not self.multiple:
            return super().value_from_envvar(ctx)
        return [line.strip() for line in value.splitlines() if line.strip()]

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return click's notes on an option, without parentheses around the default and without open-ended ranges."""
        extra = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        if getattr(self.type, "max", None) is None:
            extra.pop("range", None)  # For a count, "x>=1" is obvious.
        return extra


class GroupedCommand(click.Command):
    """A command whose help has one section per option group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group, with ungrouped options first and `--help` last."""
        sections: dict[str, Records] = {group: [] for group in _ORDER}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and not isinstance(param, click.Argument):
                sections[getattr(param, "group", OUTPUT)].append(record)
        write_sections(formatter, sections)


def write_sections(formatter: click.HelpFormatter, sections: dict[str, Records]) -> None:
    """Write one section per non-empty group, with all descriptions starting in the same column."""
    widest = max((len(term) for rows in sections.values() for term, _ in rows), default=0)
    width = min(widest, _WIDEST_TERM)
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl([(term.ljust(width), text) for term, text in rows], col_max=_WIDEST_TERM)


def command(name: str | None = None) -> Callable[[Callable[..., Any]], GroupedCommand]:
    """Return a decorator for a command whose help groups its options."""
    return click.command(name, cls=GroupedCommand)
