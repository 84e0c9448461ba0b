"""`ragbed export DATA --to corpus`: the passages of a dataset, for a system to index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.datasets.corpus import Edition

EDITIONS: dict[str, Edition] = {"corpus": "corpus", "withheld-corpus": "withheld-corpus"}
"""As `--to` names them."""


def export_corpus(source: str, edition: str, output: Path, *, canonical: bool, to_json: bool) -> None:
    """Writes the corpus and says by which id cases will name it."""
    from ragbed.cli.console import print_json, say
    from ragbed.cli.data import open_data, open_output
    from ragbed.datasets.corpus import Corpus

    if canonical:
        raise UsageError("--canonical is for runs; a corpus is always the same bytes.")
    (dataset,) = open_data([source])
    corpus, count = Corpus(dataset, EDITIONS[edition]), 0
    with open_output(output, [dataset]) as sink:
        for line in corpus.lines():
            if sink is not None:
                sink.write(line)
            count += 1
    say(f"{count} passages of {source} written to {output}; cases name this corpus {corpus.id}.")
    if to_json:
        print_json({"passages": count, "format": edition, "output": str(output), "corpus": corpus.id})
