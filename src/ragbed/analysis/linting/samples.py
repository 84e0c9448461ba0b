"""Findings kept to be shown: the first few of each rule, or all of them, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from types import TracebackType

import msgspec

from ragbed.analysis.linting.rules import LintFinding

_IN_MEMORY_BYTES = 256 * 1024
"""Per rule; what goes beyond lies in a temporary file, so that `--all` of a million items fits."""

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(LintFinding)


class Samples:
    """Findings by rule.

    Args:
        most: How many of each rule to keep; None for all.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._kept: dict[str, int] = {}
        self._files: dict[str, SpooledTemporaryFile[bytes]] = {}

    def __enter__(self) -> Samples:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()

    def add(self, finding: LintFinding) -> None:
        """Keeps a finding, unless there are enough of its rule."""
        kept = self._kept.get(finding.rule, 0)
        if self._most is None or kept < self._most:
            if finding.rule not in self._files:
                self._files[finding.rule] = SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - __exit__ closes it
            self._files[finding.rule].write(_ENCODER.encode(finding) + b"\n")
            self._kept[finding.rule] = kept + 1

    def of(self, rule: str) -> Iterator[LintFinding]:
        """Yields what was kept of a rule, in the order in which it came."""
        for line in self._lines(rule):
            yield _DECODER.decode(line)

    def as_json(self) -> msgspec.Raw:
        """All that was kept as one JSON array."""
        return msgspec.Raw(b"[" + b",".join(line for rule in self._files for line in self._lines(rule)) + b"]")

    def _lines(self, rule: str) -> Iterator[bytes]:
        if rule in self._files:
            self._files[rule].seek(0)
            for line in self._files[rule]:
                yield line.rstrip(b"\n")
