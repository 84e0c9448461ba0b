"""Talking to language models: one file per backend, chosen by the first part of the model string.

To add one: a module with a class that has what `Model` asks for, a function that makes it from a `ModelConfig`,
and one line in PROVIDERS. Other packages bring such functions as entry points `ragbed.models` (docs/plugins.md).
"""

# ruff: noqa: PLC0415  # a backend is imported when it is asked for: their libraries take time to load

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed import plugins
from ragbed.errors import UnknownName, UsageError
from ragbed.models.base import Model, Sampling
from ragbed.models.presets import Preset
from ragbed.models.providers.pacing import Pacer
from ragbed.models.retry_policy import RetryPolicy
from ragbed.models.secrets import ApiKey, without_credentials
from ragbed.plugins import find_part
from ragbed.text import storable_name

if TYPE_CHECKING:
    from ragbed.data.corpus import Corpus
    from ragbed.models.providers.http_model import ServiceConfig

MOST_CONNECTIONS = 4_096
"""Each takes a file, a task and a connection of the server; more than this helps no server and fills the memory."""
DEFAULT_CONNECTIONS = 64
"""Calls at once for each server at the most where the user names no number; the pace finds how many of them help."""


@dataclass(frozen=True)
class ModelConfig:
    """A model as the user asks for it."""

    model: str
    """What follows the provider in the model string."""
    environ: Mapping[str, str]
    """Where keys and addresses are; read at the command line and handed down."""
    sampling: Sampling = field(default_factory=Sampling)
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    connections: int | None = None
    per_minute: float | None = None
    """Requests."""
    tokens_per_minute: float | None = None
    data_root: Path | None = None
    """Where downloaded weights live; the platform's folder if None."""
    preset: Preset | None = None
    """How to prompt, where it is one of the paper's systems."""
    trusts_code: bool = False
    """Whether code that comes with weights may run."""
    loads: bool = True
    """Whether weights are loaded; not where only what would be asked is wanted, and others ask."""
    corpora: Mapping[str, Corpus] = field(default_factory=dict)
    """What a system may be asked to search, by id."""

    def __post_init__(self) -> None:
        if self.connections is not None and not 1 <= self.connections <= MOST_CONNECTIONS:
            raise UsageError(f"max_connections must be between 1 and {MOST_CONNECTIONS:,}, not {self.connections:,}.")

    def pace(self, servers: int = 1) -> Pacer:
        """The valves that the options ask for."""
        return Pacer(
            self.connections or DEFAULT_CONNECTIONS * servers,
            adaptive=self.connections is None,
            per_s=None if self.per_minute is None else self.per_minute / 60,
            tokens_per_s=None if self.tokens_per_minute is None else self.tokens_per_minute / 60,
            servers=servers,
        )

    def key(self, name: str, *, needed: bool) -> ApiKey | None:
        """A secret from the environment."""
        value = self.environ.get(name, "").strip()
        if not value:
            if needed:
                raise UsageError(f"{name} is not set; put the key there (never on the command line).")
            return None
        if not (value.isascii() and value.isprintable()):
            raise UsageError(f"{name} holds characters that no key has; copy it again.")
        return ApiKey(value)

    def service(self, name: str, remote: str, urls: Sequence[str], key: ApiKey | None, variable: str) -> ServiceConfig:
        """Where the model is, for one that is asked over HTTP."""
        from ragbed.models.providers.http_model import ServiceConfig

        pace = self.pace(len(urls))
        checks = f"the key ({variable})"
        return ServiceConfig(name, remote, urls, key, self.sampling, pace, self.patience, checks, self.environ)


def _openai(wish: ModelConfig) -> Model:
    from ragbed.models.providers.openai import OpenAIModel

    named = wish.environ.get("OPENAI_BASE_URL")
    key = wish.key("OPENAI_API_KEY", needed=not named)
    url = named or "https://api.openai.com/v1"
    service = wish.service(f"openai/{wish.model}", wish.model, [url], key, "OPENAI_API_KEY")
    return OpenAIModel(service, official=not named, preset=wish.preset)


def _openai_api(wish: ModelConfig, default_url: str | None = None, provider: str = "openai-api") -> Model:
    """Any compatible server: `<NAME>_BASE_URL`, several separated by commas, and `<NAME>_API_KEY`."""
    from ragbed.models.providers.openai import OpenAIModel

    if provider == "openai-api":
        name, slash, remote = wish.model.partition("/")
        if not slash or not name or not remote:
            raise UsageError(f"openai-api/{wish.model}: write openai-api/<name>/<model>.")
    else:
        name, remote = provider, wish.model
    prefix = name.upper().replace("-", "_")
    named = wish.environ.get(f"{prefix}_BASE_URL") or default_url or ""
    urls = list(dict.fromkeys(url.strip() for url in named.split(",") if url.strip()))
    if not urls:
        raise UsageError(f"{prefix}_BASE_URL is not set; put the server's address there, as http://host:8000/v1.")
    key = wish.key(f"{prefix}_API_KEY", needed=False)
    service = wish.service(f"{provider}/{wish.model}", remote, urls, key, f"{prefix}_API_KEY")
    return OpenAIModel(service, preset=wish.preset)


def _anthropic(wish: ModelConfig) -> Model:
    from ragbed.models.providers.anthropic import AnthropicModel

    url = wish.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    key = wish.key("ANTHROPIC_API_KEY", needed=True)
    return AnthropicModel(wish.service(f"anthropic/{wish.model}", wish.model, [url], key, "ANTHROPIC_API_KEY"))


def _hf(wish: ModelConfig) -> Model:
    from ragbed.models.local.hf.weights import parse_source

    source = parse_source(wish.model, trusts_code=wish.trusts_code)
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        raise UsageError(f"hf/{wish.model} needs {' and '.join(missing)}: pip install 'ragbed[hf]'")
    from ragbed.models.local.hf.model import HFModel

    return HFModel(source, wish.environ, wish.sampling, wish.preset, wish.connections)


def _scripted(wish: ModelConfig) -> Model:
    from ragbed.models.scripted import SCRIPTS, ScriptedModel

    if wish.model not in SCRIPTS:
        raise UnknownName("script", wish.model, SCRIPTS)
    return ScriptedModel(wish.model)


def _baseline(wish: ModelConfig) -> Model:
    from ragbed.models.lexical import LexicalModel

    if wish.model != "lexical":
        raise UnknownName("baseline", wish.model, ("lexical",))
    return LexicalModel()


def _llamacpp(wish: ModelConfig) -> Model:
    return _llama(wish, f"llamacpp/{wish.model}", Path(wish.model))


def _bundled(wish: ModelConfig) -> Model:
    from ragbed.models.local.llamacpp import find_weights

    return _llama(wish, f"bundled/{wish.model}", find_weights(wish.model, wish.data_root))


def _llama(wish: ModelConfig, name: str, path: Path) -> Model:
    from ragbed.models.local.llamacpp import SLOTS, LlamaConfig, LlamaModel

    order = LlamaConfig(wish.sampling, wish.patience, wish.environ, wish.connections or SLOTS, wish.loads)
    return LlamaModel(name, path, order)


def _http(wish: ModelConfig) -> Model:
    """A system at an address; `http/https://…` and `http/localhost:8080/ask` are both meant."""
    from ragbed.models.systems import HttpSystem

    url = wish.model if "://" in wish.model else f"http://{wish.model}"
    key = wish.key("HTTP_API_KEY", needed=False)
    name = without_credentials(f"http/{wish.model}")
    return HttpSystem(wish.service(name, name, [url], key, "HTTP_API_KEY"), wish.corpora)


def _python(wish: ModelConfig) -> Model:
    from ragbed.models.systems import DEFAULT_AT_ONCE, PythonSystem

    return PythonSystem(wish.model, wish.connections or DEFAULT_AT_ONCE, wish.patience.attempt_s, wish.corpora)


def _cassette(wish: ModelConfig) -> Model:
    from ragbed.models.cassette import CassetteModel

    return CassetteModel(Path(wish.model))


PROVIDERS: dict[str, Callable[[ModelConfig], Model]] = {
    "openai": _openai,
    "openai-api": _openai_api,
    "vllm": lambda wish: _openai_api(wish, "http://localhost:8000/v1", "vllm"),
    "ollama": lambda wish: _openai_api(wish, "http://localhost:11434/v1", "ollama"),
    "anthropic": _anthropic,
    "llamacpp": _llamacpp,
    "bundled": _bundled,
    "hf": _hf,
    "http": _http,
    "python": _python,
    "cassette": _cassette,
    "baseline": _baseline,
    "scripted": _scripted,
}

_TAKE_PRESETS = frozenset({"openai", "openai-api", "vllm", "ollama", "hf"})


def split_name(spec: str) -> tuple[str, str]:
    """Return the name and the model string of `NAME=provider/model`; the name is empty where none is given.

    Only a `=` before the first `/` separates a name, so that model strings may contain others.

    Raises:
        UsageError: The name has other characters than letters, digits, `.`, `_` and `-`, or no provider follows it.
    """
    name, equals, model = spec.partition("=")
    if not equals or "/" in name:
        return "", spec
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        raise UsageError(
            f"--model {spec}: the name {name!r} before '=' may only contain letters, digits, '.', '_' and '-'."
        )
    parse_model(model)
    return name, model


def parse_model(spec: str) -> tuple[str, str, Callable[[ModelConfig], Model]]:
    """The provider of a model string, what follows it, and who opens such a model; nothing is opened yet.

    Raises:
        UsageError: It names none.
    """
    provider, slash, model = spec.partition("/")
    if provider in ("http:", "https:"):
        shown = without_credentials(spec)
        meant = shown.removeprefix("http://")  # an address with https is written whole
        raise UsageError(f"--model {shown}: a system at a URL is written with its provider first: write http/{meant}")
    open_provider = find_part(plugins.MODELS, provider, PROVIDERS)
    if not slash or not model:
        raise UsageError(f"--model {spec}: write {provider}/<model>.")
    # llama.cpp and transformers open only files whose names are UTF-8, and servers are sent nothing else.
    if provider != "cassette" and storable_name(spec) != spec:
        raise UsageError(f"--model {spec}: the model name is not valid UTF-8; check its spelling, or rename the file.")
    return provider, model, open_provider


def open_model(spec: str, make_wish: Callable[[str], ModelConfig]) -> Model:
    """The model that a string names: `provider/model`, the first slash splits."""
    provider, model, open_provider = parse_model(spec)
    wish = make_wish(model)
    if wish.preset is not None and provider not in _TAKE_PRESETS:
        raise UsageError(f"--preset is for {', '.join(sorted(_TAKE_PRESETS))}; leave it away for {provider}/{model}.")
    if provider in PROVIDERS:
        return open_provider(wish)
    from ragbed.models.plugin_guard import open_contained

    return open_contained(open_provider, wish, provider)
