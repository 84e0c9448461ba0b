"""The Inspect AI model `cassette/<file>`: recorded responses, without an API key or a network."""

from __future__ import annotations

from pathlib import Path

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from ragbed.models.cassette import Recording
from ragbed.schema import Completion, Message

_STOPS = {"length": "max_tokens", "max_tokens": "max_tokens", "content_filter": "content_filter"}


@modelapi(name="cassette")
class CassetteAPI(ModelAPI):  # type: ignore[misc]  # Inspect is not installed where types are checked
    """Finds responses by their prompt; a recorded error or a missing response is an error of the sample."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
        **_: object,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._recording = Recording(Path(model_name))

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - Inspect's signature
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,  # noqa: ARG002
    ) -> ModelOutput:
        """Return the recorded response to the messages."""
        found = self._recording.find([Message(role=turn.role, content=turn.text) for turn in input])
        if found.outcome == "error":
            raise RuntimeError(found.error)
        return _output(self.model_name, found)


def _output(model: str, found: Completion) -> ModelOutput:
    # Inspect does not count tokens, and its mock model downloads a tokeniser to do so, so the recorded counts are used.
    stop = "content_filter" if found.outcome == "refused" else _STOPS.get(found.finish or "", "stop")
    counts = found.usage or {}
    read, wrote = counts.get("in", 0), counts.get("out", 0)
    return ModelOutput(
        model=model,
        choices=[ChatCompletionChoice(message=ChatMessageAssistant(content=found.reply or ""), stop_reason=stop)],
        usage=ModelUsage(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote),
    )
