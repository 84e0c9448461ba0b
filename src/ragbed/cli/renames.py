"""Removed commands with what replaced them, and names that users may guess."""

from __future__ import annotations

REMOVED_COMMANDS = {
    "cache": "`ragbed doctor`, which shows the size of the cache, and `ragbed doctor --prune-cache AGE`",
    "cases": "`ragbed export DATA --to jsonl`",
    "leaderboard": "`ragbed report -f site`",
    "power": "the Python function `ragbed.power`",
    "paper": 'the page "The paper\'s tables" in the documentation',
    "score": "`ragbed report --rescore` and `ragbed report --disagreements SCORER`",
}
"""Removed command: what replaced it."""

GUESSED_COMMANDS = {"evaluate": "run", "eval": "run"}
"""Name that a user may guess: the command to suggest."""
GUESSED_OPTIONS = {"--noise-ratio": "--noise", **{f"--{name}": f"-f {name}" for name in ("html", "md", "csv")}}
"""Name that a user may guess: the option to suggest, if the command has it."""
