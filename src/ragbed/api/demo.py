"""Evaluate a small model on the bundled data, without a key, a server or a network."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.api.calling import check_reader
from ragbed.api.layout import Values, read_langs
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import Run
from ragbed.api.spec import DEFAULT_MODEL, check_path
from ragbed.environment import data_dir, variables
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.models.base import Model
    from ragbed.runs.execution import Job
    from ragbed.schema import Lang

ENGLISH_ONLY = (DEFAULT_MODEL,)
BASELINE = "baseline/lexical"
_ITEMS = 11  # Questions of each of the three kinds, in each language: about 80 cases.
_DOCS = 2  # Short prompts, so that the bundled model needs only a few minutes on two cores.
_RATIOS = {
    "noise": (Fraction(0), Fraction(1, 2)),
    "integration": (Fraction(0),),
}  # These apply to prompts with two documents.
_MAX_TOKENS = 64  # This is enough for a sentence or two.


def demo(
    model: str = DEFAULT_MODEL,
    *,
    lang: Values = "en,zh",
    out: str | Path = "runs/demo",
    progress: bool | Progress = True,
) -> dict[str, Run]:
    """Evaluate a small model and a baseline on about eighty cases of all testbeds, in a few minutes.

    The default model reads English only; Chinese is shown with a baseline that picks the best-matching sentence.

    Args:
        model: Model string.
        lang: Languages: en, zh.
        out: Folder for one run per language; a stopped demo is resumed.
        progress: Whether to show bars; or a `Progress` that receives updates.

    Returns:
        The runs by language.

    Example:
        >>> runs = ragbed.demo("baseline/lexical", lang="en", out="runs/demo")
        >>> runs["en"].outcomes["ok"] > 30
        True
    """
    from ragbed.api.runs import execute

    folder = check_path("out", out)
    if not isinstance(model, str) or folder is None:
        raise UsageError(f"demo(model={model!r}, out={out!r}): both must be strings.")
    runs: dict[str, Run] = {}
    with open_progress(progress) as shown:
        for language, names in choose_models(model, read_langs(lang), shown.message).items():
            with closing(_plan(language, names, folder / language, shown.message)) as job:
                execute(job, shown.calls)
            runs[language] = Run(folder / language)
    return runs


def choose_models(model: str, langs: tuple[Lang, ...], message: Callable[[str], None]) -> dict[Lang, list[str]]:
    """Return the models to evaluate in each language: the named one and the baseline.

    The baseline is evaluated alone where the default model is not installed or does not read the language.
    """
    reads = [lang for lang in langs if lang == "en" or model not in ENGLISH_ONLY]
    names = [BASELINE] if model == BASELINE else [model, BASELINE]
    if model == DEFAULT_MODEL and reads:
        try:
            check_reader(model)
        except UsageError as problem:
            message(f"{problem}. Until then a baseline that picks the best-matching sentence is evaluated instead.")
            names = [BASELINE]
    return {lang: names if lang in reads else [BASELINE] for lang in langs}


def _plan(lang: Lang, models: list[str], folder: Path, message: Callable[[str], None]) -> Job:
    """Return the job that evaluates models in one language."""
    from ragbed.data.catalog import open_data
    from ragbed.runs.execution import Job
    from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
    from ragbed.testbeds.settings import Settings

    datasets = open_data([f"ragbed-mini-{lang}_{kind}" for kind in ("base", "int", "fact")])
    settings = {
        name: Settings(limit=_ITEMS, num_docs=_DOCS, noise=_RATIOS.get(name, Settings().noise))
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
    )


def _open(name: str) -> Model:
    from ragbed.models import ModelConfig, open_model
    from ragbed.models.base import Sampling

    sampling = Sampling(max_tokens=_MAX_TOKENS)
    return open_model(name, lambda rest: ModelConfig(rest, variables(), sampling, data_root=data_dir()))
