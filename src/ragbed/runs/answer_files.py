"""Read answer files: result files from RGB's original code, and JSON Lines files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import get_args

import msgspec

from ragbed.data import Dataset
from ragbed.data.rgb import to_slots
from ragbed.errors import UsageError, option
from ragbed.models.base import completed
from ragbed.runs.importing import Answer, AnswerSource, Unmatched, decode_entry
from ragbed.schema import Case, Completion, Outcome, RawAnswer
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.settings import Settings, parse_ratio

_PATTERN = re.compile(
    r"prediction_(?P<rest>.+)_temp(?P<temp>[0-9.]+|none)_noise(?P<noise>[0-9.]+)_passage(?P<docs>[0-9]+)"
    r"_correct(?P<correct>[0-9.]+)(?:_chatgpt)?\.json"
)
_TOTALS = ("_result.json", "_chatgptresult.json")  # endings of the original code's files with totals, without answers
_ORIGINAL = ("noise", "rejection", "integration", "counterfactual")  # the testbeds of the original code with documents
_PUBLISHED = ("en", "zh", "en_int", "zh_int", "en_fact", "zh_fact", "en_refine", "zh_refine")


class _Prediction(msgspec.Struct):
    id: int | str
    query: str
    ans: RawAnswer
    prediction: str
    label: list[int] | None = None
    docs: list[str] | None = None


class _Reply(msgspec.Struct):
    reply: str | None
    case: str | None = None
    item: int | str | None = None
    noise: float | None = None
    data: str | None = None
    testbed: str | None = None
    # The fields of an exported trial. Files of other programs may use some of these names for something else.
    model: object = None
    outcome: object = None
    finish: object = None
    error: object = None
    attempts: object = None
    scores: object = msgspec.UNSET  # null for failed cases

    @property
    def is_exported(self) -> bool:
        """Whether the line was written by `ragbed export`."""
        return self.outcome in get_args(Outcome) and isinstance(self.attempts, int) and self.scores is not msgspec.UNSET

    def completion(self) -> Completion:
        """Return the response with the outcome of the exported trial, or raise Unmatched if there is none."""
        outcome = self.outcome if self.is_exported else None
        finish = self.finish if self.is_exported and isinstance(self.finish, str) else None
        if outcome == "error" and isinstance(self.error, str):
            return Completion(outcome="error", error=self.error)
        if outcome == "filtered":
            return Completion(outcome="filtered", reply=self.reply, finish=finish)
        if self.reply is None:
            raise Unmatched("the line has no response: its `reply` field is null")
        completion = completed(self.reply, finish, None)
        return msgspec.structs.replace(completion, outcome="truncated") if outcome == "truncated" else completion


class RgbFile(AnswerSource):
    """A result file written by RGB's original code; the file name specifies the model, dataset and condition."""

    @cached_property
    def _by_item(self) -> dict[str, Case]:
        return {case.item: case for case in self.cases().values()}

    def match(self, entry: bytes) -> Answer:
        """Match a prediction to a case by ID, question and answer."""
        found = decode_entry(entry, _Prediction)
        case = self._by_item.get(str(found.id))
        if case is None:
            raise Unmatched(f"the dataset has no item with the ID {found.id}")
        if found.query != case.question:
            raise Unmatched(
                f"item {found.id} has the question {found.query!r} in this file, but {case.question!r} in the dataset"
            )
        if to_slots(found.ans) != case.answer:
            raise Unmatched(
                f"item {found.id} has the answer {found.ans!r} in this file, but {case.answer!r} in the dataset"
            )
        label = None if found.label is None else tuple(found.label)
        docs = None if found.docs is None else tuple(found.docs)
        return Answer(case, Completion(outcome="ok", reply=found.prediction), label, docs)


class PlainFiles(AnswerSource):
    """One model's JSON Lines files; a line has the fields `case` and `reply`, or `item`, `noise` and `reply`."""

    _exported: object = None  # the model of the exported trials

    @cached_property
    def _by_item(self) -> dict[tuple[str, float | None], list[Case]]:
        by_item = defaultdict(list)
        for case in self.cases().values():
            by_item[case.item, case.noise].append(case)
        return by_item

    def match(self, entry: bytes) -> Answer:
        """Match a line to a case by case name, or else by item, noise ratio and, if given, dataset and testbed."""
        line = decode_entry(entry, _Reply)
        if line.is_exported:
            self._exported = self._exported or line.model
            if line.model != self._exported:
                raise UsageError(
                    f"these files contain responses from several models ({self._exported}, {line.model}). Export each "
                    "model with `ragbed export RUN --model MODEL`, and import its file into its own run."
                )
        completion = line.completion()
        if line.case is not None:
            if line.case not in self.cases():
                raise Unmatched(f"no case named {line.case} exists with these settings")
            return Answer(self.cases()[line.case], completion)
        if line.item is None:
            raise Unmatched("the line has neither a `case` nor an `item` field")
        found = [
            case
            for case in self._by_item.get((str(line.item), line.noise), ())
            if line.data in (None, case.data) and line.testbed in (None, case.testbed)
        ]
        if len(found) != 1:
            which = f"{len(found)} cases (specify data and testbed, or the case)" if found else "no case"
            raise Unmatched(f"with these settings, item {line.item} (noise {line.noise}) matches {which}")
        return Answer(found[0], completion)


def without_totals(paths: Sequence[Path]) -> list[Path]:
    """Return the paths without the files of totals, which the original code writes next to its result files.

    Raises:
        UsageError: All files contain totals.
    """
    kept = [path for path in paths if not path.name.endswith(_TOTALS)]
    if not kept:
        raise UsageError(
            f"{paths[0].name} contains the original code's totals, not its answers. Import the file with the same name "
            "but without _result."
        )
    return kept


def open_rgb(path: Path, datasets: Sequence[Dataset], settings: Settings) -> RgbFile:
    """Open a result file named `prediction_<data>_<model>_temp<t>_noise<r>_passage<k>_correct<c>.json`.

    Raises:
        UsageError: The file name has a different form, or its dataset is not given.
    """
    found = _PATTERN.fullmatch(path.name)
    if found is None:
        raise UsageError(
            f"{path.name} does not match the naming pattern of the original code's result files. Rename it to "
            "prediction_<data>_<model>_temp<t>_noise<r>_passage<k>_correct<c>.json."
        )
    dataset, model = _split(found["rest"], path, datasets)
    docs = int(found["docs"])
    condition = replace(
        settings,
        noise=(parse_ratio(found["noise"], "noise"),),
        num_docs=(max(docs, 1),),
        correct=(parse_ratio(found["correct"], "correct"),),
    )
    return RgbFile([path], f"rgb/{model}", f"temp {found['temp']}", lambda: _generate(dataset, condition, docs))


def _split(rest: str, path: Path, datasets: Sequence[Dataset]) -> tuple[Dataset, str]:
    """Split a file name after the longest known dataset name; dataset and model names may contain the separator."""
    by_name = {dataset.name: dataset for dataset in datasets}
    for name in sorted({*by_name, *_PUBLISHED}, key=len, reverse=True):
        if rest.startswith(f"{name}_") and len(rest) > len(name) + 1:
            # The original code accepts only six dataset names, so users have to run `en_refine` under the name `en`.
            dataset = by_name.get(name) or by_name.get(f"{name}_refine")
            if dataset is not None:
                return dataset, rest[len(name) + 1 :]
    raise UsageError(
        f"{path.name} contains answers for a dataset that is not one of {', '.join(by_name)}. Add "
        f"that dataset with {option('data', 'NAME=FILE')}."
    )


def _generate(dataset: Dataset, settings: Settings, docs: int) -> Iterable[Case]:
    (noise,) = settings.noise or (Fraction(0),)
    for testbed in TESTBEDS.values():
        if docs == 0:
            fits = testbed.name == "closed-book"
        else:
            fits = testbed.name in _ORIGINAL and isinstance(testbed, Ability) and testbed.allows(noise, original=True)
        if fits:
            yield from testbed.cases(dataset, settings)
