"""The options of a run, and those that other jobs share with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ragbed.api.request_options import (
    check_effort,
    check_max_tokens,
    check_temperature,
    check_thinking,
    read_extra_body,
    read_headers,
)
from ragbed.api.specification import (
    Data,
    LocalFile,
    Spec,
    Texts,
    Values,
    context,
    distributed,
    output,
    requests,
    sampling,
    what,
)
from ragbed.errors import INTERFACE, UsageError, option, refuse_unused

if TYPE_CHECKING:
    from ragbed.api.data_objects import DataLike
    from ragbed.api.objects import ModelLike
    from ragbed.api.progress import Progress
else:
    # The real types take longer to import than a command to start; `read_models` and `read_data` check the values.
    DataLike, ModelLike, Progress = Data | Sequence[Data], object | Sequence[object], object

DEFAULT_MODEL = "bundled/smollm2"
FORMAT_HELP = (
    "Format of the files of another benchmark: confiqa, crag, faitheval-counterfactual, faitheval-inconsistent, "
    "faitheval-unanswerable, nomiracl or ramdocs. DATA= limits it to one dataset."
)


class LayoutOptions(Spec):
    """Options that select the test cases and their documents."""

    noise: Values | None = context(
        "Noise ratios (shares of distractors), e.g. 0,0.2,2/3.", "RATIOS", shown="the paper's ratios", default=None
    )
    num_docs: Values | None = context(
        "Numbers of documents per question, e.g. 5,20,100.", "NUMBERS", shown="5, if DATA has enough", default=None
    )
    supporting: int | None = context(
        "Number of supporting documents, instead of a noise ratio.", low=1, is_rare=True, default=None
    )
    true_ratio: Values = context(
        "Shares of true documents, for counterfactual and conflict.", "RATIOS", is_rare=True, default="0"
    )
    testbeds: Values | None = what(
        "Testbeds to run: noise, rejection, integration, counterfactual, closed-book, given (for items with given "
        "documents), conflict, length, injection (instructions in documents), no-documents, search (the model calls a "
        "search tool), own-rag (for systems with their own documents; the default for systems with `docs`), or a "
        "testbed from a plug-in.",
        "NAMES",
        shown="the first six, if the dataset supports them",
        default=None,
    )
    docs: LocalFile | None = what(
        "Folder with the documents that the questions are about. The data can then be a CSV or JSON Lines file with "
        "the columns question, answer and, optionally, source.",
        "DIR",
        in_python="Also a list of dictionaries or a DataFrame with these columns.",
        default=None,
    )
    corpus: Values | None = what(
        "Variants of the documents in the own-rag testbed: clean, withheld (without the evidence for the question), "
        "noisy (with related distractors), false or false=0.75 (with edited copies of the evidence), injected (with "
        "instructions in the evidence).",
        "NAMES",
        shown="clean,withheld for a factory, otherwise clean",
        is_rare=True,
        default=None,
    )
    lang: Values = what("Languages to include: en, zh.", "LANGS", default="en,zh")
    limit: str | float | None = what(
        "Number or fraction of items to use from the start of each dataset.", "N|0.x", default=None
    )
    data_lang: Literal["en", "zh"] | None = what(
        "Language of items that do not state theirs.", shown="detected", is_rare=True, default=None
    )
    format: Texts = what(FORMAT_HELP, "[DATA=]FORMAT", is_rare=True, default=())
    profile: str | None = what(
        "Rules for building and scoring cases: robust, paper, code-2023 or code-2024.",
        "NAME",
        shown="robust, or code-2024 for results of the original code",
        is_rare=True,
        default=None,
    )
    distractors: Values = context(
        "Distractor conditions: related (as in the paper), random (documents from other questions) or fixed (one "
        "supporting document, a growing number of distractors, and a length-matched control).",
        "NAMES",
        default="related",
    )
    positions: Literal["balanced", "all"] = context(
        "Positions of the supporting documents: balanced (spread evenly across the items) or all (each item once "
        "per position).",
        is_rare=True,
        default="balanced",
    )
    seed: int = context("Seed for document selection and order.", is_rare=True, default=0)
    prompt: LocalFile | None = sampling("Folder with your own instructions (en/system.md, …).", "DIR", default=None)


class CallOptions(Spec):
    """Options shared by all jobs that call models."""

    engine: Literal["local", "ray"] = distributed(
        "Where models run: local (this machine) or ray (a Ray cluster).", "NAME", is_rare=True, default="local"
    )
    cluster: str | None = distributed(
        "Ray cluster to join: HOST:PORT of its head node.",
        "ADDRESS",
        variable="RAY_ADDRESS",
        is_rare=True,
        default=None,
    )

    max_connections: int | None = requests(
        "Maximum number of concurrent requests.", low=1, high=4_096, shown="adaptive, up to 64", default=None
    )
    budget: float | None = requests(
        "Maximum cost in US dollars; no request is sent that could exceed it.", "DOLLARS", above=0, default=None
    )
    price: Texts = requests(
        "Price in US dollars per million input and output tokens, e.g. 0.15,0.6.",
        "[MODEL=]IN,OUT",
        is_rare=True,
        default=(),
    )
    max_calls: int | None = requests("Maximum number of requests to send.", low=1, is_rare=True, default=None)
    cache: Literal["auto", "reuse", "off"] = requests(
        "Reuse cached responses; auto excludes models without an identity.",
        is_rare=True,
        default="auto",
    )
    rpm: int | None = requests("Maximum number of requests per minute.", low=1, is_rare=True, default=None)
    timeout: float = requests("Timeout for each request, in seconds.", "SECONDS", above=0, is_rare=True, default=120.0)
    temperature: float | str | None = sampling(
        "Sampling temperature, usually 0 by default; 'none' omits it from the requests.",
        "N|none",
        read=check_temperature,
        default=None,
    )
    reasoning_effort: str | None = sampling(
        "Reasoning effort, e.g. none, low, medium or high.", "LEVEL", read=check_effort, default=None
    )
    thinking: str | None = sampling(
        "Turn thinking on or off, or set a thinking budget in tokens.",
        "on|off|budget=N",
        read=check_thinking,
        is_rare=True,
        default=None,
    )
    extra_body: str | Mapping[str, Any] | None = sampling(
        "Additional fields for the request body, e.g. '{\"top_k\": 20}'.",
        "JSON",
        in_python="Also a dictionary.",
        read=read_extra_body,
        is_rare=True,
        default=None,
    )
    header: Texts | Mapping[str, str] = sampling(
        "Additional request header.",
        "NAME:VALUE",
        in_python="Also a dictionary.",
        read=read_headers,
        is_rare=True,
        default=(),
    )
    seed_model: int | None = sampling("Sampling seed to send to the model.", is_rare=True, default=None)
    replicas: int | None = distributed(
        "Number of replicas of each model on the cluster.", low=1, shown="1", is_rare=True, default=None
    )
    gpus_per_replica: float | None = distributed(
        "Number of GPUs per replica.", low=0, shown="0", is_rare=True, default=None
    )
    cpus_per_replica: float | None = distributed(
        "Number of CPUs per replica.", low=0, shown="1", is_rare=True, default=None
    )

    def _check(self) -> None:
        from ragbed.runs.prices import read_own_prices

        super()._check()
        for name in ("cluster", "replicas", "gpus_per_replica", "cpus_per_replica") if self.engine == "local" else ():
            value = getattr(self, name)
            if value is not None and (name != "cluster" or INTERFACE.get().is_given(name)):
                raise UsageError(
                    f"{option(name, value)} requires a Ray cluster. Add {option('engine', 'ray')}, or remove "
                    f"{option(name)}."
                )
        if self.price:
            read_own_prices(self.price, ())


class RunSpec(LayoutOptions, CallOptions, function="runs.run"):
    """The specification of a run: models, data and options.

    Raises:
        UsageError: A value has the wrong type or is out of range.

    Example:
        >>> spec = ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", noise=[0, 0.4], limit=10)
        >>> job = ragbed.plan_run(spec)
        >>> sum(1 for case in job.cases() if case.feasible) > 0
        True
    """

    model: ModelLike = what(
        "Model to evaluate, e.g. openai/gpt-4o-mini; NAME=MODEL sets the display name.",
        "MODEL",
        in_python="Also a function that maps a prompt to a response, a `ragbed.system`, an object that implements "
        "the `Model` protocol, a list of these, or a dictionary with display names as keys.",
        short="-m",
        default=DEFAULT_MODEL,
        kw_only=False,
    )
    data: DataLike = what(
        "Dataset: a file, or a name from `ragbed data list`.",
        "DATA",
        in_python="Also a list of item dictionaries, a DataFrame, a list of these, or a dictionary with dataset "
        "names as keys.",
        short="-d",
        is_required=True,
        default=(),
        kw_only=False,
    )
    out: LocalFile | None = what(
        "Output folder for the run; an existing run is resumed.",
        "RUN",
        short="-o",
        shown="a new folder under runs/",
        default=None,
    )
    scorer: Values | None = what(
        "Other scorers whose scores to show beside the main score: code, paper, python/<module>:<function> for your "
        "own function, or a scorer from a plug-in.",
        "NAMES",
        shown="code,paper for the code and paper profiles and for RGB's files",
        is_rare=True,
        default=None,
    )
    preset: str | None = what(
        "Prompt format and sampling settings of a system in the paper; `ragbed doctor` lists the presets.",
        "NAME",
        is_rare=True,
        default=None,
    )
    search: str | None = context(
        "Limits and conditions for the `search` testbed, e.g. turns=8,calls=16,protocol=text,sizes=1000+10000.",
        "SETTINGS",
        is_rare=True,
        default=None,
    )
    strategies: Values | None = sampling(
        "Additional prompting strategies to evaluate on cases with documents: quote, numbered, unwarned, "
        "decompose, isolate, cite, all, a folder with texts, or python/<module>:<function>.",
        "NAMES",
        default=None,
    )
    max_tokens: int | str | None = sampling(
        "Maximum number of tokens per response. 'auto' starts at 256 (4,096 for reasoning) and retries truncated "
        "responses once with up to 16,384 (local models: only after reasoning).",
        "N|auto",
        shown="auto",
        read=check_max_tokens,
        default=None,
    )
    repeats: int = sampling("Number of responses per case.", low=1, is_rare=True, default=1)
    top_p: float | None = sampling(
        "Nucleus sampling probability (top-p).", low=0, high=1, shown="1", is_rare=True, default=None
    )
    context_length: int | None = sampling(
        "Context length in tokens. Longer prompts are not sent, and count as `too-long` errors.",
        low=1,
        shown="that of the weights or the server",
        is_rare=True,
        default=None,
    )
    batch: bool = requests(
        "Use the provider's batch API (OpenAI, Anthropic) at half the price, with results within a day.", default=False
    )
    until: Texts = requests(
        "Stop once every condition is met. A condition is a target precision for a rate, e.g. "
        "'noise.accuracy@0.8 ± 10' (in percentage points), or 'decided' (every gate passed or failed).",
        "CONDITION",
        default=(),
    )
    fail_under: Texts = output(
        "Score and threshold, e.g. noise.accuracy@0.8:en=0.6, or accuracy=0.7 for your own RAG system; the gate "
        "fails (exit code 4) if the score is significantly below the threshold.",
        "GATE",
        default=(),
    )
    baseline: LocalFile | None = output(
        "Earlier run to compare with; a gate fails if the new run is significantly worse by more than 3 points, as in "
        "`ragbed compare`.",
        "RUN",
        default=None,
    )
    strict: bool = output("Also fail if there are too few questions to decide a gate.", default=False)
    junit: LocalFile | None = output("JUnit XML file to write the gate results to.", "FILE", is_rare=True, default=None)
    trust_remote_code: bool = output(
        "Run the code in an hf/ model's repository. Requires a pinned revision (org/model@<full commit hash>).",
        is_rare=True,
        default=False,
    )
    shard: str | None = distributed(
        "Evaluate only shard I of N (a subset of the questions); `ragbed merge` combines the shards.",
        "I/N",
        is_rare=True,
        default=None,
    )
    progress: bool | Progress = True

    def _check(self) -> None:
        super()._check()
        for name in ("junit", "strict"):
            if getattr(self, name) and not self.fail_under and self.baseline is None:
                refuse_unused(name, f"no gate is set. Set one, e.g. {option('fail_under', 'noise.accuracy@0.8=0.6')}")
