"""Hugging Face: a dataset folder with a configuration for every language and testbed, and its data card."""

from __future__ import annotations

from pathlib import Path

from ragbed.data.catalog.licence import licence_of
from ragbed.data.parquet import need_parquet
from ragbed.interop.exports.frozen import Frozen, Layout, TestbedPart, freeze, read_part
from ragbed.interop.exports.parquet import case_row, case_schema, write_rows
from ragbed.interop.exports.records_base import Written

_CARD = """---
pretty_name: {name}
language:
{langs}
license: other
license_name: {licences}
task_categories:
- question-answering
tags:
- rag
- robustness
- ragbed
size_categories:
- {size}
configs:
{configs}---

# {name}

Questions with retrieved documents, laid out once by ragbed {ragbed}: which documents a model sees, in which order, and
the prompt itself are fixed. A configuration is one language and one testbed; every row is one case. `testbed.json` has
the hashes of the data and of the cases, and the settings; scores by scorers `{scorers}` compare.

| configuration | cases | conditions | left out: not enough documents |
|---|---|---|---|
{table}

Sources and licences:

{sources}

Score replies with `ragbed import` and `ragbed report`, or ask through Inspect AI or lm-evaluation-harness
(`ragbed export … --to inspect`, `--to lm-eval`).
"""
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def write_folder(layout: Layout, folder: Path, name: str) -> Written:
    """Fills a folder."""
    need_parquet()
    written, frozen = Written("cases"), freeze(layout, folder)
    written.count_parts(frozen.parts)
    for part in frozen.parts:
        if part.cases:
            target = folder / _file(part)
            target.parent.mkdir(parents=True)
            with open(target, "wb") as sink:
                write_rows(map(case_row, read_part(folder, part)), case_schema(), sink)
    (folder / "README.md").write_text(_card(layout, frozen, name), "utf-8")
    config = next(part.name for part in frozen.parts if part.cases)
    written.notes.append(f'Read it, as in: datasets.load_dataset("{name}", "{config}", split="test")')
    return written


def _file(part: TestbedPart) -> str:
    return f"data/{part.name}/test-00000-of-00001.parquet"


def _card(layout: Layout, frozen: Frozen, name: str) -> str:
    parts = [part for part in frozen.parts if part.cases]
    total = sum(part.cases for part in parts)
    licences = {dataset.name: licence_of(dataset) for dataset in layout.datasets}
    return _CARD.format(
        name=name,
        langs="\n".join(f"- {lang}" for lang in sorted({part.lang for part in parts})),
        licences=", ".join(sorted(set(licences.values()))),
        size=next((told for most, told in _SIZES if total < most), "n>1M"),
        configs="".join(
            f"- config_name: {part.name}\n  data_files:\n  - split: test\n    path: {_file(part)}\n" for part in parts
        ),
        ragbed=frozen.ragbed,
        scorers=frozen.scorers,
        table="\n".join(
            f"| `{part.name}` | {part.cases:,} | {'; '.join(filter(None, part.conditions)) or 'one'} "
            f"| {sum(part.infeasible.values()):,} |"
            for part in frozen.parts
        ),
        sources="\n".join(
            f"* `{dataset}`: {licence}; sha256 `{frozen.data[dataset]}`" for dataset, licence in licences.items()
        ),
    )
