"""The six systems of the paper: how each is to be prompted, by the original code and by its own documentation.

The original code gives the system text to ChatGPT only as a system message. All others
get it in front of the question, in one form under the profiles `code-*`, bug for bug, and in the form that the model's
own documentation asks for under all others. To add a preset: one entry in PRESETS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragbed.models.base import Sampling
from ragbed.schema import Case, Message

Form: TypeAlias = Callable[[str, str], str]
"""From system text, which may be empty, and user text to a prompt."""

_LOCAL = Sampling(temperature=0.7, top_p=0.8, max_tokens=256)
_API = Sampling(temperature=0.7, top_p=1.0, max_tokens=256)
"""The original code's defaults."""

TESTED = "prompt-tested only"
"""How far all presets are tested: their weights have not been run."""

_VICUNA_SYSTEM = (
    "A chat between a curious user and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's questions."
)
_INDENT = " " * 8
"""The original code's template for Vicuna stands indented in its source."""


@dataclass(frozen=True)
class Preset:
    """How one system of the paper is asked."""

    repository: str
    """Its weights, or the name it has at its provider."""
    loads_with: str
    """Versions of the library that it is known to load with."""
    code: Form | None = None
    """The original code's prompt; None where the messages are sent as they are."""
    own: Form | None = None
    """Its documentation's."""
    sampling: Sampling = _LOCAL
    stop: tuple[str, ...] = ()
    """What ends a reply."""
    served_by: Literal["chat", "completions"] = "completions"
    """Which method of an endpoint takes it: whole prompts, or one user turn that the server puts into its own form."""
    code_closed_book: str = ""
    """The original code's system text where there are no documents ."""
    closed_to_hf: str | None = None
    """Why it cannot be run in-process, and what to do instead."""

    def body(self, case: Case) -> dict[str, object]:
        """What an endpoint is sent: a whole prompt, or messages that it puts into the model's form itself."""
        stop: dict[str, object] = {"stop": self.stop} if self.stop else {}
        if self.served_by == "completions":
            return {"prompt": self.prompt(case)} | stop
        if self.code is None:
            return {"messages": case.messages} | stop
        return {"messages": (Message(role="user", content=_in_front(*self._texts(case))),)} | stop

    def prompt(self, case: Case) -> str | None:
        """The whole prompt; None where messages are sent as they are."""
        form = self.code if _is_original(case) else self.own
        return None if form is None else form(*self._texts(case))

    def _texts(self, case: Case) -> tuple[str, str]:
        system = "\n".join(message.content for message in case.messages if message.role == "system")
        user = "\n".join(message.content for message in case.messages if message.role == "user")
        if _is_original(case) and not case.documents:
            system = self.code_closed_book
        return system, user


def _is_original(case: Case) -> bool:
    return case.profile.startswith("code-")


def _in_front(system: str, user: str, between: str = "\n\n") -> str:
    return f"{system}{between}{user}" if system else user


def _chatml(system: str, user: str) -> str:
    start, end = "<|im_start|>", "<|im_end|>"
    return f"{start}system\n{system}{end}\n{start}user\n{user}{end}\n{start}assistant\n"


def _round_one(system: str, user: str) -> str:
    return f"[Round 1]\n\n问：{_in_front(system, user)}\n\n答："


_GLM_CLOSED = (
    "its weights come with code that does not run on transformers 5 (it was written for {}); serve it with that "
    "version, or as GGUF, and name the server: -m openai-api/<name>/<model>"
)

PRESETS: dict[str, Preset] = {
    "chatgpt": Preset("gpt-3.5-turbo", "an API", sampling=_API, served_by="chat"),
    "chatglm-6b": Preset(
        "THUDM/chatglm-6b",
        "transformers 4.27.1",
        code=_in_front,  # without earlier turns its own code adds nothing
        own=_in_front,
        served_by="chat",
        closed_to_hf=_GLM_CLOSED.format("4.27.1"),
    ),
    "chatglm2-6b": Preset(
        "THUDM/chatglm2-6b",
        "transformers 4.30.2",
        code=_round_one,
        own=_round_one,
        served_by="chat",
        closed_to_hf=_GLM_CLOSED.format("4.30.2"),
    ),
    "vicuna-7b-v1.3": Preset(
        "lmsys/vicuna-7b-v1.3",
        "transformers 4.28 or newer, 5 included",
        code=lambda system, user: f"{system} \n\n{_INDENT}USER: {user}\n{_INDENT}ASSISTANT:\n{_INDENT}",
        own=lambda system, user: f"{system or _VICUNA_SYSTEM} USER: {user} ASSISTANT:",
        stop=("</s>",),
        code_closed_book=f"{_VICUNA_SYSTEM} ",
    ),
    "qwen-7b-chat": Preset(
        "Qwen/Qwen-7B-Chat",
        "transformers 4.32 (its own code, --trust-remote-code)",
        code=lambda system, user: _chatml("You are a helpful assistant.", _in_front(system, user)),
        own=lambda system, user: _chatml(system or "You are a helpful assistant.", user),
        stop=("<|im_end|>", "<|endoftext|>"),
    ),
    "belle-7b-2m": Preset(
        "BelleGroup/BELLE-7B-2M",
        "transformers 4.26 or newer, 5 included",
        code=lambda system, user: f"Human:{_in_front(system, user, chr(10))}\n\nAssistant:",
        own=lambda system, user: f"Human: {_in_front(system, user)} \n\nAssistant:",
        stop=("</s>",),
    ),
}
"""By the name on the command line. What each loads with is what its own documentation says; transformers 5 where the
library itself has the architecture, which is tested with small models of it."""
