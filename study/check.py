"""Check cassettes that somebody contributes to the leaderboard, and list the accepted ones.

    python -m study check FILE.cassette …

A cassette is refused, with the reason, if it is truncated or was edited, if another version of ragbed wrote it, if its
responses come from another model than it names, or if a model cannot be identified. Scripted models, baselines and
replayed cassettes are listed apart, because they are not language models.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed import __version__
from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.io.cassette import CassetteResult, Head, RunPart, cassette_hash, read_cassette
from ragbed.schema import Case

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
        """Whether the model is not a language model, so that it is listed apart."""
        return self.model.partition("/")[0] in NOT_LANGUAGE_MODELS


def check_contribution(path: Path) -> Contribution:
    """Return the description of a cassette.

    Raises:
        DataError: The cassette is damaged or was edited, or its responses come from another model.
        UsageError: Another version of ragbed wrote it, it has several models, or the model cannot be identified.
    """
    lines = list(read_cassette(path))
    _check_version(path, lines[0] if lines else b"")
    part = msgspec.json.decode(lines[1], type=RunPart)
    if len(part.models) != 1:
        raise UsageError(
            f"{path} has {len(part.models)} models. Export one: ragbed export RUN --to cassette --model M."
        )
    ((model, identity),) = part.models
    if not identity and model.partition("/")[0] not in NOT_LANGUAGE_MODELS and not part.served:
        raise UsageError(
            f"{path} does not identify {model}: it has neither a hash of the weights nor the name that the server "
            "reported. Run the model again with a server that reports it."
        )
    outcomes: Counter[str] = Counter()
    for result in _read_results(path, part, lines):
        outcomes[result.completion.outcome] += 1
    data = {name.removeprefix("data "): value for name, value in part.settings.items() if name.startswith("data ")}
    return Contribution(cassette_hash(path), model, identity, data, dict(outcomes))


def _check_version(path: Path, line: bytes) -> None:
    try:
        head = msgspec.json.decode(line, type=Head)
    except msgspec.DecodeError as error:
        raise DataError(path, f"is not a cassette: {error}", line=1) from error
    if head.ragbed != __version__:
        raise UsageError(
            f"{path} was written by ragbed {head.ragbed}, but the leaderboard uses {__version__}. Import it with that "
            "version and export it again."
        )


def _read_results(path: Path, part: RunPart, lines: list[bytes]) -> Iterator[CassetteResult]:
    """Yield the results of the run, after checking the model that the server reported for each."""
    decoder, cases = msgspec.json.Decoder(CassetteResult), msgspec.json.Decoder(Case)
    ((model, _),) = part.models
    try:
        for line in lines[2 : 2 + part.cases]:
            cases.decode(line)
        for number, line in enumerate(lines[2 + part.cases :], 3 + part.cases):
            if not line.startswith(b'{"part":"result"'):
                return  # judges and labels follow
            result = decoder.decode(line)
            served = result.completion.served.model if result.completion.served else None
            if served is not None and not is_same_model(model, served):
                raise DataError(path, f"the server reported the model {served}, but the run names {model}", line=number)
            yield result
    except msgspec.DecodeError as error:
        raise DataError(path, f"is not a cassette of a run: {error}") from error


def is_same_model(model: str, served: str) -> bool:
    """Return whether a name that a server reported can belong to a model string.

    Servers may add a date or version, e.g. `gpt-4o-mini-2024-07-18` for `gpt-4o-mini`, or report the path of a file.
    """
    wanted, found = (re.sub(r"\.gguf$", "", name.lower().rsplit("/", 1)[-1]) for name in (model, served))
    return found == wanted or re.fullmatch(re.escape(wanted) + r"[-:@](\d.*|latest)", found) is not None


def main(arguments: list[str]) -> None:
    """Check all files; the exit code is 1 if one is refused."""
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
    if refused:
        sys.exit(1)
