"""The kit's scripts as one, for a page that is a single file: modules become functions that are called in order.

The kit keeps to two forms, `import { … } from "./name.js";` and `export function|const|class`, so this needs no parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|class) (\w+)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def bundle(entry: str, read: Callable[[str], str]) -> str:
    """One script that does what a module and those it imports do.

    Args:
        entry: The name of the module.
        read: Gives a module's text by its name.

    Raises:
        ValueError: A module imports or exports in another form, or modules import each other in a circle.
    """
    done: dict[str, str] = {}
    _add(entry, read, done, ())
    return '"use strict";\n' + "\n".join(done.values())


def _add(name: str, read: Callable[[str], str], done: dict[str, str], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(f"{name} imports itself through {' and '.join(above)}")
    if name in done:
        return
    text = read(name)
    for found in _IMPORT.finditer(text):
        _add(found[2], read, done, (*above, name))
    names = _EXPORT.findall(text)
    body = _IMPORT.sub(lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = {_variable(found[2])};", text)
    body = _EXPORT.sub(lambda found: found[0].removeprefix("export "), body)
    if left := _LEFT.search(body):
        raise ValueError(f"{name}: {left[0]!r} is not a form that can be bundled")
    done[name] = f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {', '.join(names)} }};\n}})();"


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name)
