"""Former options: refused with the new name, wherever an option can be set."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragbed
from ragbed.cli import renames
from ragbed.errors import UsageError
from ragbed.runs.store import open_store
from tests.cli.typed import type_command

_RUN = ("run", "-m", "scripted/oracle", "-d", "figure1")
_OTHERS = {
    "--perturbations": ("synth", "--items", "1", "-o", "synthetic"),
    "--aggregates": ("score", "run"),
    "--locale": ("report", "run"),
    "--min-drop": ("compare", "a", "b"),
}
"""Commands with options that `run` does not have."""
_WITHOUT_CONFIG = ("--aggregates", "--locale", "--min-drop")
_NAMES = pytest.mark.parametrize(("old", "new"), renames.OPTIONS.items())
_KEYS = pytest.mark.parametrize(
    ("old", "new"), [(old, new) for old, new in renames.OPTIONS.items() if new not in _WITHOUT_CONFIG]
)


def _command(option: str) -> tuple[str, ...]:
    """Return a command that has the option."""
    return _OTHERS.get(option, _RUN)


def _variable(option: str) -> str:
    return "RAGBED_" + option[2:].upper().replace("-", "_")


@_NAMES
def test_a_former_option_is_refused_with_its_new_name(old: str, new: str) -> None:
    done = type_command(*_command(new), old, "2")
    assert (done.code, done.err) == (2, f"ragbed: {old} was replaced by {new}.\n")


@_NAMES
def test_a_former_variable_is_refused_with_its_new_name(old: str, new: str) -> None:
    done = type_command(*_command(new), env={_variable(old): "2"})
    assert (done.code, done.err) == (2, f"ragbed: {_variable(old)} was replaced by {_variable(new)}.\n")


@_KEYS
def test_a_former_key_of_a_configuration_is_refused_with_its_new_name(tmp_path: Path, old: str, new: str) -> None:
    config = tmp_path / "run.toml"
    config.write_text(f"{old[2:]} = '2'\n")
    done = type_command(*_command(new), "--config", str(config))
    assert (done.code, done.err) == (
        2,
        f"ragbed: --config {config}: {old[2:]!r} was replaced by {new[2:]!r}. Update the file.\n",
    )


@pytest.mark.parametrize("key", ["sums", "words", "least", "dials"])
def test_a_former_key_of_another_command_is_no_option(tmp_path: Path, key: str) -> None:
    config = tmp_path / "run.toml"
    config.write_text(f"{key} = '2'\n")
    done = type_command(*_RUN, "--config", str(config))
    assert done.code == 2
    assert f"{key!r} is not an option of this command." in done.err


def test_a_former_parameter_is_refused_from_python_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match=r"run\(\) has no parameter 'docs'. Did you mean 'num_docs'\?"):
        ragbed.run("scripted/oracle", "figure1", docs=2)  # type: ignore[call-arg]


@pytest.mark.parametrize("command", ["run", "cases", "export", "import", "lint", "synth"])
def test_every_command_with_an_option_refuses_its_former_name(command: str) -> None:
    done = type_command(command, "--docs", "2")
    assert (done.code, done.err) == (2, "ragbed: --docs was replaced by --num-docs.\n")


@pytest.mark.parametrize("command", ["report", "leaderboard"])
def test_both_commands_with_a_locale_refuse_its_former_name(command: str) -> None:
    done = type_command(command, "runs", "--words", "zh")
    assert (done.code, done.err) == (2, "ragbed: --words was replaced by --locale.\n")


def test_a_run_keeps_the_stored_names_and_shows_the_options(tmp_path: Path) -> None:
    words = (*_RUN, "--num-docs", "2", "--noise", "0.5", "--testbeds", "noise", "-o", str(tmp_path / "run"))
    assert type_command(*words, "--strategies", "quote").code == 0
    with open_store(tmp_path / "run", create=False) as store:
        settings = store.settings()
    names = ("docs", "correct", "arms", "rotations", "remedies")
    assert [settings[name] for name in names] == ["2", "0", "related", "1", "quote"]
    assert type_command(*words, "--strategies", "quote").code == 0
    done = type_command(*words, "--strategies", "quote", "--positions", "all")
    assert done.code == 2
    assert "was created with --positions balanced, but this command uses --positions all" in done.err


@pytest.mark.parametrize("command", ["run", "synth", "score", "report", "leaderboard", "compare"])
def test_the_help_does_not_list_former_options(command: str) -> None:
    help_text = type_command(command, "--help").out
    assert not [old for old in renames.OPTIONS if f"{old} " in help_text]
