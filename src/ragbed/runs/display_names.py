"""Short model names for tables, charts and pages; stored and exported data use the full model string."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ragbed.errors import UsageError, option
from ragbed.runs.database import NAME
from ragbed.runs.sharding import SETTING
from ragbed.runs.store import open_store

_REVISION = re.compile(r"(?<=@)([0-9a-f]{7})[0-9a-f]{33}$")
_PART = re.compile(r"[\w.@:+~ -]+")
_WEIGHTS = ".gguf"
# Settings that select cases or are part of a row's condition. Results with other values of all other settings, e.g. the
# seed, the temperature or the token limit, are not combined.
_CASE_SETTINGS = {"arms", "correct", "docs", "lang", "limit", "noise", "profile", "remedies", "repeats", "testbeds"}
_CASE_SETTINGS |= {"until", SETTING}


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


class RowNames(NamedTuple):
    """The names of the models in the tables on one or more runs.

    Attributes:
        labels: The label under which a run's results of a model are counted, by run and model string. It is the model
            string, or `RUN:MODEL` if the runs evaluated the model with different settings.
        shown: Unique display names by label.
    """

    labels: Mapping[tuple[Path, str], str]
    shown: Mapping[str, str]

    def of(self, folder: Path, model: str) -> str:
        """Return the display name of a run's model."""
        return self.shown[self.labels[folder, model]]


def read_row_names(folders: Sequence[Path]) -> RowNames:
    """Return the names of all models in the given runs.

    Results of several runs have the same label only if the model and its settings are the same. If the server of a
    model reported several models, its display name lists them.
    """
    rows: dict[tuple[str, object], list[Path]] = {}
    served: dict[tuple[Path, str], list[str]] = {}
    given: dict[str, str] = {}
    for folder in dict.fromkeys(folders):
        with open_store(folder, create=False) as store:
            given = store.names() | given
            settings = {
                name: value
                for name, value in store.settings().items()
                if name not in _CASE_SETTINGS and not name.startswith(("data ", "file ", "published "))
            }
            reported = store.served()
            for model, identity in store.models().values():
                served[folder, model] = reported.get(model, [])
                key = (identity, tuple(sorted(settings.items())), tuple(sorted(served[folder, model])))
                rows.setdefault((model, key), []).append(folder)
    short, counts = short_names((model for model, _ in rows), given), Counter(model for model, _ in rows)
    labels: dict[tuple[Path, str], str] = {}
    shown: dict[str, str] = {}
    for (model, _), found in rows.items():
        run, several = f"{found[0]}:" if counts[model] > 1 else "", served[found[0], model]
        shown[run + model] = run + short[model] + (f" ({', '.join(several)})" if len(several) > 1 else "")
        labels |= {(folder, model): run + model for folder in found}
    return RowNames(labels, shown)


def name_by_run(models: Sequence[tuple[Path, str]]) -> list[str]:
    """Return a unique name for each model of a run: the model, or `RUN:MODEL` if several runs have it."""
    counts = Counter(model for _, model in models)
    return [model if counts[model] == 1 else f"{run}:{model}" for run, model in models]


def read_names(folders: Sequence[Path]) -> Mapping[str, str]:
    """Return the display names of all models in the given runs, by label (see `RowNames`)."""
    return read_row_names(folders).shown


def describe_served(model: str, served: Sequence[str]) -> str:
    """Return a sentence that lists the models that a server has served under the same name."""
    return f"The server for {model} served several models: {', '.join(served)}."


def split_run(named: str) -> tuple[Path, str]:
    """Split `RUN:MODEL` into the run, which is a folder or an archive, and the model, which may be empty.

    Both may contain colons, so the run ends at the first colon that follows an existing path.
    """
    for at, character in enumerate(named):
        if character == ":" and ((run := Path(named[:at])).is_file() or (run / NAME).is_file()):
            return run, named[at + 1 :]
    return Path(named), ""


def require_one_served(folder: Path, models: Iterable[str]) -> None:
    """Check that the server of each model reported only one model during a run.

    Raises:
        UsageError: A server reported several models.
    """
    with open_store(folder, create=False) as store:
        served = store.served()
    for model in models:
        if len(several := served.get(model, [])) > 1:
            raise UsageError(
                f"{describe_served(model, several)} {folder} cannot be compared or checked by a gate. Choose a "
                f"model version that does not change, and another {option('out')}."
            )
