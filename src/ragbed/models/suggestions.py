"""Suggest the model string that a user may have meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragbed.errors import nearest_name

# Patterns for the start of a model's name, each with the provider that serves such models.
_FAMILIES = (
    (r"(chat)?gpt|o[1345](-|$)|davinci", "openai"),
    (r"claude", "anthropic"),
    (r"gemini", "gemini"),
    (r"deepseek", "deepseek"),
    (r"qw[eq]n?", "dashscope"),
    (r"(chat)?glm", "zhipu"),
    (r"(mi[sx]tral|ministral|magistral|codestral)", "mistral"),
)
_COMPANIES = {"google": "gemini", "claude": "anthropic", "gpt": "openai", "alibaba": "dashscope", "zhipuai": "zhipu"}
# Companies that are not built-in providers and not organizations on Hugging Face, but whose servers have OpenAI's API.
_COMPATIBLE = ("deepinfra", "fireworks", "minimax", "moonshot", "perplexity", "stepfun", "volcengine", "xai")
_LIKENESS = 0.7  # minimum similarity (0 to 1) between a mistyped provider name and a known one


def suggest_model(spec: str, providers: Sequence[str]) -> str | None:
    """Suggest a correction for a model string with an unknown provider, or return None."""
    if spec.endswith(".gguf"):
        return f"llamacpp/{spec}"
    first, separator, rest = re.match(r"([^/:]*)([/:]?)(.*)", spec).groups()  # type: ignore[union-attr]  # always matches
    if rest and (provider := _nearest_provider(first.lower(), providers)):
        return f"{provider}/{rest}"
    if separator == "/":
        return f"hf/{spec}" if first and rest else None  # probably a Hugging Face repository
    if separator == ":":
        return f"ollama/{spec}"  # probably a model with a tag, e.g. qwen2.5:7b
    for pattern, provider in _FAMILIES:
        if re.match(pattern, spec.lower()):
            return f"{provider}/{spec}" if provider in providers else f"openai-api/{provider}/{spec}"
    return None


def _nearest_provider(name: str, providers: Sequence[str]) -> str | None:
    if name in _COMPATIBLE:
        return f"openai-api/{name}"
    company = _COMPANIES.get(name)
    if company in providers:
        return company
    return nearest_name(name, providers, _LIKENESS)
