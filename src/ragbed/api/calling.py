"""Set up the models, the engine and the budget for API functions that call models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ragbed.api.request_options import read_headers, read_request_options
from ragbed.api.spec import RunSpec
from ragbed.environment import data_dir, variables
from ragbed.errors import UsageError, option

if TYPE_CHECKING:
    from ragbed.api.objects import ModelSource
    from ragbed.api.spec import CallOptions
    from ragbed.data.corpus import Corpora
    from ragbed.models.base import Model, Sampling
    from ragbed.models.systems import Provides
    from ragbed.runs.budget import Budget
    from ragbed.runs.engines.local import LocalEngine
    from ragbed.schema import Case, Lang

_LANGUAGES: dict[Lang, str] = {"en": "English", "zh": "Chinese"}
# Options that only models given as model strings support, because ragbed makes their requests.
_REQUEST_OPTIONS = (
    *("preset", "context_length", "rpm", "temperature", "top_p"),
    *("reasoning_effort", "thinking", "extra_body", "header", "seed_model"),
)


def open_engine(spec: CallOptions, message: Callable[[str], None]) -> LocalEngine:
    """Open the engine selected by the options. The caller must close it.

    Raises:
        UsageError: An option needs a cluster, but the engine is local; Ray is not installed, or the cluster does not
            exist.
    """
    names = ("replicas", "gpus_per_replica", "cpus_per_replica")
    share = {name: value for name in names if (value := getattr(spec, name, None)) is not None}
    if spec.engine == "local" and share:
        name = next(iter(share))
        raise UsageError(
            f"{option(name, share[name])} requires a Ray cluster. Add {option('engine', 'ray')}, or remove "
            f"{option(name)}."
        )
    if spec.engine == "local":
        from ragbed.runs.engines.local import LocalEngine

        return LocalEngine()
    from ragbed.runs.engines import ReplicaSpec
    from ragbed.runs.engines.ray import RayEngine

    replicas = ReplicaSpec(
        share.get("replicas", 1), share.get("cpus_per_replica", 1.0), share.get("gpus_per_replica", 0.0)
    )
    return RayEngine(spec.cluster, replicas, message)


def with_request_options(sampling: Sampling, spec: CallOptions) -> Sampling:
    """Return the sampling parameters with the request options applied."""
    from msgspec import structs

    return structs.replace(sampling, **read_request_options(spec))


def open_model(
    name: str, sampling: Sampling, spec: CallOptions, engine: LocalEngine, corpora: Corpora | None = None
) -> Model:
    """Open the model named by a model string; a RAG system may also search the given corpora.

    The sampling parameters in the spec are not omitted if a server rejects them.
    """
    from ragbed.io.retry import RetryPolicy
    from ragbed.models import ModelConfig
    from ragbed.models.presets import PRESETS

    run, timeout = spec if isinstance(spec, RunSpec) else None, spec.timeout
    config = ModelConfig(
        name,
        variables(),
        with_request_options(sampling, spec),
        RetryPolicy(attempt_s=timeout, item_s=max(RetryPolicy().item_s, 5 * timeout)),
        spec.max_connections,
        spec.rpm,
        data_dir(),
        None if run is None or run.preset is None else PRESETS[run.preset],
        run is not None and run.trust_remote_code,
        corpora=corpora or {},
        headers=read_headers(spec.header),
        context_length=None if run is None else run.context_length,
        fixed=frozenset(name for name in ("temperature", "top_p") if isinstance(getattr(spec, name, None), float)),
        open_replay=_open_replay,
    )
    return engine.open_model(name, config)


def _open_replay(spec: str) -> Model:
    from ragbed.interop.replay import ReplayModel

    return ReplayModel(spec)


def check_request_options(sources: Sequence[ModelSource], spec: RunSpec) -> None:
    """Check that the options for requests have an effect on at least one of the models.

    Raises:
        UsageError: All models are Python objects, which make their own requests.
    """
    if any(source.value is None for source in sources):
        return
    if given := given_request_options(spec):
        names = ", ".join(source.name for source in sources)
        raise UsageError(f"`{given[0]}` has no effect on Python objects ({names}). Remove this option.")


def given_request_options(spec: RunSpec) -> list[str]:
    """Return the names of the options for requests that are set."""
    return [name for name in _REQUEST_OPTIONS if getattr(spec, name) or getattr(spec, name) == 0]


def check_models(
    models: Sequence[Model], provided: Sequence[Provides], corpora: Sequence[str], *, prompted: bool
) -> None:
    """Check that the models support the features that a run needs, before any request is sent.

    Args:
        models: The models of a run.
        provided: What the testbeds give to the models.
        corpora: The variants of the corpus in which systems search, e.g. `clean` and `withheld`.
        prompted: Whether prompting strategies are used, which require models that accept ragbed's prompts.

    Raises:
        UsageError: A model is given twice, cannot search, or does not accept documents or prompts.
    """
    from ragbed.models.base import is_system
    from ragbed.models.systems import FunctionSystem

    for model in models:
        if [other.name for other in models].count(model.name) > 1:
            raise UsageError(
                f"{model.name} is given twice, with different credentials or query parameters. These are not "
                "stored, so the two sets of responses would be indistinguishable. Use separate runs."
            )
        if getattr(model, "replays", False):
            continue
        if "corpus" in provided and not is_system(model):
            raise UsageError(
                f"{model.name} is not a RAG system, which the own-rag testbed requires. Use factory/…, python/… or "
                "http/…, or ragbed.system."
            )
        if isinstance(model, FunctionSystem) and not model.takes_prompts:
            for kind in provided:
                model.check_provided(kind, tuple(corpora) if kind == "corpus" else ())
        if prompted and is_system(model):
            raise UsageError(
                f"{model.name} is a RAG system, which builds its own prompts; {option('strategies')} works only with "
                f"language models. Remove {option('strategies')}, or choose a language model."
            )


def open_reader(name: str, sampling: Sampling, spec: CallOptions, engine: LocalEngine) -> Model:
    """Open a model that accepts ragbed's prompts, e.g. a judge.

    Raises:
        UsageError: The model is a RAG system, which builds its own prompts.
    """
    model = open_model(name, sampling, spec, engine)
    _refuse_system(model)
    return model


def check_reader(name: str) -> None:
    """Check that `open_reader` can open a model, without loading weights or sending a request.

    Raises:
        UsageError: A key, a URL, a file or a library is missing, or the model is a RAG system.
    """
    from ragbed import models

    _refuse_system(
        models.open_model(name, lambda rest: models.ModelConfig(rest, variables(), data_root=data_dir(), loads=False))
    )


def _refuse_system(model: Model) -> None:
    if getattr(model, "answers_afresh", False):
        raise UsageError(f"{model.name} is a RAG system, which builds its own prompts. Use a language model instead.")


def warn_of_languages(cases: Iterable[Case], models: Sequence[Model], message: Callable[[str], None]) -> Iterator[Case]:
    """Yield the cases, and warn once if a case's language is not listed in a model's description."""
    from ragbed.models.base import lacks_language

    seen: set[Lang] = set()
    for case in cases:
        if case.lang not in seen:
            seen.add(case.lang)
            for model in models:
                if lacks_language(model, case.lang):
                    message(
                        f"Warning: {model.name} does not list {_LANGUAGES[case.lang]} among its languages, but "
                        f"{case.data} contains {_LANGUAGES[case.lang]} questions. Expect few correct answers; use "
                        f"another model, or select languages with {option('lang')}."
                    )
        yield case


def read_prices(models: Iterable[str], spec: CallOptions) -> dict[str, str]:
    """Return the user's own prices of the models, by model string, as `IN,OUT` in dollars per million tokens."""
    from ragbed.models.secrets import without_credentials
    from ragbed.runs.prices import read_own_prices

    return read_own_prices(spec.own_prices, map(without_credentials, models))


def read_budget(models: Iterable[str], spec: CallOptions) -> Budget | None:
    """Return a run's budget, or None without a limit. With a limit in dollars, every model needs a known price."""
    from ragbed.models.secrets import without_credentials
    from ragbed.runs.budget import Budget
    from ragbed.runs.prices import need_price

    if spec.budget is None and spec.max_calls is None:
        return None
    names = [without_credentials(model) for model in models]
    own = read_prices(names, spec)
    prices = {} if spec.budget is None else {name: need_price(name, own.get(name)) for name in names}
    return Budget(spec.budget, prices, spec.max_calls)
