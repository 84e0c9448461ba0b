"""Inspect AI: a frozen testbed with one task for each of its parts, scored by ragbed's own scorers."""

from __future__ import annotations

from pathlib import Path

from ragbed.interop.exports.frozen import Layout, freeze
from ragbed.interop.exports.records_base import Written

FILE = "tasks.py"
_HEAD = '''"""Tasks of a frozen testbed (testbed.json says of what), for Inspect AI with ragbed installed.

    inspect eval {file}@{first} --model openai/gpt-4o-mini
"""

from pathlib import Path

from inspect_ai import Task, task

from ragbed.interop.harnesses.inspect import frozen_task

HERE = Path(__file__).parent
'''
_TASK = """

@task
def {name}() -> Task:
    return frozen_task(HERE, "{name}")
"""


def write_folder(layout: Layout, folder: Path, name: str) -> Written:
    """Fills a folder."""
    written, frozen = Written("cases"), freeze(layout, folder)
    written.count_parts(frozen.parts)
    names = [part.name for part in frozen.parts if part.cases]
    text = _HEAD.format(file=FILE, first=names[0]) + "".join(_TASK.format(name=name) for name in names)
    (folder / FILE).write_text(text, "utf-8")
    written.notes.append(f"Ask it, as in: inspect eval {name}/{FILE}@{names[0]} --model openai/gpt-4o-mini")
    return written
