"""Determine the context length of a model behind an API, and check that a prompt fits before it is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from ragbed.models.failures import Failure
from ragbed.schema import Case
from ragbed.text import estimate_tokens

# Names of the context length field in model lists: vLLM and SGLang use the first name, OpenRouter and Together the
# second, Groq the third, and Mistral the fourth.
_REPORTED = ("max_model_len", "context_length", "context_window", "max_context_length")
_PER_MESSAGE = 16  # maximum number of tokens that a chat template adds to each message, and to the prompt as a whole


def reported_context(entry: Mapping[str, object], props: Mapping[str, object]) -> int | None:
    """Return the context length from a server's model list, or from a llama.cpp server's properties."""
    settings = props.get("default_generation_settings")
    found = [entry.get(name) for name in _REPORTED] + [settings.get("n_ctx") if isinstance(settings, dict) else None]
    return next((value for value in found if isinstance(value, int) and value > 0), None)


class ContextWindow(Struct):
    """A model's context window.

    Attributes:
        tokens: Its length, or None if it is unknown, in which case every prompt is sent.
        count: Returns the number of tokens in a text according to the server's tokenizer, or None if it has none.
    """

    tokens: int | None = None
    count: Callable[[str], Awaitable[int | None]] | None = None

    async def check(self, case: Case, max_tokens: int) -> None:
        """Check that a case's prompt and response fit into the context window.

        The server counts the tokens only if the prompt could be too long: no text has more tokens than bytes.

        Raises:
            Failure: The prompt and the response do not fit.
        """
        if self.tokens is None:
            return
        text = "\n".join(message.content for message in case.messages)
        added = _PER_MESSAGE * (len(case.messages) + 1)
        room = self.tokens - max_tokens - added
        if len(text.encode("utf-8", "surrogatepass")) <= room:
            return
        counted = None if self.count is None else await self.count(text)
        tokens = estimate_tokens(text) if counted is None else counted
        if tokens > room:
            number = f"up to {tokens + added:,} tokens{', an upper estimate' if counted is None else ''}"
            raise Failure(
                "too-long",
                f"the prompt ({number}) and the response (up to {max_tokens:,} tokens) do not fit in the context "
                f"window of {self.tokens:,} tokens",
            )
