"""Evaluate a small model on the bundled data, without an API key, a server or network access."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
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
from ragbed.errors import UsageError
from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
from ragbed.testbeds.settings import Settings

if TYPE_CHECKING:
    from ragbed.models.base import Model
    from ragbed.runs.execution import Job
    from ragbed.schema import Lang

ENGLISH_ONLY = (DEFAULT_MODEL,)
BASELINE = "baseline/lexical"
_ITEMS = 11  # Number of questions per item kind and language; with three kinds, there are about 80 cases.
_DOCS = 2  # Number of documents per prompt, small enough for the model to finish in minutes on two cores.
_RATIOS = {
    "noise": (Fraction(0), Fraction(1, 2)),
    "integration": (Fraction(0),),
}  # These noise ratios are possible with two documents.
_MAX_TOKENS = 64  # Maximum tokens per response, enough for a sentence or two.


@takes(DemoSpec)
def demo(spec: DemoSpec) -> dict[str, Run]:
    """Evaluate a small model and a baseline on about eighty cases from all testbeds, in a few minutes.

    The default model supports only English; Chinese questions are tested with a baseline that picks the best-matching
    sentence. Missing model weights are downloaded. If the download fails or llama.cpp is not installed, only the
    baseline is evaluated.

    Returns:
        A dictionary of the runs, keyed by language.

    Example:
        >>> runs = ragbed.demo("baseline/lexical", lang="en", out="runs/demo")
        >>> runs["en"].outcomes["ok"] > 30
        True
    """
    from ragbed.api.jobs import execute

    folder, model = Path(spec.out), spec.model
    runs: dict[str, Run] = {}
    with open_progress(spec.progress) as shown:
        for language, names in choose_models(model, read_langs(spec.lang), shown).items():
            with closing(_plan(language, names, folder / language, shown.message)) as job:
                execute(job, shown.calls)
            runs[language] = Run(folder / language)
    return runs


def choose_models(model: str, langs: tuple[Lang, ...], shown: Progress) -> dict[Lang, list[str]]:
    """Return the models to evaluate in each language: the named model and the baseline.

    Only the baseline is evaluated if the default model cannot be installed or does not read the language.
    """
    reads = [lang for lang in langs if lang == "en" or model not in ENGLISH_ONLY]
    names = [BASELINE] if model == BASELINE else [model, BASELINE]
    if model == DEFAULT_MODEL and reads and (problem := _install_default(shown)):
        shown.message(f"{problem} Until then, a baseline that selects the best-matching sentence is evaluated instead.")
        names = [BASELINE]
    return {lang: names if lang in reads else [BASELINE] for lang in langs}


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
        from ragbed.api.downloads import Transfers, find_entry
        from ragbed.data.catalog import install

        entry = find_entry(DEFAULT_MODEL.rpartition("/")[2])
        shown.message(f"Downloading the weights of {DEFAULT_MODEL} ({entry.megabytes} MB) …")
        failed = next(
            (one.problem for one in install.download(entry, data_dir(), Transfers(shown)) if one.problem), None
        )
        if failed:
            return f"{failed}. Run `ragbed data get {entry.name}` when the server can be reached."
    return None


def _plan(lang: Lang, models: list[str], folder: Path, message: Callable[[str], None]) -> Job:
    """Return the job that evaluates the models in one language."""
    from ragbed.data.catalog import open_data
    from ragbed.runs.execution import Job

    datasets = open_data([f"ragbed-mini-{lang}_{kind}" for kind in ("base", "int", "fact")])
    settings = {
        name: Settings(limit=_ITEMS, num_docs=(_DOCS,), noise=_RATIOS.get(name, Settings().noise))
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
        models=[_open(name) for name in models],
        tell=message,
        parameter_fix="use `ragbed run`, which has options for parameters.",
    )


def _open(name: str) -> Model:
    from ragbed.models import ModelConfig, open_model
    from ragbed.models.base import Sampling

    sampling = Sampling(max_tokens=_MAX_TOKENS)
    return open_model(name, lambda rest: ModelConfig(rest, variables(), sampling, data_root=data_dir()))
