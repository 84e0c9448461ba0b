"""Parts of exported testbeds, for the harness that asks them."""

from __future__ import annotations

import warnings
from pathlib import Path

from ragbed.errors import UnknownName
from ragbed.interop.exports.frozen import TestbedPart, read_frozen, scorers_hash


def find_part(folder: Path, name: str) -> TestbedPart:
    """A part by its name; says so if it will be scored by other scorers than those of its export.

    Raises:
        UnknownName: There is no such part.
    """
    frozen = read_frozen(folder)
    parts = {part.name: part for part in frozen.parts}
    if name not in parts:
        raise UnknownName("part of this testbed", name, parts)
    if frozen.scorers != scorers_hash():
        warnings.warn(
            f"{folder} was exported by ragbed {frozen.ragbed} with scorers {frozen.scorers}; "
            f"these are {scorers_hash()}. Compare only scores of the same scorers.",
            stacklevel=2,
        )
    return parts[name]
