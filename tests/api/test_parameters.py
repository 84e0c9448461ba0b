"""Parameters are checked before anything else happens; errors name the parameter, the value and the nearest one."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from typing import Any

import pytest

import ragbed

api: Any = ragbed
"""The API without its types: the calls below are wrong on purpose."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.power(dorp=0.1), "power() has no parameter 'dorp'. Did you mean 'drop'?"),
        (lambda: api.power(items="many"), "items='many' is not valid. Use an integer from 2 to 100,000."),
        (lambda: api.power(power=2.0), "power=2.0 is out of range. Use a number from 0.5 to 0.999."),
        (lambda: api.compare(1, 2), "a=1 is not a run. Use a Run, or the path of its folder."),
        (lambda: api.compare("a"), "compare(): missing a required argument: 'b'."),
        (lambda: api.report("a", locale="ez"), "locale='ez' is not one of en, zh. Did you mean"),
        (lambda: api.judge("a", ["m", 3]), "model=3 is not a model: use a model string such as"),
        (lambda: api.judge("a", "m", timeout="1"), "timeout='1' is not valid. Use a number greater than 0."),
        (lambda: api.judge("a", "m", rpm=0), "rpm=0 is out of range"),
        (lambda: api.cases("figure1", noise=7), "noise=7"),
        (lambda: api.synthesize("s3://bucket/x"), "URLs are not supported. Use a local file or folder"),
        (lambda: api.demo(out=""), "`out`: the path is empty."),
        (lambda: api.export("figure1", "native", "x", noise=0), "`noise` has no effect here: to=native exports"),
        (lambda: api.export("figure1", "native", "x", canonical=True), "`canonical` has no effect here: figure1 is"),
        (lambda: api.import_results("x", "archive", "y", model="m"), "`model` has no effect here: the archive"),
        (lambda: api.report("x", format="svg"), "format=svg requires an output folder"),
        (lambda: api.report([]), "`runs` is empty"),
        (lambda: api.open_run(5), "folder=5 is not a path. Use a string or a Path."),
        (lambda: api.cases("figure1", testbeds=[]), "testbeds=[] is empty. Give at least one value."),
        (lambda: api.power(drop=0), "Use a fraction greater than 0"),
        (lambda: api.power(drop="five"), "is not a ratio"),
        (lambda: api.power(alpha=float("nan")), "alpha=nan is out of range. Use a number from 0.0001 to 0.5."),
        (lambda: api.review("x", rater=2), "rater=2 is not valid. Use a string."),
        (lambda: api.plan_run("figure1"), "expected a specification. Use ragbed.RunSpec(model=…, data=…)."),
        (lambda: api.export("figure1", "jsonl", io.StringIO()), "`out` is a file in text mode. Open it in binary mode"),
        (lambda: api.Run("x").metrics(3), "unknown scorer '3'. Known: code, paper, robust."),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(
    call: Callable[[], object], message: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with pytest.raises(ragbed.UsageError) as caught:
        call()
    assert message in str(caught.value)


def test_shared_options_are_parameters_with_their_defaults() -> None:
    parameters = inspect.signature(ragbed.judge).parameters
    assert (parameters["timeout"].default, parameters["timeout"].annotation) == (120.0, "float")
    assert parameters["budget"].kind is inspect.Parameter.KEYWORD_ONLY
    assert inspect.signature(ragbed.cases).parameters["lang"].default == "en,zh"
