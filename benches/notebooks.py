"""Execute the example notebooks from top to bottom, in a running event loop like a kernel's.

    python -m benches notebooks [NAME …]

Each notebook runs in an empty folder. The value of a cell's last line is displayed as in a notebook. The exit code is 1
if a cell raises an error.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import inspect
import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import CodeType
from typing import Any

from benches import ROOT

NOTEBOOKS = ROOT / "examples" / "notebooks"


def main() -> None:
    """Execute the named notebooks, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="File names without .ipynb. [default: all]")
    names = parser.parse_args().names or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    passed = [_execute_in_folder(NOTEBOOKS / f"{name}.ipynb") for name in names]
    sys.exit(not all(passed))


def _execute_in_folder(path: Path) -> bool:
    before, start = Path.cwd(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            shown = asyncio.run(execute(path))
        except Exception:
            traceback.print_exc()
            print(f"{path.name}: FAILED")
            return False
        finally:
            os.chdir(before)
    print(f"{path.name}: {len(shown)} cells, {time.monotonic() - start:.0f} s")
    return True


async def execute(path: Path) -> list[str]:
    """Execute a notebook's code cells in order and return the output of each."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    names: dict[str, Any] = {"__name__": "__main__"}
    return [
        await _execute_cell("".join(cell["source"]), f"{path.name}[{number}]", names)
        for number, cell in enumerate(cells)
        if cell["cell_type"] == "code"
    ]


async def _execute_cell(source: str, place: str, names: dict[str, Any]) -> str:
    tree, last = ast.parse(source), None
    if isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]  # checked above
    await _run_code(compile(tree, place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if last is None:
        return ""
    value = await _run_code(compile(last, place, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    for method in ("_repr_html_", "_repr_svg_", "__repr__"):
        if hasattr(value, method):
            return str(getattr(value, method)())
    return ""


async def _run_code(code: CodeType, names: dict[str, Any]) -> object:
    value = eval(code, names)
    return await value if inspect.iscoroutine(value) else value
