"""Check the generator's options and convert them to one specification per language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragbed.errors import UnknownName, UsageError, option
from ragbed.schema import Lang
from ragbed.synth.counterfactual import read_facts
from ragbed.synth.generate import MANIFEST, read_manifest
from ragbed.synth.perturbations import PERTURBATIONS
from ragbed.synth.spec import SynthSpec

MIX, NONE = "mix", "none"
# Minimum and maximum value of each option. With many more documents per item, the generator would repeat itself or
# contradict the documents' labels.
_RANGES = {"num_docs": (2, 200), "parts": (2, 5), "tokens": (60, 1500)}


@dataclass(frozen=True)
class GenerationPlan:
    """A synthetic dataset to generate; see `ragbed.synthesize` for the fields.

    Raises:
        UsageError: A value is out of range.
        UnknownName: There is no such perturbation.
    """

    seed: int
    items: int
    integration: int | None
    counterfactual: int | None
    langs: Sequence[Lang]
    num_docs: int
    supporting: int | None
    parts: int
    tokens: int
    perturbations: Sequence[str]

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            if not low <= (value := getattr(self, name)) <= high:
                raise UsageError(f"{option(name, value)} is out of range. Use a number from {low} to {high}.")
        if self.supporting is not None and not 1 <= self.supporting < self.num_docs:
            raise UsageError(
                f"{option('supporting', self.supporting)} is out of range. Use a number that is at least 1 and less "
                f"than {option('num_docs', self.num_docs)}."
            )
        for name in self.perturbations:
            if name in (MIX, NONE) and len(self.perturbations) > 1:
                raise UsageError(
                    f"{option('perturbations', ','.join(self.perturbations))}: {name} cannot be combined with other "
                    "perturbations."
                )
            if name not in (MIX, NONE, *PERTURBATIONS):
                raise UnknownName("perturbation", name, (MIX, NONE, *PERTURBATIONS))

    @property
    def specs(self) -> tuple[SynthSpec, ...]:
        """The specification for each language."""
        supports = self.num_docs - self.num_docs // 2 if self.supporting is None else self.supporting
        kind = self.perturbations[0] if len(self.perturbations) == 1 else ""
        return tuple(
            SynthSpec(
                seed=self.seed,
                lang=lang,
                supports=supports,
                distractors=self.num_docs - supports,
                most_parts=self.parts,
                tokens=self.tokens,
                perturbations=() if kind == NONE else PERTURBATIONS if kind == MIX else tuple(self.perturbations),
                mixed=kind == MIX,
            )
            for lang in self.langs
        )

    def counts(self) -> dict[str, int]:
        """Return the number of items of each kind, per language.

        Raises:
            UsageError: A number is negative, or all are 0.
        """
        third, facts = self.items // 3, min(len(read_facts(lang)) for lang in self.langs)
        sizes = {
            "items": self.items,
            "integration": third if self.integration is None else self.integration,
            "counterfactual": min(third, facts) if self.counterfactual is None else self.counterfactual,
        }
        for name, size in sizes.items():
            if size < 0:
                raise UsageError(f"{option(name, size)} is negative. Use 0 or a positive number.")
        if not any(sizes.values()):
            raise UsageError(
                f"{option('items')}, {option('integration')} and {option('counterfactual')} are all 0, so there is "
                "nothing to write. Set at least one of them."
            )
        return dict(zip(("base", "int", "fact"), sizes.values(), strict=True))

    def check_folder(self, folder: Path) -> None:
        """Check that a folder contains either no files of a synthetic dataset or the complete, identical dataset."""
        wanted = {
            f"{lang}_{kind}.jsonl": count for lang in self.langs for kind, count in self.counts().items() if count
        }
        existing, old = [name for name in wanted if (folder / name).exists()], read_manifest(folder)
        others = [name for name in (old.files if old else ()) if name not in wanted and (folder / name).exists()]
        if not existing and others:
            raise UsageError(
                f"{folder} already contains a synthetic dataset with {others[0]}, and its {MANIFEST} would be "
                "replaced. Choose another output folder with -o, or delete the folder and generate all files in one "
                "command."
            )
        if not existing:
            return
        if old is None or old.recipes != self.specs or {name: file.items for name, file in old.files.items()} != wanted:
            problem = "is not a complete synthetic dataset" if old is None else "was generated with different options"
            raise UsageError(
                f"{folder / existing[0]} already exists and {problem}. Choose another output folder with -o, "
                "or delete the file."
            )
