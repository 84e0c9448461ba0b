"""HTML and SVG as trees: whatever is put in as text stays text, because only `write` makes mark-up.

Everything shown comes from models, documents and file names, so there is no way to put mark-up in as a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

Child: TypeAlias = "Node | str"

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
_UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, not even escaped."""


@dataclass(frozen=True)
class Node:
    """An element."""

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[Child, ...] = ()


@dataclass(frozen=True)
class RawMarkup(Node):
    """An element whose content is ours and is written as it is: a script, a style sheet, data for a script."""


def el(tag: str, *children: Child | Iterable[Child] | None, **attributes: str | float | bool | None) -> Node:
    """An element.

    Args:
        tag: Its name.
        children: Nodes and texts, also several in a list; None is left out.
        attributes: `class_` and `for_` stand for the names that Python keeps, `data_x` for `data-x`. True writes the
            name alone; None and False leave it out.
    """
    flat: list[Child] = []
    for child in children:
        if isinstance(child, str | Node):
            flat.append(child)
        elif child is not None:
            flat.extend(child)
    told = []
    for name, value in attributes.items():
        if value is not None and value is not False:
            shown = name.rstrip("_").replace("_", "-")
            told.append((shown, shown if value is True else _number(value)))
    return Node(tag, tuple(told), tuple(flat))


def raw(tag: str, content: str, **attributes: str) -> RawMarkup:
    """An element with content that a parser takes as it is.

    Raises:
        ValueError: The content would end the element.
    """
    if f"</{tag}" in content.lower() or "<!--" in content:
        raise ValueError(f"the content of <{tag}> would end it")
    return RawMarkup(tag, el(tag, **attributes).attributes, (content,))


def write(node: Child) -> str:
    """The tree as text, which is both HTML and, for SVG, XML."""
    return "".join(_write(node))


def clean(text: str) -> str:
    """Text without what no document can hold."""
    return _UNWRITABLE.sub("\ufffd", text)


def _write(node: Child) -> Iterator[str]:
    if isinstance(node, str):
        yield _text(node)
        return
    told = "".join(f' {name}="{_text(value)}"' for name, value in node.attributes)
    yield f"<{node.tag}{told}>"
    if node.tag in _VOID:
        return
    for child in node.children:
        if isinstance(node, RawMarkup):
            yield str(child)
        else:
            yield from _write(child)
    yield f"</{node.tag}>"


def _text(text: str) -> str:
    return clean(text).translate(_ESCAPES)


def _number(value: str | float) -> str:
    """Coordinates to a tenth: nobody sees more, and files stay small."""
    return value if isinstance(value, str) else f"{round(value, 1) + 0.0:g}"
