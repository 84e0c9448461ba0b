"""Evaluate a small model on the bundled data, without an API key, a server or network access."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.api.calling import check_reader
from ragbed.api.job_specs import DemoSpec
from ragbed.api.layout import read_langs
from ragbed.api.planning import plan_run
from ragbed.api.progress import Progress, open_progress
from ragbed.api.run_status import describe_responses
from ragbed.api.runs import describe_cells, evaluate
from ragbed.api.spec import DEFAULT_MODEL, RunSpec
from ragbed.api.specification import takes
from ragbed.errors import RagbedError, UsageError
from ragbed.models import parse_model
from ragbed.reporting.table import Result, Table
from ragbed.text import counted, quoted

if TYPE_CHECKING:
    from ragbed.schema import Lang

_BASELINE = "baseline/lexical"
_ITEMS = 11  # Number of questions per item kind for the model; with three kinds, there are about a hundred cases.
_DOCS = 2  # Number of documents per prompt, small enough for the model to finish in minutes on two cores.
_MAX_TOKENS = 64  # Maximum tokens per response, enough for a sentence or two.


@takes(DemoSpec)
def demo(spec: DemoSpec) -> Result:
    """Evaluate a baseline on the bundled data, and a small model on a part of it, in a few minutes.

    The baseline returns the best-matching sentence. The default model supports only English. Missing model weights are
    downloaded. If the download fails or llama.cpp is not installed, only the baseline is evaluated. The folders of the
    runs are `result["runs"]`.

    Example:
        >>> runs = ragbed.demo("baseline/lexical", lang="en", out="runs/demo")["runs"]
        >>> ragbed.open_run(runs["baseline"]).outcomes["ok"] > 300
        True
    """
    from ragbed.analysis.locale import read_words
    from ragbed.api.reports import read_report, write_report_page
    from ragbed.reporting.summary import summarise
    from ragbed.runs.status import read_status

    langs, out = read_langs(spec.lang), Path(spec.out)
    parse_model(spec.model)  # report a mistyped model first
    parts: list[Table | str] = [
        "Evaluation on ragbed-mini: fictional news that no model has seen. "
        f"{_BASELINE} is not a language model: it returns the sentence that best matches the question.\n"
    ]
    if spec.model == DEFAULT_MODEL and "zh" in langs:  # it reads only English
        parts.append(f"{spec.model} reads only English, so in Chinese only the baseline is evaluated.\n")
    notes, runs, code = list[str](), list[Path](), 0
    with open_progress(spec.progress) as shown:
        for planned in _plans(spec, langs, shown):
            with closing(plan_run(planned, shown.message)) as job:
                cells = evaluate(job, shown)
            runs.append(job.folder)
            tables, remarks = describe_cells(cells, job.folder)
            parts, notes = [*parts, *tables], [*notes, *describe_responses(read_status(job.folder)), *remarks]
            if errors := sum(cell.error for cell in cells):
                notes.append(f"Incomplete: {counted(errors, 'case')} ended in an error. Rerun the command to retry.")
                code = 3
    report, page = read_report(runs, "robust", may_diagnose=True), out / "report.html"
    write_report_page(report, runs, None, page)
    lines = [""]
    for lang in langs:
        found = summarise([cell for cell in report.shown if cell.key.lang == lang], "robust", read_words(lang))
        lines += [f"{one.model}: {one.text}" for one in found]
    last = _BASELINE if len(runs) == 1 else spec.model
    steps = {
        f"ragbed report {quoted(out)}": "all tables, with intervals",
        f"ragbed run -d ragbed-mini-en_base --limit 5 -m {quoted(last)}": "a first run of your own",
        f"ragbed view {quoted(out)}": "browse every case and response",
        "ragbed doctor": "the models that work on this machine, and what to install for others and for `ragbed view`",
    }
    width = max(map(len, steps))
    lines += ["", f"HTML report: {page}", "", "Next:", *(f"  {step:{width}}  # {why}" for step, why in steps.items())]
    return Result([*parts, "\n".join(lines)], notes, {"runs": {run.name: str(run) for run in runs}}, code)


def _plans(spec: DemoSpec, langs: Sequence[Lang], shown: Progress) -> Iterator[RunSpec]:
    """Yield the specifications of the runs: the baseline first, then the model in each language that it reads."""
    plans: list[tuple[str, str, Sequence[Lang], int | None]] = [("baseline", _BASELINE, langs, None)]
    reads = [lang for lang in langs if lang == "en" or spec.model != DEFAULT_MODEL]
    problem = _install_default(shown) if spec.model == DEFAULT_MODEL and reads else None
    if problem:
        shown.message(f"{problem} Until then, only the baseline is evaluated.")
    elif spec.model != _BASELINE:
        plans += [(lang, spec.model, (lang,), _ITEMS) for lang in reads]
    for name, model, chosen, limit in plans:
        yield RunSpec(
            model,
            [f"ragbed-mini-{lang}_{kind}" for lang in chosen for kind in ("base", "int", "fact")],
            out=Path(spec.out) / name,
            num_docs=_DOCS,
            noise=[0, 0.5, 1],
            max_tokens=_MAX_TOKENS,
            limit=limit,
            cache="off",
        )


def _install_default(shown: Progress) -> str | None:
    """Download the default model's weights if they are missing; return an error message if the model cannot run."""
    if importlib.util.find_spec("xllamacpp") is None:
        return (
            f"{DEFAULT_MODEL} requires extra packages: pip install 'ragbed[llamacpp,serve]', then rerun the same "
            "command."
        )
    try:
        check_reader(DEFAULT_MODEL)
    except UsageError:
        from ragbed.api.datasets import download, find_entry

        entry = find_entry(DEFAULT_MODEL.rpartition("/")[2])
        shown.message(f"Downloading the weights of {DEFAULT_MODEL} ({entry.megabytes} MB) …")
        try:
            download(entry.name, progress=shown)
        except RagbedError as error:
            return f"{error} Run `ragbed data get {entry.name}` when the server can be reached."
    return None
