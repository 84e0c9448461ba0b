"""Scores, reports and comparisons of runs."""

from __future__ import annotations


def compare(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("compare")


def diagnose(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("diagnose")


def judge(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("judge")


def leaderboard(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("leaderboard")


def paper_tables(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("paper_tables")


def power(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("power")


def report(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("report")


def score(*args: object, **options: object) -> object:
    """Not available yet."""
    raise NotImplementedError("score")
