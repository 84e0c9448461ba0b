"""Turn the parameters of a run into a job: check them, and open the data, the models and the engine."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import json, structs

from ragbed.api.calling import (
    check_models,
    check_request_options,
    open_engine,
    open_model,
    read_budget,
    read_prices,
    warn_of_languages,
)
from ragbed.api.data_objects import read_data
from ragbed.api.layout import read_layout, read_strategies, split
from ragbed.api.objects import ModelSource, System, read_models
from ragbed.api.request_options import AUTO, NONE, apply_options, with_limit
from ragbed.api.spec import RunSpec
from ragbed.environment import cache_file
from ragbed.errors import UnknownName, UsageError, option, refuse_unused
from ragbed.models.base import Sampling
from ragbed.models.code_identity import identify
from ragbed.models.presets import PRESETS
from ragbed.models.secrets import without_credentials
from ragbed.models.systems import brief
from ragbed.plugins import FUNCTION, load_function
from ragbed.schema import Lang
from ragbed.testbeds.own_rag import NAME, WITHHELD, open_corpora
from ragbed.testbeds.prompts import identify_strategy
from ragbed.testbeds.search.corpora import corpora_of
from ragbed.testbeds.search.settings import parse_search
from ragbed.testbeds.settings import CLEAN
from ragbed.text import split_sentences

if TYPE_CHECKING:
    from ragbed.analysis.gates import CellSelector
    from ragbed.analysis.stopping import MonitoringRule
    from ragbed.data import Dataset
    from ragbed.models.base import Model
    from ragbed.models.systems import Provides
    from ragbed.runs.execution import Job
    from ragbed.runs.sharding import Shard
    from ragbed.schema import Case
    from ragbed.testbeds.search.corpora import SearchCorpus
    from ragbed.testbeds.settings import Settings

# What the testbeds give to the models, other than the documents of a case.
_PROVIDED: dict[str, Provides] = {NAME: "corpus", "search": "search"}
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
    floors, scorers = read_gates(spec)
    if spec.baseline is not None:
        open_scored(Path(spec.baseline)).connection.close()  # a baseline that is not a run is refused first
    sources = read_models(spec.model)
    rule = _open_rule(spec, floors, len(sources))
    check_request_options(sources, spec)
    folder = Path(spec.out) if spec.out else _new_folder(sources[0].label or sources[0].name)
    names, settings = _read_settings(spec, sources)
    strategies = read_strategies(spec.strategies)
    testbeds = choose_testbeds(names, settings)
    shard = None if spec.shard is None else parse_shard(spec.shard)
    datasets, sampling = read_data(spec.data, spec.data_lang, spec.docs, message, spec.format), _sampling(spec)
    corpora = open_corpora(datasets, testbeds, settings)
    searched = _open_search_corpora(datasets, settings) if "search" in (names or ()) else {}
    stored = (
        _stored_settings(spec, datasets, stored_options(settings, testbeds), names, shard)
        | ({"remedies": ",".join(map(_identify, strategies))} if strategies else {})
        | ({"search": str(settings.search)} if searched else {})
        | _stored_sampling(sampling, spec)
    )
    engine = open_engine(spec, message)
    try:
        models = [open_model(source, sampling, spec, engine, {**corpora, **searched}) for source in sources]
        provided: list[Provides] = [_PROVIDED.get(testbed.name, "documents") for testbed in testbeds]
        check_models(models, provided, settings.corpora, prompted=bool(strategies))
        _check_batch(spec, models)
        if searched:
            _check_search_models(models, spec, settings)
        budget = read_budget([source.name for source in sources], spec)
    except BaseException:
        engine.close()
        raise

    def cases() -> Iterable[Case]:
        planned = require_feasible(
            generate_cases(datasets, testbeds, settings, named=names is not None, strategies=strategies, tell=message)
        )
        kept = (case for case in planned if shard is None or shard.keeps(case))
        checked: Iterable[Case] = warn_of_languages(kept, models, message)
        if floors or scorers:
            from ragbed.analysis.gates import check_plan

            checked = check_plan(floors, checked, spec.repeats, scorers)
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
        if not hasattr(model, "open_batches"):
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
    stored |= published_settings(datasets) | {f"format {one.name}": one.format for one in datasets if one.format}
    stored |= {f"documents {one.name}": one.folder.digest for one in datasets if one.folder is not None}
    stored |= {"testbeds": ",".join(names or ["all"]), "repeats": str(spec.repeats)}
    stored |= {} if shard is None else {SETTING: str(shard)}
    stored |= {"until": "; ".join(spec.until)} if spec.until else {}
    return stored | ({} if spec.preset is None else {"preset": spec.preset})


def read_gates(spec: RunSpec) -> tuple[list[CellSelector], list[str]]:
    """Return the gates that `fail_under` defines, and the scorers that are not built in.

    Raises:
        UsageError: A scorer does not exist, or a gate is invalid.
    """
    names = split(spec.scorer, "scorer")
    if not spec.fail_under and not names:
        return [], []
    from ragbed.analysis.gates import parse_floor
    from ragbed.scoring import SCORERS, open_scorers

    open_scorers(names)
    own = [name for name in names if name not in SCORERS]
    return [parse_floor(text, own) for text in spec.fail_under], own


def _open_rule(spec: RunSpec, floors: Sequence[CellSelector], models: int) -> MonitoringRule | None:
    """Return the rule that stops a run once the conditions of `until` are met."""
    if not spec.until:
        return None
    if spec.shard is not None:
        raise UsageError(
            f"{option('until')} cannot be combined with {option('shard')}, because each shard would stop "
            "independently. Remove one of them."
        )
    from ragbed.analysis.stopping import MonitoringRule, parse_conditions

    return MonitoringRule(parse_conditions(spec.until, floors), spec.repeats, models)


def _sampling(spec: RunSpec) -> Sampling:
    """Return the spec's sampling parameters; missing values come from the preset or the defaults."""
    if spec.preset is not None and spec.preset not in PRESETS:
        raise UnknownName("preset", spec.preset, PRESETS)
    sampling = apply_options(Sampling() if spec.preset is None else PRESETS[spec.preset].sampling, spec)
    if spec.top_p is not None:
        sampling = structs.replace(sampling, top_p=spec.top_p)
    has_own_limit = spec.preset is not None and spec.max_tokens is None
    return with_limit(sampling, sampling.max_tokens if has_own_limit else spec.max_tokens)


def _identify(strategy: str) -> str:
    """Return a strategy with the hash of its texts or its code, which must not change when a run is resumed."""
    found = identify_strategy(strategy)
    return f"{found} {identify(load_function(strategy))}" if strategy.startswith(FUNCTION) else found


def _stored_sampling(sampling: Sampling, spec: RunSpec) -> dict[str, str]:
    """Return the request settings that are set."""
    limit = AUTO if sampling.raises_limit else str(sampling.max_tokens)
    temperature = NONE if sampling.temperature is None else str(sampling.temperature)
    stored = {"temperature": temperature, "top_p": str(sampling.top_p), "max_tokens": limit}
    options = {name: getattr(spec, name) for name in ("reasoning_effort", "thinking", "seed_model")}
    stored |= {name: str(value) for name, value in options.items() if value is not None}
    return stored | ({"extra_body": json.encode(spec.extra_body, order="sorted").decode()} if spec.extra_body else {})


def _new_folder(model: str) -> Path:
    """Return a new folder; the random suffix distinguishes runs that start in the same second."""
    from ragbed.runs.display_names import short_names

    shown = without_credentials(model)
    short = re.sub(r"[^A-Za-z0-9.]+", "-", short_names([shown])[shown]).strip("-")[:40]
    return Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S}-{short}-{os.urandom(2).hex()}"


_SYSTEMS = ("factory/", "python/", "http/", "system/")


def _read_settings(spec: RunSpec, sources: Sequence[ModelSource]) -> tuple[list[str] | None, Settings]:
    """Return the testbeds (None for the defaults) and the settings of a run.

    With documents, systems are evaluated in own-rag by default.

    Raises:
        UsageError: An option is invalid, or applies only to a testbed that is not run.
    """
    names, settings = read_layout(spec)
    factories = [
        source.name.startswith("factory/") or (isinstance(source.value, System) and source.value.is_factory)
        for source in sources
    ]
    are_systems = any(isinstance(one.value, System) or one.name.startswith(_SYSTEMS) for one in sources)
    if names is None and are_systems and (spec.docs is not None or spec.corpus is not None or any(factories)):
        names = [NAME]
    if NAME in (names or ()):
        if spec.corpus is None and all(factories):
            settings = replace(settings, corpora=(CLEAN, WITHHELD))
    elif spec.corpus is not None:
        refuse_unused("corpus", f"it applies to the testbed own-rag. Add {option('testbeds', NAME)}")
    if spec.search is not None and "search" not in (names or ()):
        raise UsageError(
            f"{option('search', spec.search)} has no effect without the `search` testbed. Add "
            f"{option('testbeds', 'search')}."
        )
    return names, replace(settings, search=parse_search(spec.search))


# Seed for generating the synthetic news that is added to reach large corpus sizes. Another seed would change the
# corpora, but not their names.
_SEED = 20_231_218
_ITEMS = 1_000


def _open_search_corpora(datasets: Iterable[Dataset], settings: Settings) -> dict[tuple[str, str], SearchCorpus]:
    """Return the search corpora by dataset name and ID; each index is built when its corpus is first searched."""
    from ragbed.retrieval.passage_index import LexicalIndex

    corpora = corpora_of(datasets, settings)
    for corpus in corpora.values():
        corpus.open(LexicalIndex, generated_sentences, settings.search.calls)
    return corpora


def _check_search_models(models: Sequence[Model], spec: RunSpec, settings: Settings) -> None:
    """Check that all models can call the search tool.

    Raises:
        UsageError: A model cannot be evaluated with the testbed.
    """
    from ragbed.models.base import is_system

    if spec.batch:
        raise UsageError(
            f"{option('batch')} cannot be combined with {option('testbeds', 'search')}, which takes several turns per "
            "case. Remove one of them."
        )
    for model in models:
        if getattr(model, "replays", False):
            continue
        script = model.name.removeprefix("scripted/")
        if model.name.startswith(("http/", "baseline/")) or (script != model.name and not script.startswith("search-")):
            raise UsageError(
                f"{model.name} cannot call the search tool. Use a language model, a python/… system, ragbed.system, or "
                "scripted/search-once."
            )
        if is_system(model) and spec.engine != "local":
            raise UsageError(
                f"{model.name} calls the search tool in the current process, so {option('testbeds', 'search')} "
                f"requires {option('engine', 'local')}."
            )
        calls_tools = getattr(model, "calls_tools", False)
        if settings.search.protocol == "tools" and not calls_tools and not is_system(model):
            raise UsageError(
                f"{model.name} does not support tool calls with this provider. Use {option('search', 'protocol=text')}."
            )


@cache
def generated_sentences(lang: Lang) -> Sequence[str]:
    """Return sentences from synthetic news articles that are not part of any dataset."""
    from ragbed.synth import SynthSpec, make_items

    spec = SynthSpec(seed=_SEED, lang=lang, supports=5, distractors=5)
    texts = (passage.text for item in make_items(spec, "base", 0, _ITEMS) for passage in item.passages)
    found = (text[start:end].strip() for text in texts for start, end in split_sentences(text))
    return list(dict.fromkeys(filter(None, found)))
