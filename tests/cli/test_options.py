"""A field of a specification is all that an option needs, in Python and on the command line."""

from __future__ import annotations

import inspect
import io
import json
import sys
from contextlib import redirect_stdout
from types import SimpleNamespace

import pytest

from ragbed.api.specification import Spec, opt, takes
from ragbed.cli.options import Command
from ragbed.errors import UsageError
from ragbed.reporting.table import Result


class MeasureSpec(Spec, function="measures.measure"):
    """Measure something."""

    size: int | None = opt("Size of the sample.", low=1, default=None)


@takes(MeasureSpec)
def measure(spec: MeasureSpec) -> Result:
    """Measure something."""
    return Result([], values={"size": spec.size})


_COMMAND = Command(MeasureSpec, "measure")


@pytest.fixture(autouse=True)
def measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ragbed.api.measures", SimpleNamespace(measure=measure))


def _type(*words: str) -> int | None:
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) as out:
        _COMMAND.main([*words, "--json"], standalone_mode=False)
        out.seek(0)
        size: int | None = json.loads(out.read())["size"]
        return size


def test_a_field_is_a_parameter_with_a_check_and_a_description() -> None:
    assert measure(size=3)["size"] == 3
    assert inspect.signature(measure).parameters["size"].default is None
    assert "size: Size of the sample." in str(measure.__doc__)
    with pytest.raises(UsageError, match=r"^size=0 is out of range\. Use an integer of at least 1\.$"):
        measure(size=0)
    with pytest.raises(UsageError, match=r"measure\(\) has no parameter 'sise'\. Did you mean 'size'\?"):
        measure(sise=3)  # type: ignore[call-arg]  # wrong on purpose


def test_the_same_field_is_an_option_and_a_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _type("--size", "3") == 3
    with pytest.raises(UsageError, match=r"^--size 0 is out of range\. Use an integer of at least 1\.$"):
        _type("--size", "0")
    monkeypatch.setenv("RAGBED_SIZE", "4")
    assert _type() == 4
    _COMMAND.main(["--help"], standalone_mode=False)
    assert "--size N  Size of the sample." in capsys.readouterr().out
    monkeypatch.setenv("RAGBED_SIZE", "x")
    with pytest.raises(UsageError, match=r"^RAGBED_SIZE='x' is not valid\. Use an integer of at least 1\.$"):
        _type()
