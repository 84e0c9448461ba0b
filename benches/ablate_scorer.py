"""Count the verdicts of the robust scorer that change without each of its rules, patterns and word lists.

    python -m benches ablate_scorer [--only quantities] [--sample 150] [--trials 1000] [--rgb DIR]

A function that is left out returns its neutral value (False, nothing, an empty list), a pattern matches nothing, and a
word list is empty. The responses are the labelled ones of `tests/scoring` and trials of `study/recordings`. A part is
tried on a sample of the responses for which it returns something, and the counts are scaled to all responses. `right`
counts labelled responses whose credit is right with the part. The models are not fitted again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from importlib import import_module
from itertools import islice
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType, GeneratorType, ModuleType
from typing import Any, NamedTuple, get_args

from benches import ROOT
from benches.scorer_rows import Part, read_final_labels, read_rows
from ragbed.schema import Case, Lang
from ragbed.scoring import robust
from ragbed.scoring.robust.patterns import lazy
from ragbed.scoring.robust.verdict import judge
from study.cases import match_cases, open_data
from study.recordings import read_recording, recording_paths
from tests.scoring.robust.adversarial_cases import read_cases
from tests.scoring.robust.cases import make_case

MODULES = [import_module(f"ragbed.scoring.robust.{each.name}") for each in iter_modules(robust.__path__)]
SKIPPED = frozenset({"model", "features", "patterns"})  # the models have no rules
NEUTRAL = {"bool": False, "str": "", "int": 0, "list": [], "tuple": (), "frozenset": frozenset(), "set": set()}
NOTHING = lazy("(?!)")
TEXTS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "split")


class Response(NamedTuple):
    """A response with its case, and whether it is correct; trials have no label."""

    case: Case
    text: str
    correct: bool | None = None


class Rule(NamedTuple):
    """A function, pattern or word list of the scorer, with the value that replaces it."""

    module: ModuleType
    name: str
    without: Any

    def replace(self, value: Any) -> Callable[[], None]:  # noqa: ANN401 - rules have many types
        """Replace the rule in all modules, and return a function that restores it."""
        own = getattr(self.module, self.name)
        places = [(module, key) for module in MODULES for key, other in vars(module).items() if other is own]
        for module, key in places:
            setattr(module, key, value)
        return lambda: [setattr(module, key, own) for module, key in places] and None


def read_labelled() -> Iterator[Response]:
    """Yield all labelled responses of the repository."""
    folder = ROOT / "tests" / "scoring"
    for part in get_args(Part):
        labels = read_final_labels(folder / "validation", part)
        for row in read_rows(folder / "validation", part):
            yield Response(row.case(), row.response, labels[row.id]["correct"])
    for lang in get_args(Lang):
        for name in ("adversarial", "phrasings", "training"):
            yield from (Response(each.case, each.reply, each.correct) for each in read_cases(lang, name))
        for line in (folder / "labelled" / f"{lang}.jsonl").read_text("utf-8").splitlines():
            pair = json.loads(line)
            case = make_case(pair["question"], pair["answer"], pair["fake"], lang)
            yield Response(case, pair["reply"], pair["labels"]["correct"])


def read_trials(rgb: Path | None, count: int) -> Iterator[Response]:
    """Yield recorded trials, the same share of each recording."""
    with open_data(rgb) as folders:
        recordings = [(each, folders.find(each)) for each in map(read_recording, recording_paths())]
        step = max(1, sum(len(each.trials) for each, data in recordings if data) // max(1, count))
        for recording, data in recordings:
            for case, trial in islice(match_cases(recording, data), 0, None, step) if data else ():
                if isinstance(trial.reply, str):
                    yield Response(case, trial.reply)


def find_rules(only: Sequence[str]) -> Iterator[Rule]:
    """Yield the functions, patterns and word lists of the scorer."""
    for module in MODULES:
        name = module.__name__.rpartition(".")[2]
        if name in SKIPPED or (only and name not in only):
            continue
        for key, value in list(vars(module).items()):
            is_function = isinstance(value, FunctionType) or hasattr(value, "__wrapped__")
            if is_function and value.__module__ == module.__name__:
                returned = str(value.__annotations__.get("return", ""))
                kind = re.split(r"[\[ ]", returned)[0]
                if kind == "Iterator":
                    yield Rule(module, key, lambda *_, **__: iter(()))
                elif kind in NEUTRAL or "None" in returned:
                    neutral = None if "None" in returned else NEUTRAL[kind]
                    yield Rule(module, key, lambda *_, _value=neutral, **__: _value)
            elif hasattr(value, "_pattern") or hasattr(value, "_english"):
                yield Rule(module, key, NOTHING)
            elif key.isupper() and isinstance(value, frozenset | dict) and value:
                yield Rule(module, key, type(value)())


def watch(rule: Rule, seen: Callable[[], None]) -> Any:  # noqa: ANN401 - rules have many types
    """Return a copy of a function or pattern that calls `seen` whenever it returns something."""
    own = getattr(rule.module, rule.name)
    if not callable(own):
        return None if isinstance(own, frozenset | dict) else _WatchedPattern(own, seen)

    @wraps(own)
    def watched(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        value = own(*given, **named)
        found = list(value) if isinstance(value, GeneratorType) else value
        if found:
            seen()
        return iter(found) if isinstance(value, GeneratorType) else value

    return watched


class _WatchedPattern:
    def __init__(self, pattern: Any, seen: Callable[[], None]) -> None:  # noqa: ANN401
        self._watched, self._seen = pattern, seen

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        method = getattr(self._watched, name)

        def search(*given: Any) -> Any:  # noqa: ANN401
            value = method(*given)
            found = list(value) if name == "finditer" else value
            if (found != given[1]) if name == "sub" else found:
                self._seen()
            return iter(found) if name == "finditer" else value

        return search if name in TEXTS else method


def verdict_of(response: Response) -> tuple[object, ...]:
    """Return the scores of a response, or the error that a scorer without one of its rules raises."""
    try:
        return judge(response.case, response.text)[:7]
    except Exception as error:  # any exception is possible
        return (type(error).__name__,)


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
    labelled = list(read_labelled())
    responses = [*labelled, *read_trials(options.rgb, options.trials)]
    rules, hits, now = list(find_rules(options.only)), dict[int, set[int]](), 0
    restore = []
    for number, rule in enumerate(rules):
        own = hits[number] = set()
        if (watched := watch(rule, lambda own=own: own.add(now))) is not None:
            restore.append(rule.replace(watched))
        else:
            own.update(range(len(responses)))
    for now, response in enumerate(responses):  # noqa: B007 - the watched rules read it
        clear_caches()
        verdict_of(response)
    for undo in reversed(restore):
        undo()
    clear_caches()
    before = [verdict_of(response) for response in responses]
    print("| rule | used | labelled responses changed | right | trials changed |\n|---|---|---|---|---|")
    for number, rule in enumerate(rules):
        print(_row(rule, hits[number], responses, before, len(labelled), options.sample), flush=True)


def _row(
    rule: Rule, used: set[int], responses: Sequence[Response], before: Sequence[Any], labelled: int, size: int
) -> str:
    groups = [[at for at in sorted(used) if at < labelled], [at for at in sorted(used) if at >= labelled]]
    undo, counts, right = rule.replace(rule.without), [], 0.0
    clear_caches()
    for group in groups:
        tried = random.Random(0).sample(group, min(size, len(group)))
        changed = [at for at in tried if verdict_of(responses[at]) != before[at]]
        counts.append(len(changed) * len(group) / max(1, len(tried)))
        right += sum(bool(before[at][1]) == responses[at].correct for at in changed) * len(group) / max(1, len(tried))
    undo()
    clear_caches()
    name = f"{rule.module.__name__.rpartition('.')[2]}.{rule.name}"
    return f"| {name} | {len(used)} | {counts[0]:.0f} | {min(right, counts[0]):.0f} | {counts[1]:.0f} |"
