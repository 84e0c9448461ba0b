"""Generate the docs pages that depend on the code: the command line, the Python API and the paper's figures.

    python -m scripts.write_reference

`tests/docs/test_reference.py` checks that they are current.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

import ragbed
from ragbed.cli import app
from scripts.draw_figures import draw_figures, write_figures

ROOT = Path(__file__).parent.parent
_WIDTH = 88
_NOTE = "<!-- Made by scripts/write_reference.py from the code; change that and type `make reference`. -->"


def write_pages() -> dict[str, str]:
    """Return all pages and drawings by their paths in the repository."""
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
        "What `ragbed COMMAND --help` prints.",
        *_help(app, click.Context(app, info_name="ragbed", **app.context_settings), 2),
    ]
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    context.terminal_width = context.max_content_width = _WIDTH
    yield f"{'#' * level} {context.command_path}"
    yield f"```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            if subcommand is not None:
                yield from _help(
                    subcommand, click.Context(subcommand, parent=context, info_name=name), level + (level > 2)
                )


def _write_api() -> str:
    parts = ["# Python API", _NOTE, _INTRODUCTION]
    for name in ("run", "open_run", "Run", "Table", "Options"):
        parts += _describe(name, getattr(ragbed, name))
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """
As small as the command line, and the same: options have its names, with `_` for `-`, and are read by the same code. It
can be called in a notebook, where tables show as tables. `ragbed` is typed; a misspelt option is an error of the type
checker.

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
```

Errors are a `ragbed.RagbedError`, with a message that says what to do next; a `ragbed.UsageError` is one of what was
asked for.
""".strip()


def _describe(name: str, what: object) -> Iterator[str]:
    yield f"## ragbed.{name}"
    if not inspect.isclass(what):
        yield _code(f"ragbed.{name}", what)
        yield _prose(what)
        return
    yield _prose(what)
    if name == "Options":
        yield "`Several` is one value, a list of values, or a text in which commas separate them."
        run = app.get_command(click.Context(app), "run")
        params = run.params if run is not None else ()
        helped = {
            each.name: (each.help or "").replace("<", "&lt;") for each in params if isinstance(each, click.Option)
        }
        rows = [f"| `{field}` | `{_plain(kind)}` | {helped[field]} |" for field, kind in what.__annotations__.items()]
        yield "\n".join(["| Option | Takes | Meaning |", "|---|---|---|", *rows])
    for method, of in vars(what).items():
        if inspect.isfunction(of) and not method.startswith("_"):
            yield f"### {name}.{method}"
            yield _code(method, of)
            yield _prose(of)


def _code(name: str, what: object) -> str:
    if not callable(what):
        raise TypeError(name)
    signature = inspect.signature(what)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    takes = [re.sub(r": '([^']*)'", r": \1", str(each)) for each in parameters]
    gives = signature.return_annotation
    line = f"{name}({', '.join(takes)}) -> {gives}"
    if len(line) > _WIDTH:
        line = "\n".join([f"{name}(", *(f"    {each}," for each in takes), f") -> {gives}"])
    return f"```text\n{line}\n```"


def _plain(annotation: object) -> str:
    """Return a type as text for a table cell."""
    return getattr(annotation, "__forward_arg__", str(annotation)).replace("|", "or")


def _prose(what: object) -> str:
    """Convert a Google-style docstring to Markdown."""
    text = inspect.getdoc(what) or ""
    lines = []
    for line in re.sub(r"\n {8,}(?=\S)", " ", text).splitlines():
        if line in ("Args:", "Raises:", "Returns:"):
            lines += [f"**{line}**", ""]
        elif match := re.fullmatch(r" {4}(\w+): (.*)", line):
            lines.append(f"* `{match[1]}`: {match[2]}")
        else:
            lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Write the changed pages."""
    for name, text in write_pages().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
