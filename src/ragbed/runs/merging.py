"""Merge shards, or runs from several machines, into one run."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ragbed.errors import RagbedError, UsageError, option
from ragbed.runs.batch_records import read_batches
from ragbed.runs.decided import keep_decided, read_conditions
from ragbed.runs.lock import hold, holder
from ragbed.runs.sharding import SETTING, check_shards
from ragbed.runs.store import FINISHED_SESSION, LOSE, NOTE, REPLACED, CallKey, RunStore, StoredResult, open_store
from ragbed.schema import Case
from ragbed.testbeds.settings import show_setting


@dataclass
class Merged:
    """The counts from a merge; `twice` counts identical results that occur in more than one run."""

    cases: int = 0
    results: int = 0
    twice: int = 0


def merge(parts: Sequence[Path], folder: Path) -> Merged:
    """Merge several runs into one within a single transaction.

    Raises:
        UsageError: The parts do not belong to the same run, or two of them have different results for a case.
    """
    with ExitStack() as stack:
        for part in parts:
            if (process := holder(part)) is not None:
                raise RagbedError(f"{part} is in use by process {process}. Wait until that process has finished.")
        sources = [stack.enter_context(open_store(part, create=False)) for part in parts]
        for source in sources:
            if read_batches(source):
                raise RagbedError(
                    f"{source.path.parent} has batches in progress. Rerun its command to collect their results, then "
                    "merge the runs."
                )
        settings = _common_settings(parts, [source.settings() for source in sources])
        check_shards([(one.settings().get(SETTING), dict(one.models().values())) for one in sources])
        stack.enter_context(hold(folder))
        target = stack.enter_context(open_store(folder, create=True))
        if target.is_planned():
            raise UsageError(f"{folder} already contains a run. Choose a new folder for {option('out')}.")
        merged = Merged()
        with target.transaction():
            _copy(sources, target, settings, merged)
    return merged


def _common_settings(parts: Sequence[Path], all_settings: Sequence[dict[str, str]]) -> dict[str, str]:
    first, *others = ({name: value for name, value in one.items() if name != SETTING} for one in all_settings)
    for part, other in zip(parts[1:], others, strict=True):
        for name in sorted(first.keys() | other.keys()):
            old, new = first.get(name), other.get(name)
            if old != new:
                raise UsageError(
                    f"{parts[0]} was created with {show_setting(name, old)}, but {part} was created with "
                    f"{show_setting(name, new)}; only runs with the same settings can be merged."
                )
    return first


def _copy(sources: Sequence[RunStore], target: RunStore, settings: dict[str, str], merged: Merged) -> None:
    for source in sources:
        target.add_cases(_new_cases(source, target, merged))
    target.add_finished(settings)
    target.connection.executemany(NOTE, _notes(sources))
    for part, source in enumerate(sources):
        models = _add_models(target, source)
        for at, (model, usage) in enumerate(source.replaced_usage()):
            key = f"{REPLACED}{models[model]}.{part}.{at}"
            target.connection.execute(NOTE, (key, msgspec.json.encode([usage]).decode()))
        for result in source.results():
            _add(target, models[result.model], result, merged)
        for model, case, repeat in source.orphans() + source.open_calls():
            target.connection.execute(LOSE, (models[model], target.number_of(case), repeat, FINISHED_SESSION, 0.0))
    for source in sources:
        target.connection.executemany(NOTE, _turns(target, source))
    parts = Counter(name for source in sources for name, _ in source.models().values())
    for source in sources:
        # If several parts contain the same model, each part has its own stopping decisions, which do not apply to the
        # merged results.
        keep_decided(target, [one for one in read_conditions(source) if parts[one.model] == 1])


def _turns(target: RunStore, source: RunStore) -> Iterator[tuple[str, str]]:
    """Yield the turns of a part's unfinished cases, unless the merged run has a response or more turns."""
    models = {name: model for model, (name, _) in target.models().items()}
    for number, (name, _) in source.models().items():
        model, known = models[name], target.turns(models[name])
        for (case, repeat), turns in source.turns(number).items():
            ((case_name,),) = source.read("SELECT name FROM cases WHERE id = ?", (case,))
            call = CallKey(model, target.number_of(case_name), repeat)
            query = "SELECT 1 FROM results WHERE model = ? AND item = ? AND repeat = ? AND outcome != 'error'"
            if list(target.read(query, (model, call.number, repeat))):
                continue
            if len(turns) > len(known.get((call.number, repeat), [])):
                yield from ((call.turn_key(at), msgspec.json.encode(turn).decode()) for at, turn in enumerate(turns))


def _notes(sources: Sequence[RunStore]) -> Iterator[tuple[str, str]]:
    """Yield the models' display names, the parameters sent to them and the model names reported by their servers."""
    served: dict[str, list[str]] = {}
    for source in reversed(sources):
        yield from ((f"name.{model}", name) for model, name in source.names().items())
        yield from ((f"price.{model}", amounts) for model, amounts in source.meta("price.").items())
        yield from ((f"sent.{model}", sent) for model, sent in source.meta("sent.").items())
    for source in sources:
        for model, reported in source.served().items():
            served[model] = list(dict.fromkeys([*served.get(model, ()), *reported]))
    yield from ((f"served.{model}", msgspec.json.encode(reported).decode()) for model, reported in served.items())


def _add_models(target: RunStore, source: RunStore) -> dict[str, int]:
    """Add the models of a part, and return their numbers in the merged run."""
    known = dict(target.models().values())
    try:
        # A server may report no identity in one of the parts.
        models = [(name, identity or known.get(name, "")) for name, identity in source.models().values()]
        return {model[0]: target.add_models([model])[0] for model in models}
    except UsageError as error:
        raise UsageError(
            f"a model of {source.path.parent} differs from the model with the same name in another run. Merge only "
            "runs of the same model."
        ) from error


def _new_cases(source: RunStore, target: RunStore, merged: Merged) -> Iterator[Case]:
    """Yield the cases that are not in any earlier part; raise a UsageError if a case differs between parts."""
    for case in source.cases():
        known = list(target.read("SELECT line FROM cases WHERE name = ?", (case.case,)))
        if not known:
            merged.cases += 1
            yield case
        elif replace(msgspec.json.decode(known[0][0], type=Case), reason=None) != replace(case, reason=None):
            raise UsageError(
                f"the case {case.case} in {source.path.parent} differs from the case with the same name in another "
                "run: the documents or the prompts differ. Merge only runs that were created from the same data."
            )


def _add(target: RunStore, model: int, result: StoredResult, merged: Merged) -> None:
    old = target.result(model, result.case.case, result.repeat)
    if old is None:
        merged.results += 1
    else:
        merged.twice += 1
        compared = operator.attrgetter("outcome", "reply", "reasoning", "finish")  # times are ignored
        has_both = "error" not in (old.completion.outcome, result.completion.outcome)
        if has_both and compared(old.completion) != compared(result.completion):
            trial = f"{result.model}, case {result.case.case}, repeat {result.repeat}"
            raise UsageError(
                f"two of these runs contain different responses for {trial}. Merge only runs with different cases or "
                "models."
            )
        if result.completion.outcome == "error":
            return
    target.add_result(model, result)
