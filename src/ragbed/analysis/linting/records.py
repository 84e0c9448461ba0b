"""Whether every line is a record, with an id of its own."""

from __future__ import annotations

from collections.abc import Iterable

from ragbed.analysis.linting.rules import Fault, Find, Survey, View, dataset_rule

_FIX = "Correct the line; docs/data-format.md lists the fields."


@dataset_rule("record", "error", "a line is no valid record, or repeats an id", fix=_FIX)
def record(survey: Survey) -> Find:  # noqa: ARG001
    """Always runs, as reading does it: what `Dataset.lines` finds is reported under this rule."""

    def find(view: View) -> Iterable[Fault]:  # noqa: ARG001
        return ()

    return find
