"""Former names of commands and options, each refused with the name that replaced it."""

from __future__ import annotations

COMMANDS = {"board": "leaderboard", "world": "synth", "plan": "power"}
"""Former command: the command that replaced it."""


def describe_command(old: str) -> str:
    """Return the message that refuses a former command."""
    return f"`ragbed {old}` is now `ragbed {COMMANDS[old]}`."
