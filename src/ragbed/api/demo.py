"""Evaluate a small model on the bundled data, without an API key, a server or network access."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.api.calling import check_reader
from ragbed.api.job_specs import DemoSpec
from ragbed.api.layout import read_langs
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import Run
from ragbed.api.spec import DEFAULT_MODEL
from ragbed.api.specification import takes
from ragbed.environment import data_dir, variables
from ragbed.errors import RagbedError, UsageError
from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
from ragbed.testbeds.settings import Settings

if TYPE_CHECKING:
    from ragbed.models.base import Model
    from ragbed.runs.execution import Job
    from ragbed.schema import Lang

ENGLISH_ONLY = (DEFAULT_MODEL,)
BASELINE = "baseline/lexical"
BASELINE_RUN = "baseline"
_ITEMS = 11  # Number of questions per item kind for the model; with three kinds, there are about 80 cases.
_DOCS = 2  # Number of documents per prompt, small enough for the model to finish in minutes on two cores.
_RATIOS = {
    "noise": (Fraction(0), Fraction(1, 2)),
    "integration": (Fraction(0),),
}  # These noise ratios are possible with two documents.
_MAX_TOKENS = 64  # Maximum tokens per response, enough for a sentence or two.


@takes(DemoSpec)
def demo(spec: DemoSpec) -> dict[str, Run]:
    """Evaluate a baseline on the bundled data, and a small model on a part of it, in a few minutes.

    The baseline returns the best-matching sentence. The default model supports only English. Missing model weights are
    downloaded. If the download fails or llama.cpp is not installed, only the baseline is evaluated.

    Returns:
        A dictionary of the runs: `baseline`, and one for each language of the model.

    Example:
        >>> runs = ragbed.demo("baseline/lexical", lang="en", out="runs/demo")
        >>> runs["baseline"].outcomes["ok"] > 300
        True
    """
    return dict(evaluate(spec))


def evaluate(spec: DemoSpec) -> Iterator[tuple[str, Run]]:
    """Yield each run with its name when it is finished: the baseline first, so that results appear after seconds."""
    langs = read_langs(spec.lang)
    yield BASELINE_RUN, _evaluate(spec, BASELINE, langs, BASELINE_RUN, None)
    if spec.model == BASELINE:
        return
    reads = [lang for lang in langs if lang == "en" or spec.model not in ENGLISH_ONLY]
    if spec.model == DEFAULT_MODEL and reads:
        with open_progress(spec.progress) as shown:
            if problem := _install_default(shown):
                shown.message(f"{problem} Until then, only the baseline is evaluated.")
                return
    for lang in reads:
        yield lang, _evaluate(spec, spec.model, (lang,), lang, _ITEMS)


def _evaluate(spec: DemoSpec, model: str, langs: Sequence[Lang], name: str, limit: int | None) -> Run:
    from ragbed.api.jobs import execute

    folder = Path(spec.out) / name
    with open_progress(spec.progress) as shown, closing(_plan(langs, model, folder, limit, shown.message)) as job:
        execute(job, shown.calls)
    return Run(folder)


def _install_default(shown: Progress) -> str | None:
    """Download the default model's weights if they are missing; return an error message if the model cannot run."""
    if importlib.util.find_spec("xllamacpp") is None:
        return (
            f"{DEFAULT_MODEL} requires extra packages: pip install 'ragbed[llamacpp,serve]', then rerun the same "
            "command."
        )
    try:
        check_reader(DEFAULT_MODEL)
    except UsageError:
        from ragbed.api.downloads import download, find_entry

        entry = find_entry(DEFAULT_MODEL.rpartition("/")[2])
        shown.message(f"Downloading the weights of {DEFAULT_MODEL} ({entry.megabytes} MB) …")
        try:
            download(entry.name, progress=shown)
        except RagbedError as error:
            return f"{error} Run `ragbed data get {entry.name}` when the server can be reached."
    return None


def _plan(langs: Sequence[Lang], model: str, folder: Path, limit: int | None, message: Callable[[str], None]) -> Job:
    """Return the job that evaluates a model on the bundled questions, or on `limit` of each file."""
    from ragbed.data.catalog import open_data
    from ragbed.runs.execution import Job

    datasets = open_data([f"ragbed-mini-{lang}_{kind}" for lang in langs for kind in ("base", "int", "fact")])
    settings = {
        name: Settings(limit=limit, num_docs=(_DOCS,), noise=_RATIOS.get(name, Settings().noise))
        for name in DEFAULT_TESTBEDS
    }
    stored = {f"data {dataset.name}": dataset.sha256() for dataset in datasets}
    return Job(
        folder=folder,
        settings=stored | settings["noise"].as_options() | {"max_tokens": str(_MAX_TOKENS)},
        cases=lambda: (
            case
            for dataset in datasets
            for name in DEFAULT_TESTBEDS
            for case in TESTBEDS[name].cases(dataset, settings[name])
        ),
        models=[_open(model)],
        tell=message,
        parameter_fix="use `ragbed run`, which has options for parameters.",
    )


def _open(name: str) -> Model:
    from ragbed.models import ModelConfig, open_model
    from ragbed.models.base import Sampling

    sampling = Sampling(max_tokens=_MAX_TOKENS)
    return open_model(name, lambda rest: ModelConfig(rest, variables(), sampling, data_root=data_dir()))
