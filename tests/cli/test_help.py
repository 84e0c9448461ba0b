"""The help: commands and options in groups, and every summary complete."""

from __future__ import annotations

import re

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from ragbed.api.specification import OUTPUT
from ragbed.cli import GROUPS, app
from tests.cli.typed import type_command

_SHORT = {
    "What to evaluate": {"--model", "--data", "--out", "--docs", "--testbeds", "--lang", "--limit"},
    "Context": {"--noise", "--num-docs", "--distractors"},
    "Prompting and sampling": {"--prompt", "--strategies", "--temperature", "--max-tokens", "--reasoning-effort"},
    "Requests and cost": {"--max-connections", "--budget", "--batch", "--until", "--dry-run"},
    "CI and output": {"--fail-under", "--baseline", "--strict", "--json", "--help-all", "--help"},
}
_ALL = {
    "What to evaluate": {"--data-lang", "--profile", "--preset", "--corpus"},
    "Context": {"--supporting", "--true-ratio", "--positions", "--seed", "--search"},
    "Prompting and sampling": {"--repeats", "--top-p", "--thinking", "--extra-body", "--header"},
    "Requests and cost": {"--rpm", "--timeout", "--max-calls", "--price", "--cache"},
    "Distributed": {"--engine", "--cluster", "--replicas", "--gpus-per-replica", "--cpus-per-replica", "--shard"},
    "CI and output": {"--junit", "--config", "--trust-remote-code"},
}
_MOST_OPTIONS = 24


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a help text that follow the examples, by title."""
    parts = re.split(r"^([A-Z][\w ]+):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_help_groups_the_commands_and_starts_with_run_and_report() -> None:
    sections = _sections(type_command("--help").out)
    assert list(sections) == ["Options", "Evaluate", "Understand", "Data", "Share", "Setup"]
    for group, names in GROUPS.items():
        assert tuple(re.findall(r"^  ([a-z]+) ", sections[group], re.MULTILINE)) == tuple(names)
    assert list(GROUPS["Evaluate"])[:2] == ["run", "report"]


def test_no_summary_of_a_command_is_cut_off() -> None:
    assert "..." not in type_command("--help", env={"COLUMNS": "80"}).out.replace("[ARGS]...", "")


def _options(words: str) -> dict[str, set[str]]:
    sections = _sections(type_command(*words.split()).out)
    return {title: set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)) for title, text in sections.items()}


def test_the_short_help_of_run_has_few_options_and_the_long_help_all() -> None:
    short, long = _options("run --help"), _options("run --help-all")
    assert short == _SHORT
    assert sum(map(len, short.values())) - len({"--help", "--help-all"}) <= _MOST_OPTIONS
    for title, names in _ALL.items():
        assert names <= long[title]
        assert short.get(title, set()) <= long[title]


@pytest.mark.parametrize("command", ["judge", "diagnose", "export", "import", "build run"])
def test_options_of_other_commands_precede_the_shared_groups(command: str) -> None:
    sections = list(_sections(type_command(*command.split(), "--help").out))
    assert sections[0] == "Options"
    assert sections[-1] == OUTPUT


def test_a_default_in_words_and_a_range_are_shown() -> None:
    text = " ".join(type_command("run", "--help-all").out.split())
    assert "Maximum number of concurrent requests. [default: adaptive, up to 64; 1 to 4,096]" in text
    assert "Maximum number of requests per minute. --timeout" in text


@pytest.mark.parametrize(
    "words", ["report", "compare runs/a", "run -d", "lint", "export runs/a --to jsonl -o", "status"]
)
def test_the_shell_completes_paths(words: str) -> None:
    assert [item.type for item in _complete(words, "ru")] == ["file"]


def test_the_shell_completes_the_names_of_datasets() -> None:
    assert [item.value for item in _complete("run -d", "figure")] == ["figure1"]


def _complete(words: str, incomplete: str) -> list[CompletionItem]:
    return ShellComplete(app, {}, "ragbed", "_RAGBED_COMPLETE").get_completions(words.split(), incomplete)
