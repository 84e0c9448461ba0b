"""The parameters of a run, validated when a `RunSpec` is created."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from msgspec import Struct

from ragbed.api.layout import Values
from ragbed.api.request_options import check_max_tokens, check_temperature, read_request_options
from ragbed.errors import UnknownName, UnusedOption, UsageError, did_you_mean
from ragbed.runs.prices import read_own_prices

if TYPE_CHECKING:
    from ragbed.api.data_objects import DataLike
    from ragbed.api.objects import ModelLike

DEFAULT_MODEL = "bundled/smollm2"
CACHE_MODES = ("auto", "reuse", "off")
LocalFile: TypeAlias = str | Path | None
_LARGEST = 2**53 - 1  # Maximum integer; larger integers cannot be represented exactly in JSON.


class MixKeywords(TypedDict, total=False):
    """Options that select the documents for a case."""

    noise: Values | None
    num_docs: Values | None
    supporting: int | None
    true_ratio: Values


class LayoutKeywords(MixKeywords, total=False):
    """Options that select the test cases, as in `run`."""

    testbeds: Values | None
    distractors: Values
    positions: str
    profile: str
    lang: Values
    data_lang: str | None
    limit: str | float | None
    seed: int
    prompt: LocalFile
    docs: LocalFile
    corpus: Values | None


class EngineKeywords(TypedDict, total=False):
    """Options that select the execution engine."""

    engine: str
    cluster: str | None


class CallKeywords(EngineKeywords, total=False):
    """Options shared by all functions that call models, as in `run`."""

    replicas: int | None
    gpus_per_replica: float | None
    cpus_per_replica: float | None
    max_connections: int | None
    rpm: int | None
    tpm: int | None
    timeout: float
    budget: float | None
    price: str | Sequence[str | float]
    max_calls: int | None
    cache: str
    temperature: float | str | None
    reasoning_effort: str | None
    thinking: str | None
    extra_body: str | Mapping[str, Any] | None
    header: str | Sequence[str]
    seed_model: int | None


class RunOptions(LayoutKeywords, CallKeywords, total=False):
    """Options of `ragbed.run`, for type checkers; `RunSpec` describes them."""

    out: LocalFile
    strategies: Values | None
    search: str | None
    repeats: int
    confidence: str | None
    top_p: float | None
    max_tokens: int | str | None
    context_length: int | None
    preset: str | None
    trust_remote_code: bool
    shard: str | None
    fail_under: str | Sequence[str]
    baseline: LocalFile
    strict: bool
    junit: LocalFile
    until: str | Sequence[str]
    batch: bool


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The specification of a run: models, data and options.

    Attributes:
        model: Model string such as `openai/gpt-4o-mini`, an object that implements the `Model` protocol, a function
            that maps a prompt to a response, a `ragbed.system`, a list of these, or a dictionary with display names as
            keys.
        data: Dataset name, file, URL, list of item dictionaries, DataFrame, a list of these, or a dictionary with
            dataset names as keys.
        out: Folder for the run, by default a new folder in `runs/`. An existing run is resumed.
        testbeds: Testbeds to run; default: noise, rejection, integration, counterfactual and closed-book.
        noise: Fractions of documents that are distractors, e.g. `[0, 0.2, "2/3"]`; default: the paper's values.
        num_docs: Numbers of documents per question, e.g. `[5, 20, 100]`; default: 5, or fewer if the data has too few,
            and 1, 5, 10, 20, 50 and 100 in the length testbed.
        supporting: Number of supporting documents per question, instead of `noise`; the others are distractors.
        true_ratio: Fractions of documents with the true answer in the counterfactual and conflict testbeds.
        distractors: Distractor conditions: related, random, fixed.
        positions: Positions of the supporting documents: balanced across the items, or every position for every item.
        profile: Benchmark profile: robust, paper, code-2023 or code-2024.
        lang: Languages to include: en, zh.
        data_lang: Language of items that do not state theirs: en or zh; by default, it is detected for each file.
        limit: Evaluate only the first N items, or this fraction, of each dataset.
        seed: Seed for document selection and order.
        prompt: Folder with your own instructions (`en/system.md`, …).
        docs: Folder with the documents that the questions are about. `data` can then be a list of questions and
            answers: a CSV or JSON Lines file, dictionaries or a DataFrame with `question`, `answer` and `source`.
        corpus: Variants of the documents in the own-rag testbed: clean, withheld (without the evidence for the
            question), noisy (with related distractors) and false or false=SHARE (with edited copies of the evidence);
            default: clean and withheld for a factory, otherwise clean.
        strategies: Additional prompting strategies to run: quote, numbered, unwarned, decompose, isolate, cite, or all.
        search: Settings of the `search` testbed, e.g. `turns=8,protocol=text,sizes=1000+10000`.
        repeats: Number of responses per case.
        confidence: Measure the confidence of answers by `logprobs` (log-probabilities), `agreement` (of at least 2
            repeats) or `stated` (an additional prompt that requests it).
        temperature: Sampling temperature, or "none" to omit it from requests; default: 0, or the preset's.
        top_p: Nucleus sampling probability; default: 1, or the preset's.
        max_tokens: Maximum tokens per response. With "auto", the limit starts at 256, or at 4,096 once the model has
            been seen to think, and a truncated response is requested once more with up to 16,384 (from a local model,
            only if it thinks). Default: "auto", or the preset's.
        reasoning_effort: Reasoning effort in the provider's own terms, e.g. `low`.
        thinking: Whether the model thinks: `on`, `off`, or `budget=N` with a number of tokens.
        extra_body: Additional request fields, as a dictionary or as JSON.
        header: Additional request headers, each as `Name: value`.
        seed_model: Random seed passed to the model.
        context_length: Context length of the models in tokens; a longer case is not sent and ends as `error: too-long`.
            Default: that of the weights or the server.
        preset: Name of a system in the paper whose prompt format and sampling to use.
        trust_remote_code: Allow running the code in a pinned `hf/` revision.
        max_connections: Maximum number of concurrent requests; default: adaptive, up to 64.
        rpm: Maximum requests per minute.
        tpm: Maximum tokens per minute.
        timeout: Timeout per request, in seconds.
        budget: Maximum cost in dollars; no request is sent that could exceed it.
        price: Prices in dollars per million input and output tokens, as `IN,OUT` for all models or `MODEL=IN,OUT`;
            default: the price list.
        max_calls: Maximum number of requests to send, including repeated ones.
        cache: Whether to reuse cached responses: auto (not those that other runs received from models without an
            identity, which may have changed), reuse (all) or off.
        engine: Where the work runs: local, or ray for a Ray cluster.
        cluster: Ray cluster to join: HOST:PORT of its head node; default: a new local cluster.
        replicas: Number of replicas of each model on the cluster; default: 1.
        gpus_per_replica: Number of GPUs per replica; default: 0.
        cpus_per_replica: Number of CPUs per replica; default: 1.
        shard: Evaluate only the I-th of N parts of the questions, as `I/N`.
        fail_under: Gates such as `noise.accuracy@0.8:en=0.6`, or for an own RAG system `accuracy=0.7`,
            `accuracy@noisy=0.6`, `refusal=0.8` or `recall=0.9`; the results are in `Run.gates`.
        baseline: An earlier run. A gate fails if this run is significantly worse than it by more than 3 points, as with
            `compare`.
        strict: Whether a gate that is inconclusive also fails.
        junit: File to write the gate results to, as JUnit XML.
        until: Stop once these conditions are met, e.g. `noise.accuracy@0.8 ± 10` (in percentage points),
            `compare:runs/base:drop 5%`, or `decided` for the gates; the results are in `Run.conditions`.
        batch: Send the requests through the provider's batch API (OpenAI, Anthropic), at half the price and with
            results within a day.

    Raises:
        UsageError: A value has the wrong type or is out of range.

    Example:
        >>> spec = ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", noise=[0, 0.4], limit=10)
        >>> job = ragbed.plan_run(spec)
        >>> sum(1 for case in job.cases() if case.feasible) > 0
        True
    """

    model: ModelLike = DEFAULT_MODEL
    data: DataLike
    out: LocalFile = None
    testbeds: Values | None = None
    noise: Values | None = None
    num_docs: Values | None = None
    supporting: int | None = None
    true_ratio: Values = "0"
    distractors: Values = "related"
    positions: str = "balanced"
    profile: str = "robust"
    lang: Values = "en,zh"
    data_lang: str | None = None
    limit: str | float | None = None
    seed: int = 0
    prompt: LocalFile = None
    docs: LocalFile = None
    corpus: Values | None = None
    strategies: Values | None = None
    search: str | None = None
    repeats: int = 1
    confidence: str | None = None
    temperature: float | str | None = None
    top_p: float | None = None
    max_tokens: int | str | None = None
    reasoning_effort: str | None = None
    thinking: str | None = None
    extra_body: str | Mapping[str, Any] | None = None
    header: str | Sequence[str] = ()
    seed_model: int | None = None
    context_length: int | None = None
    preset: str | None = None
    trust_remote_code: bool = False
    max_connections: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    timeout: float = 120.0
    budget: float | None = None
    price: str | Sequence[str | float] = ()
    max_calls: int | None = None
    cache: str = "auto"
    engine: str = "local"
    cluster: str | None = None
    replicas: int | None = None
    gpus_per_replica: float | None = None
    cpus_per_replica: float | None = None
    shard: str | None = None
    fail_under: str | Sequence[str] = ()
    baseline: LocalFile = None
    strict: bool = False
    junit: LocalFile = None
    until: str | Sequence[str] = ()
    batch: bool = False

    def __post_init__(self) -> None:
        for name in ("out", "prompt", "docs", "baseline", "junit"):
            object.__setattr__(self, name, check_path(name, getattr(self, name)))
        for name in (*_OPTIONAL, "true_ratio", "distractors", "lang", "fail_under", "until"):
            object.__setattr__(self, name, _check_values(name, getattr(self, name), optional=name in _OPTIONAL))
        for name in ("fail_under", "until"):
            _refuse_number(name, getattr(self, name))
        object.__setattr__(self, "header", _materialize(self.header))
        object.__setattr__(self, "price", _check_values("price", self.price, optional=False))
        read_own_prices(self.own_prices, ())
        for name in ("positions", "profile", "engine"):
            _check_text(name, getattr(self, name))
        for name in ("preset", "cluster", "shard", "confidence", "search"):
            _check_text(name, getattr(self, name), optional=True)
        for name, bounds in _NUMBERS.items():
            object.__setattr__(self, name, _check_number(name, getattr(self, name), bounds))
        object.__setattr__(self, "max_tokens", check_max_tokens(self.max_tokens))
        object.__setattr__(self, "temperature", check_temperature(self.temperature))
        read_request_options(vars(self))
        if self.cache not in CACHE_MODES:
            raise UnknownName("cache", str(self.cache), CACHE_MODES)
        for name in ("trust_remote_code", "batch", "strict"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name}={getattr(self, name)!r} is not valid. Use True or False.")
        if isinstance(self.limit, bool) or not isinstance(self.limit, str | Real | None):
            raise UsageError(
                f"limit={self.limit!r} is neither a number of items nor a fraction. Use a value such as 50 or 0.1."
            )
        self._check_combinations()

    def _check_combinations(self) -> None:
        if self.engine == "local" and self.cluster is not None:
            raise UsageError(f"cluster={self.cluster} requires a Ray cluster. Add engine=ray, or remove `cluster`.")
        for name in ("junit", "strict"):
            if getattr(self, name) and not self.gates and self.baseline is None:
                raise UnusedOption(name, "no gate is set. Set one, e.g. fail_under=noise.accuracy@0.8=0.6")

    @property
    def own_prices(self) -> tuple[str, ...]:
        """Return the prices that `price` sets; a pair of numbers is one price."""
        values = (self.price,) if isinstance(self.price, str) else tuple(self.price)
        return tuple(map(str, values)) if any(isinstance(value, str) for value in values) else _join_pair(values)

    @property
    def gates(self) -> tuple[str, ...]:
        """Return the gates that `fail_under` defines."""
        return (self.fail_under,) if isinstance(self.fail_under, str) else tuple(self.fail_under)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Return the stopping conditions that `until` defines."""
        return (self.until,) if isinstance(self.until, str) else tuple(self.until)


def _join_pair(values: Sequence[object]) -> tuple[str, ...]:
    return (",".join(map(str, values)),) if values else ()


class _Bounds(Struct, frozen=True):
    """The constraints on a number: its type, its range, and whether None is allowed."""

    whole: bool = True
    optional: bool = True
    low: float = -_LARGEST
    high: float = _LARGEST
    above_low: bool = False


_OPTIONAL = ("testbeds", "corpus", "noise", "num_docs", "strategies")  # parameters that accept several values or None
_NUMBERS = {
    "supporting": _Bounds(low=1),
    "seed": _Bounds(optional=False),
    "repeats": _Bounds(optional=False, low=1),
    "top_p": _Bounds(whole=False, low=0, high=1),
    "seed_model": _Bounds(),
    "context_length": _Bounds(low=1),
    "max_connections": _Bounds(low=1, high=4_096),
    "rpm": _Bounds(low=1),
    "tpm": _Bounds(low=1),
    "timeout": _Bounds(whole=False, optional=False, low=0, above_low=True),
    "budget": _Bounds(whole=False, low=0, above_low=True),
    "max_calls": _Bounds(low=1),
    "replicas": _Bounds(low=1),
    "gpus_per_replica": _Bounds(whole=False, low=0),
    "cpus_per_replica": _Bounds(whole=False, low=0),
}


def make_spec(model: ModelLike, data: DataLike, options: Mapping[str, Any], function: str = "run") -> RunSpec:
    """Return the spec for `ragbed.run(model, data, **options)`, or for another function with the same options.

    Raises:
        UsageError: An option is unknown, or a value is invalid.
    """
    known = [field.name for field in fields(RunSpec)]
    for name in options:
        if name == "dry_run":
            raise UsageError("`dry_run` is available only on the command line. In Python, use ragbed.forecast.")
        if name not in known:
            hint = did_you_mean(name, known, 0.5)
            raise UsageError(f"{function}() has no parameter {name!r}.{hint} ragbed.RunSpec describes all parameters.")
    return RunSpec(model=model, data=data, **options)


def check_path(name: str, value: object) -> Path | None:
    """Return the local path given by a parameter.

    Raises:
        UsageError: The value is not a path, or it is a URL or an empty string.
    """
    if value is None:
        return None
    if value == "":  # `Path("")` would be the current folder
        raise UsageError(f"{name} is an empty string. Use a path, e.g. '.' for the current folder.")
    if not isinstance(value, str | Path):
        raise UsageError(f"{name}={value!r} is not a path. Use a string or a Path.")
    if "://" in str(value):
        raise UsageError(f"{name}={str(value)!r} is a URL. Use a local path.")
    check_null(name, value)
    return Path(value)


def check_null(name: str, value: object) -> None:
    """Reject a string or path with a null character, which no file name can contain.

    Raises:
        UsageError: The value contains a null character.
    """
    if isinstance(value, str | Path) and "\0" in str(value):
        raise UsageError(f"{name}={str(value)!r} contains a null character. Remove it.")


def _check_text(name: str, value: object, *, optional: bool = False) -> None:
    if not isinstance(value, str) and not (optional and value is None):
        raise UsageError(f"{name}={value!r} is not valid. Use a string.")


def _refuse_number(name: str, value: object) -> None:
    if isinstance(value, Real):
        raise UsageError(f"{name}={value!r} is not valid. Use a string or a list of strings.")


def _materialize(value: object) -> object:
    """Return the values of an iterator, which can be read only once, as a tuple, and any other value unchanged."""
    return tuple(value) if isinstance(value, Iterator) else value


def _check_values(name: str, value: object, *, optional: bool) -> object:
    """Check a parameter that accepts one or more values, and return it in a form that can be read repeatedly."""
    value = _materialize(value)
    if value is None and optional:
        return None
    values = value if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]
    for single in values:
        if isinstance(single, bool) or not isinstance(single, str | Real):
            raise UsageError(f"{name}={value!r} is not valid. Use a string, a number or a list of these.")
    return value


def _check_number(name: str, value: object, bounds: _Bounds) -> float | None:
    if value is None and bounds.optional:
        return None
    kind = "an integer" if bounds.whole else "a number"
    if isinstance(value, bool) or not isinstance(value, Integral if bounds.whole else Real):
        raise UsageError(f"{name}={value!r} is not valid. Use {kind}.")
    number: float = int(value) if bounds.whole and isinstance(value, Integral) else float(value)
    if not math.isfinite(number):
        raise UsageError(f"{name}={value!r} is not a finite number.")
    if not bounds.low <= number <= bounds.high or (bounds.above_low and number == bounds.low):
        low = f"greater than {bounds.low:,}" if bounds.above_low else f"of at least {bounds.low:,}"
        high = f" and at most {bounds.high:,}" if bounds.high < _LARGEST else ""
        raise UsageError(f"{name}={value!r} is out of range. Use {kind} {low}{high}.")
    return number
