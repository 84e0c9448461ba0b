"""Every metric that a report can contain is defined, in both languages and in the reference."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ragbed.analysis.metrics as metrics
from ragbed.analysis.locale import read_metrics, read_words
from ragbed.analysis.metrics.prompting import COSTS

_BUILDERS = ("rate", "difference", "number", "cell", "share", "resampled")


def _literals(node: ast.expr) -> list[str]:
    values = node.elts if isinstance(node, ast.List) else [node]
    return [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]


def _named() -> set[str]:
    """Return the names of metrics that the modules of this package write out."""
    names = {"refusal_f1"}
    for path in Path(metrics.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _BUILDERS:
                names.update(name for argument in node.args[:1] for name in _literals(argument))
    return names


def test_the_metrics_are_found() -> None:
    assert {"context_bias", "refusal_f1", "auc"} <= _named()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_metric_has_a_definition(lang: str) -> None:
    assert _named() - read_words(lang).section("definitions").keys() == set()


def test_both_languages_have_the_same_texts() -> None:
    for metric in read_metrics():
        assert bool(metric.heading["en"]) == bool(metric.heading["zh"]), metric.name
        assert bool(metric.definition["en"]) == bool(metric.definition["zh"]), metric.name


def test_every_metric_is_in_the_reference() -> None:
    assert sorted((_named() | set(COSTS)) - {metric.name for metric in read_metrics()}) == []
