"""Responses in the recordings do not copy RGB's documents, and can be restored exactly with RGB's files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from study import MODELS
from study.cases import to_completion
from study.copies import LIMITS, DataText, remove_copies, restore_copies
from study.recordings import Recording, StoredReply, read_recording, recording_paths, write_recording

_RGB = [path for path in recording_paths() if ".rgb-" in path.name]


def _replies(recording: Recording) -> Iterator[tuple[tuple[str, str], StoredReply]]:
    """Yield the response of every trial and step, with its language and data file."""
    for trial in recording.trials:
        condition = recording.conditions[trial.condition]
        for reply in (trial.reply, *(step for step, _ in trial.steps)):
            if reply is not None:
                yield (condition.lang, condition.data), reply


def _grams(text: str, size: int) -> set[str]:
    return {text[start : start + size] for start in range(len(text) - size + 1)}


def test_no_response_copies_a_document(rgb_dir: Path) -> None:
    literals: dict[tuple[str, str], set[str]] = {}
    for path in _RGB:
        for condition, reply in _replies(read_recording(path)):
            parts = (reply,) if isinstance(reply, str) else reply
            literals.setdefault(condition, set()).update(part for part in parts if isinstance(part, str))
    assert sorted(literals) == [("en", "en_fact"), ("zh", "zh_int"), ("zh", "zh_refine")]
    for (lang, data), found in literals.items():
        text = DataText((rgb_dir / f"{data}.json").read_text("utf-8"), LIMITS[lang])
        assert [literal for literal in found if text.split(literal) != literal] == []


@pytest.mark.parametrize("path", _RGB, ids=lambda path: path.stem)
def test_stored_responses_consist_of_texts_and_references(path: Path) -> None:
    references = 0
    for (lang, _), reply in _replies(read_recording(path)):
        if isinstance(reply, tuple):
            is_text = [isinstance(part, str) for part in reply]
            references += is_text.count(False)
            assert not all(is_text)
            assert (True, True) not in pairwise(is_text)
            for part in reply:
                assert part if isinstance(part, str) else part[0] >= 0 and part[1] >= LIMITS[lang]
    assert references > 100


def test_every_passage_over_the_limit_becomes_a_reference() -> None:
    dice = random.Random(1)
    for _ in range(200):
        documents = ["".join(dice.choices("ab ", k=dice.randint(0, 60))) for _ in range(4)]
        content = json.dumps({"id": 1, "query": documents[0], "positive": [documents[1:3]], "negative": [documents[3]]})
        text = DataText(f"{content}\n", limit=9)
        reply = "".join(
            document[dice.randint(0, 20) :][: dice.randint(0, 40)] for document in dice.choices(documents, k=3)
        )
        stored = text.split(reply)
        assert text.join(stored) == reply
        copied = set().union(*(_grams(document, 9) for document in documents))
        for part in (stored,) if isinstance(stored, str) else stored:
            assert not _grams(part, 9) & copied if isinstance(part, str) else part[1] >= 9


def test_the_exact_responses_are_restored(rgb_dir: Path, tmp_path: Path) -> None:
    path = next(path for path in _RGB if path.stem == f"{MODELS[2]}.rgb-code")
    stored = read_recording(path)
    part = replace(stored, trials=stored.trials[::20])
    restored = restore_copies(part, rgb_dir)
    assert all(isinstance(reply, str) for _, reply in _replies(restored))
    assert remove_copies(restored, rgb_dir) == part
    assert read_recording(write_recording(part, "1.0", tmp_path)) == part


def test_a_response_must_be_restored_before_scoring() -> None:
    trial = next(trial for trial in read_recording(_RGB[0]).trials if isinstance(trial.reply, tuple))
    with pytest.raises(TypeError, match="must be restored first"):
        to_completion(None, trial)  # type: ignore[arg-type]  # the case is not needed
