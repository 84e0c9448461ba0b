"""Encode a case as tokens, treating control tokens that appear in documents as plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ragbed.errors import RagbedError, option
from ragbed.models.thoughts import find_opened, find_tags
from ragbed.schema import Message

# A placeholder, made of private-use characters, that replaces a control token in a text while the template is rendered.
_MARK = "\ue000{}\ue001"
_TAG_TOKENS = 32  # maximum number of tokens in a tag and the whitespace after it
_MARKED = re.compile("\ue000(\\d+)\ue001")


class PromptEncoder:
    """Encodes messages or complete prompts as tokens.

    Args:
        tokenizer: The model's tokenizer.
        name: The model's name for error messages.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer, self._name = tokenizer, name
        special = {number: token.content for number, token in tokenizer.added_tokens_decoder.items() if token.special}
        tags = find_tags(special.values())
        self._tags = {number: text for number, text in special.items() if text in tags}
        longest_first = sorted(set(special.values()), key=len, reverse=True)
        self._controls = re.compile("|".join(map(re.escape, longest_first)) if longest_first else r"(?!)")

    def check_template(self) -> None:
        """Check that the model has a chat template.

        Raises:
            RagbedError: There is no chat template.
        """
        if not self._tokenizer.chat_template:
            raise RagbedError(
                f"{self._name} has no chat template: it is a base model, or it was published before chat templates "
                "existed. "
                f"Choose its prompt format with {option('preset')} (`ragbed doctor` lists the presets), or add a "
                "chat_template.jinja file to its folder."
            )

    def encode_messages(self, messages: Sequence[Message]) -> list[int]:
        """Encode messages with the chat template; if it rejects system messages, put their text in the user message."""
        found: list[str] = []
        turns = [{"role": turn.role, "content": self._mark(turn.content, found)} for turn in messages]
        return self._encode(self._render(turns), found, has_start=True)

    def encode_prompt(self, prompt: str, parts: Sequence[str]) -> list[int]:
        """Encode a complete prompt; `parts` are the texts from the case that the prompt contains."""
        found: list[str] = []
        for part in parts:
            prompt = prompt.replace(part, self._mark(part, found)) if part else prompt
        return self._encode(prompt, found, has_start=False)

    def decode(self, tokens: Sequence[int]) -> str:
        """Decode tokens to text, without special tokens except those that separate thoughts from answers."""
        parts, start = [], 0
        for at, token in enumerate(tokens):
            if token in self._tags:
                parts += [self._decode(tokens[start:at]), self._tags[token]]
                start = at + 1
        return "".join([*parts, self._decode(tokens[start:])])

    def find_opened(self, prompt: Sequence[int]) -> str:
        """Return the tag with which the chat template opens a thought at the end of a prompt, or an empty string."""
        return find_opened(self.decode(prompt[-_TAG_TOKENS:]))

    def _decode(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def _render(self, turns: list[dict[str, str]]) -> str:
        from jinja2 import TemplateError  # noqa: PLC0415  # a dependency of chat templates

        try:
            return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        except TemplateError as error:
            if turns[0]["role"] != "system":
                raise RagbedError(
                    f"the chat template of {self._name} cannot format a user message: {error}. Choose its prompt "
                    f"format with {option('preset')} (`ragbed doctor` lists the presets), or correct the template."
                ) from error
            system, user, *others = turns
            return self._render([{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *others])

    def _mark(self, text: str, found: list[str]) -> str:
        def mark(match: re.Match[str]) -> str:
            found.append(match[0])
            return _MARK.format(len(found) - 1)

        return self._controls.sub(mark, text)

    def _encode(self, text: str, found: list[str], *, has_start: bool) -> list[int]:
        """Encode a prompt; control tokens that were replaced with placeholders are encoded as plain text.

        Args:
            text: The complete prompt.
            found: The control tokens that were replaced.
            has_start: Whether the text contains the model's start tokens; otherwise, the tokenizer adds them.
        """
        tokens: list[int] = []
        for at, piece in enumerate(_MARKED.split(text)):
            is_control = at % 2 == 1
            options = {"add_special_tokens": at == 0 and not has_start}
            if is_control:
                options["split_special_tokens"] = True
            tokens += self._tokenizer(found[int(piece)] if is_control else piece, **options)["input_ids"]
        return tokens
