"""The options of all jobs other than a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from ragbed.api.request_options import check_max_tokens
from ragbed.api.spec import DEFAULT_MODEL, CallOptions, EngineOptions, LayoutOptions, MixOptions
from ragbed.api.specification import LocalFile, Opt, Spec, Values, output, read_share
from ragbed.errors import UsageError, option, refuse_unused

if TYPE_CHECKING:
    from pathlib import Path

    from ragbed.api.data_objects import DataLike
    from ragbed.api.objects import ModelLike
    from ragbed.api.places import RunLike, RunsLike
    from ragbed.api.progress import Progress
    from ragbed.api.results import Run
    from ragbed.data.output import BinarySink
    from ragbed.io.locations import Url

    Output: TypeAlias = str | Path | Url | BinarySink
    Sources: TypeAlias = Run | DataLike
    LocalFiles: TypeAlias = str | Path | Sequence[str | Path]
else:
    # The real types take longer to import than a command to start; the functions check these values.
    DataLike = LocalFiles = ModelLike = Output = Progress = RunLike = RunsLike = Sources = object

ReportFormat: TypeAlias = Literal["text", "md", "html", "latex", "csv", "json", "site", "svg", "png", "pdf"]

_RUN = Opt("The run: a `Run`, or its folder.", "RUN", is_argument=True, is_place=True)
_RUNS = Opt("Runs, or folders of runs.", "RUN", is_argument=True, is_repeatable=True, is_required=True, is_place=True)
_PORT = Opt("Local port to listen on.", low=0, high=65_535, default="7717, or any free port")
_OPEN = Opt("Open the page in the browser.")
_SCORERS = "robust, code, paper, or a scorer from a plug-in."


@dataclass(frozen=True)
class CompareSpec(Spec):
    """The options of a comparison."""

    a: Annotated[RunLike, Opt("The baseline: a run, or RUN:MODEL.", "A", is_argument=True, is_place=True)]
    b: Annotated[RunLike, Opt("The run to compare with the baseline.", "B", is_argument=True, is_place=True)]
    _: KW_ONLY
    scorer: Annotated[str, Opt(f"Scorer to compare: {_SCORERS}", "NAME")] = "robust"
    min_drop: Annotated[
        float | str, Opt("Smallest drop that is reported as a decline, e.g. 0.03 or 3%.", "SHARE", read=read_share)
    ] = 0.03
    fail_if_worse: Annotated[
        float | str | None,
        Opt(
            "Margin of a gate that fails (exit code 4) if B is significantly worse than A by more than this value. It "
            "also replaces the smallest drop to report.",
            "SHARE",
            read=read_share,
        ),
    ] = None
    junit: Annotated[LocalFile | None, output("JUnit XML file to write the gate results to.", "FILE")] = None

    def _check(self) -> None:
        if self.junit is not None and self.fail_if_worse is None:
            refuse_unused("junit", f"no gate is set. Set one, e.g. {option('fail_if_worse', 0.05)}")


@dataclass(frozen=True)
class RankSpec(Spec):
    """The options of a ranking."""

    runs: Annotated[RunsLike, _RUNS]
    _: KW_ONLY
    scorer: Annotated[str, Opt(f"Scorer to rank by: {_SCORERS}", "NAME")] = "robust"


@dataclass(frozen=True)
class ReportSpec(Spec):
    """The options of a report."""

    runs: Annotated[RunsLike, _RUNS]
    _: KW_ONLY
    format: Annotated[
        ReportFormat, Opt("Report format; a site has a leaderboard and a report on each run.", "FORMAT", short="-f")
    ] = "text"
    scorer: Annotated[
        str, Opt(f"Scorer shown in the tables (csv and json include all scorers): {_SCORERS}", "NAME")
    ] = "robust"
    out: Annotated[
        LocalFile | None,
        Opt(
            "File to write to, or folder for figures or a site. Text reports are written as Markdown.",
            "PATH",
            short="-o",
            default="stdout, or report.html for html",
        ),
    ] = None
    locale: Annotated[
        Literal["en", "zh"] | None,
        Opt(
            "Language of headings and labels in the figures and the HTML pages.",
            default="en for figures, the browser's language for html",
        ),
    ] = None
    rescore: Annotated[bool, Opt("Score runs again that another version of the scorer has scored.")] = False


@dataclass(frozen=True)
class ViewSpec(Spec):
    """The options of the page that shows runs."""

    paths: Annotated[
        RunsLike | None,
        Opt(
            "Runs, or folders of runs.",
            "RUN|DIR",
            default="the runs folder",
            is_argument=True,
            is_repeatable=True,
            is_place=True,
        ),
    ] = None
    _: KW_ONLY
    port: Annotated[int | None, _PORT] = None
    rater: Annotated[str | None, Opt("Name to store with your labels.", "NAME", default="your user name")] = None
    open_: Annotated[bool, _OPEN] = False


@dataclass(frozen=True)
class ReviewSpec(Spec):
    """The options of a review."""

    path: Annotated[LocalFile, Opt("A build's output folder, or a dataset.", "DIR|FILE", is_argument=True)]
    _: KW_ONLY
    rater: Annotated[
        str | None, Opt("Name to store with your decisions.", "NAME", default="the stored name, or your user name")
    ] = None
    target: Annotated[
        float | None,
        Opt(
            "Review until the upper confidence bound on the share of incorrect items is below this value.",
            "SHARE",
            default="0.05",
            low=0.001,
            high=0.999,
        ),
    ] = None
    port: Annotated[int | None, _PORT] = None
    open_: Annotated[bool, _OPEN] = False
    compare: Annotated[
        LocalFile | None, Opt("Only measure the agreement with another rater's decisions in this file.", "FILE")
    ] = None
    apply: Annotated[LocalFile | None, Opt("Only write the reviewed dataset to this new folder.", "DIR2")] = None
    progress: bool | Progress = True

    def _check(self) -> None:
        if self.compare is not None and self.apply is not None:
            raise UsageError(f"{option('compare')} and {option('apply')} cannot be combined. Use only one of them.")


@dataclass(frozen=True)
class JudgeSpec(CallOptions):
    """The options of a judgement."""

    run: Annotated[RunLike, _RUN]
    model: Annotated[
        ModelLike,
        Opt(
            "Judge model, e.g. openai/gpt-4o; several judges are compared with each other.",
            "MODEL",
            in_python="Also a function, as in `run`.",
            short="-m",
            is_repeatable=True,
        ),
    ]
    _: KW_ONLY
    criteria: Annotated[
        Values,
        Opt(
            "Criteria to judge by: refusal, flag, correct, sufficient, supported, code.rej_star or code.ed_star.",
            "NAMES",
        ),
    ] = "refusal,flag,correct"
    testbeds: Annotated[
        Values | None,
        Opt("Judge only responses in these testbeds.", "NAMES", default="those that the criterion applies to"),
    ] = None
    votes: Annotated[int, Opt("Number of judgements per response; the majority decides.", low=1)] = 1
    max_tokens: Annotated[
        int | str, Opt("Maximum number of tokens per judgement.", "N|auto", read=check_max_tokens)
    ] = "auto"
    labels: Annotated[
        LocalFile | None,
        Opt(
            "File with human labels, used to validate the judge and to correct the rates computed from its verdicts.",
            "FILE",
        ),
    ] = None
    sample: Annotated[
        int | None, Opt("Number of responses per criterion to write to the output file, for human labelling.", low=2)
    ] = None
    out: Annotated[LocalFile | None, Opt("Output file for the sample.", "FILE", short="-o")] = None
    unsure: Annotated[bool, Opt("Judge only responses with the verdict `unsure` by the robust scorer.")] = False
    progress: bool | Progress = True

    def _check(self) -> None:
        super()._check()
        if (self.sample is None) != (self.out is None):
            raise UsageError(f"{option('sample', 'N')} and {option('out', 'FILE')} must be given together.")


@dataclass(frozen=True)
class DiagnoseSpec(EngineOptions):
    """The options of a diagnosis."""

    run: Annotated[RunLike, _RUN]
    _: KW_ONLY
    progress: bool | Progress = True


@dataclass(frozen=True, kw_only=True)
class PowerSpec(Spec):
    """The options of a sample-size calculation."""

    drop: Annotated[
        Values | None, Opt("Drops in accuracy to detect, e.g. 0.05 or 5%.", default="0.03, 0.05 and 0.1")
    ] = None
    items: Annotated[int | None, Opt("Number of questions to compare.", low=2, high=100_000)] = None
    discordance: Annotated[
        Values | None,
        Opt("Assumed fractions of questions whose verdict changes.", default="two and three times the drop"),
    ] = None
    base: Annotated[Values, Opt("Assumed accuracy before the drop, for unpaired designs.")] = "0.95,0.6"
    power: Annotated[float, Opt("Probability of detecting the drop.", low=0.5, high=0.999)] = 0.8
    alpha: Annotated[float, Opt("Significance level of the two-sided test.", low=0.0001, high=0.5)] = 0.05


@dataclass(frozen=True)
class DownloadSpec(Spec):
    """The options of a download."""

    name: Annotated[str, Opt("A dataset or model that `ragbed data list` shows.", "NAME", is_argument=True)]
    _: KW_ONLY
    from_: Annotated[
        LocalFile | None, Opt("Copy the files from a local folder, file or wheel instead of downloading them.", "PATH")
    ] = None
    mirror: Annotated[
        str | None,
        Opt(
            "Mirror to download from: hf-mirror, jsdelivr, or the URL of a folder. Checksums are verified as usual.",
            "NAME|URL",
        ),
    ] = None
    progress: bool | Progress = True

    def _check(self) -> None:
        if self.from_ is not None and self.mirror is not None:
            raise UsageError(f"{option('from_')} and {option('mirror')} cannot be combined. Remove one of them.")


@dataclass(frozen=True)
class CasesSpec(LayoutOptions):
    """The options that select test cases."""

    data: Annotated[DataLike, Opt("Datasets, as in `run`.", "DATA", is_argument=True, is_data=True)]


@dataclass(frozen=True)
class LintSpec(MixOptions):
    """The options of a check of datasets."""

    data: Annotated[
        DataLike,
        Opt(
            "Files, URLs, NAME=FILE, or names from `ragbed data list`.",
            "DATA",
            is_argument=True,
            is_repeatable=True,
            is_required=True,
            is_data=True,
        ),
    ]
    _: KW_ONLY
    only: Annotated[Values | None, Opt("Run only these rules; 'record' only validates the records.", "RULES")] = None
    skip: Annotated[Values | None, Opt("Do not run these rules.", "RULES")] = None
    all_: Annotated[bool, Opt("Keep all findings, not only the first few per rule.")] = False
    progress: bool | Progress = True


@dataclass(frozen=True)
class SynthSpec(Spec):
    """The options of a synthetic dataset."""

    out: Annotated[LocalFile, Opt("Output folder for the dataset files.", "DIR", short="-o")]
    _: KW_ONLY
    seed: Annotated[int, Opt("Random seed; the same seed produces identical files.")] = 0
    items: Annotated[int, Opt("Number of base items per language.")] = 300
    integration: Annotated[
        int | None, Opt("Number of integration items per language.", default="a third of the base items")
    ] = None
    counterfactual: Annotated[
        int | None,
        Opt("Number of counterfactual items per language.", default="a third of the base items, at most one per fact"),
    ] = None
    lang: Annotated[Values, Opt("Languages in which to generate items.", "LANGS")] = "en,zh"
    num_docs: Annotated[int, Opt("Number of documents per base item: 2 to 200.")] = 20
    supporting: Annotated[
        int | None,
        Opt(
            "Number of documents per base item that contain the answer; the others are distractors on a similar topic.",
            default="half",
        ),
    ] = None
    parts: Annotated[int, Opt("Maximum number of sub-answers per integration item: 2 to 5.")] = 3
    tokens: Annotated[
        int,
        Opt("Approximate document length in tokens: 60, or 80 to 1500. Values between 60 and 80 are treated as 80."),
    ] = 85
    perturbations: Annotated[
        Values,
        Opt(
            "Perturbations to add: none, mix (all types, in 20% of the items), or a list of names. With a list, base "
            "items are generated in minimal pairs, with and without the perturbation.",
            "NAMES",
        ),
    ] = "mix"
    workers: Annotated[int | None, Opt("Number of worker processes.", low=1, default="one per core")] = None
    progress: bool | Progress = True


@dataclass(frozen=True)
class BuildInitSpec(CallOptions):
    """The options of a new recipe."""

    documents: Annotated[
        LocalFile, Opt("A folder, or a .jsonl, .warc or .txt file. Only a folder can be tried.", is_argument=True)
    ]
    brief: Annotated[
        str,
        Opt(
            "Description of the questions to build (number, kinds and topic), in English or Chinese.", is_argument=True
        ),
    ] = ""
    _: KW_ONLY
    out: Annotated[
        LocalFile | None, Opt("Recipe file to write.", "RECIPE", short="-o", default="named after the documents")
    ] = None
    model: Annotated[str | None, Opt("Model that writes the questions (required).", "MODEL", short="-m")] = None
    trial: Annotated[
        int,
        Opt(
            "Number of documents to write questions about, to estimate the number of items; 0 for no trial.",
            low=0,
            high=50,
        ),
    ] = 5
    progress: bool | Progress = True


@dataclass(frozen=True)
class BuildSpec(CallOptions):
    """The options of a build."""

    recipe: Annotated[
        LocalFile,
        Opt("The recipe, a TOML file such as one written by `ragbed build init`.", "RECIPE.toml", is_argument=True),
    ]
    _: KW_ONLY
    out: Annotated[
        LocalFile | None, Opt("Output folder for the build.", "DIR", short="-o", default="builds/<name>")
    ] = None
    model: Annotated[str | None, Opt("Model to use instead of the recipe's generator.", "MODEL", short="-m")] = None
    from_: Annotated[str | None, Opt("Rerun this step and all later steps.", "STEP")] = None
    since: Annotated[str | None, Opt("Use only articles published on or after this date, e.g. 2026-11-01.", "DATE")] = (
        None
    )
    progress: bool | Progress = True


@dataclass(frozen=True)
class QualitySpec(Spec):
    """The options of a quality measurement."""

    data: Annotated[LocalFile, Opt("A dataset, or a build's output folder.", "DATA", is_argument=True, is_data=True)]
    _: KW_ONLY
    out: Annotated[LocalFile | None, Opt("Report file to write (.html or .json).", "FILE", short="-o")] = None


@dataclass(frozen=True)
class ExportSpec(LayoutOptions):
    """The options of an export."""

    sources: Annotated[
        Sources,
        Opt(
            "A run or its folder, or datasets as in `run`.",
            "DATA|RUN",
            is_argument=True,
            is_repeatable=True,
            is_required=True,
            is_data=True,
        ),
    ]
    to: Annotated[
        str,
        Opt(
            "Output format. For items: native, rgb, parquet, corpus or withheld-corpus (the last two contain only "
            "passages). For test cases: jsonl, inspect, lm-eval, hf. For runs: jsonl, parquet, archive or rgb (the "
            "file format of the original RGB code).",
            "FORMAT",
        ),
    ]
    out: Annotated[
        Output | None,
        Opt(
            "File, new folder or URL to write to, e.g. s3://bucket/data; '-' writes to stdout.",
            "PATH",
            in_python="Also an open binary file.",
            short="-o",
            default="only count the cases, for test cases as jsonl",
            is_place=True,
        ),
    ] = None
    _: KW_ONLY
    canonical: Annotated[
        bool,
        Opt("For runs: sort the trials and omit timings and attempts, so that identical runs produce identical files."),
    ] = False
    model: Annotated[str | None, Opt("For runs: export only the trials of this model.", "MODEL", short="-m")] = None
    progress: bool | Progress = True


@dataclass(frozen=True)
class ImportSpec(LayoutOptions):
    """The options of an import."""

    files: Annotated[
        LocalFiles,
        Opt("The files to import.", "FILE", is_argument=True, is_repeatable=True, is_required=True, is_place=True),
    ]
    from_: Annotated[
        str,
        Opt(
            "Input format: rgb (result files of the original RGB code), jsonl, inspect (logs), lm-eval (samples) or "
            "archive.",
            "FORMAT",
        ),
    ]
    out: Annotated[LocalFile, Opt("New folder for the run.", "RUN", short="-o")]
    _: KW_ONLY
    data: Annotated[
        DataLike | None,
        Opt(
            "Dataset (as in `ragbed run`) or exported testbed that the answers belong to.",
            "DATA",
            short="-d",
            is_repeatable=True,
            is_data=True,
        ),
    ] = None
    model: Annotated[
        str | None,
        Opt(
            "For jsonl and lm-eval: name of the model that generated the answers. For inspect: name to use instead of "
            "the logged model name.",
            "MODEL",
            short="-m",
        ),
    ] = None


@dataclass(frozen=True)
class MergeSpec(Spec):
    """The options of a merge."""

    runs: Annotated[RunsLike, _RUNS]
    out: Annotated[LocalFile, Opt("New folder for the merged run.", "RUN", short="-o")]


@dataclass(frozen=True)
class DemoSpec(Spec):
    """The options of the demo."""

    model: Annotated[str, Opt("Model to evaluate.", "MODEL", short="-m")] = DEFAULT_MODEL
    _: KW_ONLY
    lang: Annotated[Values, Opt("Languages to include.", "LANGS")] = "en,zh"
    out: Annotated[LocalFile, Opt("Output folder for the runs and the report.", "DIR", short="-o")] = "runs/demo"
    progress: bool | Progress = True


@dataclass(frozen=True, kw_only=True)
class DoctorSpec(Spec):
    """The options of the check of the installation."""

    prune_cache: Annotated[
        str | None,
        Opt("Remove cached responses that are older than this age first, e.g. 12h, 30d or 8w; 0d removes all.", "AGE"),
    ] = None
