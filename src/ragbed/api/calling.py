"""Open the models, the engine and the budget for functions that call models, and make their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ragbed.api.objects import ModelLike, ModelSource, System, is_model, read_models
from ragbed.api.progress import Progress
from ragbed.api.spec import CallOptions, RunSpec
from ragbed.environment import cache_file, data_dir, variables
from ragbed.errors import DataError, RagbedError, UsageError, option
from ragbed.models import ModelConfig
from ragbed.models.base import Model, is_system, lacks_language
from ragbed.models.code_identity import identify
from ragbed.models.plugin_guard import contain
from ragbed.models.secrets import without_credentials
from ragbed.models.systems import DEFAULT_CALLS, FunctionSystem, describe_exception
from ragbed.schema import Case

if TYPE_CHECKING:
    from ragbed.data.corpus import Corpora
    from ragbed.models.base import Sampling
    from ragbed.models.providers.negotiation import Learned
    from ragbed.models.systems import Provides
    from ragbed.runs.budget import Budget
    from ragbed.runs.call_loop import CallProgress
    from ragbed.runs.engines.local import LocalEngine
    from ragbed.runs.execution import Job
    from ragbed.schema import Lang

_T = TypeVar("_T")
_LANGUAGES: dict[Lang, str] = {"en": "English", "zh": "Chinese"}
# Options that only models given as model strings support, because ragbed makes their requests.
_REQUEST_OPTIONS = (
    *("preset", "context_length", "rpm", "temperature", "top_p"),
    *("reasoning_effort", "thinking", "extra_body", "header", "seed_model"),
)


def open_engine(spec: CallOptions, message: Callable[[str], None]) -> LocalEngine:
    """Open the engine selected by the options. The caller must close it.

    Raises:
        UsageError: Ray is not installed, or the cluster does not exist.
    """
    if spec.engine == "local":
        from ragbed.runs.engines.local import LocalEngine

        return LocalEngine()
    from ragbed.runs.engines import ReplicaSpec
    from ragbed.runs.engines.ray import RayEngine

    cpus = 1.0 if spec.cpus_per_replica is None else spec.cpus_per_replica
    return RayEngine(spec.cluster, ReplicaSpec(spec.replicas or 1, cpus, spec.gpus_per_replica or 0.0), message)


def open_model(
    source: ModelSource, sampling: Sampling, spec: CallOptions, engine: LocalEngine, corpora: Corpora
) -> Model:
    """Open a model; a RAG system may also search the given corpora.

    The sampling parameters in the spec are not omitted if a server rejects them. An exception that a Python object
    raises becomes the outcome of its case.
    """
    if source.value is not None:
        return _open_object(source, spec.max_connections or DEFAULT_CALLS, spec.timeout, corpora)
    from ragbed.interop.replay import ReplayModel
    from ragbed.io.retry import RetryPolicy
    from ragbed.models.presets import PRESETS

    run, timeout = spec if isinstance(spec, RunSpec) else None, spec.timeout
    config = ModelConfig(
        source.name,
        variables(),
        sampling,
        RetryPolicy(attempt_s=timeout, item_s=max(RetryPolicy().item_s, 5 * timeout)),
        spec.max_connections,
        spec.rpm,
        data_dir(),
        None if run is None or run.preset is None else PRESETS[run.preset],
        run is not None and run.trust_remote_code,
        corpora=corpora,
        headers=cast("Mapping[str, str]", spec.header),
        context_length=None if run is None else run.context_length,
        fixed=frozenset(name for name in ("temperature", "top_p") if isinstance(getattr(spec, name, None), float)),
        open_replay=ReplayModel,
    )
    return engine.open_model(source.name, config)


def check_request_options(sources: Sequence[ModelSource], spec: RunSpec) -> None:
    """Check that the options for requests have an effect on at least one of the models.

    Raises:
        UsageError: All models are Python objects, which make their own requests.
    """
    if any(source.value is None for source in sources):
        return
    for name in _REQUEST_OPTIONS:
        if getattr(spec, name) or getattr(spec, name) == 0:
            names = ", ".join(source.name for source in sources)
            raise UsageError(f"`{name}` has no effect on Python objects ({names}). Remove this option.")


def check_models(
    models: Sequence[Model], provided: Sequence[Provides], corpora: Sequence[str], *, prompted: bool
) -> None:
    """Check that the models support the features that a run needs, before any request is sent.

    Args:
        models: The models of a run.
        provided: What the testbeds provide to the models.
        corpora: The variants of the corpus in which systems search, e.g. `clean` and `withheld`.
        prompted: Whether prompting strategies are used, which require models that accept ragbed's prompts.

    Raises:
        UsageError: A model is given twice, cannot search, or does not accept documents or prompts.
    """
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


def check_reader(name: str) -> None:
    """Check that a model that accepts prompts can be opened, without loading weights or sending a request.

    Raises:
        UsageError: A key, a URL, a file or a library is missing, or the model is a RAG system.
    """
    from ragbed import models

    _refuse_system(
        models.open_model(name, lambda rest: models.ModelConfig(rest, variables(), data_root=data_dir(), loads=False))
    )


def _refuse_system(model: Model) -> None:
    if is_system(model):
        raise UsageError(f"{model.name} is a RAG system, which builds its own prompts. Use a language model instead.")


def warn_of_languages(cases: Iterable[Case], models: Sequence[Model], message: Callable[[str], None]) -> Iterator[Case]:
    """Yield the cases, and warn once if a case's language is not listed in a model's description."""
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
    from ragbed.runs.prices import read_own_prices

    return read_own_prices(spec.price, map(without_credentials, models))


def read_budget(models: Iterable[str], spec: CallOptions) -> Budget | None:
    """Return a run's budget, or None without a limit. With a limit in dollars, every model needs a known price."""
    from ragbed.runs.budget import Budget
    from ragbed.runs.prices import need_price

    if spec.budget is None and spec.max_calls is None:
        return None
    names = [without_credentials(model) for model in models]
    own = read_prices(names, spec)
    prices = {} if spec.budget is None else {name: need_price(name, own.get(name)) for name in names}
    return Budget(spec.budget, prices, spec.max_calls)


def _open_object(source: ModelSource, calls: int, timeout: float, corpora: Corpora) -> Model:
    value = source.value
    if not isinstance(value, System) and is_model(value):
        return contain(value, value.name.partition("/")[0], describe_exception)
    function, only, is_factory = cast("Callable[..., Any]", value), "prompt", False
    if isinstance(value, System):
        function, only, is_factory = value.function, "case", value.is_factory
    return FunctionSystem(
        source.name, function, calls, timeout, corpora, has_own_loop=False, only=only, is_factory=is_factory
    )


def identify_functions(models: ModelLike) -> str:
    """Return the code versions of the models that are functions, or an empty string if there are none."""
    values = [source.value for source in read_models(models)]
    return "".join(f" {identify(value)}" for value in values if callable(value) and not is_model(value))


def execute(job: Job, watch: Callable[[str, CallProgress], None]) -> None:
    """Run a job, using a separate thread if an event loop is already running, as in a notebook.

    Args:
        job: The job to run.
        watch: Called with the short name of a model and its progress.
    """
    from ragbed.runs import execution
    from ragbed.runs.display_names import short_names

    names = short_names([model.name for model in job.models], job.names)

    def show(name: str, state: CallProgress) -> None:
        watch(names[name], state)

    try:
        if not _loop_is_running():
            execution.run(job, show)
            return
        ending = execution.ShutdownHandler()
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(execution.run, job, show, ending)
            try:
                work.result()
            except BaseException:  # Ctrl-C raises an exception here; without `end`, the thread would keep running.
                ending.end()
                raise
    except RagbedError as error:
        if not isinstance(error, UsageError | DataError) and (job.folder / "run.sqlite").exists():
            place = repr(str(job.folder))
            # The folders of judges and builds cannot be chosen.
            resume = "" if job.grows else f", or resume the run with {option('out', place)}"
            error.add_note(f"Finished cases are kept. Open them with ragbed.open_run({place}){resume}")
        raise


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def finish(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to completion, even if an event loop is already running."""
    if not _loop_is_running():
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class ModelCaller:
    """Makes the model calls for one API function, with one engine, one cache and one progress display."""

    def __init__(self, options: CallOptions, engine: LocalEngine, progress: Progress) -> None:
        self.options, self.engine, self.progress = options, engine, progress
        # The parameter changes that each model's server requires, shared by all tasks of a command.
        self._learned: dict[str, Learned] = {}

    def budget(self, models: ModelLike) -> Budget | None:
        """Return a new budget, or None without a limit (see `read_budget`)."""
        return read_budget((source.name for source in read_models(models)), self.options)

    def pay_earlier_calls(self, folders: Iterable[Path], budget: Budget | None) -> None:
        """Charge the earlier calls of all runs that share a budget before the first of these runs makes a call."""
        from ragbed.runs.database import NAME
        from ragbed.runs.execution import pay_earlier_calls
        from ragbed.runs.store import open_store

        for folder in folders:
            if budget is not None and (folder / NAME).is_file():
                # If a store cannot be opened, its run repairs it or reports the problem, and charges the calls.
                with suppress(RagbedError), open_store(folder, create=False) as store:
                    pay_earlier_calls(store, budget, self.progress.message)

    def run(
        self, folder: Path, settings: dict[str, str], cases: Callable[[], Iterable[Case]], models: ModelLike,
        sampling: Sampling, budget: Budget | None, label: Callable[[str], str] = str,
    ) -> Job:  # fmt: skip
        """Make the calls that have no stored response yet, and return their job.

        Args:
            folder: Folder of the run that stores the calls, which can be resumed and extended with new cases.
            settings: Settings that must be the same when the run is resumed.
            cases: Function that returns the cases.
            models: Model strings or model objects.
            sampling: Sampling parameters.
            budget: Budget shared with other calls.
            label: Function that maps a model's name to a progress title.
        """
        from ragbed.runs.execution import Job

        sources = read_models(models)
        job = Job(
            folder=folder,
            settings=settings,
            cases=cases,
            models=[self._open(source, sampling) for source in sources],
            grows=True,
            cache=None if self.options.cache == "off" else cache_file(),
            reuses_all=self.options.cache == "reuse",
            budget=budget,
            prices=read_prices((source.name for source in sources), self.options),
            tell=self.progress.message,
        )
        execute(job, lambda model, state: self.progress.calls(label(model), state))
        return job

    def _open(self, source: ModelSource, sampling: Sampling) -> Model:
        model = open_model(source, sampling, self.options, self.engine, {})
        _refuse_system(model)
        if (negotiation := getattr(model, "negotiation", None)) is not None:
            negotiation.learned = self._learned.setdefault(model.name, negotiation.learned)
        return model


@contextmanager
def open_caller(options: CallOptions, progress: Progress) -> Iterator[ModelCaller]:
    """Open the engine for model calls, and close it at the end of the block."""
    engine = open_engine(options, progress.message)
    try:
        yield ModelCaller(options, engine, progress)
    finally:
        engine.close()
