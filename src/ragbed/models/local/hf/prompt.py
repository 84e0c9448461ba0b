"""A case as tokens, by the model's chat template or a preset's form; what a document says is never a control sign."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ragbed.errors import RagbedError
from ragbed.schema import Message

_MARK = "\ue000{}\ue001"
"""Stands for a control sign in a text while the template is filled; characters that no text has (private use)."""
_MARKED = re.compile("\ue000(\\d+)\ue001")


class PromptEncoder:
    """Turns messages or whole prompts into tokens.

    Args:
        tokenizer: The model's.
        name: Of the model, for messages to the user.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer, self._name = tokenizer, name
        signs = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
        longest_first = sorted(signs, key=len, reverse=True)
        self._signs = re.compile("|".join(map(re.escape, longest_first)) if longest_first else r"(?!)")

    def check_template(self) -> None:
        """Says what to do where there is none.

        Raises:
            RagbedError: There is none.
        """
        if not self._tokenizer.chat_template:
            raise RagbedError(
                f"{self._name} has no chat template: it may be a base model, which follows no instructions, or older "
                "than templates. Name its form by --preset (`ragbed doctor` lists them), or put a chat_template.jinja "
                "into its folder."
            )

    def read_messages(self, messages: Sequence[Message]) -> list[int]:
        """By the chat template; a model that knows no system role gets the system text in front of the user's."""
        found: list[str] = []
        turns = [{"role": turn.role, "content": self._hide(turn.content, found)} for turn in messages]
        return self._to_tokens(self._fill(turns), found, has_signs=True)

    def read_prompt(self, prompt: str, parts: Sequence[str]) -> list[int]:
        """A whole prompt, whose parts are the case's texts."""
        found: list[str] = []
        for part in parts:
            prompt = prompt.replace(part, self._hide(part, found)) if part else prompt
        return self._to_tokens(prompt, found, has_signs=False)

    def _fill(self, turns: list[dict[str, str]]) -> str:
        from jinja2 import TemplateError  # noqa: PLC0415  # comes with transformers' templates

        try:
            return self._render(turns)
        except TemplateError as error:
            if turns[0]["role"] != "system":
                raise RagbedError(f"the chat template of {self._name} takes no user turn: {error}.") from error
            system, user, *others = turns
            return self._render([{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *others])

    def _render(self, turns: list[dict[str, str]]) -> str:
        text: str = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return text

    def _hide(self, text: str, found: list[str]) -> str:
        """Marks control signs in a text, as `<|im_end|>` in a document."""

        def mark(match: re.Match[str]) -> str:
            found.append(match[0])
            return _MARK.format(len(found) - 1)

        return self._signs.sub(mark, text)

    def _to_tokens(self, text: str, found: list[str], *, has_signs: bool) -> list[int]:
        """As the tokenizer does; control signs that were found in texts are read letter by letter.

        Args:
            text: Of the whole prompt.
            found: The signs that were marked.
            has_signs: Whether the text begins as the model wants it, or the tokenizer adds what is wanted.
        """
        if not found:
            tokens: list[int] = self._tokenizer(text, add_special_tokens=not has_signs)["input_ids"]
            return tokens
        tokens = []
        for at, piece in enumerate(_MARKED.split(text)):
            is_sign = at % 2 == 1
            options = {"add_special_tokens": at == 0 and not has_signs, "split_special_tokens": is_sign}
            tokens += self._tokenizer(found[int(piece)] if is_sign else piece, **options)["input_ids"]
        return tokens

    def write(self, tokens: Sequence[int]) -> str:
        """Tokens as text."""
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return text
