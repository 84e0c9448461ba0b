"""Test that the identity of a function follows its code."""

from __future__ import annotations

import functools
import operator
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ragbed.models.code_identity import identify

_SOURCE = """
import functools

PROMPT = "Answer briefly."
WORDS = frozenset({"yes", "no", "perhaps", "never"})
CALLS = 0

def helper(text, limit=5):
    return text[:limit]

def answer(prompt):
    global CALLS
    CALLS += 1
    inner = lambda text: text in {"yes", "no", "perhaps"} or text in WORDS
    return helper(PROMPT) if inner(prompt) else (1.5, None, b"x")

def outer(name):
    count = 0
    def system(case):
        nonlocal count
        count += 1
        return name
    return system

class Agent:
    def __call__(self, prompt):
        return prompt

class Client:
    def answer(self, prompt):
        return prompt.strip()

@functools.lru_cache
def cached(prompt):
    return prompt

def traced(function):
    @functools.wraps(function)
    def call(prompt):
        return function(prompt)
    return call

@traced
def wrapped(prompt):
    return prompt

@functools.cache
def template():
    return "Use the documents."

def using_cached(prompt):
    return template() + prompt

def ping(prompt):
    return pong(prompt)

def pong(prompt):
    return ping(prompt)
"""
_TAKEN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "function": lambda names: names["answer"],
    "closure": lambda names: names["outer"]("one"),
    "object": lambda names: names["Agent"](),
    "method": lambda names: names["Client"]().answer,
    "cached": lambda names: names["cached"],
    "wrapped": lambda names: names["wrapped"],
    "partial": lambda names: functools.partial(names["helper"], limit=3),
    "recursive": lambda names: names["ping"],
    "using cached": lambda names: names["using_cached"],
}


def _load(source: str = _SOURCE) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "made"}
    exec(compile(source, "made.py", "exec"), names)
    return names


@pytest.mark.parametrize("kind", _TAKEN)
def test_the_same_code_has_the_same_identity_on_other_lines(kind: str) -> None:
    first, second = (_TAKEN[kind](_load(source)) for source in (_SOURCE, f"\n\n# moved\n{_SOURCE}"))
    assert identify(first) == identify(second)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("function", '"Answer briefly."', '"Answer at length."'),
        ("function", "text[:limit]", "text[1:limit]"),
        ("function", "limit=5", "limit=6"),
        ("function", '"perhaps"}', '"maybe"}'),
        ("function", '"never"', '"always"'),
        ("function", "(1.5, None", "(2.5, None"),
        ("function", "helper(PROMPT)", "repr(PROMPT)"),
        ("closure", "return name\n", "return name.upper()\n"),
        ("object", "return prompt\n\nclass", "return prompt * 2\n\nclass"),
        ("method", "strip()", "lstrip()"),
        ("cached", "cached(prompt):\n    return prompt", "cached(prompt):\n    return prompt[0]"),
        ("wrapped", "wrapped(prompt):\n    return prompt", "wrapped(prompt):\n    return prompt[0]"),
        ("wrapped", "return function(prompt)", "return function(prompt * 2)"),
        ("partial", "text[:limit]", "text[1:limit]"),
        ("recursive", "return ping(prompt)", "return ping(prompt + 'x')"),
        ("using cached", "Use the documents.", "Use only the documents."),
    ],
)
def test_an_edit_changes_the_identity(kind: str, old: str, new: str) -> None:
    assert old in _SOURCE
    assert identify(_TAKEN[kind](_load())) != identify(_TAKEN[kind](_load(_SOURCE.replace(old, new))))


def test_values_of_closures_and_partials_are_part_of_the_identity() -> None:
    names = _load()
    assert identify(names["outer"]("one")) != identify(names["outer"]("two"))
    assert identify(functools.partial(names["helper"], limit=3)) != identify(
        functools.partial(names["helper"], limit=4)
    )


def test_a_call_does_not_change_the_identity() -> None:
    names = _load()
    system = names["outer"]("one")
    before = identify(names["answer"]), identify(system)
    names["answer"]("yes"), system("case")
    assert (identify(names["answer"]), identify(system)) == before


def test_the_identity_is_the_same_in_another_process() -> None:
    """The order of a set differs between processes."""
    program = (
        f"from ragbed.models.code_identity import identify\nnames = {{'__name__': 'made'}}\nexec({_SOURCE!r}, names)\n"
    )
    program += "print(identify(names['answer']))"
    environments = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("1", "2")]
    found = [subprocess.check_output([sys.executable, "-c", program], env=env, text=True) for env in environments]
    assert found[0] == found[1] == f"{identify(_load()['answer'])}\n"


def test_functions_without_python_code_have_an_identity() -> None:
    assert identify(len) != identify(print)
    assert len({identify(one) for one in (str, "{}".format, str.upper, operator.itemgetter(1))}) == 4


class _Judge:
    def __init__(self, verdict: str) -> None:
        self.verdict = verdict
        self.calls = 0

    def __call__(self, prompt: str) -> str:
        self.calls += 1
        return self.verdict

    def ask(self, prompt: str) -> str:
        return self.verdict


def test_objects_with_other_attributes_have_another_identity() -> None:
    yes, no = _Judge("yes"), _Judge("no")
    assert identify(yes) == identify(_Judge("yes")) != identify(no)
    assert identify(yes.ask) != identify(no.ask)


def test_an_attribute_that_a_method_changes_is_ignored() -> None:
    judge = _Judge("yes")
    before = identify(judge)
    judge("prompt")
    assert identify(judge) == before
