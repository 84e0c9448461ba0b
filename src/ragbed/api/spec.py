"""The options of a run, and those that other jobs share with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ragbed.api.request_options import (
    check_effort,
    check_extra_body,
    check_header,
    check_max_tokens,
    check_temperature,
    check_thinking,
    read_request_options,
)
from ragbed.api.specification import (
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
    DataLike = ModelLike = Progress = object

DEFAULT_MODEL = "bundled/smollm2"


@dataclass(frozen=True, kw_only=True)
class MixOptions(Spec):
    """Options that select the documents for a case."""

    noise: Annotated[
        Values | None,
        context(
            "Noise ratios (fraction of documents that are distractors), e.g. 0,0.2,2/3.",
            "RATIOS",
            default="the paper's ratios",
        ),
    ] = None
    num_docs: Annotated[
        Values | None,
        context(
            "Numbers of documents per question, e.g. 5,20,100.", "NUMBERS", default="5, or fewer if DATA has too few"
        ),
    ] = None
    supporting: Annotated[
        int | None,
        context(
            "Number of supporting documents per question, instead of a noise ratio; the others are distractors.",
            low=1,
            is_rare=True,
        ),
    ] = None
    true_ratio: Annotated[
        Values,
        context(
            "True-document ratios (fraction of documents with the true answer) for the counterfactual and conflict "
            "testbeds.",
            "RATIOS",
            is_rare=True,
        ),
    ] = "0"


@dataclass(frozen=True, kw_only=True)
class LayoutOptions(MixOptions):
    """Options that select the test cases."""

    testbeds: Annotated[
        Values | None,
        what(
            "Testbeds to run: noise, rejection, integration, counterfactual, closed-book, conflict, length, "
            "no-documents, search (the model calls a search tool), own-retrieval and own-rejection (for systems with "
            "their own retriever), or a testbed from a plug-in.",
            "NAMES",
            default="the first five, if the dataset supports them",
        ),
    ] = None
    lang: Annotated[Values, what("Languages to include: en, zh.", "LANGS")] = "en,zh"
    limit: Annotated[
        str | float | None, what("Number or fraction of items to use from the start of each dataset.", "N|0.x")
    ] = None
    data_lang: Annotated[
        str | None,
        what(
            "Language of items that do not state theirs: en or zh.",
            "LANG",
            default="detected for each file",
            is_rare=True,
        ),
    ] = None
    profile: Annotated[
        str | None,
        what(
            "Rules for building and scoring cases: robust, paper, code-2023 or code-2024.",
            "NAME",
            default="robust, or code-2024 for results of the original code",
            is_rare=True,
        ),
    ] = None
    distractors: Annotated[
        Values,
        context(
            "Distractor conditions: related (as in the paper), random (documents from other questions) or fixed (one "
            "supporting document, a growing number of distractors, and a length-matched control).",
            "NAMES",
        ),
    ] = "related"
    positions: Annotated[
        Literal["balanced", "all"],
        context(
            "Positions of the supporting documents: balanced (spread evenly across the items) or all (each item once "
            "per position).",
            is_rare=True,
        ),
    ] = "balanced"
    seed: Annotated[int, context("Seed for document selection and order.", is_rare=True)] = 0
    prompt: Annotated[LocalFile | None, sampling("Folder with your own instructions (en/system.md, …).", "DIR")] = None


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Spec):
    """Options that select the execution engine."""

    engine: Annotated[
        str, distributed("Where the work runs: local (this machine) or ray (a Ray cluster).", "NAME", is_rare=True)
    ] = "local"
    cluster: Annotated[
        str | None,
        distributed(
            "Ray cluster to join: HOST:PORT of its head node, or 'auto' for the cluster running on this machine.",
            "ADDRESS",
            default="a new local cluster that stops when the command exits",
            variable="RAY_ADDRESS",
            is_rare=True,
        ),
    ] = None

    def _check(self) -> None:
        super()._check()
        if self.engine == "local" and self.cluster is not None:
            if INTERFACE.get().is_given("cluster"):
                raise UsageError(
                    f"{option('cluster', self.cluster)} requires a Ray cluster. Add {option('engine', 'ray')}, or "
                    f"remove {option('cluster')}."
                )
            object.__setattr__(self, "cluster", None)  # the variable is set for other commands


@dataclass(frozen=True, kw_only=True)
class CallOptions(EngineOptions):
    """Options shared by all jobs that call models."""

    max_connections: Annotated[
        int | None, requests("Maximum number of concurrent requests.", low=1, high=4_096, default="adaptive, up to 64")
    ] = None
    budget: Annotated[
        float | None,
        requests("Maximum cost in US dollars; no request is sent that could exceed it.", "DOLLARS", above=0),
    ] = None
    price: Annotated[
        str | Sequence[str | float],
        requests(
            "Price in US dollars per million input and output tokens, e.g. 0.15,0.6.",
            "[MODEL=]IN,OUT",
            is_repeatable=True,
            is_rare=True,
        ),
    ] = ()
    max_calls: Annotated[int | None, requests("Maximum number of requests to send.", low=1, is_rare=True)] = None
    cache: Annotated[
        Literal["auto", "reuse", "off"],
        requests(
            "Reuse cached responses; auto excludes other runs' responses from models without an identity.", is_rare=True
        ),
    ] = "auto"
    rpm: Annotated[int | None, requests("Maximum number of requests per minute.", low=1, is_rare=True)] = None
    tpm: Annotated[int | None, requests("Maximum number of tokens per minute.", low=1, is_rare=True)] = None
    timeout: Annotated[float, requests("Timeout for each request, in seconds.", "SECONDS", above=0, is_rare=True)] = (
        120.0
    )
    temperature: Annotated[
        float | str | None,
        sampling(
            "Sampling temperature, usually 0 by default; 'none' omits it from the requests.",
            "N|none",
            read=check_temperature,
        ),
    ] = None
    reasoning_effort: Annotated[
        str | None, sampling("Reasoning effort, e.g. none, low, medium or high.", "LEVEL", read=check_effort)
    ] = None
    thinking: Annotated[
        str | None,
        sampling(
            "Turn thinking on or off, or set a thinking budget in tokens.",
            "on|off|budget=N",
            read=check_thinking,
            is_rare=True,
        ),
    ] = None
    extra_body: Annotated[
        str | Mapping[str, Any] | None,
        sampling(
            "Additional fields for the request body, e.g. '{\"top_k\": 20}'.",
            "JSON",
            in_python="Also a dictionary.",
            read=check_extra_body,
            is_rare=True,
        ),
    ] = None
    header: Annotated[
        Texts, sampling("Additional request header.", "NAME:VALUE", read=check_header, is_repeatable=True, is_rare=True)
    ] = ()
    seed_model: Annotated[int | None, sampling("Sampling seed to send to the model.", is_rare=True)] = None
    replicas: Annotated[
        int | None, distributed("Number of replicas of each model on the cluster.", low=1, default="1", is_rare=True)
    ] = None
    gpus_per_replica: Annotated[
        float | None, distributed("Number of GPUs per replica.", low=0, default="0", is_rare=True)
    ] = None
    cpus_per_replica: Annotated[
        float | None, distributed("Number of CPUs per replica.", low=0, default="1", is_rare=True)
    ] = None

    def _check(self) -> None:
        from ragbed.runs.prices import read_own_prices

        super()._check()
        read_request_options(self)
        if self.price:
            read_own_prices(self.own_prices, ())

    @property
    def own_prices(self) -> tuple[str, ...]:
        """Return the prices that `price` sets; a pair of numbers is one price."""
        values = (self.price,) if isinstance(self.price, str) else tuple(self.price)
        if values and not any(isinstance(value, str) for value in values):
            return (",".join(map(str, values)),)
        return tuple(map(str, values))


@dataclass(frozen=True)
class RunSpec(LayoutOptions, CallOptions):
    """The specification of a run: models, data and options.

    Raises:
        UsageError: A value has the wrong type or is out of range.

    Example:
        >>> spec = ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", noise=[0, 0.4], limit=10)
        >>> job = ragbed.plan_run(spec)
        >>> sum(1 for case in job.cases() if case.feasible) > 0
        True
    """

    model: Annotated[
        ModelLike,
        what(
            "Model to evaluate, e.g. openai/gpt-4o-mini; NAME=MODEL sets the display name.",
            "MODEL",
            in_python="Also a function that maps a prompt to a response, a `ragbed.system`, an object that implements "
            "the "
            "`Model` protocol, a list of these, or a dictionary with display names as keys.",
            short="-m",
            is_repeatable=True,
        ),
    ] = DEFAULT_MODEL
    data: Annotated[
        DataLike,
        what(
            "Dataset: a file, a URL, or a name from `ragbed data list`.",
            "DATA",
            in_python="Also a list of item dictionaries, a DataFrame, a list of these, or a dictionary with dataset "
            "names as "
            "keys.",
            short="-d",
            is_repeatable=True,
            is_required=True,
            is_data=True,
        ),
    ] = ()
    _: KW_ONLY
    out: Annotated[
        LocalFile | None,
        what(
            "Output folder for the run; an existing run is resumed.",
            "RUN",
            short="-o",
            default="a new folder under runs/",
        ),
    ] = None
    preset: Annotated[
        str | None,
        what(
            "Prompt format and sampling settings of a system in the paper; `ragbed doctor` lists the presets.",
            "NAME",
            is_rare=True,
        ),
    ] = None
    search: Annotated[
        str | None,
        context(
            "Limits and conditions for the `search` testbed, e.g. turns=8,calls=16,protocol=text,sizes=1000+10000.",
            "SETTINGS",
            is_rare=True,
        ),
    ] = None
    strategies: Annotated[
        Values | None,
        sampling(
            "Additional prompting strategies to evaluate on cases with documents: quote, numbered, unwarned, "
            "decompose, isolate, cite, or all.",
            "NAMES",
        ),
    ] = None
    max_tokens: Annotated[
        int | str | None,
        sampling(
            "Maximum number of tokens per response. 'auto' starts at 256 (4,096 once a response has contained "
            "reasoning) and retries truncated responses once with a limit of up to 16,384 (local models: only after "
            "reasoning).",
            "N|auto",
            default="auto",
            read=check_max_tokens,
        ),
    ] = None
    repeats: Annotated[int, sampling("Number of responses per case.", low=1, is_rare=True)] = 1
    confidence: Annotated[
        Literal["logprobs", "agreement", "stated"] | None,
        sampling(
            "Method for measuring confidence in answers: logprobs, agreement (between repeated responses) or stated "
            "(requested in the prompt).",
            "NAME",
            is_rare=True,
        ),
    ] = None
    top_p: Annotated[
        float | None, sampling("Nucleus sampling probability (top-p).", low=0, high=1, default="1", is_rare=True)
    ] = None
    context_length: Annotated[
        int | None,
        sampling(
            "Context length of the models in tokens. Longer prompts are not sent; their cases are counted as "
            "`too-long` errors.",
            low=1,
            default="what the server or the weights report",
            is_rare=True,
        ),
    ] = None
    batch: Annotated[
        bool, requests("Use the provider's batch API (OpenAI, Anthropic) at half the price, with results within a day.")
    ] = False
    until: Annotated[
        Texts,
        requests(
            "Stop once every condition is met. A condition is a target precision for a rate, e.g. "
            "'noise.accuracy@0.8 ± 10' (in percentage points); a test for a drop relative to another run, e.g. "
            "'compare:runs/base:drop 5%'; or 'decided' (every gate passed or failed).",
            "CONDITION",
            is_repeatable=True,
        ),
    ] = ()
    fail_under: Annotated[
        Texts,
        output(
            "Score and threshold, e.g. noise.accuracy@0.8:en=0.6; the gate fails (exit code 4) if the score is "
            "significantly below the threshold.",
            "GATE",
            is_repeatable=True,
        ),
    ] = ()
    junit: Annotated[LocalFile | None, output("JUnit XML file to write the gate results to.", "FILE", is_rare=True)] = (
        None
    )
    trust_remote_code: Annotated[
        bool,
        output(
            "Run the code in an hf/ model's repository. Requires a pinned revision (org/model@<full commit hash>).",
            is_rare=True,
        ),
    ] = False
    shard: Annotated[
        str | None,
        distributed(
            "Evaluate only shard I of N (a subset of the questions); `ragbed merge` combines the shards.",
            "I/N",
            is_rare=True,
        ),
    ] = None
    progress: bool | Progress = True

    def _check(self) -> None:
        super()._check()
        if self.junit is not None and not self.gates:
            refuse_unused("junit", f"no gate is set. Set one, e.g. {option('fail_under', 'noise.accuracy@0.8=0.6')}")

    @property
    def gates(self) -> tuple[str, ...]:
        """Return the gates that `fail_under` defines."""
        return (self.fail_under,) if isinstance(self.fail_under, str) else tuple(self.fail_under)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Return the stopping conditions that `until` defines."""
        return (self.until,) if isinstance(self.until, str) else tuple(self.until)
