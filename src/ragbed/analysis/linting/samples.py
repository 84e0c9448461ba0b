"""Store the findings to show, either the first few for each rule or all of them, using bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile

import msgspec

from ragbed.analysis.linting.rules import LintFinding

_IN_MEMORY_BYTES = (
    256 * 1024
)  # maximum memory per rule; further findings are written to a file, so that `--all` works for a million items
_DECODER = msgspec.json.Decoder(LintFinding)


class Samples(ExitStack):
    """Findings by rule. Closing this object closes its temporary files.

    Args:
        most: Maximum number of findings to keep for each rule; None for all.
    """

    def __init__(self, most: int | None) -> None:
        super().__init__()
        self._most = most
        self._kept: dict[str, int] = {}
        self._files: dict[str, SpooledTemporaryFile[bytes]] = {}

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the findings, because files cannot be pickled."""
        return _restore, (self._most, [finding for rule in self._files for finding in self.of(rule)])

    def add(self, finding: LintFinding) -> None:
        """Store a finding, unless there are already enough for its rule."""
        kept = self._kept.get(finding.rule, 0)
        if self._most is None or kept < self._most:
            if finding.rule not in self._files:
                file = SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - the stack closes it
                self._files[finding.rule] = self.enter_context(file)
            self._files[finding.rule].write(msgspec.json.encode(finding) + b"\n")
            self._kept[finding.rule] = kept + 1

    def of(self, rule: str) -> Iterator[LintFinding]:
        """Yield the findings for a rule in their original order."""
        return map(_DECODER.decode, self._lines(rule))

    def as_json(self) -> msgspec.Raw:
        """Return all findings as one JSON array."""
        return msgspec.Raw(b"[" + b",".join(line for rule in self._files for line in self._lines(rule)) + b"]")

    def _lines(self, rule: str) -> Iterator[bytes]:
        if rule in self._files:
            self._files[rule].seek(0)
            for line in self._files[rule]:
                yield line.rstrip(b"\n")


def _restore(most: int | None, findings: Sequence[LintFinding]) -> Samples:
    samples = Samples(most)
    for finding in findings:
        samples.add(finding)
    return samples
