"""Open language models by model string; the part before the first slash names the provider.

To add a provider, write a class with the methods of `Model` and a function that creates it from a `ModelConfig`, and
add the function to PROVIDERS. Other packages register such functions in the entry point group `ragbed.models`
(docs/reference/plugins.md).
"""

# ruff: noqa: PLC0415  # Providers are imported on first use because their libraries are slow to import.

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ragbed import plugins
from ragbed.errors import UnknownName, UsageError, nearest_name, option
from ragbed.io.retry import RetryPolicy
from ragbed.models.base import Model, Sampling
from ragbed.models.presets import Preset
from ragbed.models.providers.dialects import COMPATIBLE, CompatibleProvider, any_provider, find_url
from ragbed.models.secrets import ApiKey, without_credentials
from ragbed.plugins import find_part, load_function
from ragbed.text import storable_name

if TYPE_CHECKING:
    from ragbed.data.corpus import Corpora

# Maximum number of concurrent connections. Each connection uses a file descriptor, a task and resources on the server,
# and more connections would not increase any server's throughput.
_MAX_CONNECTIONS = 4_096


class ModelConfig(Struct, frozen=True):
    """The settings for opening a model.

    Attributes:
        model: The part of the model string after the provider.
        environ: Environment variables, which may include keys and URLs.
        sampling: Sampling parameters.
        retry_policy: Time limits and maximum numbers of attempts.
        connections: Maximum number of concurrent requests, or None to adapt to the server.
        per_minute: Maximum number of requests per minute.
        data_root: Folder for downloaded weights, or None for the platform's default.
        preset: The prompt format, if the model is one of the paper's systems.
        trusts_code: Whether code in a weights repository may run.
        loads: Whether to load weights; False if only the requests are needed.
        corpora: The corpora that a RAG system may have to search, by dataset name and ID.
        headers: Additional request headers set by the user.
        context_length: The context length of the model, if the user set it.
        fixed: The sampling parameters that the user set, which are not omitted if a server rejects them.
        open_replay: Opens a `replay/…` model. Runs are stored by a higher layer, which provides this function.
    """

    model: str
    environ: Mapping[str, str]
    sampling: Sampling = Sampling()
    retry_policy: RetryPolicy = RetryPolicy()
    connections: int | None = None
    per_minute: float | None = None
    data_root: Path | None = None
    preset: Preset | None = None
    trusts_code: bool = False
    loads: bool = True
    corpora: Corpora = {}
    headers: Mapping[str, str] = {}
    context_length: int | None = None
    fixed: frozenset[str] = frozenset()
    open_replay: Callable[[str], Model] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"  # the environment and the headers may contain keys

    def __post_init__(self) -> None:
        if self.connections is not None and not 1 <= self.connections <= _MAX_CONNECTIONS:
            raise UsageError(f"max_connections must be between 1 and {_MAX_CONNECTIONS:,}, not {self.connections:,}.")

    def key(self, *names: str, needed: bool, model: str = "") -> ApiKey | None:
        """Return the API key from the first environment variable that is set, or None if none is and none is needed.

        Args:
            names: The environment variables.
            needed: Whether a key is required.
            model: The model string for the error message.
        """
        name = next((name for name in names if self.environ.get(name, "").strip()), None)
        if name is None:
            if needed:
                raise UsageError(
                    f"{model or self.model} requires an API key, but the environment variable {' or '.join(names)} is "
                    f"not set. Set it, e.g. export {names[0]}=<your key>"
                )
            return None
        value = self.environ[name].strip()
        if not (value.isascii() and value.isprintable()):
            raise UsageError(f"{name} contains characters that are not allowed in an API key. Copy the key again.")
        return ApiKey(value)


def _compatible(name: str, config: ModelConfig) -> Model:
    """Open a model of a provider that is listed in `dialects.py`."""
    return _open_compatible(config, COMPATIBLE[name], f"{name}/{config.model}", config.model)


def _openai_api(config: ModelConfig) -> Model:
    """Open a model on any OpenAI-compatible server.

    `<NAME>_BASE_URL` contains the URL, and `<NAME>_API_KEY` contains the key.
    """
    name, _, remote = config.model.partition("/")
    if not name or not remote:
        raise UsageError(
            f"openai-api/{config.model}: the server name or the model name is missing. Use openai-api/<name>/<model>."
        )
    return _open_compatible(config, any_provider(name), f"openai-api/{config.model}", remote)


def _open_compatible(config: ModelConfig, provider: CompatibleProvider, name: str, remote: str) -> Model:
    from ragbed.models.providers.http_model import ServiceConfig
    from ragbed.models.providers.openai import OpenAIModel

    is_custom = bool(config.environ.get(provider.base, "").strip())
    variable = next((key for key in provider.key if config.environ.get(key, "").strip()), provider.key[0])
    key = config.key(*provider.key, needed=provider.needs_key and (not is_custom or not provider.url), model=name)
    url = find_url(provider, config.environ)
    has_own_url = is_custom and url.rstrip("/") != provider.url.rstrip("/")
    service = ServiceConfig(config, name, remote, url, key, variable, is_custom=has_own_url)
    is_official = name.startswith("openai/") and not is_custom
    if name.startswith("openai/") and is_custom:
        # With a custom base URL, the server is not OpenAI's and may support only the older parameter `max_tokens`.
        provider = replace(provider, max_tokens="max_tokens")
    return OpenAIModel(service, provider, preset=config.preset, official=is_official)


def _anthropic(config: ModelConfig) -> Model:
    from ragbed.models.providers.anthropic import AnthropicModel
    from ragbed.models.providers.http_model import ServiceConfig

    default, variable = "https://api.anthropic.com", "ANTHROPIC_API_KEY"
    url = config.environ.get("ANTHROPIC_BASE_URL") or default
    name, is_custom = f"anthropic/{config.model}", url.rstrip("/") != default
    key = config.key(variable, needed=True, model=name)
    return AnthropicModel(ServiceConfig(config, name, config.model, url, key, variable, is_custom))


def _hf(config: ModelConfig) -> Model:
    from ragbed.models.local.hf.weights import parse_source

    source = parse_source(config.model, trusts_code=config.trusts_code)
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        raise UsageError(f"hf/{config.model} requires {' and '.join(missing)}: pip install 'ragbed[hf]'")
    from ragbed.models.local.hf.model import HFModel

    return HFModel(source, config.environ, config.sampling, config.preset, config.connections, config.context_length)


def _scripted(config: ModelConfig) -> Model:
    from ragbed.models.scripted import AGENTS, SCRIPTS, ScriptedModel, SearchAgent

    if config.model not in (*SCRIPTS, *AGENTS):
        raise UnknownName("scripted model", config.model, (*SCRIPTS, *AGENTS))
    return SearchAgent(config.model) if config.model in AGENTS else ScriptedModel(config.model)


def _baseline(config: ModelConfig) -> Model:
    from ragbed.models.lexical import LexicalModel

    if config.model != "lexical":
        raise UnknownName("baseline", config.model, ("lexical",))
    return LexicalModel()


def _llamacpp(config: ModelConfig, provider: str = "llamacpp") -> Model:
    from ragbed.models.local.llamacpp import LlamaModel, find_weights

    path = find_weights(config.model, config.data_root) if provider == "bundled" else Path(config.model)
    return LlamaModel(f"{provider}/{config.model}", path, config)


def _http(config: ModelConfig) -> Model:
    """Open the RAG system at the URL in a model string, e.g. `http/https://…` or `http/localhost:8080/ask`."""
    from ragbed.models.providers.http_model import ServiceConfig
    from ragbed.models.systems import HttpSystem

    url = config.model if "://" in config.model else f"http://{config.model}"
    key = config.key("HTTP_API_KEY", needed=False)
    name = without_credentials(f"http/{config.model}")
    return HttpSystem(ServiceConfig(config, name, name, url, key, "HTTP_API_KEY"), config.corpora)


def _open_function(config: ModelConfig, provider: str) -> Model:
    from ragbed.models.systems import DEFAULT_CALLS, FunctionSystem

    name, calls = f"{provider}/{config.model}", config.connections or DEFAULT_CALLS
    return FunctionSystem(
        name, load_function(name), calls, config.retry_policy.attempt_s, config.corpora,
        has_own_loop=True, is_factory=provider == "factory",
    )  # fmt: skip


def _replay(config: ModelConfig) -> Model:
    if config.open_replay is None:
        raise UsageError(f"replay/{config.model}: only `ragbed run` can replay a run. Choose another model.")
    return config.open_replay(config.model)


PROVIDERS: dict[str, Callable[[ModelConfig], Model]] = {
    **{name: partial(_compatible, name) for name in COMPATIBLE},
    "anthropic": _anthropic,
    "openai-api": _openai_api,
    "llamacpp": _llamacpp,
    "bundled": lambda config: _llamacpp(config, "bundled"),
    "hf": _hf,
    "http": _http,
    "python": lambda config: _open_function(config, "python"),
    "factory": lambda config: _open_function(config, "factory"),
    "replay": _replay,
    "baseline": _baseline,
    "scripted": _scripted,
}

_WITH_PRESETS = ("hf", "ollama", "openai", "openai-api", "sglang", "vllm")


def split_name(spec: str) -> tuple[str, str]:
    """Split `NAME=provider/model` into the name, which may be empty, and the model string.

    Only a `=` before the first `/` is a separator, because the rest of a model string may contain `=` as well.

    Raises:
        UsageError: The name is invalid, or no provider follows it.
    """
    name, equals, model = spec.partition("=")
    if not equals or "/" in name:
        return "", spec
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        raise UsageError(
            f"{option('model', spec)}: the name {name!r} before '=' may only contain letters, digits, '.', '_' and '-'."
        )
    parse_model(model)
    return name, model


def parse_model(spec: str) -> tuple[str, str, Callable[[ModelConfig], Model]]:
    """Return a model string's provider, the rest of the string, and the function that opens the model.

    Raises:
        UsageError: The string is not a valid model string.
    """
    provider, slash, model = spec.partition("/")
    if provider in ("http:", "https:"):
        shown = without_credentials(spec)
        raise UsageError(
            f"{option('model', shown)}: to evaluate a system at a URL, use the provider `http`: "
            f"http/{shown.removeprefix('http://')}"
        )
    try:
        open_provider = find_part(plugins.MODELS, provider, PROVIDERS)
    except UnknownName as unknown:
        near = nearest_name(provider.lower(), unknown.known, cutoff=0.7) if model else None
        meant = f"llamacpp/{spec}" if spec.lower().endswith(".gguf") else near and f"{near}/{model}"
        hint = f" Did you mean {meant}?" if meant else ""
        raise UsageError(
            f"{option('model', spec)}: {provider!r} is not a known provider.{hint} A model string has the form "
            f"provider/model, e.g. factory/my_rag:make; the providers are {', '.join(unknown.known)}."
        ) from None
    if not slash or not model:
        raise UsageError(
            f"{option('model', spec)}: the model name is missing after the provider. Use {provider}/<model>."
        )
    # llama.cpp and transformers can open only files with UTF-8 names, and servers accept only UTF-8 text.
    if provider != "replay" and storable_name(spec) != spec:
        raise UsageError(
            f"{option('model', spec)}: the model name is not valid UTF-8. Check its spelling, or rename the file."
        )
    return provider, model, open_provider


_OPTIONS = {name: name for name in ("thinking", "reasoning_effort", "extra_body")} | {"seed": "seed_model"}
# The request options that in-process models and RAG systems support; all other providers support every option.
_SUPPORTED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("llamacpp", "bundled"), ("thinking", "seed")),
    "hf": ("seed",),
    **dict.fromkeys(("http", "python", "factory", "replay", "baseline", "scripted"), ()),
}


def open_model(spec: str, make_config: Callable[[str], ModelConfig]) -> Model:
    """Open a model by its model string, `provider/model`; only the first slash is a separator.

    Args:
        spec: The model string.
        make_config: Called with the part after the provider.
    """
    provider, model, open_provider = parse_model(spec)
    config = make_config(model)
    supported = _SUPPORTED.get(provider, tuple(_OPTIONS))
    for name, parameter in _OPTIONS.items():
        if getattr(config.sampling, name) is not None and name not in supported:
            raise UsageError(f"{option(parameter)} has no effect on {provider}/{config.model}. Remove this option.")
    thinking = config.sampling.thinking
    if provider in ("llamacpp", "bundled") and not isinstance(thinking, bool | None):
        raise UsageError(
            f"{option('thinking', 'budget=N')} has no effect on {provider}/{config.model}. Use "
            f"{option('thinking', 'on')} or {option('thinking', 'off')}."
        )
    if config.context_length is not None and _SUPPORTED.get(provider) == ():
        raise UsageError(f"{option('context_length')} has no effect on {provider}/{config.model}. Remove this option.")
    if config.headers and provider in _SUPPORTED and provider != "http":
        raise UsageError(f"{option('header')} has no effect on {provider}/{config.model}. Remove this option.")
    if config.preset is not None and provider not in _WITH_PRESETS:
        raise UsageError(
            f"{option('preset')} is not supported by {provider}/{model}. Remove it, or use one of these providers: "
            f"{', '.join(_WITH_PRESETS)}."
        )
    if provider in PROVIDERS:
        return open_provider(config)
    from ragbed.models.plugin_guard import open_contained

    return open_contained(open_provider, config, provider)
