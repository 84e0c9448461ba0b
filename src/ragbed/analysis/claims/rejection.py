"""C3 and C4: how often models refuse when they should, and whether in the words they were told to use."""

from __future__ import annotations

from ragbed.analysis.claims.base import ClaimFinding, ClaimInputs, against_bound, conclude, evidence
from ragbed.analysis.paper.tables import read_tables

ADHERENT = 0.9
"""A trigger that misses more than one refusal in ten is none."""


def refuse_seldom(grounds: ClaimInputs) -> ClaimFinding:
    """C3: no model refuses more often than the paper's best (Rej*), 45 % in English and 43.33 % in Chinese."""
    table = read_tables().rejection
    place = table.columns.index("Rej*")
    best = {lang: max(row[place] for row in getattr(table, lang).values()) / 100 for lang in ("en", "zh")}
    return conclude(
        "C3",
        (
            evidence(cell, "refusal_recall", against_bound(cell.estimate, best[cell.key.lang]))
            for cell in grounds.of("rejection", "refusal_recall")
        ),
    )


def refuse_in_other_words(grounds: ClaimInputs) -> ClaimFinding:
    """C4: of the refusals, a clear part is not in the mandated words; share of the refusals that are."""
    return conclude(
        "C4",
        (
            evidence(cell, "format_adherence", against_bound(cell.estimate, ADHERENT))
            for cell in grounds.of("rejection", "format_adherence")
        ),
    )
