"""Report project jargon in texts written for people (scripts/vocabulary.toml).

python -m scripts.check_vocabulary [PATH ...]
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
_EXEMPT = {"CHANGELOG.md", "scripts/vocabulary.toml", "scripts/check_vocabulary.py"}
# String literals in these files are words of responses and documents, so only comments are checked.
_LEXICONS = ("src/ragbed/scoring/robust/",)
_FENCE = re.compile(r"^ *(`{3,}).*?^ *\1 *$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_JS_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`|//[^\n]*|/\*.*?\*/", re.DOTALL)
_SPAN = re.compile(r"``.+?``|`[^`\n]*`")
_SQL = re.compile(r"\s*(SELECT|INSERT|CREATE|DELETE|DROP|UPDATE|PRAGMA)\b")
# Code in docstrings: examples, command lines and parameter names.
_CODE = re.compile(r"\s*(>>>|\.\.\.|python -m)\s.*|\s+\w+:(?= )")


def _files() -> list[Path]:
    pages = ("*.md", "docs/**/*.md", "examples/*.md")
    code = ("src/**/*.py", "src/**/locale/*.toml", "src/**/*.js", "benches/**/*.py")
    return sorted({path for pattern in (*pages, *code) for path in ROOT.glob(pattern)})


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line of text written for people, with its line number."""
    content = path.read_text("utf-8")
    if path.suffix == ".md":
        content = _FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), content)
    if path.suffix == ".py":
        yield from _python_texts(content, is_lexicon=str(path.relative_to(ROOT)).startswith(_LEXICONS))
        return
    if path.suffix == ".js":  # check comments and texts, not variable names
        for found in _JS_TEXT.finditer(content):
            if found[0][0] == "/" or (found[0][0] == '"' and " " in found[0]):
                yield content.count("\n", 0, found.start()) + 1, found[0]
        return
    yield from enumerate(content.splitlines(), 1)


def _python_texts(content: str, *, is_lexicon: bool) -> Iterator[tuple[int, str]]:
    """Yield comments, docstrings and string literals that contain a space, excluding code and SQL."""
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    if is_lexicon:
        return
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_prose(node.value):
            lines = (_CODE.sub("", line) for line in node.value.splitlines())
            yield from enumerate(lines, node.lineno)


def _is_prose(text: str) -> bool:
    return " " in text.strip() and not _SQL.match(text)


def find(paths: list[Path]) -> list[str]:
    """Return every listed word in these files, with its location and the term to use instead."""
    vocabulary = tomllib.loads((ROOT / "scripts" / "vocabulary.toml").read_text("utf-8"))
    rules = [
        (re.compile(rf"\b(?:{word})\b" if word.isascii() else word, re.IGNORECASE), why)
        for word, why in vocabulary["words"].items()
    ]
    allowed = {(entry["file"], word) for entry in vocabulary["allowed"] for word in entry["words"]}
    return [
        f"{path.relative_to(ROOT)}:{number}: {found[0]!r}: {why}"
        for path in paths
        if str(path.relative_to(ROOT)) not in _EXEMPT
        for number, text in _texts(path)
        for rule, why in rules
        for found in rule.finditer(_SPAN.sub("", text))
        if (str(path.relative_to(ROOT)), found[0].lower()) not in allowed
    ]


if __name__ == "__main__":
    problems = find([Path(name).resolve() for name in sys.argv[1:]] or _files())
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(bool(problems))
