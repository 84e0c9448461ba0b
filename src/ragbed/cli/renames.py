"""Former names of commands and options, and names that users may guess, each with the current name."""

from __future__ import annotations

COMMANDS = {
    "board": "leaderboard",
    "world": "synth",
    "plan": "power",
    "build RECIPE": "build run RECIPE",
}
"""Former command: the command that replaced it."""
OPTIONS = {
    "--docs": "--num-docs",
    "--arms": "--distractors",
    "--correct": "--true-ratio",
    "--rotations": "--positions",
    "--remedies": "--strategies",
    "--output": "--out",
    "--dials": "--perturbations",
    "--sums": "--aggregates",
    "--words": "--locale",
    "--least": "--min-drop",
}
"""Former option: the option that replaced it, with the same values unless its help says otherwise."""

BUILD_OPTIONS = {
    "--brief": "`ragbed build init`",
    "--relabel": "`ragbed build relabel`",
    "--quality": "`ragbed build quality`",
}
"""Former option of `ragbed build`: the command that replaced it."""

GUESSED_COMMANDS = {"evaluate": "run", "eval": "run"}
"""Name that a user may guess: the command to suggest."""
GUESSED_OPTIONS = {"--noise-ratio": "--noise", **{f"--{name}": f"-f {name}" for name in ("html", "md", "latex", "csv")}}
"""Name that a user may guess: the option to suggest, if the command has it."""


def describe_command(old: str) -> str:
    """Return the error message for a former command."""
    return f"`ragbed {old}` was replaced by `ragbed {COMMANDS[old]}`."


def former_options(new: str) -> list[str]:
    """Return the former names of an option."""
    return [old for old, current in OPTIONS.items() if current == new]
