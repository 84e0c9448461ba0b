"""Write the variants of a dataset's documents as folders, for systems that are not built by a factory."""

from __future__ import annotations

from pathlib import Path

from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import Written
from ragbed.testbeds.own_rag import open_rag


def write_corpora(layout: Layout, folder: Path, final: Path) -> Written:  # noqa: ARG001 - as in other formats
    """Write a folder for each variant, e.g. `withheld-2`, below one for each dataset if there are several."""
    written = Written("documents")
    for dataset in layout.datasets:
        corpora = open_rag(dataset, layout.settings)
        for variant in corpora.variants.values():
            place = folder / dataset.name if len(layout.datasets) > 1 else folder
            written.count += variant.write(place / variant.name)
        names = ", ".join(corpora.variants)
        written.notes.append(f'Requests name these folders in their JSON field "corpus": {names}.')
    return written
