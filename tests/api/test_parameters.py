"""Parameters are checked before anything else happens; errors name the parameter, the value and the nearest one."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import ragbed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ragbed.power(dorp=0.1), "power() has no parameter 'dorp'. Did you mean 'drop'?"),
        (lambda: ragbed.power(items="many"), "items='many': expected int or None, not str."),
        (lambda: ragbed.power(items=True), "items=True: expected int or None, not bool."),
        (lambda: ragbed.power(power=2.0), "--power 2: allowed are 0.5 to 0.999."),
        (lambda: ragbed.compare(1, 2), "a=1: expected Run, str or Path, not int."),
        (lambda: ragbed.compare("a"), "compare(): missing a required argument: 'b'."),
        (lambda: ragbed.score("a", disagreements="cod"), "disagreements='cod' is not one of code, paper. Did you mean"),
        (lambda: ragbed.judge("a", ["m", 3]), "model=['m', 3]: expected str or Sequence, not list."),
        (lambda: ragbed.judge("a", "m", criteria="refusl"), "unknown criterion 'refusl'. Did you mean 'refusal'?"),
        (lambda: ragbed.judge("a", "m", timeout="1"), "timeout='1': expected float, not str."),
        (lambda: ragbed.judge("a", "m", rpm=0), "rpm=0 is out of range"),
        (lambda: ragbed.judge("a", "m", sample=5), "--sample N and --out FILE must be given together."),
        (lambda: ragbed.diagnose("a", cluster="h:1"), "--cluster is for a cluster; add --engine ray"),
        (lambda: ragbed.cases("figure1", profile="robst"), "unknown profile 'robst'. Did you mean 'robust'?"),
        (lambda: ragbed.cases("figure1", noise=7), "--noise"),
        (lambda: ragbed.lint("figure1", only="recrd"), "unknown rule 'recrd'. Did you mean 'record'?"),
        (lambda: ragbed.synthesize("out", tokens=10), "--tokens 10: allowed are 60 to 1500."),
        (lambda: ragbed.synthesize("s3://bucket/x"), "is a URL; a local file or folder is needed here."),
        (lambda: ragbed.download("rbg"), "unknown data 'rbg'. Did you mean 'rgb'?"),
        (lambda: ragbed.export("figure1", "nativ", "x"), "unknown format 'nativ'. Did you mean 'native'?"),
        (lambda: ragbed.export("figure1", "native", "x", noise=0), "--noise has no effect here: native contains"),
        (lambda: ragbed.export("figure1", "native", "x", canonical=True), "--canonical has no effect here: figure1 is"),
        (lambda: ragbed.import_results("x", "jsonnl", "y"), "unknown format 'jsonnl'. Did you mean 'jsonl'?"),
        (lambda: ragbed.import_results("x", "cassette", "y", model="m"), "--model has no effect here: a cassette"),
        (lambda: ragbed.report("x", format="markdown"), "format='markdown' is not one of text, md"),
        (lambda: ragbed.report("x", format="svg"), "Figures are files: name a folder for them"),
        (lambda: ragbed.build_quality("figure1", cutoff="gpt"), "--cutoff 'gpt': write MODEL=DATE"),
        (lambda: ragbed.build_quality("figure1", out="x.txt"), "must end in .html or .json."),
        (lambda: ragbed.review("x", raters=3), "raters=3: expected 1, 2 or None, not int."),
        (lambda: ragbed.view("x", port=-1), "--port -1: allowed are 0 to 65535."),
        (lambda: ragbed.cache_prune(older_than="soon"), "--older-than 'soon': write a number and h, d or w"),
        (ragbed.cache_prune, "Use either --older-than AGE or --all."),
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
