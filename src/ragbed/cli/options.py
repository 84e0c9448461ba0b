"""Turn a function into a command, with one option for each field of its specification and each of its parameters."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import click
from click.core import ParameterSource

from ragbed.api.specification import GROUPS, OUTPUT, Data, Option, Spec, fields_of
from ragbed.cli.console import say
from ragbed.errors import INTERFACE, Interface, Stopped, UsageError, did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


Records: TypeAlias = list[tuple[str, str]]
_JSON: Final = Option(
    "Print a machine-readable summary as the last line of stdout.", group=OUTPUT, name="json", kinds=(bool,)
)
SHOWS_ALL: Final = "ragbed.all"  # Key in click's metadata that makes the help list all options.
VARIABLES: Final = "ragbed.variables"  # Key of the environment variables in use, by parameter, in click's metadata.
_WIDEST_TERM: Final = 26  # Maximum width, in characters, of option names that share a line with a description.


class CommandLine(Interface):
    """The command line: messages name options as the user types them, or the variable that sets them."""

    def __init__(self, context: click.Context) -> None:
        self._context = context
        self._params = {str(param.name): param for param in context.command.params if param.expose_value}

    def show(self, name: str, value: object = None) -> str:
        """Return an option of the command or of `run` as the user types it, and any other as in Python."""
        from ragbed.api.spec import RunSpec

        param = self._params.get(name)
        if param is None and name not in fields_of(RunSpec):
            return super().show(name, value)
        if (variable := self._context.meta.get(VARIABLES, {}).get(name)) is not None:
            return str(variable) if value is None else f"{variable}={value}"
        shown = f"--{name.rstrip('_').replace('_', '-')}"
        if param is not None:
            shown = max(param.opts, key=len) if isinstance(param, click.Option) else name.rstrip("_").upper()
        return shown if value is None else f"{shown} {value}"

    def is_given(self, name: str) -> bool:
        """Return whether an option is on the command line."""
        return self._context.get_parameter_source(name) is ParameterSource.COMMANDLINE


class _Text(click.types.StringParamType):
    """A value as the user types it, which the specification checks. The shell completes paths and datasets."""

    def __init__(self, field: Option) -> None:
        self._field = field

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the matching names of datasets, or let the shell complete a path."""
        from click.shell_completion import CompletionItem

        from ragbed.data.catalog import dataset_names

        names = dataset_names() if Data in self._field.kinds and incomplete else ()
        found = [CompletionItem(name) for name in (*names, *self._field.choices) if name.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if self._field.is_place else [])


class _Option(click.Option):
    """An option of a field."""

    def __init__(self, field: Option) -> None:
        name, long = field.name, field.name.rstrip("_").replace("_", "-")
        is_flag = bool in field.kinds
        variables = [f"RAGBED_{long.upper().replace('-', '_')}", *filter(None, [field.variable])]
        settings: dict[str, Any] = (
            {"is_flag": True} if is_flag else {"type": _Text(field), "multiple": field.is_repeatable}
        )
        super().__init__(
            [f"--{long}", name, *filter(None, [field.short])],
            help=field.help + (" Repeatable." if field.is_repeatable else ""),
            metavar=None
            if is_flag
            else field.metavar or "|".join(field.choices) or ("N" if field.is_number else "TEXT"),
            envvar=variables,
            required=field.is_required,
            **settings,
        )
        self.field = field

    def value_from_envvar(self, ctx: click.Context) -> Any:  # noqa: ANN401 - any value, as in click
        """Return the value of the option's environment variable, in which a repeatable option has one value per line.

        click would split the variable at spaces, which occur in headers, paths and stopping conditions.
        """
        value = self.resolve_envvar_value(ctx)
        if name := next((name for name in self.envvar or () if os.environ.get(name)), None):
            ctx.meta.setdefault(VARIABLES, {})[self.name] = name
        if value is None or not self.multiple:
            return super().value_from_envvar(ctx)
        return [line.strip() for line in value.splitlines() if line.strip()]

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return the default, the range and whether the option is required."""
        field, extra = self.field, super().get_help_extra(ctx)
        default = field.shown
        is_constant = not isinstance(field.default, bool) and field.default not in (None, "", ())
        if default is None and is_constant and not field.is_required:
            default = str(field.default)
        if default is not None:
            extra["default"] = default
        if field.high is not None and field.low is not None:
            extra["range"] = f"{field.low:,} to {field.high:,}"
        return extra


class Command(click.Command):
    """A command that calls the function of a specification and prints its result.

    Its help has one section per group of options. `--help` lists the most useful options.

    Args:
        spec: The specification; its docstring is the help.
        name: Name of the command.
    """

    def __init__(self, spec: type[Spec], name: str) -> None:
        # Click would wrap the lines of a section without the marker.
        text = re.sub(r"\n\n([A-Z]\w+:\n)", r"\n\n\b\n\1", inspect.cleandoc(spec.__doc__ or ""))
        super().__init__(name, callback=self._call, help=text)
        self._spec = spec
        del self.params  # computed when it is first used, because the list of all commands does not need it

    @cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]  # it is never set
        """The options and arguments."""
        options = [*fields_of(self._spec).values(), *([_JSON] if self._spec.prints_json else [])]
        help_all = [_HELP_ALL] if any(option.is_rare for option in options) else []
        return [*map(_param, options), _CONFIG, *help_all]

    def _call(self, **typed: Any) -> None:  # noqa: ANN401 - values as click returns them
        from ragbed.api.progress import Lines, TerminalBars
        from ragbed.cli.console import print_json, serve, show_result
        from ragbed.reporting.table import Result

        source_of, unset = click.get_current_context().get_parameter_source, (None, ParameterSource.DEFAULT)
        options = {name: field for name, field in fields_of(self._spec).items() if source_of(name) not in unset}
        given = {name: _read(field, typed[name]) for name, field in options.items()}
        if "progress" in {field.name for field in fields(cast("Any", self._spec))}:
            given["progress"] = TerminalBars(say=say) if sys.stderr.isatty() else Lines(say)
        spec, (module, _, name) = self._spec(**given), self._spec.function.partition(".")
        try:
            function = getattr(import_module(f"ragbed.api.{module}"), name)
            result = getattr(function, "start", function)(spec)
        except (KeyboardInterrupt, SystemExit, Stopped):
            if spec.keeps_parts:
                say("Stopped. Finished parts are kept; rerun the same command to resume.")
            raise
        if not isinstance(result, Result):
            serve(result)
            return
        is_json = typed.get("json", False)
        show_result(result, to_stderr=is_json)
        if is_json:  # the values are the standard output
            print_json(result.values)
        click.get_current_context().exit(result.exit_code)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as in click
        """Run the command; until it ends, messages name options as the command line does."""
        token = INTERFACE.set(CommandLine(ctx))
        try:
            return super().invoke(ctx)
        finally:
            INTERFACE.reset(token)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group, with `--help` last."""
        shows_all = ctx.meta.get(SHOWS_ALL, False)
        sections: dict[str, Records] = {group: [] for group in GROUPS}
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            opt = param.field if isinstance(param, _Option) else None
            is_rare = opt.is_rare if opt is not None else param.name == "config"
            if record is not None and (shows_all or not is_rare):
                sections[OUTPUT if opt is None else opt.group].append(record)
        write_sections(formatter, sections)


def write_sections(formatter: click.HelpFormatter, sections: Mapping[str, Records]) -> None:
    """Write one section per non-empty group, with all descriptions starting in the same column."""
    width = min(max((len(term) for rows in sections.values() for term, _ in rows), default=0), _WIDEST_TERM)
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl([(term.ljust(width), text) for term, text in rows], col_max=_WIDEST_TERM)


def _param(field: Option) -> click.Parameter:
    if not field.is_argument:
        return _Option(field)
    metavar = field.metavar or field.name.upper()
    metavar = metavar if field.is_required else f"[{metavar}]"
    return click.Argument(
        [field.name],
        type=_Text(field),
        nargs=-1 if field.is_repeatable else 1,
        required=field.is_required,
        metavar=f"{metavar}..." if field.is_repeatable else metavar,
    )


def _read(field: Option, typed: Any) -> Any:  # noqa: ANN401 - a value as click returns it
    """Return a typed value as a user of the Python API would write it; the specification reports a wrong one."""
    if field.is_place and (
        "" in typed if isinstance(typed, tuple) else typed == ""
    ):  # it would mean the current folder
        raise UsageError(f"{INTERFACE.get().show(field.name)}: the value is empty. Give a file or a name.")
    if field.is_number and isinstance(typed, str):
        for kind in (int, float):
            try:
                return kind(typed)
            except ValueError:
                continue
    return typed


def _read_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Use the options in a TOML file, keyed by long name, as defaults.

    Raises:
        UsageError: The file cannot be read, or it contains an unknown option or an invalid value.
    """
    if path is None:
        return
    import tomllib

    from ragbed.io.locations import read_regular

    try:
        options = tomllib.loads(read_regular(Path(path)).decode())
    except OSError as error:
        raise UsageError(f"--config {path} cannot be read: {error.strerror}. Check the path.") from error
    except (ValueError, RecursionError) as error:  # invalid TOML, integers that are too long, or deeply nested lists
        raise UsageError(f"--config {path} is not valid TOML: {error}.") from error
    params = [param for param in context.command.params if isinstance(param, _Option)]
    known = {max(param.opts, key=len).removeprefix("--"): param for param in params}
    for name in options:
        if name not in known:
            raise UsageError(
                f"--config {path}: {name!r} is not an option of this command.{did_you_mean(name, known)} "
                f"`{context.command_path} --help` lists the options."
            )
    context.default_map = {
        str(known[name].name): _as_typed(known[name], value, f"--config {path}: {name}")
        for name, value in options.items()
    }


def _as_typed(option: click.Option, value: object, place: str) -> object:
    """Return a value as a user would type it, so that it is checked like typed input. Lists are comma-separated."""
    if option.is_flag:
        if isinstance(value, bool):
            return value
        raise UsageError(f"{place} must be true or false.")
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in values):
        raise UsageError(f"{place} must be a string, a number, or a list of these.")
    return [str(part) for part in values] if option.multiple else ",".join(map(str, values))


def _show_all(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set:
        context.meta[SHOWS_ALL] = True
        click.echo(context.get_help())
        context.exit()


_CONFIG = click.Option(
    ["--config"],
    metavar="FILE",
    envvar="RAGBED_CONFIG",
    is_eager=True,
    expose_value=False,
    callback=_read_config,
    help="TOML file with option values, keyed by long option name.",
)
_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options and exit.",
)
