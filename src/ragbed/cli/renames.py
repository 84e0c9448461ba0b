"""Removed commands with what replaced them."""

from __future__ import annotations

REMOVED_COMMANDS = {
    "cache": "`ragbed doctor`, which shows the size of the cache, and `ragbed doctor --prune-cache AGE`",
    "cases": "`ragbed export DATA --to jsonl`",
    "leaderboard": "`ragbed report -f site`",
    "power": "the Python function `ragbed.power`",
    "paper": 'the page "The paper\'s tables" in the documentation',
    "score": "`ragbed report --rescore` and `ragbed report --disagreements SCORER`",
}
