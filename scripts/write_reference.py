"""Write the docs pages that are generated from code: the command line, the Python API and the paper's three figures.

    python -m scripts.write_reference

`tests/docs/test_reference.py` checks that they are current.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import click

import ragbed
from ragbed.api.spec import CallKeywords, LayoutKeywords, RunOptions
from ragbed.cli import app, help_groups
from scripts.draw_figures import draw_figures, write_figures

ROOT = Path(__file__).parent.parent
_WIDTH = 88
_FEW = 4  # maximum number of shared parameters that are still printed
_RUN_OPTIONS = tuple(name for name in RunOptions.__annotations__ if name != "out")
_KEYWORDS = {"**layout": tuple(LayoutKeywords.__annotations__), "**calls": tuple(CallKeywords.__annotations__)}
_CALL_GROUPS = (help_groups.SAMPLING, help_groups.REQUESTS, help_groups.DISTRIBUTED)
_NOTE = "<!-- Made by scripts/write_reference.py from the code; change that and type `make reference`. -->"


def write_pages() -> dict[str, str]:
    """Return every page and drawing, by its path in the repository."""
    return {
        "docs/reference/cli.md": _write_cli(),
        "docs/reference/api.md": _write_api(),
        "docs/project/figures.md": write_figures(_NOTE),
        **draw_figures(),
    }


def _write_cli() -> str:
    parts = [
        "# Command line",
        _NOTE,
        "This is the output of `ragbed COMMAND --help`. Option groups shared with `ragbed run` are printed only there. "
        "Every command has `-h, --help`, and most have `--json` (a machine-readable summary as the last line on "
        "stdout) and `--config FILE` (options from a TOML file).",
        *_help(app, click.Context(app, info_name="ragbed", **app.context_settings), 2),
    ]
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    context.terminal_width = context.max_content_width = _WIDTH
    yield f"{'#' * level} {context.command_path}"
    yield f"```text\n{_without_shared(command, context)}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            if one is not None:
                yield from _help(one, click.Context(one, parent=context, info_name=name), level + (level > 2))


def _without_shared(command: click.Command, context: click.Context) -> str:
    """Return a command's help without the common options and the option groups of `ragbed run`."""
    text = command.get_help(context)
    if context.parent is not None:
        common = "-h, --help" if context.command_path == "ragbed run" else "-h, --help|--json|--config FILE"
        text = re.sub(rf"\n  (?:{common}) .*(\n {{6,}}.*)*", "", text)
        text = re.sub(rf"\n\n(?:Options|{help_groups.OUTPUT}):(?=\n\n|\n*$)", "", text).rstrip()
    if not isinstance(command, help_groups.GroupedCommand) or context.command_path == "ragbed run":
        return text
    for group in (help_groups.WHAT, help_groups.CONTEXT, *_CALL_GROUPS):
        text = re.sub(rf"^{group}:\n(  .*\n)+", f"{group}: see ragbed run\n", text, flags=re.MULTILINE)
    return text


def _write_api() -> str:
    listed = [*(name for names in _GROUPS.values() for name in names), "RunOptions"]
    groups = _GROUPS | {"More": tuple(name for name in ragbed.__all__ if name not in listed)}
    parts = ["# Python API", _NOTE, _INTRODUCTION, _list_keywords()]
    described: set[str] = set()
    for group, names in groups.items():
        known = [name for name in names if name in ragbed.__all__]
        parts += [f"## {group}"] if known else []
        for name in known:
            parts += _describe(name, getattr(ragbed, name), described)
    return "\n\n".join(parts) + "\n"


_GROUPS = {
    "Evaluate": ("run", "arun", "forecast", "open_run", "Run", "Records", "Figure"),
    "Models and plans": ("system", "SystemCase", "Model", "Case", "Completion", "RunSpec", "plan_run", "Progress"),
    "Analyse": (
        "compare",
        "rank",
        "diagnose",
        "judge",
        "score",
        "report",
        "leaderboard",
        "view",
        "power",
        "paper_tables",
    ),
    "Data": ("download", "datasets", "data_path", "cases", "lint", "synthesize"),
    "Build": ("build_init", "build", "build_quality", "build_relabel", "review"),
    "Share": ("export", "import_results", "merge"),
    "Set up": ("demo", "doctor", "cache", "cache_prune"),
    "Errors": ("RagbedError", "UsageError"),
}
_INTRODUCTION = """
Every command has a function in `ragbed`, whose parameters are named after the options, with `_` instead of `-`.
Functions
return result objects: `records()` returns rows, `to_pandas()` returns a DataFrame (`pip install 'ragbed[pandas]'`), and
notebooks display tables and figures. Only a progress bar is printed, in terminals and notebooks. To turn it off, use
`progress=False`; to receive the updates yourself, pass a `ragbed.Progress`. Messages go to the logger `ragbed`.

```python
import ragbed

run = ragbed.run(
    model="scripted/oracle",
    data="ragbed-mini-en_base",
    testbeds="noise",
    noise=[0, 0.8],
    limit=20,
)
print(run.table("noise"))
print(run.to_pandas().groupby("noise")["score.correct"].mean())
```

The functions read API keys, base URLs, proxies and the folders for data and cached responses (`RAGBED_DATA_DIR`,
`RAGBED_CACHE_DIR`) from the environment. Option variables such as `RAGBED_LIMIT` affect only the command line.

An invalid parameter raises `ragbed.UsageError` before anything is sent. A failed case raises no exception:
`Run.outcomes` counts failed cases, and `Run.errors` lists them.

In signatures, `Values` is a single value, a list of values, or a comma-separated string. `ModelLike` and `DataLike` are
described under `ragbed.run`.
""".strip()


def _describe(name: str, documented: object, described: set[str]) -> Iterator[str]:
    yield f"### ragbed.{name}"
    if inspect.isclass(documented):
        yield _prose(documented)
        for method, member in vars(documented).items():
            if method.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
                continue
            yield f"#### {name}.{method}"
            if inspect.isfunction(member):
                yield _code(method, member)
            yield _prose(member).partition("\n\n```pycon")[0]  # the example of the class also shows its methods
    else:
        yield _code(f"ragbed.{name}", documented)
        yield _prose(documented)
        yield from _describe_result(documented, described)


def _describe_result(function: object, described: set[str]) -> Iterator[str]:
    """Describe the class that a function returns, if it has no entry of its own."""
    returned = str(inspect.signature(function).return_annotation)  # type: ignore[arg-type]  # it is a function
    for name in returned.split(" | "):
        kind = getattr(sys.modules[function.__module__], name, None)
        if (
            inspect.isclass(kind)
            and kind.__module__.startswith("ragbed.api.")
            and name not in ragbed.__all__
            and name not in described
        ):
            described.add(name)
            yield f"`{name}`: {_prose(kind)}"
            members = [
                (member, value)
                for member, value in inspect.getmembers(kind, _has_text)
                if member[0] != "_" and member not in ("to_pandas", "records")
            ]
            lines = [f"* `{_title(member, value)}`: {_summary(value)}" for member, value in members]
            if lines:
                yield "\n".join(["**Members:**", "", *lines])


def _has_text(member: object) -> bool:
    return (inspect.isfunction(member) or isinstance(member, property)) and bool(inspect.getdoc(member))


def _title(name: str, member: object) -> str:
    return name if isinstance(member, property) else f"{name}()"


def _summary(member: object) -> str:
    return (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")


def _code(name: str, documented: object) -> str:
    if not callable(documented):
        raise TypeError(name)
    signature = inspect.signature(documented)
    plain = inspect.formatannotation
    shared = _run_options(signature)
    takes = [
        re.sub(r": '([^']*)'", r": \1", str(one)) if isinstance(one.annotation, str) else _parameter(one, plain)
        for one in signature.parameters.values()
        if one.name != "self" and one.name not in shared
    ]
    takes += [
        "**options: those of the command `ragbed run`" if len(shared) == len(_RUN_OPTIONS) else _list_shared(shared)
    ] * bool(shared)
    gives = signature.return_annotation
    gives = gives if isinstance(gives, str) else plain(gives)
    line = f"{name}({', '.join(takes)}) -> {gives}"
    if len(line) > _WIDTH:
        line = "\n".join([f"{name}(", *(f"    {one}," for one in takes), f") -> {gives}"])
    return f"```text\n{line}\n```"


def _run_options(signature: inspect.Signature) -> set[str]:
    """Return the parameters that a function shares with `ragbed.run`, unless there are only a few."""
    of_run = inspect.signature(ragbed.run).parameters
    shared = {name for name in _RUN_OPTIONS if str(signature.parameters.get(name)) == str(of_run[name])}
    return shared if len(shared) > _FEW else set()


def _list_shared(shared: set[str]) -> str:
    """Return the shared parameters, with `**layout` or `**calls` for a complete group that the introduction lists."""
    for group, names in _KEYWORDS.items():
        if shared.issuperset(names):
            others = [name for name in _RUN_OPTIONS if name in shared.difference(names)]
            return f"{', '.join([*others, group])}: as in ragbed.run"
    return f"{', '.join(name for name in _RUN_OPTIONS if name in shared)}: as in ragbed.run"


def _list_keywords() -> str:
    layout, calls = (", ".join(f"`{name}`" for name in names) for names in _KEYWORDS.values())
    return f"`**layout` stands for {layout}, and `**calls` for {calls}."


def _parameter(parameter: inspect.Parameter, plain: Callable[[object], str]) -> str:
    """Format a parameter whose annotation is a type, not a string."""
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    kind = "" if parameter.annotation is parameter.empty else f": {plain(parameter.annotation)}"
    return f"{parameter.name}{kind}{default}"


def _prose(documented: object) -> str:
    """Return a docstring as Markdown: Google-style sections become lists, and examples become code blocks."""
    text, _, example = (inspect.getdoc(documented) or "").partition("\nExample:\n")
    lines = []
    for line in re.sub(r"\n {8,}(?=\S)", " ", text).splitlines():
        if line.startswith("    progress: "):  # described in the introduction
            continue
        if line in ("Args:", "Attributes:", "Raises:", "Returns:"):
            lines += [f"**{line}**", ""]
        elif match := re.fullmatch(r" {4}(\w+): (.*)", line):
            described = (*_RUN_OPTIONS, "model", "data")  # in cli.md and under `ragbed.run`
            if documented is not ragbed.RunSpec or match[1] not in described:
                lines.append(f"* `{match[1]}`: {match[2]}")
            elif match[1] == _RUN_OPTIONS[-1]:
                lines.append(
                    "* `model` and `data` are the parameters of `ragbed.run`. All other attributes are options of "
                    "[`ragbed run`](cli.md#ragbed-run), with `_` for `-`."
                )
        else:
            lines.append(line.strip())
    prose = "\n".join(lines).strip()
    return prose + (f"\n\n```pycon\n{textwrap.dedent(example).strip()}\n```" if example else "")


def main() -> None:
    """Write the pages that have changed."""
    for name, text in write_pages().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
