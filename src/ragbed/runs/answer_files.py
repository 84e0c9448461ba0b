"""Files of answers: those of the original code, and plain JSON Lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import msgspec

from ragbed.data import Dataset
from ragbed.errors import UsageError
from ragbed.runs.importing import Answer, Unmatched, numbered_lines
from ragbed.schema import Answer as Slots
from ragbed.schema import Case, Completion, RawAnswer
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.settings import Settings, parse_ratio

_PATTERN = re.compile(
    r"prediction_(?P<rest>.+)_temp(?P<temp>[0-9.]+)_noise(?P<noise>[0-9.]+)_passage(?P<docs>[0-9]+)"
    r"_correct(?P<correct>[0-9.]+)(?:_chatgpt)?\.json"
)
_PUBLISHED = ("en", "zh", "en_int", "zh_int", "en_fact", "zh_fact", "en_refine", "zh_refine")

EntryT = TypeVar("EntryT")


class _Prediction(msgspec.Struct):
    """What we read of a line of the original code."""

    id: int | str
    query: str
    ans: RawAnswer
    prediction: str
    label: list[int] | None = None
    docs: list[str] | None = None


class _Reply(msgspec.Struct):
    """What we read of a plain line."""

    reply: str
    case: str | None = None
    item: int | str | None = None
    noise: float | None = None
    data: str | None = None
    testbed: str | None = None


@dataclass
class RgbFile:
    """One result file of the original code: one model, one dataset, one condition, all told by its name."""

    paths: Sequence[Path]
    model: str
    identity: str
    lay_out: Callable[[], Iterable[Case]]
    _by_item: dict[str, Case] = field(default_factory=dict)

    def cases(self) -> Iterable[Case]:
        """Every item of the dataset under the file's condition."""
        if not self._by_item:
            self._by_item = {case.item: case for case in self.lay_out()}
        return self._by_item.values()

    def entries(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """Its lines."""
        return numbered_lines(path)

    def match(self, entry: bytes) -> Answer:
        """By id, question and answer."""
        told = decode_entry(entry, _Prediction)
        self.cases()
        case = self._by_item.get(str(told.id))
        if case is None:
            raise Unmatched(f"id {told.id} is no item of the data")
        if told.query != case.question:
            raise Unmatched(f"id {told.id} asks {told.query!r}, the data {case.question!r}")
        if _slots(told.ans) != case.answer:
            raise Unmatched(f"id {told.id} expects {told.ans!r}, the data {case.answer!r}")
        label = None if told.label is None else tuple(told.label)
        return Answer(case, _said(told.prediction), label, None if told.docs is None else tuple(told.docs))


@dataclass
class PlainFiles:
    """Files of `{"case", "reply"}` or `{"item", "noise", "reply"}` lines by one model."""

    paths: Sequence[Path]
    model: str
    identity: str
    lay_out: Callable[[], Iterable[Case]]
    _cases: dict[str, Case] = field(default_factory=dict)
    _by_item: dict[tuple[str, float | None], list[Case]] = field(default_factory=dict)

    def cases(self) -> Iterable[Case]:
        """Everything that was asked to be laid out."""
        if not self._cases:
            for case in self.lay_out():
                self._cases[case.case] = case
                self._by_item.setdefault((case.item, case.noise), []).append(case)
        return self._cases.values()

    def entries(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """Their lines."""
        return numbered_lines(path)

    def match(self, entry: bytes) -> Answer:
        """By the name of the case, or by item and noise, narrowed by data and testbed where the line has them."""
        told = decode_entry(entry, _Reply)
        self.cases()
        if told.case is not None:
            if told.case not in self._cases:
                raise Unmatched(f"{told.case} is no case of this layout")
            return Answer(self._cases[told.case], _said(told.reply))
        if told.item is None:
            raise Unmatched("has neither case nor item")
        found = [
            case
            for case in self._by_item.get((str(told.item), told.noise), ())
            if told.data in (None, case.data) and told.testbed in (None, case.testbed)
        ]
        if len(found) != 1:
            which = "no case" if not found else f"{len(found)} cases (name data and testbed, or the case)"
            raise Unmatched(f"item {told.item} with noise {told.noise} is {which} of this layout")
        return Answer(found[0], _said(told.reply))


def open_rgb(path: Path, datasets: Sequence[Dataset], settings: Settings) -> RgbFile:
    """Reads a file's name: `prediction_<data>_<model>_temp<t>_noise<r>_passage<k>_correct<c>.json`.

    Raises:
        UsageError: The name is none of the original code's, or its data are not given.
    """
    found = _PATTERN.fullmatch(path.name)
    if found is None:
        raise UsageError(
            f"{path.name} is not named as the original code does: "
            "prediction_<data>_<model>_temp<t>_noise<r>_passage<k>_correct<c>.json."
        )
    dataset, model = _split(found["rest"], path, datasets)
    docs = int(found["docs"])
    asked = replace(
        settings,
        noise=(parse_ratio(found["noise"], "noise"),),
        num_docs=max(docs, 1),
        correct=(parse_ratio(found["correct"], "correct"),),
    )
    return RgbFile([path], f"rgb/{model}", f"temp {found['temp']}", lambda: _lay_out(dataset, asked, docs))


def _split(rest: str, path: Path, datasets: Sequence[Dataset]) -> tuple[Dataset, str]:
    """Data and model, which are joined by a sign that both may hold: the longest name that is known wins."""
    by_name = {dataset.name: dataset for dataset in datasets}
    for name in sorted({*by_name, *_PUBLISHED}, key=len, reverse=True):
        if rest.startswith(f"{name}_") and len(rest) > len(name) + 1:
            # The original code takes six names only, so that `en_refine` had to be run as `en`.
            dataset = by_name.get(name) or by_name.get(f"{name}_refine")
            if dataset is not None:
                return dataset, rest[len(name) + 1 :]
    raise UsageError(f"{path.name}: its data are not among {', '.join(by_name)}; name them by -d, as NAME=FILE.")


def _lay_out(dataset: Dataset, settings: Settings, docs: int) -> Iterable[Case]:
    if docs == 0:
        yield from TESTBEDS["closed-book"].cases(dataset, settings)
        return
    (noise,) = settings.noise or (Fraction(0),)
    for testbed in TESTBEDS.values():
        if isinstance(testbed, Ability) and testbed.allows(noise, original=True):
            yield from testbed.cases(dataset, settings)


def _said(reply: str) -> Completion:
    return Completion(outcome="ok", reply=reply)


def decode_entry(entry: bytes, kind: type[EntryT]) -> EntryT:
    """An entry, as far as we read it; raises Unmatched."""
    try:
        return msgspec.json.decode(entry, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unmatched(f"cannot be read: {error}") from None


def _slots(raw: RawAnswer) -> Slots:
    if isinstance(raw, str):
        return ((raw,),)
    return tuple((slot,) if isinstance(slot, str) else tuple(slot) for slot in raw)
