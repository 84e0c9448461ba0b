"""Build HTML and SVG as trees. Only `write` creates markup, and it escapes all text from models and documents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

Child: TypeAlias = "Node | str"

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
# Characters that XML does not allow even if they are escaped.
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Node(Struct, frozen=True):
    """An HTML or SVG element. If `is_raw`, its content is written unescaped: a script, its data, or a style sheet."""

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[Child, ...] = ()
    is_raw: bool = False


def el(tag: str, *children: Child | Iterable[Child] | None, **attributes: str | float | bool | None) -> Node:
    """Return an element.

    Args:
        tag: Name of the element.
        children: Nodes and texts, or lists of them; None is omitted.
        attributes: `class_` and `for_` stand for `class` and `for`, and `data_x` stands for `data-x`. True writes only
            the attribute's name; None and False omit the attribute.
    """
    flat: list[Child] = []
    for child in children:
        if isinstance(child, str | Node):
            flat.append(child)
        elif child is not None:
            flat.extend(child)
    pairs = []
    for key, value in attributes.items():
        if value is not None and value is not False:
            name = key.rstrip("_").replace("_", "-")
            # Coordinates are rounded to one decimal place, which keeps files small.
            text = name if value is True else value if isinstance(value, str) else f"{round(value, 1) + 0.0:g}"
            pairs.append((name, text))
    return Node(tag, tuple(pairs), tuple(flat))


def raw(tag: str, content: str, **attributes: str) -> Node:
    """Return an element with unescaped content.

    Raises:
        ValueError: The content would end the element.
    """
    if f"</{tag}" in content.lower() or "<!--" in content:
        raise ValueError(f"the content of <{tag}> must not contain its closing tag or the start of a comment")
    return Node(tag, el(tag, **attributes).attributes, (content,), is_raw=True)


def write(node: Child) -> str:
    """Return the tree as text that is valid HTML or, for SVG, valid XML."""
    if isinstance(node, str):
        return _UNWRITABLE.sub("\ufffd", node).translate(_ESCAPES)
    attributes = "".join(f' {name}="{write(value)}"' for name, value in node.attributes)
    content = "".join(map(str if node.is_raw else write, node.children))
    return f"<{node.tag}{attributes}>" + ("" if node.tag in _VOID else f"{content}</{node.tag}>")
