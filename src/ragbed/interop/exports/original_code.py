"""Export the result files of the original code: predictions and totals of every condition, with its file names.

The totals have the faults of the original code: failed calls are not counted, correct answers are added to the refusals
if all documents are noise, and refusals count as corrections (`scoring.original_totals`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.runs.store import StoredResult
from ragbed.schema import Answer, Case
from ragbed.scoring import code
from ragbed.scoring.original_totals import original_correction, original_detection, original_rate

_TESTBEDS = ("noise", "rejection", "integration", "counterfactual", "closed-book")  # those of the original code


@dataclass
class _Condition:
    """A file of predictions and the values of its totals."""

    path: Path
    sink: IO[bytes]
    case: Case
    labels: list[tuple[int, ...]] = field(default_factory=list)
    flags: list[bool] = field(default_factory=list)

    def add(self, result: StoredResult) -> None:
        case, reply = result.case, result.completion.reply or ""
        label, flagged = code.label(case, reply), code.flagged(case, reply)
        self.labels.append(label)
        self.flags.append(flagged)
        line = {
            "id": int(case.item) if case.item.isdecimal() else case.item,
            "query": case.question,
            "ans": _rgb_answer(case.answer),
            "label": label,
            "prediction": reply,
            "docs": [document.text for document in case.documents],
            "noise_rate": case.noise or 0.0,
            "factlabel": int(flagged),
        }
        self.sink.write(msgspec.json.encode(line) + b"\n")

    def finish(self) -> None:
        self.sink.close()
        noise = self.case.noise or 0.0
        rate = original_rate(self.labels, noise)
        totals = {"all_rate": rate.value, "noise_rate": noise, "tt": rate.hits, "nums": rate.of}
        if self.case.fake is not None:
            detected, corrected = original_detection(self.flags), original_correction(self.labels, self.flags)
            totals |= {"fact_check_rate": detected.value, "correct_rate": corrected.value or 0}
            totals |= {"fact_tt": detected.hits, "correct_tt": corrected.hits}
        written = msgspec.json.format(msgspec.json.encode(totals), indent=4)
        self.path.with_name(f"{self.path.stem}_result.json").write_bytes(written + b"\n")


def write_folder(run: ExportedRun, folder: Path) -> Written:
    """Write the files of every model, dataset and condition that the original code has."""
    written = Written("trials", leaves_out=True)
    temperature = float(run.store.settings().get("temperature", "0"))
    conditions: dict[str, _Condition] = {}
    skipped = 0
    try:
        for result in run.results(written):
            case = result.case
            if case.testbed not in _TESTBEDS or case.arm != "related" or case.rotation or result.repeat:
                skipped += 1
                continue
            name = _name(result, temperature)
            if name not in conditions:
                path = folder / name
                conditions[name] = _Condition(path, open(path, "wb"), case)  # noqa: SIM115 - closed by finish
            conditions[name].add(result)
    finally:
        for condition in conditions.values():
            condition.finish()
    if skipped:
        written.count -= skipped
        written.notes.append(
            f"{skipped:,} trials are left out because the original code does not have their conditions."
        )
    return written


def _name(result: StoredResult, temperature: float) -> str:
    case = result.case
    model = result.model.replace("/", "-")
    profile = "" if case.profile == "robust" else f"-{case.profile}"
    return (
        f"prediction_{case.data}_{model}{profile}_temp{temperature}_noise{case.noise or 0.0}"
        f"_passage{case.k}_correct{case.correct}.json"
    )


def _rgb_answer(answer: Answer) -> list[str | list[str]]:
    """Return an answer in the notation of RGB: a part with one alias is a string."""
    return [aliases[0] if len(aliases) == 1 else list(aliases) for aliases in answer]
