"""Match imported answers to test cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ragbed.data import Dataset
from ragbed.data.catalog import published_settings
from ragbed.errors import UsageError, option, refuse_unused
from ragbed.interop.exports.frozen import read_frozen, read_part
from ragbed.runs.importing import AnswerSource, open_replies, open_rgb
from ragbed.schema import Case
from ragbed.testbeds.selection import choose_testbeds, generate_cases, stored_options
from ragbed.testbeds.settings import Settings

TRACES = ("traces", "openinference", "langfuse", "columns")
IMPORT_FORMATS = ("rgb", "jsonl", "archive", *TRACES)


class AnswerFiles(NamedTuple):
    """Answer files, their format, and the model's name if the files do not contain it."""

    paths: Sequence[Path]
    form: str
    model: str | None = None

    def open(self, cases: Iterable[Case]) -> Sequence[AnswerSource]:
        """Return the answers with their matching cases.

        Raises:
            UsageError: The model's name is missing.
        """
        if self.model is None:
            raise UsageError(
                f"{option('from_', self.form)} requires the name of the model that produced the answers. Add "
                f"{option('model', 'NAME')}."
            )
        return [open_replies(self.paths, self.model, cases)]


def match_frozen(
    answers: AnswerFiles, folder: Path, names: Sequence[str] | None, langs: Sequence[str], options: Sequence[str]
) -> tuple[Sequence[AnswerSource], dict[str, str]]:
    """Return the answers to an exported testbed's cases, and the run's settings.

    Args:
        answers: The files.
        folder: The exported testbed.
        names: Testbeds to import; None for all.
        langs: Languages to import.
        options: The test-case options that were given, most of which do not apply.
    """
    for name in sorted(set(options) - {"testbeds", "lang"}):
        refuse_unused(name, f"{folder} is an exported testbed, whose cases cannot be changed")
    if answers.form == "rgb":
        raise UsageError(f"{option('from_', 'rgb')} requires a dataset in {option('data')}, not an exported testbed.")
    frozen = read_frozen(folder)
    parts = [part for part in frozen.parts if part.lang in langs and (names is None or part.testbed in names)]
    if not parts:
        raise UsageError(
            f"{folder} contains no cases for the requested testbeds and languages. Available parts: "
            f"{', '.join(part.name for part in frozen.parts)}."
        )
    settings = frozen.settings | {f"data {name}": digest for name, digest in frozen.data.items()}
    settings["testbeds"] = ",".join(dict.fromkeys(part.testbed for part in parts))
    found = answers.open(chain.from_iterable(read_part(folder, part) for part in parts))
    return found, {"imported": answers.form, "repeats": "1"} | settings


def match_datasets(
    answers: AnswerFiles, datasets: Sequence[Dataset], names: list[str] | None, settings: Settings
) -> tuple[Sequence[AnswerSource], dict[str, str]]:
    """Return the answers to the cases of datasets, and the run's settings."""
    stored = {"imported": answers.form, "repeats": "1"} | published_settings(datasets)
    stored |= {f"data {dataset.name}": dataset.sha256() for dataset in datasets}
    if answers.form == "rgb":
        if settings.original is None:
            raise UsageError(
                f"{option('profile', settings.profile)}: files written by the original code require "
                f"{option('profile', 'code-2024')} or {option('profile', 'code-2023')}."
            )
        stored |= {f"file {path.name}": "imported" for path in answers.paths} | {"profile": settings.profile}
        return [open_rgb(path, list(datasets), settings) for path in answers.paths], stored
    testbeds = choose_testbeds(names, settings)
    stored |= stored_options(settings, testbeds) | {"testbeds": ",".join(names or ["all"])}
    return answers.open(generate_cases(datasets, testbeds, settings, named=names is not None)), stored
