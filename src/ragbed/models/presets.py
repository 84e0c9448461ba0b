"""The prompt formats of the paper's six systems, from the original code and from each system's documentation.

The original code sends the system text as a system message only to ChatGPT, and otherwise puts it before the question.
The `code-*` profiles use the original code's format, including its bugs; all other profiles use the format in the
model's documentation. To add a preset, add an entry to PRESETS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.models.base import Sampling
from ragbed.schema import Case, Message

# A function that builds a prompt from a system text, which may be empty, and a user text.
Form: TypeAlias = Callable[[str, str], str]

# The sampling defaults of the original code, for local models and for APIs.
_LOCAL = Sampling(temperature=0.7, top_p=0.8, max_tokens=256)
_API = Sampling(temperature=0.7, top_p=1.0, max_tokens=256)

# Only the prompts have been tested; the presets have not been run with the actual weights.
TESTED = "prompt-tested only"

_VICUNA_SYSTEM = (
    "A chat between a curious user and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's questions."
)
# The original code sends the Vicuna template with this indentation.
_INDENT = " " * 8


class Preset(Struct, frozen=True):
    """The prompt format of one of the paper's systems.

    Attributes:
        repository: The repository with its weights, or the model's name at its provider.
        loads_with: Versions of the library that can load it, according to its documentation.
        code: The original code's prompt format, or None to send the messages unchanged.
        own: The prompt format in the model's documentation, or None to send the messages unchanged.
        sampling: Default sampling parameters.
        stop: Strings that end a response.
        served_by: The API method to use on a server: complete prompts, or one user message that the server formats.
        code_closed_book: The original code's system text for cases without documents.
    """

    repository: str
    loads_with: str
    code: Form | None = None
    own: Form | None = None
    sampling: Sampling = _LOCAL
    stop: tuple[str, ...] = ()
    served_by: Literal["chat", "completions"] = "completions"
    code_closed_book: str = ""

    def body(self, case: Case) -> dict[str, object]:
        """Return the request fields: either a complete prompt, or messages that the server formats."""
        stop: dict[str, object] = {"stop": self.stop} if self.stop else {}
        if self.served_by == "completions":
            return {"prompt": self.prompt(case)} | stop
        if self.code is None:
            return {"messages": case.messages} | stop
        return {"messages": (Message(role="user", content=_prepend(*self._texts(case))),)} | stop

    def prompt(self, case: Case) -> str | None:
        """Return the complete prompt, or None if the messages are sent unchanged."""
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


def _prepend(system: str, user: str, between: str = "\n\n") -> str:
    return f"{system}{between}{user}" if system else user


def _chatml(system: str, user: str) -> str:
    start, end = "<|im_start|>", "<|im_end|>"
    return f"{start}system\n{system}{end}\n{start}user\n{user}{end}\n{start}assistant\n"


def _round_one(system: str, user: str) -> str:
    return f"[Round 1]\n\n问：{_prepend(system, user)}\n\n答："


# Presets by name. "Including 5" is stated only for presets that have been tested with transformers 5, on a small,
# randomly initialised model.
PRESETS: dict[str, Preset] = {
    "chatgpt": Preset("gpt-3.5-turbo", "an API", sampling=_API, served_by="chat"),
    "chatglm-6b": Preset(
        "THUDM/chatglm-6b",
        "transformers 4.27.1",
        code=_prepend,  # the model's own code adds nothing to the first turn
        own=_prepend,
        served_by="chat",
    ),
    "chatglm2-6b": Preset(
        "THUDM/chatglm2-6b",
        "transformers 4.30.2",
        code=_round_one,
        own=_round_one,
        served_by="chat",
    ),
    "vicuna-7b-v1.3": Preset(
        "lmsys/vicuna-7b-v1.3",
        "transformers 4.28 or newer, including 5",
        code=lambda system, user: f"{system} \n\n{_INDENT}USER: {user}\n{_INDENT}ASSISTANT:\n{_INDENT}",
        own=lambda system, user: f"{system or _VICUNA_SYSTEM} USER: {user} ASSISTANT:",
        stop=("</s>",),
        code_closed_book=f"{_VICUNA_SYSTEM} ",
    ),
    "qwen-7b-chat": Preset(
        "Qwen/Qwen-7B-Chat",
        "transformers 4.32 (with the code of its repository)",
        code=lambda system, user: _chatml("You are a helpful assistant.", _prepend(system, user)),
        own=lambda system, user: _chatml(system or "You are a helpful assistant.", user),
        stop=("<|im_end|>", "<|endoftext|>"),
    ),
    "belle-7b-2m": Preset(
        "BelleGroup/BELLE-7B-2M",
        "transformers 4.26 or newer, including 5",
        code=lambda system, user: f"Human:{_prepend(system, user, chr(10))}\n\nAssistant:",
        own=lambda system, user: f"Human: {_prepend(system, user)} \n\nAssistant:",
        stop=("</s>",),
    ),
}
