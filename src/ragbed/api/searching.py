"""Open the resources of the `search` testbed: the corpora with their indexes, and the episode factory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ragbed.errors import UsageError, option
from ragbed.schema import Lang
from ragbed.testbeds.search.corpora import corpora_of
from ragbed.testbeds.search.settings import parse_search
from ragbed.text import split_sentences

if TYPE_CHECKING:
    from ragbed.api.spec import RunSpec
    from ragbed.data import Dataset
    from ragbed.models.base import Model
    from ragbed.testbeds.search.corpora import SearchCorpus
    from ragbed.testbeds.settings import Settings

# Seed for generating the synthetic news that is added to reach large corpus sizes. Another seed would change the
# corpora, but not their names.
_SEED = 20_231_218
_ITEMS = 1_000


def read_search(spec: RunSpec, names: Sequence[str] | None, settings: Settings) -> Settings:
    """Return the settings, updated with the values of the `search` option.

    Raises:
        UsageError: A setting is invalid, or the testbed is not run.
    """
    if spec.search is not None and "search" not in (names or ()):
        raise UsageError(
            f"{option('search', spec.search)} has no effect without the `search` testbed. Add "
            f"{option('testbeds', 'search')}."
        )
    return replace(settings, search=parse_search(spec.search))


def open_search_corpora(datasets: Iterable[Dataset], settings: Settings) -> dict[tuple[str, str], SearchCorpus]:
    """Return the search corpora by dataset name and ID; each index is built when its corpus is first searched."""
    from ragbed.retrieval.passage_index import LexicalIndex

    corpora = corpora_of(datasets, settings)
    for corpus in corpora.values():
        corpus.open(LexicalIndex, generated_sentences, settings.search.calls)
    return corpora


def check_search_models(models: Sequence[Model], spec: RunSpec, settings: Settings) -> None:
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
