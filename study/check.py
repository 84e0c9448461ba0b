"""Check cassettes that are contributed to the leaderboard, and list the accepted ones.

    python -m study check FILE.cassette …

A cassette is refused, with the reason, if it is damaged or incomplete, if another version of ragbed wrote it, if its
responses come from another model than it names, or if a model cannot be identified. Scripted models, baselines and
replayed cassettes are listed apart, because they are not language models.

These checks find damaged and inconsistent files. They do not prove that the model gave the responses: anyone can write
a consistent cassette with a valid checksum.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed import __version__
from ragbed.errors import MALFORMED_JSON, DataError, RagbedError, UsageError
from ragbed.io.cassette import CassetteResult, RunPart, cassette_hash, decode_head, read_cassette
from ragbed.schema import Case, Completion

# These providers run weights or code in the same process, which a hash identifies.
LOCAL = ("hf", "llamacpp", "bundled", "python")
NOT_LANGUAGE_MODELS = ("scripted", "baseline", "cassette")


class Contribution(NamedTuple):
    """An accepted cassette: its hash, its model with identity, its data with hashes, and its numbers of outcomes."""

    sha256: str
    model: str
    identity: str
    data: dict[str, str]
    outcomes: dict[str, int]

    @property
    def is_scripted(self) -> bool:
        """Whether the model is not a language model, so that it is listed separately."""
        return _provider(self.model) in NOT_LANGUAGE_MODELS


def check_contribution(path: Path) -> Contribution:
    """Return the description of a cassette.

    Raises:
        DataError: The cassette is damaged or inconsistent, or its responses come from another model.
        UsageError: Another version of ragbed wrote it, it has several models, the model cannot be identified, or
            responses are missing.
    """
    try:
        lines = list(read_cassette(path))
        _check_version(path, lines)
        part = msgspec.json.decode(lines[1], type=RunPart)
        _check_model(path, part)
        trials = _read_trials(path, part, lines)
    except MALFORMED_JSON as error:
        raise DataError(path, f"is not a valid run cassette: {error}") from error
    ((model, identity),) = part.models
    data = {name.removeprefix("data "): value for name, value in part.settings.items() if name.startswith("data ")}
    return Contribution(cassette_hash(path), model, identity, data, dict(Counter(trials.values())))


def _check_version(path: Path, lines: list[bytes]) -> None:
    head = decode_head(path, lines[0] if lines else b"")
    if head.ragbed != __version__:
        raise UsageError(
            f"{path} was written by ragbed {head.ragbed}, but the leaderboard uses {__version__}. Import it with that "
            "version and export it again."
        )
    if len(lines) == 1:
        raise DataError(path, "has no run; export it again")


def _check_model(path: Path, part: RunPart) -> None:
    if len(part.models) != 1:
        raise UsageError(
            f"{path} has {len(part.models)} models. Export one: ragbed export RUN --to cassette --model M."
        )
    ((model, identity),) = part.models
    if _provider(model) in LOCAL and not identity:
        raise UsageError(f"{path} does not identify {model}: it has no hash of the weights. Run the model again.")


def _read_trials(path: Path, part: RunPart, lines: list[bytes]) -> dict[tuple[int, int], str]:
    """Return the outcome of each case and repeat, after checking that all are present exactly once."""
    if not 0 < part.cases <= len(lines) - 2:
        raise DataError(path, f"names {part.cases:,} cases, but {len(lines) - 2:,} lines follow; use a complete copy")
    first = 2 + part.cases
    decoder, cases = msgspec.json.Decoder(CassetteResult), msgspec.json.Decoder(Case)
    feasible = [cases.decode(line).feasible for line in lines[2:first]]
    expected = {
        (case, repeat) for case, wanted in enumerate(feasible) if wanted for repeat in range(_repeats(path, part))
    }
    trials: dict[tuple[int, int], str] = {}
    for number, line in enumerate(lines[first:], first + 1):
        if not line.startswith(b'{"part":"result"'):
            break  # the rest of the file contains judges and labels
        result = decoder.decode(line)
        trial = (result.case, result.repeat)
        if result.model != 0 or trial not in expected:
            problem = f"has a response to case {result.case}, repeat {result.repeat}, which is not part of the run"
            raise DataError(path, problem, line=number)
        if trial in trials:
            problem = f"has two responses to case {result.case}, repeat {result.repeat}"
            raise DataError(path, problem, line=number)
        _check_served(path, part, result.completion, number)
        trials[trial] = result.completion.outcome
    if missing := len(expected) - len(trials):
        raise UsageError(f"{path} has no response for {missing:,} of {len(expected):,} trials. Complete the run first.")
    return trials


def _repeats(path: Path, part: RunPart) -> int:
    value = part.settings.get("repeats", "1")
    if not re.fullmatch(r"[1-9]\d{0,3}", value, re.ASCII):
        raise DataError(path, f"has the setting repeats = {value[:20]!r}, which is not a number from 1 to 9999")
    return int(value)


def _check_served(path: Path, part: RunPart, completion: Completion, line: int) -> None:
    """Check the model that a server reported for a response; local and scripted models have no server."""
    ((model, _),) = part.models
    served = completion.served.model if completion.served else None
    if served is not None and not is_same_model(model, served):
        raise DataError(path, f"the server reported the model {served}, but the run names {model}", line=line)
    if served is None and completion.reply is not None and _provider(model) not in (*LOCAL, *NOT_LANGUAGE_MODELS):
        raise UsageError(
            f"{path} does not identify {model}: line {line} has a response without the model name that the server "
            "reported. Run the model again with a server that reports it."
        )


def _provider(model: str) -> str:
    return model.partition("/")[0]


def is_same_model(model: str, served: str) -> bool:
    """Return whether a name that a server reported can belong to a model string.

    Servers may add a date or version, e.g. `gpt-4o-mini-2024-07-18` for `gpt-4o-mini`, or report the path of a file.
    """
    wanted, found = (re.sub(r"\.gguf$", "", name.lower().rsplit("/", 1)[-1]) for name in (model, served))
    return found == wanted or re.fullmatch(re.escape(wanted) + r"[-:@](\d.*|latest)", found) is not None


def main(arguments: list[str]) -> None:
    """Check all files; the exit code is 1 if a file is rejected."""
    parser = argparse.ArgumentParser(prog="python -m study check", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    refused = 0
    for path in parser.parse_args(arguments).files:
        try:
            found = check_contribution(path)
        except RagbedError as error:
            refused += 1
            print(f"refused: {error}")
            continue
        kind = "accepted, listed apart" if found.is_scripted else "accepted"
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(found.outcomes.items()))
        print(f"{kind}: {path.name} ({found.model}, {counts}, sha256 {found.sha256})")
    print("These checks find damaged and inconsistent files. They do not prove that the model gave the responses.")
    if refused:
        sys.exit(1)
