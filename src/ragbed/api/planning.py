"""Turn the parameters of a run into a job: check them, and open the data, the models and the engine."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from ragbed.api.calling import (
    check_models,
    check_request_options,
    open_engine,
    open_model,
    read_budget,
    read_prices,
    warn_of_languages,
    with_request_options,
)
from ragbed.api.data_objects import read_data
from ragbed.api.layout import read_layout, read_strategies
from ragbed.api.objects import ModelSource, brief, read_models
from ragbed.api.own_rag import choose_own_rag, provided_by
from ragbed.api.request_options import AUTO, NONE, settings_of, with_limit
from ragbed.api.searching import check_search_models, open_search_corpora, read_search
from ragbed.api.spec import RunSpec
from ragbed.environment import cache_file
from ragbed.errors import UnknownName, UsageError, option
from ragbed.models.base import Batching, Sampling
from ragbed.models.code_identity import identify
from ragbed.models.presets import PRESETS
from ragbed.models.secrets import without_credentials
from ragbed.plugins import FUNCTION, load_function
from ragbed.testbeds.own_rag import open_corpora
from ragbed.testbeds.prompts import identify_strategy

if TYPE_CHECKING:
    from ragbed.analysis.gates import Floor
    from ragbed.analysis.stopping import MonitoringRule, StoppingCondition
    from ragbed.data import Dataset
    from ragbed.data.corpus import Corpora
    from ragbed.models.base import Model
    from ragbed.models.presets import Preset
    from ragbed.runs.engines.local import LocalEngine
    from ragbed.runs.execution import Job
    from ragbed.runs.sharding import Shard
    from ragbed.schema import Case

_LOGGER = logging.getLogger("ragbed")


def plan_run(spec: RunSpec, message: Callable[[str], None] = _LOGGER.warning) -> Job:
    """Check the parameters of a run, and load its data and models. No request is sent, and no file is written.

    Args:
        spec: The parameters of the run.
        message: Function called with each message for the user, e.g. about testbeds without cases.

    Returns:
        The job. `job.cases()` yields the test cases; call `job.close()` if the job is not run.

    Raises:
        UsageError: A parameter is invalid, or parameters conflict.

    Example:
        >>> job = ragbed.plan_run(ragbed.RunSpec(model="scripted/oracle", data="figure1", num_docs=2))
        >>> {case.testbed for case in job.cases()} >= {"noise", "rejection"}
        True
    """
    from ragbed.runs.circuit_breaker import change_option
    from ragbed.runs.execution import Job
    from ragbed.runs.sharding import parse_shard
    from ragbed.runs.store import open_scored
    from ragbed.runs.turns import EpisodeFactory
    from ragbed.testbeds.feasibility import require_feasible
    from ragbed.testbeds.selection import choose_testbeds, generate_cases, stored_options

    if not isinstance(spec, RunSpec):
        raise UsageError(f"plan_run({brief(spec)}): expected a specification. Use ragbed.RunSpec(model=…, data=…).")
    floors = read_floors(spec)
    if spec.baseline is not None:
        open_scored(Path(spec.baseline)).connection.close()  # a baseline that is not a run is refused first
    conditions = _read_conditions(spec, floors)
    sources = read_models(spec.model)
    check_request_options(sources, spec)
    folder = Path(spec.out) if spec.out else _new_folder(sources[0].label or sources[0].name)
    names, settings = choose_own_rag(spec, sources, *read_layout(spec))
    settings = read_search(spec, names, settings)
    strategies = read_strategies(spec.strategies)
    testbeds = choose_testbeds(names, settings)
    shard = None if spec.shard is None else parse_shard(spec.shard)
    datasets, preset = read_data(spec.data, spec.data_lang, spec.docs, message), _preset(spec.preset)
    sampling, corpora = _sampling(preset, spec), open_corpora(datasets, testbeds, settings)
    searched = open_search_corpora(datasets, settings) if "search" in (names or ()) else {}
    stored = (
        _stored_settings(spec, datasets, stored_options(settings, testbeds), names, shard)
        | ({"remedies": ",".join(map(_identify, strategies))} if strategies else {})
        | ({"search": str(settings.search)} if searched else {})
        | _stored_sampling(sampling, spec)
    )
    rule = _open_rule(conditions, spec.repeats, len(sources))
    engine = open_engine(spec, message)
    try:
        models = [_open_model(source, spec, sampling, engine, {**corpora, **searched}) for source in sources]
        check_models(models, provided_by(testbeds), settings.corpora, prompted=bool(strategies))
        _check_batch(spec, models)
        if searched:
            check_search_models(models, spec, settings)
        budget = read_budget([source.name for source in sources], spec)
    except BaseException:
        engine.close()
        raise

    def cases() -> Iterable[Case]:
        planned = require_feasible(
            generate_cases(datasets, testbeds, settings, named=names is not None, strategies=strategies, tell=message)
        )
        kept = (case for case in planned if shard is None or shard.keeps(case))
        checked = _with_gates(warn_of_languages(kept, models, message), floors, spec)
        return checked if rule is None else rule.check(checked)

    return Job(
        folder=folder,
        settings=stored,
        cases=cases,
        models=models,
        repeats=spec.repeats,
        names={source.name: source.label for source in sources if source.label},
        cache=None if spec.cache == "off" else cache_file(),
        reuses_all=spec.cache == "reuse",
        budget=budget,
        prices=read_prices([source.name for source in sources], spec),
        batch=spec.batch,
        rule=rule,
        episodes=EpisodeFactory(searched, settings.search) if searched else None,
        tell=message,
        engine=engine,
        parameter_fix=f"{change_option()} {option('max_tokens')} sets the token limit.",
    )


def _check_batch(spec: RunSpec, models: Sequence[Model]) -> None:
    """Check that all models support batches, if batches are requested."""
    if not spec.batch:
        return
    if spec.strategies or spec.preset:
        raise UsageError(
            f"{option('batch')} supports only the default prompt with a single call per case. Omit "
            f"{option('strategies')} and {option('preset')}."
        )
    if spec.until:
        raise UsageError("`batch` sends all cases at once, so `until` cannot stop early. Omit one of these options.")
    for model in models:
        if not isinstance(model, Batching):
            raise UsageError(
                f"{option('batch')}: {model.name} does not support batches. Batches require "
                f"{option('engine', 'local')} and a model "
                "from openai/…, anthropic/… or a compatible server."
            )


def _stored_settings(
    spec: RunSpec, datasets: Sequence[Dataset], layout: dict[str, str], names: list[str] | None, shard: Shard | None
) -> dict[str, str]:
    """Return the settings that must not change when a run is resumed."""
    from ragbed.data.catalog import published_settings
    from ragbed.runs.sharding import SETTING

    stored = {f"data {dataset.name}": dataset.sha256() for dataset in datasets} | layout
    stored |= published_settings(datasets)
    stored |= {f"documents {one.name}": one.folder.digest for one in datasets if one.folder is not None}
    stored |= {"testbeds": ",".join(names or ["all"]), "repeats": str(spec.repeats)}
    stored |= {} if shard is None else {SETTING: str(shard)}
    stored |= {"until": "; ".join(spec.conditions)} if spec.until else {}
    return stored | ({} if spec.preset is None else {"preset": spec.preset})


def _open_model(source: ModelSource, spec: RunSpec, sampling: Sampling, engine: LocalEngine, corpora: Corpora) -> Model:
    if source.value is None:
        return open_model(source.name, sampling, spec, engine, corpora)
    from ragbed.api.function_models import open_object

    return open_object(source, spec.max_connections, spec.timeout, corpora)


def own_scorers(spec: RunSpec) -> list[str]:
    """Return the names of the scorers that are not built in.

    Raises:
        UsageError: A scorer does not exist.
    """
    if not spec.scorers:
        return []
    from ragbed.scoring import SCORERS, open_scorers

    open_scorers(spec.scorers)
    return [name for name in spec.scorers if name not in SCORERS]


def read_floors(spec: RunSpec) -> list[Floor]:
    """Return the gates that `fail_under` defines."""
    scorers = own_scorers(spec)
    if not spec.gates:
        return []
    from ragbed.analysis.gates import parse_floor

    return [parse_floor(text, scorers) for text in spec.gates]


def _read_conditions(spec: RunSpec, floors: Sequence[Floor]) -> list[StoppingCondition]:
    """Return the stopping conditions that `until` defines."""
    if not spec.until:
        return []
    if spec.shard is not None:
        raise UsageError(
            f"{option('until')} cannot be combined with {option('shard')}, because each shard would stop "
            "independently. Remove one of them."
        )
    from ragbed.analysis.stopping import parse_conditions

    return parse_conditions(spec.conditions, floors)


def _open_rule(conditions: Sequence[StoppingCondition], repeats: int, models: int) -> MonitoringRule | None:
    """Return the stopping rule for a run."""
    if not conditions:
        return None
    from ragbed.analysis.stopping import MonitoringRule

    return MonitoringRule(conditions, repeats, models)


def _with_gates(cases: Iterable[Case], floors: list[Floor], spec: RunSpec) -> Iterable[Case]:
    """Yield the planned cases, and check that they suffice to decide each gate and that the user's scorers work."""
    scorers = own_scorers(spec)
    if not floors and not scorers:
        return cases
    from ragbed.analysis.gates import check_plan

    return check_plan(floors, cases, spec.repeats, scorers)


def _preset(name: str | None) -> Preset | None:
    if name is not None and name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return None if name is None else PRESETS[name]


def _sampling(preset: Preset | None, spec: RunSpec) -> Sampling:
    """Return the spec's sampling parameters; missing values come from the preset or the defaults."""
    sampling = Sampling() if preset is None else preset.sampling
    sampling = with_request_options(sampling, spec)
    if spec.top_p is not None:
        sampling = structs.replace(sampling, top_p=spec.top_p)
    return with_limit(sampling, sampling.max_tokens if preset and spec.max_tokens is None else spec.max_tokens)


def _identify(strategy: str) -> str:
    """Return a strategy with the hash of its texts or its code, which must not change when a run is resumed."""
    found = identify_strategy(strategy)
    return f"{found} {identify(load_function(strategy))}" if strategy.startswith(FUNCTION) else found


def _stored_sampling(sampling: Sampling, spec: RunSpec) -> dict[str, str]:
    """Return the request settings that are set."""
    limit = AUTO if sampling.raises_limit else str(sampling.max_tokens)
    temperature = NONE if sampling.temperature is None else str(sampling.temperature)
    stored = {"temperature": temperature, "top_p": str(sampling.top_p), "max_tokens": limit}
    return stored | settings_of(spec)


def _new_folder(model: str) -> Path:
    """Return a new folder; the random suffix distinguishes runs that start in the same second."""
    from ragbed.runs.display_names import short_names

    shown = without_credentials(model)
    short = re.sub(r"[^A-Za-z0-9.]+", "-", short_names([shown])[shown]).strip("-")[:40]
    return Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S}-{short}-{os.urandom(2).hex()}"
