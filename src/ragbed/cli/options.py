"""Options that several commands share, each with an environment variable."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from ragbed.cli import help_groups
from ragbed.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ragbed.io.locations import Place

Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Command], Command]


_MOST = 2**53 - 1  # Largest integer that all JSON parsers represent exactly; it also fits into a database column.


class _Bounded(click.ParamType[Any]):
    """An option type for finite numbers in a range that covers any sensible count, duration or amount of money."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        number = self._read(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        if abs(number) > _MOST:
            self.fail(f"{value} is out of range: use a number from {-_MOST:,} to {_MOST:,}.", param, ctx)
        return number

    def _read(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Parse a number; the error message describes the allowed values in words."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            kind = "an integer" if "integer" in self.name else "a number"
            low, high = getattr(self, "min", None), getattr(self, "max", None)
            word = "greater than" if getattr(self, "min_open", False) else "of at least"
            bounds = [] if low is None else [f"{word} {low:,}"]
            bounds += [] if high is None else [f"at most {high:,}"]
            self.fail(f"{value!r} is not allowed. Use {' '.join([kind, ' and '.join(bounds)]).strip()}.", param, ctx)


class _Int(_Bounded, click.types.IntParamType): ...


class _IntRange(_Bounded, click.IntRange): ...


class _FloatRange(_Bounded, click.FloatRange): ...


def _bounded(kind: object) -> object:
    """Return an option's type, with bounds if it is a number."""
    if kind is int:
        return _Int()
    if isinstance(kind, click.IntRange):
        return _IntRange(kind.min, kind.max, kind.min_open, kind.max_open, kind.clamp)
    if isinstance(kind, click.FloatRange):
        return _FloatRange(kind.min, kind.max, kind.min_open, kind.max_open, kind.clamp)
    return kind


def option(*names: str, **settings: Any) -> Decorator:  # noqa: ANN401 - the arguments of click.option
    """Return an option with an environment variable (RAGBED_ plus its long name).

    Takes the parameters of `click.option`, and `group`, the section of the help that lists the option.
    `show_default` can describe a default that is not a constant.
    """
    if "type" in settings:
        settings["type"] = _bounded(settings["type"])
        if isinstance(settings["type"], _Bounded):
            settings.setdefault("metavar", "N")
    long = next(name for name in names if name.startswith("--"))
    settings.setdefault("show_default", settings.get("default") is not None and not settings.get("is_flag"))
    settings.setdefault("envvar", "RAGBED_" + long.removeprefix("--").upper().replace("-", "_"))
    return click.option(*names, cls=help_groups.GroupedOption, **settings)


class LocalPath(click.Path):
    """An option type for local paths. URLs are rejected; otherwise, a folder named after the URL would be created."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Convert a value as click does, but reject URLs and empty strings."""
        if not str(value):
            self.fail("the path is empty; give a file or folder.", param, ctx)
        if "://" in str(value):
            self.fail(
                f"{to_place(str(value))} is a URL, but this option needs a local file or folder; `ragbed export` "
                "can write to URLs.",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


class FileName(click.types.StringParamType):
    """An option type for strings that may be paths, e.g. a run folder or a model name. The shell completes paths."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as in click
        """Convert a value as click does, but reject empty strings, which would mean the current folder."""
        if value == "":
            self.fail("the value is empty; give a file or a name.", param, ctx)
        return super().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Let the shell complete a path."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class DataName(FileName):
    """An option type for datasets: a name in the catalogue, a file or a URL."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the matching names in the catalogue; if there are none, let the shell complete a path."""
        from click.shell_completion import CompletionItem

        from ragbed.data.catalog import dataset_names

        names = [CompletionItem(name) for name in dataset_names() if incomplete and name.startswith(incomplete)]
        return names or super().shell_complete(ctx, param, incomplete)


def to_place(typed: str) -> Place:
    """Parse a location that the user typed: a local path, or a URL such as s3://bucket/folder."""
    from ragbed.io.locations import parse_place

    return parse_place(typed)


def together(*decorators: Decorator) -> Decorator:
    """Combine several options into one decorator; the help lists them in the given order."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


data_argument: Decorator = click.argument("data", nargs=-1, required=True, type=DataName(), metavar="DATA...")
"Files, URLs, NAME=FILE, or names from `ragbed data list`."

json_option: Decorator = option(
    "--json",
    is_flag=True,
    group=help_groups.OUTPUT,
    help="Print a machine-readable summary as the last line of stdout.",
)


def read_config(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Use the options in a TOML file, keyed by long name, as defaults. This is the callback for `--config`.

    Raises:
        UsageError: The file cannot be read, or it contains an unknown option or an invalid value.
    """
    if path is not None:
        import tomllib

        from ragbed.io.locations import read_regular

        try:
            options = tomllib.loads(read_regular(path).decode())
        except OSError as error:
            raise UsageError(f"--config {path} cannot be read: {error.strerror}. Check the path.") from error
        except (
            ValueError,
            RecursionError,
        ) as error:  # caused by invalid TOML, integers that are too long, or deeply nested lists
            raise UsageError(f"--config {path} is not valid TOML: {error}.") from error
        known = {
            name.removeprefix("--"): param
            for param in context.command.params
            for name in param.opts
            if isinstance(param, click.Option) and name.startswith("--") and param.expose_value
        }
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
    return path


def _as_typed(option: click.Option, value: object, place: str) -> object:
    """Return a value as a user would type it, so that it is validated like typed input. Lists are comma-separated."""
    if option.is_flag:
        if isinstance(value, bool):
            return value
        raise UsageError(f"{place} must be true or false.")
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in values):
        raise UsageError(f"{place} must be a string, a number, or a list of these.")
    return [str(part) for part in values] if option.multiple else ",".join(map(str, values))


config_option: Decorator = option(
    "--config",
    type=LocalPath(),
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=read_config,
    group=help_groups.OUTPUT,
    help="TOML file with option values, keyed by long option name.",
)


def scorer_option(about: str) -> Decorator:
    """Return the option that selects the scorer."""
    return option(
        "--scorer", metavar="NAME", default="robust", help=f"{about}: robust, code, paper, or a scorer from a plug-in."
    )


num_docs_option: Decorator = option(
    "--num-docs",
    metavar="NUMBERS",
    show_default="5, or fewer if DATA has too few",
    group=help_groups.CONTEXT,
    help="Numbers of documents per question, e.g. 5,20,100.",
)
supporting_option: Decorator = option(
    "--supporting",
    type=int,
    metavar="N",
    group=help_groups.CONTEXT,
    help="Number of supporting documents per question (replaces --noise); the remaining documents are distractors.",
)
noise_option: Decorator = option(
    "--noise",
    metavar="RATIOS",
    show_default="the paper's ratios",
    group=help_groups.CONTEXT,
    help="Noise ratios (fraction of documents that are distractors), e.g. 0,0.2,2/3.",
)
true_ratio_option: Decorator = option(
    "--true-ratio",
    metavar="RATIOS",
    default="0",
    group=help_groups.CONTEXT,
    help=(
        "True-document ratios (fraction of documents with the true answer) for the counterfactual and conflict "
        "testbeds."
    ),
)
mix_options: Decorator = together(noise_option, num_docs_option, supporting_option, true_ratio_option)

_selection_options: Decorator = together(
    option(
        "--testbeds",
        metavar="NAMES",
        group=help_groups.WHAT,
        show_default="the first five, if the dataset supports them",
        help=(
            "Testbeds to run: noise, rejection, integration, counterfactual, closed-book, conflict, length, "
            "no-documents, search (the model calls a search tool), own-rag (for systems with their own documents; the "
            "default for systems with --docs), or a testbed from a plug-in."
        ),
    ),
    option(
        "--docs",
        type=LocalPath(),
        metavar="DIR",
        group=help_groups.WHAT,
        help=(
            "Folder with the documents that the questions are about. DATA can then be a CSV or JSON Lines file with "
            "the columns question, answer and, optionally, source."
        ),
    ),
    option(
        "--corpus",
        metavar="NAMES",
        group=help_groups.CONTEXT,
        show_default="clean,withheld for a factory, otherwise clean",
        help=(
            "Variants of the documents in the own-rag testbed: clean, withheld (without the evidence for the "
            "question), noisy (with related distractors), false or false=0.75 (with edited copies of the evidence)."
        ),
    ),
    option("--lang", metavar="LANGS", default="en,zh", group=help_groups.WHAT, help="Languages to include."),
    option(
        "--data-lang",
        metavar="LANG",
        show_default="detected for each file",
        group=help_groups.WHAT,
        help="Language of items that do not state theirs: en or zh.",
    ),
    option(
        "--limit",
        metavar="N|0.x",
        group=help_groups.WHAT,
        help="Number or fraction of items to use from the start of each dataset.",
    ),
    option(
        "--profile",
        metavar="NAME",
        default="robust",
        group=help_groups.WHAT,
        help="Rules for building and scoring cases: robust, paper, code-2023 or code-2024.",
    ),
)

_context_options: Decorator = together(
    num_docs_option,
    supporting_option,
    noise_option,
    option(
        "--distractors",
        metavar="NAMES",
        default="related",
        group=help_groups.CONTEXT,
        help=(
            "Distractor conditions: related (as in the paper), random (documents from other questions) or fixed (one "
            "supporting document, a growing number of distractors, and a length-matched control)."
        ),
    ),
    true_ratio_option,
    option(
        "--positions",
        metavar="balanced|all",
        default="balanced",
        group=help_groups.CONTEXT,
        help=(
            "Positions of the supporting documents: balanced (spread evenly across the items) or all (each item once "
            "per position)."
        ),
    ),
    option("--seed", type=int, default=0, group=help_groups.CONTEXT, help="Seed for document selection and order."),
)

layout_options: Decorator = together(
    _selection_options,
    _context_options,
    option(
        "--prompt",
        type=LocalPath(),
        metavar="DIR",
        group=help_groups.SAMPLING,
        help="Folder with custom instructions (en/system.md, …).",
    ),
)


def share(value: str | float) -> float:
    """Parse a fraction between 0 and 1, e.g. `0.03` or `3%`. This function is used as an option type.

    Raises:
        click.BadParameter: The value is not a fraction between 0 and 1.
    """
    from ragbed.api.parameters import read_share

    try:
        return read_share("share", value)
    except UsageError:
        raise click.BadParameter(
            f"{value!r} is not a fraction between 0 and 1. Use a value such as 0.03 or 3%."
        ) from None
