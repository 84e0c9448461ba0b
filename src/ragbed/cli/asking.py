"""How models are asked, for every command that asks one: its options, and the model they open."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from ragbed.cli.engine import ReplicaOptions, engine_options, replica_options
from ragbed.cli.options import Decorator, option, together

if TYPE_CHECKING:
    from ragbed.data.corpus import Corpus
    from ragbed.models.base import Model, Sampling
    from ragbed.models.presets import Preset
    from ragbed.runs.budget import Budget
    from ragbed.runs.engines import Engine
    from ragbed.schema import Case, Lang

_LANGUAGES: dict[Lang, str] = {"en": "English", "zh": "Chinese"}
asking_options: Decorator = together(
    option(
        "--max-connections",
        type=click.IntRange(1, 4_096),
        help="Maximum concurrent requests. [default: adaptive, up to 64]",
    ),
    option("--rpm", type=click.IntRange(1), help="Maximum requests per minute."),
    option("--tpm", type=click.IntRange(1), help="Maximum tokens per minute."),
    option(
        "--timeout", type=click.FloatRange(0, min_open=True), default=120.0, help="Timeout of one request, in seconds."
    ),
    option(
        "--budget", type=click.FloatRange(0, min_open=True), metavar="DOLLARS", help="Stop when this amount is spent."
    ),
    option("--no-cache", is_flag=True, help="Ignore cached responses."),
    engine_options,
    replica_options,
)


class AskingOptions(ReplicaOptions):
    """The options of `asking_options`, as typed."""

    max_connections: int | None
    rpm: int | None
    tpm: int | None
    timeout: float
    budget: float | None
    no_cache: bool


def open_asked(
    spec: str,
    sampling: Sampling,
    chosen: AskingOptions,
    engine: Engine,
    preset: Preset | None = None,
    *,
    trusts_code: bool = False,
    corpora: Mapping[str, Corpus] | None = None,
) -> Model:
    """The model that a string names, to be asked as the options say; a system also about these corpora."""
    from ragbed.data.catalog import data_root
    from ragbed.models import ModelConfig
    from ragbed.models.retry_policy import RetryPolicy

    patience = RetryPolicy(attempt_s=chosen["timeout"], item_s=max(RetryPolicy.item_s, 5 * chosen["timeout"]))
    wish = ModelConfig(
        spec,
        os.environ,
        sampling,
        patience,
        chosen["max_connections"],
        chosen["rpm"],
        chosen["tpm"],
        data_root(),
        preset,
        trusts_code,
        corpora=corpora or {},
    )
    return engine.open_model(spec, wish)


def open_models(
    names: Sequence[str], open_one: Callable[[str], Model], *, searching: bool, prompted: bool
) -> list[Model]:
    """All models of a run, each once.

    Args:
        names: As typed.
        open_one: Opens the model of a name.
        searching: Whether they are to find documents by themselves.
        prompted: Whether they are to follow prompts of ours.

    Raises:
        UsageError: One of them cannot; nobody was asked yet.
    """
    from ragbed.errors import UsageError
    from ragbed.models.base import AnsweringAfresh

    models = [open_one(name) for name in dict.fromkeys(names)]
    for model in models:
        if [one.name for one in models].count(model.name) > 1:
            raise UsageError(
                f"{model.name} is given twice, with different credentials or query values. These are not stored, so "
                "the responses could not be told apart; use one run for each."
            )
        is_system = isinstance(model, AnsweringAfresh)
        if searching and not is_system:
            raise UsageError(
                f"{model.name} searches nothing; own-retrieval and own-rejection are for systems (python/…, http/…)."
            )
        if prompted and is_system:
            raise UsageError(
                f"{model.name} is a system under test and gets no prompts; --strategies is for language models."
            )
    return models


def open_reader(spec: str, sampling: Sampling, chosen: AskingOptions, engine: Engine) -> Model:
    """A model that is to follow a prompt of ours, as a judge does.

    Raises:
        UsageError: It is a system, which gets questions and documents and prompts by itself.
    """
    model = open_asked(spec, sampling, chosen, engine)
    _refuse_system(model)
    return model


def check_reader(spec: str) -> None:
    """Nothing, for a model that `open_reader` could open; no weights are loaded, and nobody is asked.

    Raises:
        UsageError: A key, an address, a file or a library is missing, or it is a system.
    """
    from ragbed.data.catalog import data_root
    from ragbed.models import ModelConfig, open_model

    _refuse_system(open_model(spec, lambda name: ModelConfig(name, os.environ, data_root=data_root(), loads=False)))


def _refuse_system(model: Model) -> None:
    from ragbed.errors import UsageError
    from ragbed.models.base import AnsweringAfresh

    if isinstance(model, AnsweringAfresh):
        raise UsageError(f"{model.name} is a system under test and gets no prompts; name a language model for this.")


def warn_of_languages(cases: Iterable[Case], models: Sequence[Model]) -> Iterator[Case]:
    """Yield the cases of a plan, and warn of the first that is in a language that a model was not made for."""
    from ragbed.cli.console import say
    from ragbed.models.base import lacks_language

    seen: set[Lang] = set()
    for case in cases:
        if case.lang not in seen:
            seen.add(case.lang)
            for model in models:
                if lacks_language(model, case.lang):
                    say(
                        f"Warning: {model.name} was not made for {_LANGUAGES[case.lang]}, as its file says, and "
                        f"{case.data} has {_LANGUAGES[case.lang]} questions. Expect few right answers; use another "
                        f"model, or choose the languages with --lang."
                    )
        yield case


def read_budget(models: Sequence[str], chosen: AskingOptions) -> Budget | None:
    """The budget, if one is set; every model then needs a price."""
    from ragbed.models.secrets import without_credentials
    from ragbed.runs.budget import Budget
    from ragbed.runs.prices import need_price

    limit, names = chosen["budget"], map(without_credentials, models)
    return None if limit is None else Budget(limit, {name: need_price(name) for name in names})
