"""Count the verdicts of the robust scorer that change without each of its rules, patterns and word lists.

    python -m benches ablate_scorer [--only quantities] [--sample 150] [--trials 1000] [--rgb DIR]

A function that is left out returns its neutral value (False, nothing, an empty list), a pattern matches nothing, and a
word list is empty. The responses are the labelled ones of `tests/scoring` and trials of `study/recordings`. A part is
tried on a sample of the responses for which it returns something, and the counts are scaled to all responses. `right`
counts labelled responses whose credit is right with the part. The models are not fitted again.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType, GeneratorType, ModuleType
from typing import Any, NamedTuple, get_args

from ragbed.schema import Case, Lang
from ragbed.scoring import robust
from ragbed.scoring.robust.patterns import lazy
from ragbed.scoring.robust.verdict import judge
from scripts.record.verdicts import read_rows_of_all_sets
from study.cases import match_cases, open_data
from study.recordings import read_recording, recording_paths
from tests.scoring.robust.adversarial_cases import read_cases

MODULES = [import_module(f"ragbed.scoring.robust.{each.name}") for each in iter_modules(robust.__path__)]
SKIPPED = frozenset({"model", "features", "patterns"})  # the models have no rules
NEUTRAL = {
    "bool": False,
    "str": "",
    "int": 0,
    "list": [],
    "tuple": (),
    "Iterator": (),
    "frozenset": frozenset(),
    "set": set(),
}
NOTHING = lazy("(?!)")


class Response(NamedTuple):
    """A response with its case, and whether it is correct; trials have no label."""

    case: Case
    text: str
    correct: bool | None = None

    def scores(self) -> tuple[object, ...]:
        """Return the scores, or the error that a scorer without one of its rules raises."""
        try:
            return judge(self.case, self.text)[:7]
        except Exception as error:  # any exception is possible
            return (type(error).__name__,)


def read_responses(rgb: Path | None, count: int) -> Iterator[Response]:
    """Yield all labelled responses, and recorded trials, of which each recording has the same share."""
    yield from (Response(case, text, labels["correct"]) for _, case, text, labels in read_rows_of_all_sets())
    for lang in get_args(Lang):
        for name in ("adversarial", "phrasings", "training"):
            yield from (Response(each.case, each.reply, each.correct) for each in read_cases(lang, name))
    with open_data(rgb) as folders:
        recordings = [(each, folders.find(each)) for each in map(read_recording, recording_paths())]
        step = max(1, sum(len(each.trials) for each, data in recordings if data) // max(1, count))
        for recording, data in recordings:
            for case, trial in islice(match_cases(recording, data), 0, None, step) if data else ():
                if isinstance(trial.reply, str):
                    yield Response(case, trial.reply)


class Rule(NamedTuple):
    """A function, pattern or word list of the scorer, with the value that replaces it."""

    module: ModuleType
    name: str
    without: Any

    def replace(self, value: Any) -> Callable[[], None]:  # noqa: ANN401 - rules have many types
        """Replace the rule in all modules, forget prepared answers, and return a function that restores it."""
        own = getattr(self.module, self.name)
        places = [(module, key) for module in MODULES for key, other in vars(module).items() if other is own]

        def put(new: Any) -> None:  # noqa: ANN401
            for module, key in places:
                setattr(module, key, new)
            clear_caches()

        put(value)
        return lambda: put(own)

    def watched(self, seen: Callable[[], None]) -> Any:  # noqa: ANN401
        """Return a copy of a function or pattern that calls `seen` whenever it returns something."""
        own = getattr(self.module, self.name)

        def call(*given: Any, **named: Any) -> Any:  # noqa: ANN401
            value = own(*given, **named)
            found = list(value) if isinstance(value, GeneratorType) else value
            if found:
                seen()
            return iter(found) if isinstance(value, GeneratorType) else value

        return call if callable(own) else _WatchedPattern(own, seen)


class _WatchedPattern:
    def __init__(self, pattern: Any, seen: Callable[[], None]) -> None:  # noqa: ANN401
        self._watched, self._seen = pattern, seen

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        def search(*given: Any) -> Any:  # noqa: ANN401
            value = getattr(self._watched, name)(*given)
            found = list(value) if name == "finditer" else value
            if (found != given[1]) if name == "sub" else found:
                self._seen()
            return iter(found) if name == "finditer" else value

        return search


def find_rules(only: Sequence[str]) -> Iterator[Rule]:
    """Yield the functions, patterns and word lists of the scorer."""
    for module in MODULES:
        name = module.__name__.rpartition(".")[2]
        for key, value in list(vars(module).items()) if name in (only or {name} - SKIPPED) else ():
            if isinstance(value, FunctionType) or hasattr(value, "__wrapped__"):
                returned = str(value.__annotations__.get("return", ""))
                neutral = None if "None" in returned else NEUTRAL.get(re.split(r"[\[ ]", returned)[0])
                if value.__module__ == module.__name__ and (neutral is not None or "None" in returned):
                    yield Rule(module, key, partial(_return, neutral))
            elif hasattr(value, "_pattern") or hasattr(value, "_english"):
                yield Rule(module, key, NOTHING)
            elif key.isupper() and isinstance(value, frozenset | dict) and value:
                yield Rule(module, key, type(value)())


def _return(value: Any, *_: Any, **__: Any) -> Any:  # noqa: ANN401
    return value


def clear_caches() -> None:
    """Forget prepared answers, which depend on the rules."""
    for value in (value for module in MODULES for value in list(vars(module).values())):
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def main() -> None:
    """Print a table of all rules with the number of verdicts that change without them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="modules of the scorer; all if omitted")
    parser.add_argument("--sample", type=int, default=150, help="labelled responses and trials tried per rule")
    parser.add_argument("--trials", type=int, default=1000, help="recorded trials")
    parser.add_argument("--rgb", type=Path, help="folder of RGB's data, for its recordings")
    options = parser.parse_args()
    responses, rules = list(read_responses(options.rgb, options.trials)), list(find_rules(options.only))
    used = [set[int]() for _ in rules]
    at = 0
    restore = []
    for rule, own in zip(rules, used, strict=True):
        if isinstance(getattr(rule.module, rule.name), frozenset | dict):
            own.update(range(len(responses)))
        else:
            restore.append(rule.replace(rule.watched(lambda own=own: own.add(at))))
    for at, response in enumerate(responses):  # noqa: B007 - the watched rules read the number
        clear_caches()
        response.scores()
    for undo in reversed(restore):
        undo()
    before = [response.scores() for response in responses]
    print("| rule | used | labelled responses changed | right | trials changed |\n|---|---|---|---|---|")
    for rule, own in zip(rules, used, strict=True):
        print(_row(rule, sorted(own), responses, before, options.sample), flush=True)


def _row(rule: Rule, used: list[int], responses: Sequence[Response], before: Sequence[Any], size: int) -> str:
    undo, cells = rule.replace(rule.without), []
    for is_trial in (False, True):
        group = [at for at in used if (responses[at].correct is None) == is_trial]
        tried = random.Random(0).sample(group, min(size, len(group)))
        changed = [at for at in tried if responses[at].scores() != before[at]]
        right = [at for at in changed if bool(before[at][1]) == responses[at].correct]
        scale = len(group) / max(1, len(tried))
        cells += (
            [f"{len(changed) * scale:.0f}"] if is_trial else [f"{len(each) * scale:.0f}" for each in (changed, right)]
        )
    undo()
    return f"| {rule.module.__name__.rpartition('.')[2]}.{rule.name} | {len(used)} | {' | '.join(cells)} |"
