"""The options of all jobs other than a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ragbed.api.request_options import check_max_tokens
from ragbed.api.spec import DEFAULT_MODEL, CallOptions, EngineOptions, LayoutOptions
from ragbed.api.specification import LocalFile, Spec, Values, opt, output, read_share
from ragbed.errors import UsageError, option, refuse_unused

if TYPE_CHECKING:
    from pathlib import Path

    from ragbed.api.data_objects import DataLike
    from ragbed.api.objects import ModelLike
    from ragbed.api.places import RunLike, RunsLike
    from ragbed.api.progress import Progress
    from ragbed.api.results import Run
    from ragbed.data.output import BinarySink

    Output: TypeAlias = str | Path | BinarySink
    Sources: TypeAlias = Run | DataLike
    LocalFiles: TypeAlias = str | Path | Sequence[str | Path]
    Questions: TypeAlias = str | Path | Any
else:
    # The real types take longer to import than a command to start; the functions check these values.
    DataLike = LocalFiles = ModelLike = Output = Progress = Questions = RunLike = RunsLike = Sources = object

ReportFormat: TypeAlias = Literal["text", "md", "html", "latex", "csv", "json", "site", "svg", "png", "pdf"]

_SCORERS = "robust, code, paper, or a scorer from a plug-in."


class RunsSpec(Spec):
    """The options of a job that reads several runs."""

    runs: RunsLike = opt(
        "Runs, or folders of runs.",
        "RUN",
        is_argument=True,
        is_repeatable=True,
        is_required=True,
        is_place=True,
        kw_only=False,
    )


class CompareSpec(Spec, function="analysis.compare"):
    """Compare two runs or two models question by question.

    A and B are runs; RUN:MODEL selects one model of a run. Only questions with results from both sides under the same
    condition are compared; profile, prompt, seed, model and date can differ. The output has one sentence per testbed,
    then a table with one row per condition.

    The p-values of the exact McNemar test (the sign-flip test for graded scores) are adjusted for the number of
    comparisons (Holm). A difference is significant if p is below 0.05.

    Examples:
      ragbed compare runs/old runs/new
      ragbed compare runs/board:openai/gpt-4o-mini runs/board:vllm/qwen --flips
      ragbed compare runs/paper runs/robust --scorer code --json
      ragbed compare runs/main runs/branch --fail-if-worse 5% --junit gates.xml
    """

    a: RunLike = opt("The baseline: a run, or RUN:MODEL.", "A", is_argument=True, is_place=True, kw_only=False)
    b: RunLike = opt("The run to compare with the baseline.", "B", is_argument=True, is_place=True, kw_only=False)
    scorer: str = opt(f"Scorer to compare: {_SCORERS}", "NAME", default="robust")
    min_drop: float | str = opt(
        "Smallest drop that is reported as a decline, e.g. 0.03 or 3%.", "SHARE", read=read_share, default=0.03
    )
    fail_if_worse: float | str | None = opt(
        "Margin of a gate that fails (exit code 4) if B is significantly worse than A by more than this value. It "
        "also replaces the smallest drop to report.",
        "SHARE",
        read=read_share,
        default=None,
    )
    flips: bool = opt("List the items whose result differs between A and B.", default=False)
    junit: LocalFile | None = output("JUnit XML file to write the gate results to.", "FILE", default=None)

    def _check(self) -> None:
        if self.junit is not None and self.fail_if_worse is None:
            refuse_unused("junit", f"no gate is set. Set one, e.g. {option('fail_if_worse', 0.05)}")


class RankSpec(RunsSpec, function="analysis.rank"):
    """Rank the models in one or more runs, using paired tests.

    Models are compared on the questions for which all of them have results under the
    same conditions; each question counts once, with its mean score over the noise ratios. Two models share a rank
    unless they differ significantly.

    Examples:
      ragbed rank runs/candidates
      ragbed rank runs/gpt runs/qwen runs/llama --pairs
      ragbed rank runs/candidates --json
    """

    scorer: str = opt(f"Scorer to rank by: {_SCORERS}", "NAME", default="robust")
    pairs: bool = opt("Also show the difference between every pair of models.", default=False)


class ReportSpec(RunsSpec):
    """The options of a report."""

    format: ReportFormat = opt(
        "Report format; a site has a leaderboard and a report on each run.", short="-f", default="text"
    )
    scorer: str = opt(
        f"Scorer shown in the tables (csv and json include all scorers): {_SCORERS}", "NAME", default="robust"
    )
    out: LocalFile | None = opt(
        "File to write to, or folder for figures or a site. Text reports are written as Markdown.",
        "PATH",
        short="-o",
        shown="stdout, or report.html for html",
        default=None,
    )
    locale: Literal["en", "zh"] | None = opt(
        "Language of headings and labels in the figures and the HTML pages.",
        shown="en for figures, the browser's language for html",
        default=None,
    )
    rescore: bool = opt("Score runs again that another version of the scorer has scored.", default=False)


class ViewSpec(Spec):
    """The options of the page that shows runs."""

    paths: RunsLike | None = opt(
        "Runs, or folders of runs.",
        "RUN|DIR",
        shown="the runs folder",
        is_argument=True,
        is_repeatable=True,
        is_place=True,
        default=None,
        kw_only=False,
    )
    port: int | None = opt("Local port to listen on.", shown="7717, or any free port", low=0, high=65_535, default=None)
    rater: str | None = opt("Name to store with your labels.", "NAME", shown="your user name", default=None)
    open_: bool = opt("Open the page in the browser.", default=False)


class ReviewSpec(Spec):
    """The options of a review."""

    path: LocalFile = opt("A build's output folder, or a dataset.", "DIR|FILE", is_argument=True, kw_only=False)
    rater: str | None = opt(
        "Name to store with your decisions.", "NAME", shown="the stored name, or your user name", default=None
    )
    target: float | None = opt(
        "Review until the upper confidence bound on the share of incorrect items is below this value.",
        "SHARE",
        shown="0.05",
        low=0.001,
        high=0.999,
        default=None,
    )
    port: int | None = opt("Local port to listen on.", shown="7717, or any free port", low=0, high=65_535, default=None)
    open_: bool = opt("Open the page in the browser.", default=False)
    apply: LocalFile | None = opt("Only write the reviewed dataset to this new folder.", "DIR2", default=None)
    progress: bool | Progress = True


class JudgeSpec(CallOptions, function="analysis.judge"):
    """Use a model to judge the responses in a run.

    The judge sees the question and the response, both delimited so that a response cannot give the judge instructions.
    It answers with one word from a closed list; anything else counts as unparsed. Judgements are stored in the run's
    folder. Rerun the command to resume judging or to judge new responses.

    To validate a judge, measure its agreement with human labels. --sample draws responses to label (fill in
    "label" and "rater"), and --labels reads the labels, reports the agreement by language and corrects the rates.
    Without labels, no rate is corrected.

    Criteria:
      refusal     declines to answer                   (Rej*; rejection)
      flag        says that the documents are wrong    (ED*; counterfactual)
      correct     gives the right answer, in any words
      sufficient  the documents are sufficient to answer
      supported   every claim is backed by a document; needs no gold answer
      code.rej_star, code.ed_star   the paper's own judges, with the original code's prompts and parsing

    Examples:
      ragbed judge runs/qwen -m openai/gpt-4o
      ragbed judge runs/qwen -m openai/gpt-4o -m anthropic/claude-sonnet-4-5 --criteria refusal --votes 3
      ragbed judge runs/qwen -m openai/gpt-4o --sample 200 -o runs/qwen/labels.jsonl
      ragbed judge runs/qwen -m openai/gpt-4o --labels runs/qwen/labels.jsonl
      ragbed judge runs/qwen -m openai/gpt-4o --criteria correct --unsure
    """

    run: RunLike = opt("The run: a `Run`, or its folder.", "RUN", is_argument=True, is_place=True, kw_only=False)
    model: ModelLike = opt(
        "Judge model, e.g. openai/gpt-4o.",
        "MODEL",
        in_python="Also a function, as in `run`.",
        short="-m",
        is_repeatable=True,
        kw_only=False,
    )
    criteria: Values = opt(
        "Criteria to judge by: refusal, flag, correct, sufficient, supported, code.rej_star or code.ed_star.",
        "NAMES",
        default="refusal,flag,correct",
    )
    testbeds: Values | None = opt(
        "Judge only responses in these testbeds.", "NAMES", shown="those that the criterion applies to", default=None
    )
    votes: int = opt("Number of judgements per response; the majority decides.", low=1, default=1)
    max_tokens: int | str = opt(
        "Maximum number of tokens per judgement.", "N|auto", read=check_max_tokens, default="auto"
    )
    labels: LocalFile | None = opt(
        "File with human labels, used to validate the judge and to correct the rates computed from its verdicts.",
        "FILE",
        default=None,
    )
    sample: int | None = opt(
        "Number of responses per criterion to write to the output file, for human labelling.", low=2, default=None
    )
    out: LocalFile | None = opt("Output file for the sample.", "FILE", short="-o", default=None)
    unsure: bool = opt("Judge only responses with the verdict `unsure` by the robust scorer.", default=False)
    progress: bool | Progress = True

    def _check(self) -> None:
        super()._check()
        if (self.sample is None) != (self.out is None):
            raise UsageError(f"{option('sample', 'N')} and {option('out', 'FILE')} must be given together.")


class DiagnoseSpec(EngineOptions, function="analysis.diagnose"):
    """Classify the errors in a run and show the evidence.

    Every wrong trial is assigned the error types that apply, with the evidence (a sentence, cue or difference) and the
    source of the wrong answer. Errors that match no type are counted as unclassified. Diagnoses are written to
    RUN/diagnose/diagnosis.jsonl. No model is called.

    Types:
      E1 long-distance information   E2 evidence uncertainty     E3 concept confusion
      E4 merging                     E5 ignoring                 E6 misalignment
      E7 noise error in integration  E8 over-trust of false documents
      E9 false refusal               E10 data error              E11 generation failure
      E12 evidence not found

    Examples:
      ragbed diagnose runs/qwen
      ragbed diagnose runs/qwen --show E3
    """

    run: RunLike = opt("The run: a `Run`, or its folder.", "RUN", is_argument=True, is_place=True, kw_only=False)
    show: str | None = opt(
        "Print the errors of one type (E1 to E12, or unclassified) with their evidence.", "TYPE", default=None
    )
    progress: bool | Progress = True


class PowerSpec(Spec):
    """The options of a sample-size calculation."""

    drop: Values | None = opt("Drops in accuracy to detect, e.g. 0.05 or 5%.", shown="0.03, 0.05 and 0.1", default=None)
    items: int | None = opt("Number of questions to compare.", low=2, high=100_000, default=None)
    discordance: Values | None = opt(
        "Assumed fractions of questions whose verdict changes.", shown="two and three times the drop", default=None
    )
    power: float = opt("Probability of detecting the drop.", low=0.5, high=0.999, default=0.8)
    alpha: float = opt("Significance level of the two-sided test.", low=0.0001, high=0.5, default=0.05)


class DownloadSpec(Spec):
    """The options of a download."""

    name: str = opt("A dataset or model that `ragbed data list` shows.", "NAME", is_argument=True, kw_only=False)
    mirror: str | None = opt(
        "URL of a folder to download the files from instead. Checksums are verified as usual.", "URL", default=None
    )
    progress: bool | Progress = True

    def _check(self) -> None:
        if self.mirror is not None and not self.mirror.startswith(("https://", "http://")):
            raise UsageError(f"{option('mirror', self.mirror)} is not a URL. Use https://…")


class CasesSpec(LayoutOptions):
    """The options that select test cases."""

    data: DataLike = opt("Datasets, as in `run`.", "DATA", is_argument=True, is_data=True, kw_only=False)


class LintSpec(Spec):
    """The options of a check of datasets."""

    data: DataLike = opt(
        "Files, URLs, NAME=FILE, or names from `ragbed data list`.",
        "DATA",
        is_argument=True,
        is_repeatable=True,
        is_required=True,
        is_data=True,
        kw_only=False,
    )
    only: Values | None = opt("Run only these rules; 'record' only validates the records.", "RULES", default=None)
    skip: Values | None = opt("Do not run these rules.", "RULES", default=None)
    all_: bool = opt("Keep all findings, not only the first few per rule.", default=False)
    progress: bool | Progress = True


class SynthesisSpec(Spec):
    """The options of a synthetic dataset."""

    out: LocalFile = opt("Output folder for the dataset files.", "DIR", short="-o", kw_only=False)
    seed: int = opt("Random seed; the same seed produces identical files.", default=0)
    items: int = opt("Number of base items per language.", low=0, default=300)
    integration: int | None = opt(
        "Number of integration items per language.", low=0, shown="a third of the base items", default=None
    )
    counterfactual: int | None = opt(
        "Number of counterfactual items per language.",
        low=0,
        shown="a third of the base items, at most one per fact",
        default=None,
    )
    lang: Values = opt("Languages in which to generate items.", "LANGS", default="en,zh")
    num_docs: int = opt("Number of documents per base item.", low=2, high=200, default=20)
    supporting: int | None = opt(
        "Number of documents per base item that contain the answer; the others are distractors on a similar topic.",
        shown="half",
        default=None,
    )
    parts: int = opt("Maximum number of sub-answers per integration item.", low=2, high=5, default=3)
    tokens: int = opt("Approximate document length in tokens.", low=80, high=1500, default=85)
    perturbations: Values = opt(
        "Perturbations to add: none, mix (all types, in 20% of the items), or a list of names. With a list, base "
        "items are generated in minimal pairs, with and without the perturbation.",
        "NAMES",
        default="mix",
    )
    workers: int | None = opt("Number of worker processes.", low=1, shown="one per core", default=None)
    progress: bool | Progress = True


class BuildInitSpec(CallOptions):
    """The options of a new recipe."""

    documents: LocalFile = opt(
        "A folder, or a .jsonl or .txt file. Only a folder can be tried.", is_argument=True, kw_only=False
    )
    out: LocalFile | None = opt(
        "Recipe file to write.", "RECIPE", short="-o", shown="named after the documents", default=None
    )
    model: str | None = opt("Model that writes the questions (required).", "MODEL", short="-m", default=None)
    trial: int = opt(
        "Number of documents to write questions about, to estimate the number of items; 0 for no trial.",
        low=0,
        high=50,
        default=5,
    )
    progress: bool | Progress = True


class BuildQaSpec(Spec):
    """The options of a dataset from questions and documents."""

    questions: Questions = opt(
        "CSV or JSON Lines file with the columns question, answer and, optionally, source, false_answer and id.",
        "QUESTIONS",
        in_python="Also a list of dictionaries or a DataFrame with these columns.",
        is_argument=True,
        is_place=True,
        kw_only=False,
    )
    docs: LocalFile = opt("Folder with the documents.", "DIR")
    out: LocalFile = opt("New folder for the dataset.", "DIR", short="-o")
    data_lang: str | None = opt("Language of the questions: en or zh.", "LANG", shown="detected", default=None)
    progress: bool | Progress = True


class BuildSpec(CallOptions):
    """The options of a build."""

    recipe: LocalFile = opt(
        "The recipe, a TOML file such as one written by `ragbed build init`.",
        "RECIPE.toml",
        is_argument=True,
        kw_only=False,
    )
    out: LocalFile | None = opt("Output folder for the build.", "DIR", short="-o", shown="builds/<name>", default=None)
    model: str | None = opt("Model to use instead of the recipe's generator.", "MODEL", short="-m", default=None)
    from_: str | None = opt("Rerun this step and all later steps.", "STEP", default=None)
    since: str | None = opt("Use only articles published on or after this date, e.g. 2026-11-01.", "DATE", default=None)
    progress: bool | Progress = True


class QualitySpec(Spec):
    """The options of a quality measurement."""

    data: LocalFile = opt(
        "A dataset, or a build's output folder.", "DATA", is_argument=True, is_data=True, kw_only=False
    )


class ExportSpec(LayoutOptions):
    """The options of an export."""

    sources: Sources = opt(
        "A run or its folder, or datasets as in `run`.",
        "DATA|RUN",
        is_argument=True,
        is_repeatable=True,
        is_required=True,
        is_data=True,
        kw_only=False,
    )
    to: str = opt(
        "Output format. For items: native, rgb. For test cases: jsonl, inspect, lm-eval, hf. For the own-rag "
        "testbed: corpora (a folder for each variant of the documents). For runs: jsonl, parquet, archive or rgb (the "
        "file format of the original RGB code).",
        "FORMAT",
        kw_only=False,
    )
    out: Output | None = opt(
        "File or new folder to write to; '-' writes to stdout.",
        "PATH",
        in_python="Also an open binary file.",
        short="-o",
        shown="only count the cases, for test cases as jsonl",
        is_place=True,
        default=None,
        kw_only=False,
    )
    canonical: bool = opt(
        "For runs: sort the trials and omit timings and attempts, so that identical runs produce identical files.",
        default=False,
    )
    model: str | None = opt("For runs: export only the trials of this model.", "MODEL", short="-m", default=None)
    progress: bool | Progress = True


class ImportSpec(LayoutOptions):
    """The options of an import."""

    files: LocalFiles = opt(
        "The files to import.",
        "FILE",
        is_argument=True,
        is_repeatable=True,
        is_required=True,
        is_place=True,
        kw_only=False,
    )
    from_: str = opt(
        "Input format: rgb (result files of the original RGB code), jsonl, archive, or traces (of a RAG system in "
        "production; the format is detected, or openinference, langfuse or columns).",
        "FORMAT",
        kw_only=False,
    )
    out: LocalFile = opt("New folder for the run.", "RUN", short="-o", kw_only=False)
    data: DataLike | None = opt(
        "Dataset (as in `ragbed run`) or exported testbed that the answers belong to.",
        "DATA",
        short="-d",
        is_repeatable=True,
        is_data=True,
        default=None,
    )
    model: str | None = opt(
        "For jsonl: name of the model that generated the answers.",
        "MODEL",
        short="-m",
        default=None,
    )


class MergeSpec(RunsSpec):
    """The options of a merge."""

    out: LocalFile = opt("New folder for the merged run.", "RUN", short="-o", kw_only=False)


class DemoSpec(Spec):
    """The options of the demo."""

    model: str = opt("Model to evaluate.", "MODEL", short="-m", default=DEFAULT_MODEL, kw_only=False)
    lang: Values = opt("Languages to include.", "LANGS", default="en,zh")
    out: LocalFile = opt("Output folder for the runs and the report.", "DIR", short="-o", default="runs/demo")
    progress: bool | Progress = True


class DoctorSpec(Spec):
    """The options of the check of the installation."""

    prune_cache: str | None = opt(
        "Remove cached responses that are older than this age first, e.g. 12h, 30d or 8w; 0d removes all.",
        "AGE",
        default=None,
    )
