"""Check the generator's options and complete them with defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ragbed.errors import UnknownName, UsageError, option
from ragbed.schema import Lang
from ragbed.synth.counterfactual import read_facts
from ragbed.synth.generate import read_manifest
from ragbed.synth.perturbations import PERTURBATIONS
from ragbed.synth.spec import SynthSpec

MIX, NONE = "mix", "none"


def count_supporting(num_docs: int, supporting: int | None) -> int:
    """Return the number of supporting documents per base item; by default, half of all documents."""
    if supporting is not None and not 1 <= supporting < num_docs:
        raise UsageError(
            f"{option('supporting', supporting)} is out of range. Use a number that is at least 1 and less "
            f"than {option('num_docs', num_docs)}."
        )
    return num_docs - num_docs // 2 if supporting is None else supporting


def choose_perturbations(names: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return the perturbations with the given names, and whether they are the default mix."""
    for name in names:
        if name in (MIX, NONE) and len(names) > 1:
            given = option("perturbations", ",".join(names))
            raise UsageError(f"{given}: {name} cannot be combined with other perturbations.")
        if name not in (MIX, NONE, *PERTURBATIONS):
            raise UnknownName("perturbation", name, (MIX, NONE, *PERTURBATIONS))
    if MIX in names:
        return PERTURBATIONS, True
    return () if NONE in names else tuple(names), False


def count_items(
    items: int, integration: int | None, counterfactual: int | None, langs: Sequence[Lang]
) -> dict[str, int]:
    """Return the number of items of each kind, per language."""
    third, facts = items // 3, min(len(read_facts(lang)) for lang in langs)
    counts = {
        "base": items,
        "int": third if integration is None else integration,
        "fact": min(third, facts) if counterfactual is None else counterfactual,
    }
    if not any(counts.values()):
        raise UsageError(
            f"{option('items')}, {option('integration')} and {option('counterfactual')} are all 0, so there is "
            "nothing to write. Set at least one of them."
        )
    return counts


def check_folder(folder: Path, specs: Sequence[SynthSpec], counts: Mapping[str, int]) -> None:
    """Check that a folder contains no synthetic dataset, or the same one."""
    wanted = {f"{spec.lang}_{kind}.jsonl": count for spec in specs for kind, count in counts.items() if count}
    old = read_manifest(folder)
    found = [name for name in (*wanted, *(old.files if old else ())) if (folder / name).exists()]
    made = {name: file.items for name, file in old.files.items()} if old else {}
    if found and (old is None or (old.recipes, made) != (specs, wanted)):
        raise UsageError(
            f"{folder} already contains {found[0]}, which was not generated with these options. Choose another output "
            "folder with -o, or delete the file."
        )
