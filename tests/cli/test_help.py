"""The help: commands and options in groups, and every summary complete."""

from __future__ import annotations

import re

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete

from ragbed.cli import GROUPS, app
from ragbed.cli.help_groups import GroupedCommand, GroupedOption
from tests.cli.typed import type_command

_SECTIONS = {
    "What to evaluate": {"--model", "--data", "--out", "--testbeds", "--lang", "--limit", "--profile", "--preset"},
    "Context": {"--num-docs", "--noise", "--distractors", "--true-ratio", "--positions", "--seed"},
    "Prompting and sampling": {"--prompt", "--strategies", "--repeats", "--temperature", "--top-p", "--max-tokens"},
    "Requests and cost": {"--max-connections", "--rpm", "--tpm", "--timeout", "--budget", "--cache", "--dry-run"},
    "Distributed": {"--engine", "--cluster", "--replicas", "--gpus-per-replica", "--cpus-per-replica", "--shard"},
    "CI and output": {"--fail-under", "--junit", "--json", "--config", "--trust-remote-code", "--help"},
}


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a help text that follow the examples, by title."""
    parts = re.split(r"^([A-Z][\w ]+):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_help_groups_the_commands_and_starts_with_run_and_report() -> None:
    sections = _sections(type_command("--help").out)
    assert list(sections) == ["Options", "Evaluate", "Understand", "Data", "Share", "Setup"]
    for group, names in GROUPS.items():
        assert tuple(re.findall(r"^  ([a-z]+) ", sections[group], re.MULTILINE)) == names
    assert GROUPS["Evaluate"][:2] == ("run", "report")


def test_no_summary_of_a_command_is_cut_off() -> None:
    text = type_command("--help", env={"COLUMNS": "80"}).out
    assert "..." not in text.replace("[ARGS]...", "")


def test_the_help_of_run_groups_its_options() -> None:
    sections = _sections(type_command("run", "--help").out)
    assert list(sections) == list(_SECTIONS)
    for title, known in _SECTIONS.items():
        assert known <= set(re.findall(r"(--[a-z-]+)", sections[title]))


def test_every_option_of_run_names_its_group() -> None:
    run = app.get_command(click.Context(app), "run")
    assert isinstance(run, GroupedCommand)
    for option in run.params:
        assert isinstance(option, click.Option)
        assert option.hidden or (isinstance(option, GroupedOption) and option.group in _SECTIONS), option.name


@pytest.mark.parametrize("command", ["judge", "diagnose", "export", "import", "build run"])
def test_options_of_other_commands_precede_the_shared_groups(command: str) -> None:
    sections = list(_sections(type_command(*command.split(), "--help").out))
    assert sections[0] == "Options"
    assert sections[-1] == "CI and output"


def test_a_default_in_words_and_a_range_are_shown() -> None:
    text = " ".join(type_command("run", "--help").out.split())
    assert "Maximum number of concurrent requests. [default: adaptive, up to 64; 1<=x<=4096]" in text
    assert "Maximum number of requests per minute. --tpm" in text


@pytest.mark.parametrize(
    "words",
    ["report", "compare runs/a", "run -d", "lint", "export runs/a --to jsonl -o", "status"],
)
def test_the_shell_completes_paths(words: str) -> None:
    assert [item.type for item in _complete(words, "ru")] == ["file"]


def test_the_shell_completes_the_names_of_datasets() -> None:
    assert [item.value for item in _complete("run -d", "figure")] == ["figure1"]


def _complete(words: str, incomplete: str) -> list[CompletionItem]:
    return ShellComplete(app, {}, "ragbed", "_RAGBED_COMPLETE").get_completions(words.split(), incomplete)
