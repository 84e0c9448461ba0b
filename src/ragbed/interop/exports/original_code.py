"""Export a run in the original code's result format: predictions and totals for every condition.

The files have the same names and bytes as the original code's, so it can resume from them. The totals include its bugs:
failed calls are not counted, correct answers are added to the refusals if all documents are noise, and refusals count
as corrections.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.scoring import code
from ragbed.testbeds.prompts.strategies import MARK

# The testbeds supported by the original code.
_TESTBEDS = ("noise", "rejection", "integration", "counterfactual", "closed-book")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,99}")  # matches the ID of an item that is a number in RGB's files
_IMPORTED = re.compile(r"temp ([0-9.]+|none)")  # matches the identity of a model from an imported file


@dataclass
class _Condition:
    """The predictions file for one condition, with the labels and flags from which the totals are computed."""

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
            "id": int(case.item) if _NUMBER.fullmatch(case.item) else case.item,
            "query": case.question,
            "ans": _rgb_answer(case),
            "label": label,
            "prediction": reply.replace(" ", "") if "zh" in case.data else reply,  # as the original code stores it
            "docs": [document.text for document in case.documents],
            "noise_rate": case.noise or 0.0,
            "factlabel": int(flagged),
        }
        self.sink.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")

    def finish(self) -> None:
        self.sink.close()
        flags = None if self.case.fake is None else self.flags
        written = json.dumps(original_totals(self.labels, flags, self.case.noise or 0.0), ensure_ascii=False, indent=4)
        self.path.with_name(f"{self.path.stem}_result.json").write_bytes(written.encode())


def write_folder(run: ExportedRun, folder: Path) -> Written:
    """Write the result files for each model and dataset, covering all conditions that the original code supports."""
    written = Written("trials", leaves_out=True)
    settings, identities = run.store.settings(), dict(run.store.models().values())
    conditions: dict[str, _Condition] = {}
    skipped = 0
    try:
        for result in run.results(written):
            case = result.case
            if case.testbed not in _TESTBEDS or case.arm != "related" or case.rotation or result.repeat:
                skipped += 1
                continue
            name = _file_name(result, settings, identities[result.model])
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
            f"{skipped:,} trials were omitted because the original code does not support their conditions."
        )
    return written


def _file_name(result: StoredResult, settings: dict[str, str], identity: str) -> str:
    """Return the name that the original code gives to the file of a result; imported files keep their names."""
    case = result.case
    imported = _IMPORTED.fullmatch(identity) if result.model.startswith("rgb/") else None
    model = result.model.removeprefix("rgb/") if imported else result.model.replace("/", "-")
    temperature = imported[1] if imported else settings.get("temperature", "0")
    strategy = re.sub(r"[/:]", "-", case.profile.partition(MARK)[2])
    rest = (
        f"{model}{strategy and f'-{strategy}'}_temp{temperature if temperature == 'none' else float(temperature)}"
        f"_noise{case.noise or 0.0}_passage{case.k}_correct{case.true_ratio}.json"
    )
    # The original code accepts only six dataset names, so `en_refine` is run as `en`.
    as_run = f"prediction_{case.data.removesuffix('_refine')}_{rest}"
    return as_run if f"file {as_run}" in settings else f"prediction_{case.data}_{rest}"


def _rgb_answer(case: Case) -> object:
    """Return a case's answer as stored in RGB's file; for other data, a part with a single alias becomes a string."""
    if case.rgb_answer is not None:
        return json.loads(case.rgb_answer)
    return [aliases[0] if len(aliases) == 1 else list(aliases) for aliases in case.answer]


def original_totals(labels: Sequence[Sequence[int]], flags: Sequence[bool] | None, noise: float) -> dict[str, float]:
    """Return the original code's totals: at a noise ratio of 1, refusals are added to the correct answers.

    Args:
        labels: The labels of the responses, of which there is at least one.
        flags: Whether each response contains the error phrase, for counterfactual questions. Of these responses,
            refusals count as corrected.
        noise: The noise ratio.
    """
    correct = sum((0 not in label and 1 in label) or (noise == 1 and label[0] == -1) for label in labels)
    totals = {"all_rate": correct / len(labels), "noise_rate": noise, "tt": correct, "nums": len(labels)}
    if flags is None:
        return totals
    flagged = sum(flags)
    corrected = sum(flag and 0 not in label for label, flag in zip(labels, flags, strict=True))
    totals |= {"fact_check_rate": flagged / len(flags), "correct_rate": corrected / flagged if flagged else 0}
    return totals | {"fact_tt": flagged, "correct_tt": corrected}
