"""The options of all jobs other than a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from ragbed.api.request_options import check_max_tokens
from ragbed.api.spec import DEFAULT_MODEL, FORMAT_HELP, CallOptions, LayoutOptions, RunSpec
from ragbed.api.specification import (
    Data,
    LocalFile,
    Place,
    Spec,
    Texts,
    Values,
    argument,
    opt,
    output,
    read_share,
    requests,
)
from ragbed.errors import UsageError, option, refuse_unused

if TYPE_CHECKING:
    from pathlib import Path

    from ragbed.api.data_objects import DataLike
    from ragbed.api.objects import ModelLike
    from ragbed.api.progress import Progress
    from ragbed.api.results import Run, RunLike, RunsLike

    Output: TypeAlias = str | Path | IO[bytes]
    Sources: TypeAlias = Run | DataLike
    LocalFiles: TypeAlias = str | Path | Sequence[str | Path]
    Questions: TypeAlias = str | Path | Any
else:
    # The real types take longer to import than a command to start; the functions check these values.
    ModelLike, Progress = object | Sequence[object], object
    DataLike = Sources = Data | Sequence[Data]
    Output = Questions = RunLike = Place
    LocalFiles = RunsLike = Place | Sequence[Place]

ReportFormat: TypeAlias = Literal["text", "md", "html", "csv", "json", "site", "svg", "png", "pdf"]

_SCORERS = "robust, code, paper, python/<module>:<function>, or a scorer from a plug-in."


class RunCommandSpec(RunSpec, function="runs.run_command"):
    """Evaluate models on test cases and store every response.

    To resume a run that was stopped, rerun the same command with its --out. Cases that ended in an error are
    retried; finished cases are not.

    Examples:
      ragbed run -m openai/gpt-4o-mini -d en_refine
      ragbed run -m llamacpp/models/qwen2.5-7b-instruct-q4_k_m.gguf -d zh_refine
      ragbed run -m vllm/Qwen/Qwen2.5-7B-Instruct -d zh_refine --profile code-2024 -o runs/qwen
      ragbed run -m ollama/qwen2.5:7b -d ragbed-mini-zh_base --strategies quote,isolate
      ragbed run -m factory/my_rag:make -d qa.csv --docs handbook -o runs/today --fail-under accuracy=0.7
      ragbed run -m openai/gpt-4o-mini -d en_refine --testbeds noise --noise 0.8 --until "noise.accuracy@0.8 ± 10"
      ragbed run -m hf/Qwen/Qwen2.5-7B-Instruct -d en_refine --engine ray --cluster HEAD:6379 --replicas 8
    """

    dry_run: bool = requests(
        "Evaluate five cases and estimate the calls, tokens, cost and duration of the full run.", default=False
    )


class RunsSpec(Spec):
    """The options of a job that reads several runs."""

    runs: RunsLike = argument("Runs, or folders of runs.", "RUN", kw_only=False)


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
      ragbed compare runs/main runs/branch --fail-if-worse 5% --junit gates.xml
    """

    a: RunLike = argument("The baseline: a run, or RUN:MODEL.", "A", kw_only=False)
    b: RunLike = argument("The run to compare with the baseline.", "B", kw_only=False)
    scorer: str = opt(f"Scorer to compare: {_SCORERS}", "NAME", default="robust")
    fail_if_worse: float | str | None = opt(
        "Fail (exit code 4) if B is significantly worse than A by more than this margin, which is then also the "
        "smallest drop that is reported as a decline (otherwise, 0.03).",
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

    Models are compared on the questions for which all of them have results under the same conditions. Two models share
    a rank unless they differ significantly.

    Examples:
      ragbed rank runs/candidates
      ragbed rank runs/gpt runs/qwen runs/llama --pairs
    """

    scorer: str = opt(f"Scorer to rank by: {_SCORERS}", "NAME", default="robust")
    pairs: bool = opt("Also show the difference between every pair of models.", default=False)


class ReportSpec(RunsSpec, function="reports.report", prints_json=False):
    """Write tables, figures and a summary for one or more runs.

    A folder stands for all runs in it. No model is called. A run keeps its first verdicts unless --rescore is given.

    Every rate is a share of all attempted cases, including errors, with n and a 95% interval clustered by question. An
    asterisk marks n below 30; † marks rows comparable with the paper's, whose values are shown beside them. CSV and
    JSON contain every cell, one per line. The formats svg, png and pdf write only the figures; html writes everything,
    including the cases, to one file; site writes a folder with a leaderboard and an HTML report on each run.

    Examples:
      ragbed report runs/qwen
      ragbed report runs/qwen -f html -o report.html
      ragbed report runs/qwen -f pdf -o figures --locale zh
      ragbed report runs -f site -o site
      ragbed report runs/qwen --disagreements code
    """

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
    rescore: bool = opt("Rescore runs that were scored by another version of the scorer.", default=False)
    disagreements: Literal["code", "paper"] | None = opt(
        "Instead of the tables, list the responses that this scorer scores differently from the robust scorer. "
        "Formats: text and json.",
        default=None,
    )


class StatusSpec(Spec, function="run_status.status"):
    """Show the progress and outcome counts of a run.

    If RUN is a folder of runs, all of them are shown.

    Each attempted case is ok, truncated (at the token limit), filtered (by the provider's content filter) or an
    error. The command only reads files, so it can be used during a run.

    Examples:
      ragbed status runs/qwen
    """

    run: RunLike = argument("A run, or a folder of runs.", "RUN", kw_only=False)


class PageOptions(Spec):
    """The options of a local page."""

    rater: str | None = opt(
        "Name to store with your entries.", "NAME", shown="that of the review, or your user name", default=None
    )
    port: int | None = opt("Local port to listen on.", shown="7717, or any free port", low=0, high=65_535, default=None)
    open_: bool = opt("Open the page in the browser.", default=False)


class ViewSpec(PageOptions, function="serving.view", prints_json=False):
    """View every case of one or more runs in the browser.

    The page searches cases, compares models, and shows for each case the prompt, the documents, the response and its
    verdicts with their evidence. Labels that you assign are stored in RUN/labels.jsonl, for
    `ragbed judge RUN --labels`. The page follows runs in progress and shows new runs.

    Only this machine can open the page, and only with the printed URL.

    Examples:
      ragbed view
      ragbed view runs/qwen runs/llama --open
    """

    paths: RunsLike | None = argument(
        "Runs, or folders of runs.", "RUN|DIR", shown="the runs folder", default=None, kw_only=False
    )


class ReviewSpec(PageOptions, function="serving.review"):
    """Accept, fix or reject dataset items in the browser.

    DIR is a build folder, and FILE is any dataset. Flagged items come first; the rest are drawn at random, and the page
    shows an upper bound on the fraction of wrong items and how many more items to review. Every decision is stored in
    DIR/review/decisions.jsonl (NAME.review/ for a file), and can be undone. A review has one rater. Only this machine
    can open the page, and only with the printed URL.

    --apply writes the dataset without rejected items and with all fixes; DIR2/review/ lists every removal and change
    with its reason.

    Examples:
      ragbed review builds/news
      ragbed review builds/news --apply builds/news-reviewed
    """

    path: LocalFile = argument("A build's output folder, or a dataset.", "DIR|FILE", kw_only=False)
    target: float | None = opt(
        "Review until the upper confidence bound on the share of incorrect items is below this value.",
        "SHARE",
        shown="0.05",
        low=0.001,
        high=0.999,
        default=None,
    )
    apply: LocalFile | None = opt("Only write the reviewed dataset to this new folder.", "DIR2", default=None)
    progress: bool | Progress = True


class JudgeSpec(CallOptions, function="analysis.judge", keeps_parts=True):
    """Use a model to judge the responses in a run.

    The judge answers with one word from a closed list; anything else counts as unparsed. Judgements are stored in the
    run's folder. Rerun the command to resume judging or to judge new responses.

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
      ragbed judge runs/qwen -m openai/gpt-4o --sample 200 -o runs/qwen/labels.jsonl
      ragbed judge runs/qwen -m openai/gpt-4o --labels runs/qwen/labels.jsonl
      ragbed judge runs/qwen -m openai/gpt-4o --criteria correct --unsure
    """

    run: RunLike = argument("The run: a `Run`, or its folder.", "RUN", kw_only=False)
    model: ModelLike = opt(
        "Judge model, e.g. openai/gpt-4o.",
        "MODEL",
        in_python="Also a function, as in `run`.",
        short="-m",
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
    unsure: bool = opt("Judge only responses that the robust scorer marks as `unsure`.", default=False)
    progress: bool | Progress = True

    def _check(self) -> None:
        super()._check()
        if (self.sample is None) != (self.out is None):
            raise UsageError(f"{option('sample', 'N')} and {option('out', 'FILE')} must be given together.")


class DiagnoseSpec(Spec, function="analysis.diagnose"):
    """Classify the errors in a run and show the evidence.

    Every wrong trial is assigned the error types that apply, with the evidence (a sentence or cue) and the
    source of the wrong answer. Errors that match no type are counted as unclassified. Diagnoses are written to
    RUN/diagnose/diagnosis.jsonl. No model is called.

    For an own RAG system, the causes of wrong answers are shown instead, with some of the questions.

    Types:
      E1 long-distance information   E2 evidence uncertainty     E3 concept confusion
      E4 merging                     E5 ignoring                 E6 misalignment
      E8 over-trust of false documents   E9 false refusal
      E11 generation failure         E12 evidence not found      E13 instruction followed

    Examples:
      ragbed diagnose runs/qwen
      ragbed diagnose runs/qwen --show E3
      ragbed diagnose runs/today --show not-used
    """

    run: RunLike = argument("The run: a `Run`, or its folder.", "RUN", kw_only=False)
    show: str | None = opt(
        "Print the errors of one type (e.g. E3, or unclassified) with their evidence, or of a cause.",
        "TYPE",
        default=None,
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


class DatasetsSpec(Spec, function="datasets.datasets"):
    """List datasets and small models with their licences and folders."""


class DownloadSpec(Spec, function="datasets.download", keeps_parts=True):
    """Download the dataset or model NAME and verify its checksums.

    Files that are complete are not downloaded again, and an interrupted download is resumed. The files are stored
    in your data folder, or in the folder set by RAGBED_DATA_DIR. HF_ENDPOINT replaces https://huggingface.co.

    Examples:
      ragbed data get rgb
      ragbed data get smollm2
    """

    name: str = argument("A dataset or model that `ragbed data list` shows.", "NAME", kw_only=False)
    mirror: str | None = opt(
        "URL of a folder to download the files from instead. Checksums are verified as usual.", "URL", default=None
    )
    progress: bool | Progress = True

    def _check(self) -> None:
        if self.mirror is not None and not self.mirror.startswith(("https://", "http://")):
            raise UsageError(f"{option('mirror', self.mirror)} is not a URL. Use https://…")


class CasesSpec(LayoutOptions):
    """The options that select test cases."""

    data: DataLike = argument("Datasets, as in `run`.", "DATA", kw_only=False)


class LintSpec(Spec, function="datasets.lint"):
    """Check datasets item by item, and suggest fixes.

    The exit code is 1 if there are errors.

    Examples:
      ragbed lint zh_refine.json
      ragbed lint zh_int.json --skip short-gold,key-phrases --json
    """

    data: DataLike = argument("Files, URLs, NAME=FILE, or names from `ragbed data list`.", "DATA", kw_only=False)
    only: Values | None = opt(
        "Run only these rules, and list all findings; 'record' only validates the records.", "RULES", default=None
    )
    skip: Values | None = opt("Do not run these rules.", "RULES", default=None)
    format: Texts = opt(FORMAT_HELP, "[DATA=]FORMAT", default=())
    progress: bool | Progress = True


class SynthesisSpec(Spec, function="datasets.synthesize"):
    """Generate a dataset of fictional news.

    No model has seen these texts, and the ground truth is known exactly. DIR receives {lang}_base.jsonl,
    {lang}_int.jsonl, {lang}_fact.jsonl and manifest.json.

    Examples:
      ragbed synth --seed 7 --items 300 -o news
      ragbed synth --items 100 --lang en --perturbations sibling,hedge -o pairs
    """

    out: LocalFile = opt("Output folder for the dataset files.", "DIR", short="-o", kw_only=False)
    seed: int = opt("Random seed; the same seed produces identical files.", default=0)
    items: int = opt("Number of base items per language.", low=0, default=300)
    integration: int | None = opt(
        "Number of integration items per language.", low=0, shown="a third of the base items", default=None
    )
    counterfactual: int | None = opt(
        "Number of counterfactual items per language.", low=0, shown="a third, at most one per fact", default=None
    )
    lang: Values = opt("Languages in which to generate items.", "LANGS", default="en,zh")
    num_docs: int = opt("Number of documents per base item.", low=2, high=200, default=20)
    supporting: int | None = opt(
        "Number of documents per base item that contain the answer.", shown="half", default=None
    )
    parts: int = opt("Maximum number of sub-answers per integration item.", low=2, high=5, default=3)
    tokens: int = opt("Approximate document length in tokens.", low=80, high=1500, default=85)
    perturbations: Values = opt(
        "Perturbations to add: none, mix (all types, in 20% of the items), or names, each in minimal pairs.",
        "NAMES",
        default="mix",
    )
    workers: int | None = opt("Number of worker processes.", low=1, shown="one per core", default=None)
    progress: bool | Progress = True


class BuildInitSpec(CallOptions, function="building.build_init"):
    """Examine your documents, try the model on five of them, and write a recipe.

    The recipe requests as many items as the trial suggests; edit it to change their number, kinds, languages or topic.

    Examples:
      ragbed build init docs/ -m openai/gpt-4o-mini
      ragbed build init docs/ -m openai/gpt-4o --trial 10 -o handbook.toml
    """

    documents: LocalFile = argument("A folder, or a .jsonl or .txt file. Only a folder can be tried.", kw_only=False)
    out: LocalFile | None = opt(
        "Recipe file to write.", "RECIPE", short="-o", shown="named after the documents", default=None
    )
    model: str | None = opt("Model that writes the questions (required).", "MODEL", short="-m", default=None)
    trial: int = opt(
        "Number of documents for a trial that estimates the number of items; 0 skips the trial.",
        low=0,
        high=50,
        default=5,
    )
    progress: bool | Progress = True


class BuildQaSpec(Spec, function="data_objects.build_qa"):
    """Find the evidence for your own questions in a folder of documents, and write a dataset.

    QUESTIONS is a CSV or JSON Lines file with the columns question and answer (accepted forms are separated by |) and,
    optionally, source (the file that states the answer, or file#heading), false_answer and id. DIR receives
    {lang}_base.jsonl, {lang}_int.jsonl (answers with several parts), {lang}_fact.jsonl (with false answers) and
    not-found.csv, which lists the questions whose evidence was not found, with the reason.

    Examples:
      ragbed build qa qa.csv --docs handbook/ -o handbook-data
      ragbed run -m factory/my_rag:make -d handbook-data/en_base.jsonl --docs handbook/
    """

    questions: Questions = argument(
        "CSV or JSON Lines file with the columns question, answer and, optionally, source, false_answer and id.",
        "QUESTIONS",
        in_python="Also a list of dictionaries or a DataFrame with these columns.",
        kw_only=False,
    )
    docs: LocalFile = opt("Folder with the documents.", "DIR")
    out: LocalFile = opt("New folder for the dataset.", "DIR", short="-o")
    data_lang: Literal["en", "zh"] | None = opt("Language of the questions.", shown="detected", default=None)
    progress: bool | Progress = True


class BuildSpec(CallOptions, function="building.build", keeps_parts=True):
    """Build a benchmark from a recipe.

    DIR receives the files {lang}_base.jsonl, {lang}_int.jsonl and {lang}_fact.jsonl, and in steps/ the output and the
    rejected records of every step.

    Rerun the command to resume a build that was stopped: pages, responses and finished steps are reused. If you change
    the recipe or a file in steps/, the steps that depend on it run again.

    Examples:
      ragbed build run handbook.toml
      ragbed build run news.toml --since 2026-11-01 -o builds/news-november
    """

    recipe: LocalFile = argument(
        "The recipe, a TOML file such as one written by `ragbed build init`.", "RECIPE.toml", kw_only=False
    )
    out: LocalFile | None = opt("Output folder for the build.", "DIR", short="-o", shown="builds/<name>", default=None)
    model: str | None = opt("Model to use instead of the recipe's generator.", "MODEL", short="-m", default=None)
    from_: str | None = opt("Rerun this step and all later steps.", "STEP", default=None)
    since: str | None = opt("Use only articles published on or after this date, e.g. 2026-11-01.", "DATE", default=None)
    progress: bool | Progress = True


class QualitySpec(Spec, function="building.build_quality"):
    """Measure the quality of a dataset or a build folder.

    Each value is shown with RGB's value and its gate; for a build, also the counts of each step. The exit code is 4 if
    a gate fails.

    Examples:
      ragbed build quality en_fact
    """

    data: LocalFile = argument("A dataset, or a build's output folder.", "DATA", kw_only=False)


class ExportSpec(LayoutOptions, function="sharing.export"):
    """Export a dataset, test cases or a run for other tools.

    Without -o, `--to jsonl` prints how many test cases a dataset has, and why others are infeasible. No model is
    called.

    Exported test cases have fixed documents, document order and prompts, with checksums. Inspect AI and
    lm-evaluation-harness score them with ragbed's scorers. A run is written with one trial per line, or as an archive:
    a zip file that `ragbed import --from archive` restores and `ragbed run -m replay/FILE` replays. Trials without a
    response are listed; if a format cannot contain them, the exit code is 3.

    Examples:
      ragbed export en_refine --to jsonl
      ragbed export qa.csv --docs handbook --corpus clean,withheld --to corpora -o corpora
      ragbed export ragbed-mini-en_base --testbeds noise --to inspect -o my_testbed
      ragbed export en_refine zh_refine --to hf -o rgb_frozen
      ragbed export runs/qwen --to archive -o qwen.zip
    """

    sources: Sources = argument("A run or its folder, or datasets as in `run`.", "DATA|RUN", kw_only=False)
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
        shown="none; test cases as jsonl are only counted",
        default=None,
        kw_only=False,
    )
    canonical: bool = opt(
        "For runs: sort the trials and omit timings and attempts, so that identical runs produce identical files.",
        default=False,
    )
    model: str | None = opt("For runs: export only the trials of this model.", "MODEL", short="-m", default=None)
    scorer: str | None = opt(
        "For runs in jsonl or parquet: add the scores of this scorer, as in `report`.", "NAME", default=None
    )
    progress: bool | Progress = True


class ImportSpec(LayoutOptions, function="sharing.import_results"):
    """Import an archive or results from other tools as a run.

    A result file of the original code states its settings in its name. Its cases are generated with --profile code-2024
    unless you choose code-2023, and matched by id, question and answer. JSON lines ({"case", "reply"} or {"item",
    "noise", "reply"}) are matched to the cases that the options select, or to those of an exported testbed. Entries
    that match no case are listed, and cases without an entry count as errors. An archive contains its cases and needs
    no -d.

    Examples:
      ragbed import results/prediction_en_*.json --from rgb -d en_refine -o runs/original
      ragbed import answers.jsonl --from jsonl -m mine/rag -d zh_refine --testbeds noise -o runs/mine
      ragbed import qwen.zip --from archive -o runs/qwen
      ragbed import traces.jsonl --from traces -o runs/live
    """

    files: LocalFiles = argument("The files to import.", "FILE", kw_only=False)
    from_: str = opt(
        "Input format: rgb (result files of the original RGB code), jsonl, archive, or traces (of a RAG system in "
        "production; the format is detected, or openinference, langfuse or columns).",
        "FORMAT",
        kw_only=False,
    )
    out: LocalFile = opt("New folder for the run.", "RUN", short="-o", kw_only=False)
    data: DataLike | None = opt(
        "Dataset (as in `ragbed run`) or exported testbed that the answers belong to.", "DATA", short="-d", default=None
    )
    model: str | None = opt("For jsonl: name of the model that gave the answers.", "MODEL", short="-m", default=None)


class MergeSpec(RunsSpec, function="sharing.merge"):
    """Combine shards, or runs from several machines, into one run.

    The runs must have the same settings, apart from --shard, and no shard may be missing. If two runs contain
    responses by the same model to the same case, the responses must be identical. A response replaces an error.

    Examples:
      ragbed merge runs/part-1 runs/part-2 runs/part-3 -o runs/whole
    """

    out: LocalFile = opt("New folder for the merged run.", "RUN", short="-o", kw_only=False)


class DemoSpec(Spec, function="demo.demo", prints_json=False, keeps_parts=True):
    """Evaluate a small model on this machine, without an API key.

    A baseline is evaluated on all bundled questions in seconds, and then the model on about a hundred cases, which
    takes a few minutes. Rerun the command to resume an interrupted evaluation. DIR receives the runs and an HTML
    report.

    The default model requires the `llamacpp` extra; its weights (98 MB) are downloaded if missing. It reads only
    English, so in Chinese only the baseline is evaluated.

    Examples:
      ragbed demo
      ragbed demo --lang zh
      ragbed demo -m llamacpp/qwen2.5-7b-instruct-q4_k_m.gguf -o runs/qwen
    """

    model: str = opt("Model to evaluate.", "MODEL", short="-m", default=DEFAULT_MODEL, kw_only=False)
    lang: Values = opt("Languages to include.", "LANGS", default="en,zh")
    out: LocalFile = opt("Output folder for the runs and the report.", "DIR", short="-o", default="runs/demo")
    progress: bool | Progress = True


class DoctorSpec(Spec, function="setup.doctor"):
    """Check which models and extras work, and measure the cache.

    No model is called and nothing is downloaded; for API keys, ragbed only checks whether they are set. The presets
    reproduce systems from the paper. Their prompts are tested against the original code, but not with the original
    weights. RAGBED_CACHE_DIR sets the cache folder.

    Examples:
      ragbed doctor
      ragbed doctor --prune-cache 30d
    """

    prune_cache: str | None = opt(
        "First remove cached responses that are older than this, e.g. 12h, 30d or 8w; 0d removes all.",
        "AGE",
        default=None,
    )
