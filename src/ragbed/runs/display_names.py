"""Short model names for tables, charts and pages; stored and exported data use the full model string."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ragbed.runs.rows import StoredResult
from ragbed.runs.store import RunStore, open_store

_REVISION = re.compile(r"(?<=@)([0-9a-f]{7})[0-9a-f]{33}$")
_PART = re.compile(r"[\w.@:+~ -]+")
_WEIGHTS = ".gguf"


def short_names(models: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a unique display name for each model.

    If the user has named a model (`--model NAME=…`), that name is used. Otherwise, a path or repository is shortened to
    its last part without `.gguf`, a URL is shown without its scheme, and anything else is unchanged. Names that would
    be equal include as many of the preceding parts as are needed to distinguish them.

    Args:
        models: Model strings.
        given: User-defined names by model string.
    """
    known = dict.fromkeys(models)
    names = {model: [given[model]] if given and model in given else _candidates(model) for model in known}
    length = dict.fromkeys(known, 0)
    while True:
        shown = {model: names[model][length[model]] for model in known}
        counts = Counter(shown.values())
        longer = [model for model in known if counts[shown[model]] > 1 and length[model] + 1 < len(names[model])]
        if not longer:
            return {model: name if counts[name] == 1 else f"{name} ({model})" for model, name in shown.items()}
        for model in longer:
            length[model] += 1


def _candidates(model: str) -> list[str]:
    """Return candidate names for a model, from short to long; the last one is the model string."""
    provider, _, rest = model.partition("/")
    if provider == "http":
        return [rest.partition("://")[2].rstrip("/") or rest.rstrip("/") or model, model]
    parts = [part for part in re.split(r"[/\\]", _REVISION.sub(r"\1", rest)) if part]
    if (len(parts) < 2 and not rest.endswith(_WEIGHTS)) or not all(map(_PART.fullmatch, parts)):
        return [model]
    return ["/".join(parts[-count:]).removesuffix(_WEIGHTS) for count in range(1, len(parts) + 1)] + [model]


def read_names(folders: Sequence[Path]) -> dict[str, str]:
    """Return unique display names for all models in the given runs."""
    models: list[str] = []
    given: dict[str, str] = {}
    for folder in folders:
        with open_store(folder, create=False) as store:
            models += [name for name, _ in store.models().values()]
            given = store.names() | given
    return name_models(models, given, read_served(folders))


def name_models(models: Iterable[str], given: Mapping[str, str], served: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a unique display name for each model, and for each of the models that a server has served as one.

    Args:
        models: Model strings.
        given: User-defined names by model string.
        served: The models that the servers reported, by model string.
    """
    names = short_names(models, given)
    for model, several in served.items():
        if model in names and len(several) > 1:
            names |= {served_name(model, one): served_name(names[model], one) for one in several}
    return names


def pooled_name(model: str, served: Sequence[str]) -> str:
    """Return the display name for a row that counts all models that a server has served under the same name."""
    return served_name(model, ", ".join(served)) if len(served) > 1 else model


def read_served(folders: Sequence[Path]) -> dict[str, list[str]]:
    """Return the models that the servers reported in the given runs, by model string."""
    served: dict[str, list[str]] = {}
    for folder in folders:
        with open_store(folder, create=False) as store:
            for model, names in store.served().items():
                served[model] = list(dict.fromkeys([*served.get(model, ()), *names]))
    return served


def served_name(model: str, served: str) -> str:
    """Return the display name for one of several models that a server has served under the same name."""
    return f"{model} ({served})"


def describe_served(model: str, served: Sequence[str]) -> str:
    """Return a sentence that lists the models that a server has served under the same name."""
    return f"The server for {model} served several models: {', '.join(served)}."


class ServedModels(NamedTuple):
    """The models that a server served under the same name.

    Attributes:
        names: The names in responses.
        rest: The name under which to count results that name none of these models, e.g. most failed calls.
    """

    names: frozenset[str]
    rest: str


def split_by_served(result: StoredResult, split: Mapping[str, ServedModels]) -> str:
    """Return the name under which to count a result. For models in `split`, the name includes the served model."""
    if result.model not in split:
        return result.model
    served, known = result.completion.served, split[result.model]
    return known.rest if served is None or served.model not in known.names else served_name(result.model, served.model)


def changed_models(store: RunStore, served: Mapping[str, Sequence[str]] | None = None) -> dict[str, ServedModels]:
    """Return the models for which the server reported more than one model.

    Results without a served model are counted for the only model served during the run, or for the model string if
    there are several.

    Args:
        store: The run.
        served: The models served during this run and others with which it is shown; by default, those of the run.
    """
    own, changed = store.served(), {}
    for model, several in (own if served is None else served).items():
        if len(several) > 1:
            rest = served_name(model, own[model][0]) if len(own.get(model, ())) == 1 else model
            changed[model] = ServedModels(frozenset(several), rest)
    return changed
