"""Texts for the findings of claim checks, shared by the terminal, Markdown and HTML output."""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.analysis.claims.base import MIN_QUESTIONS, ClaimEvidence, ClaimFinding
from ragbed.analysis.locale import Locale

_ORDER = ("contradicted", "supported", "inconclusive")


def tell_finding(finding: ClaimFinding, words: Locale) -> tuple[str, str, str, str]:
    """Return the claim's name and statement, the verdict and the underlying counts."""
    counts = {verdict: sum(one.verdict == verdict for one in finding.evidence) for verdict in _ORDER}
    basis = words("claims.counts", **counts) if finding.evidence else words(f"claims.{finding.claim}.needs")
    return finding.claim, words(f"claims.{finding.claim}.says"), words(f"claims.{finding.verdict}"), basis


def split_findings(
    findings: Sequence[ClaimFinding],
) -> tuple[list[ClaimFinding], list[ClaimFinding], list[ClaimFinding]]:
    """Split findings into decided findings, inconclusive findings, and findings without enough data."""
    unclear = [one for one in findings if one.verdict == "inconclusive"]
    missing = [one for one in findings if one.verdict == "not_enough_data"]
    return [one for one in findings if one not in (*unclear, *missing)], unclear, missing


def tell_claims(key: str, findings: Sequence[ClaimFinding], words: Locale) -> str:
    """Return one line that names the claims in the findings, or an empty string if there are none."""
    names = ", ".join(one.claim for one in findings)
    return words(f"claims.{key}", claims=names, minimum=MIN_QUESTIONS) if names else ""


def evidence_columns(words: Locale) -> tuple[str, ...]:
    """Return the column headings for the rows that `tell_evidence` returns."""
    headings = [words(f"claims.{name}") for name in ("measured", "model", "data", "noise", "value")]
    return (*headings, "n", "p", words("claims.verdict"))


def tell_evidence(claim: str, one: ClaimEvidence, words: Locale) -> tuple[str, ...]:
    """Return the table row for one measurement."""
    interval = "" if one.low is None or one.high is None else f" [{100 * one.low:.1f}, {100 * one.high:.1f}]"
    return (
        f"{claim} {words(f'claims.what.{one.measure}')}",
        one.key.model,
        f"{one.key.data}, {one.key.profile}",
        "–" if one.at is None else f"{one.at:.3g}",
        f"{round(100 * one.value, 1) + 0.0:.1f}{interval}",
        str(one.n),
        "–" if one.p is None else tell_p(one.p),
        words(f"claims.{one.verdict}"),
    )


def tell_p(p: float) -> str:
    """Format a p-value in the style used in papers."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def most_telling(finding: ClaimFinding, most: int) -> Sequence[ClaimEvidence]:
    """Return up to `most` measurements for a finding, with the decisive ones first."""
    return sorted(finding.evidence, key=lambda one: _ORDER.index(one.verdict))[:most]
