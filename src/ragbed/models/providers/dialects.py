"""OpenAI-compatible providers: URLs, environment variables and reasoning options.

To add a provider, add a row to COMPATIBLE. `thinking` and `reasoning_effort` are converted to the fields in the
provider's documentation; if there is no such field, the option is rejected before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from ragbed.errors import UsageError, option
from ragbed.models.base import Sampling

# A function that converts a thinking setting (on, off or a token budget) to request fields, or returns None if the
# provider does not support the setting.
ThinkingFields: TypeAlias = Callable[[bool | int], Mapping[str, Any] | None]


def _type_switch(thinking: bool | int) -> Mapping[str, Any] | None:
    return {"thinking": {"type": "enabled" if thinking else "disabled"}} if isinstance(thinking, bool) else None


def _enable_switch(thinking: bool | int) -> Mapping[str, Any]:
    budget = {} if isinstance(thinking, bool) else {"thinking_budget": thinking}
    return {"enable_thinking": thinking is not False, **budget}


def _template_switch(thinking: bool | int) -> Mapping[str, Any] | None:
    """Return the chat template variables that turn thinking on or off; templates ignore variables they do not use."""
    names = ("enable_thinking", "thinking")
    return {"chat_template_kwargs": dict.fromkeys(names, thinking)} if isinstance(thinking, bool) else None


def _reasoning_switch(thinking: bool | int) -> Mapping[str, Any]:
    return {"reasoning": {"enabled": thinking} if isinstance(thinking, bool) else {"max_tokens": thinking}}


def _effort_switch(on: str) -> ThinkingFields:
    def fields(thinking: bool | int) -> Mapping[str, Any] | None:
        return {"reasoning_effort": on if thinking else "none"} if isinstance(thinking, bool) else None

    return fields


def _gemini_switch(thinking: bool | int) -> Mapping[str, Any]:
    if thinking is False:
        return {"reasoning_effort": "none"}
    budget = {} if thinking is True else {"thinking_budget": thinking}
    return {"extra_body": {"google": {"thinking_config": {"include_thoughts": True, **budget}}}}


def _verdict_schema(choices: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the request field that requires JSON output with a reason followed by one of the given verdicts."""
    properties = {"reason": {"type": "string"}, "verdict": {"type": "string", "enum": choices}}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return response_format("verdict", schema)


def response_format(name: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the request field that requires JSON output that follows a schema."""
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}}


def enforces_schema(model: str) -> bool:
    """Check whether the back end of a model string can restrict responses to a JSON schema."""
    provider = COMPATIBLE.get(model.partition("/")[0])
    return model.startswith(("llamacpp/", "bundled/")) or (provider is not None and provider.choices is not None)


class CompatibleProvider(Struct, frozen=True):
    """A provider with an OpenAI-compatible chat completions API.

    Attributes:
        url: The base URL, in which `{AWS_REGION}` stands for that variable; empty if the user has to set the URL.
        key: The environment variables that may contain the API key; messages mention the first one.
        needs_key: Whether a key is required.
        base: The environment variable that overrides the base URL.
        path: The path to append to the URL in the `base` variable, unless the URL already contains it.
        thinking: A function that returns the fields for `thinking`.
        effort: A function that returns the fields for `reasoning_effort`.
        seed: The field for `seed_model`.
        max_tokens: The field for the token limit.
        choices: A function that returns the fields that restrict a judge to its verdicts, or None if the provider does
            not document JSON schemas. JSON output without a schema (`json_object`) is not used, because the prompt
            would have to ask for JSON.
        command: The command that starts a local server.
    """

    url: str
    key: tuple[str, ...]
    base: str
    needs_key: bool = True
    path: str = ""
    thinking: ThinkingFields = lambda _: None
    effort: Callable[[str], Mapping[str, Any]] = lambda effort: {"reasoning_effort": effort}
    seed: str = "seed"
    max_tokens: str = "max_tokens"
    choices: Callable[[tuple[str, ...]], Mapping[str, Any]] | None = None
    command: str = ""

    def fields(self, sampling: Sampling, name: str) -> dict[str, Any]:
        """Return the request fields for thinking, effort and seed, and the user's extra fields.

        Raises:
            UsageError: The provider has no field for an option.
        """
        fields: dict[str, Any] = {}
        if sampling.thinking is not None:
            switch = self.thinking(sampling.thinking)
            if switch is None:
                raise UsageError(_no_thinking(name, sampling.thinking))
            fields |= switch
        if sampling.reasoning_effort is not None:
            _merge(fields, self.effort(sampling.reasoning_effort))
        if sampling.seed is not None:
            fields[self.seed] = sampling.seed
        _merge(fields, sampling.extra_body or {})
        return fields


def _merge(fields: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add fields to a request body, merging objects with the same name."""
    for name, value in more.items():
        both = isinstance(value, dict) and isinstance(fields.get(name), dict)
        fields[name] = fields[name] | value if both else value


def _no_thinking(name: str, thinking: bool | int) -> str:
    shown = "budget=N" if not isinstance(thinking, bool) else "on" if thinking else "off"
    problem = f"{option('thinking', shown)} has no known equivalent for {name}. Use {option('reasoning_effort')}"
    if name.startswith(("openai/", "azure/")):
        return f"{problem}."
    example = '{"chat_template_kwargs": {"enable_thinking": %s}}' % ("false" if thinking is False else "true")
    return f"{problem}, or set the server's own parameter with {option('extra_body')}, e.g. {example}."


def _local(port: int, name: str, command: str, **more: Any) -> CompatibleProvider:  # noqa: ANN401
    keys, base = (f"{name}_API_KEY",), f"{name}_BASE_URL"
    return CompatibleProvider(f"http://localhost:{port}/v1", keys, base, needs_key=False, command=command, **more)


def _served(url: str, name: str, *other_keys: str, **more: Any) -> CompatibleProvider:  # noqa: ANN401
    return CompatibleProvider(url, (f"{name}_API_KEY", *other_keys), f"{name}_BASE_URL", **more)


COMPATIBLE: dict[str, CompatibleProvider] = {
    "openai": _served(
        "https://api.openai.com/v1", "OPENAI", max_tokens="max_completion_tokens", choices=_verdict_schema
    ),
    "azure": CompatibleProvider(
        "", ("AZURE_OPENAI_API_KEY", "AZURE_API_KEY"), "AZURE_OPENAI_ENDPOINT", path="openai/v1",
        max_tokens="max_completion_tokens", choices=_verdict_schema,
    ),
    "gemini": _served(
        "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI", "GOOGLE_API_KEY", thinking=_gemini_switch,
        choices=_verdict_schema,
    ),
    "mistral": _served(
        "https://api.mistral.ai/v1", "MISTRAL", thinking=_effort_switch("high"), seed="random_seed",
        choices=_verdict_schema,
    ),
    "deepseek": _served("https://api.deepseek.com/v1", "DEEPSEEK", thinking=_type_switch),
    "dashscope": _served(
        "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE", thinking=_enable_switch
    ),
    "zhipu": _served(
        "https://open.bigmodel.cn/api/paas/v4", "ZHIPU", "ZHIPUAI_API_KEY", "ZAI_API_KEY", thinking=_type_switch
    ),
    "siliconflow": _served("https://api.siliconflow.cn/v1", "SILICONFLOW", thinking=_enable_switch),
    "openrouter": _served(
        "https://openrouter.ai/api/v1", "OPENROUTER", thinking=_reasoning_switch,
        effort=lambda effort: {"reasoning": {"effort": effort}}, choices=_verdict_schema,
    ),
    "together": _served("https://api.together.xyz/v1", "TOGETHER", thinking=_reasoning_switch, choices=_verdict_schema),
    "groq": _served(
        "https://api.groq.com/openai/v1", "GROQ", thinking=_effort_switch("default"), choices=_verdict_schema
    ),
    "bedrock": CompatibleProvider(
        "https://bedrock-runtime.{AWS_REGION}.amazonaws.com/openai/v1", ("AWS_BEARER_TOKEN_BEDROCK",),
        "BEDROCK_BASE_URL",
    ),
    "vllm": _local(
        8000, "VLLM", "vllm serve <model>", thinking=_template_switch,
        choices=lambda choices: {"structured_outputs": {"choice": choices}},
    ),
    "sglang": _local(
        30000, "SGLANG", "python -m sglang.launch_server --model-path <model>", thinking=_template_switch,
        choices=_verdict_schema,
    ),
    "ollama": _local(11434, "OLLAMA", "ollama serve", thinking=_effort_switch("medium"), choices=_verdict_schema),
    "lmstudio": _local(1234, "LMSTUDIO", "lms server start", choices=_verdict_schema),
}  # fmt: skip


def any_provider(name: str) -> CompatibleProvider:
    """Return the provider for a model string of the form `openai-api/<name>/<model>`."""
    prefix = name.upper().replace("-", "_")
    return CompatibleProvider("", (f"{prefix}_API_KEY",), f"{prefix}_BASE_URL", needs_key=False)


def find_url(provider: CompatibleProvider, environ: Mapping[str, str]) -> str:
    """Return a provider's base URL, or the user's own in its environment variable.

    Raises:
        UsageError: A variable that the URL needs is not set.
    """
    url = environ.get(provider.base, "").strip()
    if url and provider.path and "/openai/" not in f"{url}/":
        return f"{url.rstrip('/')}/{provider.path}"
    if url or not provider.url:
        if not url:
            raise UsageError(f"{provider.base} is not set. Set it to the server's URL, e.g. http://host:8000/v1.")
        return url
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or ""
    if "{AWS_REGION}" in provider.url and not region:
        raise UsageError("AWS_REGION is not set. Set it to the region where the model is hosted, e.g. us-east-1.")
    return provider.url.replace("{AWS_REGION}", region)
