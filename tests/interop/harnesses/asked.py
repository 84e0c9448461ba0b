"""A testbed with a thousand replies of all kinds, and how each harness is asked for its scores."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from inspect_ai import eval as evaluate
from inspect_ai.log import read_eval_log
from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from ragbed.interop.exports.frozen import read_frozen, read_part
from ragbed.interop.exports.harness_tasks import METRICS
from ragbed.models.cassette import Recording
from ragbed.schema import Case, Lang
from ragbed.synth.generate import write_dataset
from ragbed.synth.spec import SynthSpec
from ragbed.testbeds.prompts import FLAG, REFUSAL, prompt_hash
from tests.cli.typed import type_command
from tests.interop.harnesses.replaying import ReplayLM

MODEL = "made/replies"
_REAL = Path(__file__).parents[2] / "analysis" / "diagnosis" / "labelled"
_KINDS_OF_ITEMS = {
    "noise": "base",
    "rejection": "base",
    "integration": "int",
    "counterfactual": "fact",
    "closed-book": "base",
}
TESTBEDS = tuple(_KINDS_OF_ITEMS)
_RATIOS = {"noise": 5, "integration": 3}
"""Under how many an item is asked."""


Scores: TypeAlias = dict[str, dict[str, Any]]
"""Scores and reply, by case."""


@dataclass(frozen=True)
class Asked:
    """A frozen testbed in one language, what was replied, and what ragbed makes of it."""

    folder: Path
    """With one exported folder for each harness."""
    cassette: Path
    scores: Scores
    """By case, as `ragbed export RUN --to jsonl` has them."""


def make_data(lang: Lang, folder: Path, count: int) -> None:
    """Fictional news in one language, with short documents: enough for so many cases of every testbed."""
    recipe = SynthSpec(seed=7, lang=lang, supports=6, distractors=6, part_supports=3, true_documents=5, tokens=65)
    counts = {"base": count, "int": -(-count // _RATIOS["integration"]), "fact": count}
    write_dataset((recipe,), counts, folder, workers=1, prefix="")


def ask(data: Path, lang: Lang, testbed: str, count: int, folder: Path) -> Asked:
    """Exports a testbed, makes replies up, and has ragbed score them."""
    source = str(data / f"{lang}_{_KINDS_OF_ITEMS[testbed]}.jsonl")
    limit = str(-(-count // _RATIOS.get(testbed, 1)))
    for harness in ("inspect", "lm-eval"):
        words = ("--to", harness, "-o", str(folder / harness), "--testbeds", testbed, "--limit", limit)
        assert type_command("export", source, *words).code == 0
    frozen = folder / "inspect"
    replies = folder / "replies.jsonl"
    (part,) = read_frozen(frozen).parts
    real = _real_replies(lang)
    with open(replies, "w", encoding="utf-8") as sink:
        for case in read_part(frozen, part):
            dice = random.Random(prompt_hash(case.messages))  # twins may share a prompt, and then a reply
            reply = dice.choice(_KINDS)(case, dice, real)
            sink.write(json.dumps({"case": case.case, "reply": reply}) + "\n")
    run = folder / "run"
    words = ("--from", "jsonl", "-d", str(frozen), "-m", MODEL, "--out", str(run))
    assert type_command("import", str(replies), *words).code == 0
    assert type_command("export", str(run), "--to", "cassette", "-o", str(folder / "run.cassette")).code == 0
    return Asked(folder, folder / "run.cassette", scores_of(run))


def scores_of(run: Path) -> Scores:
    """Reply and scores of every trial of a run, as the command writes them."""
    output = run.with_suffix(".jsonl")
    assert type_command("export", str(run), "--to", "jsonl", "-o", str(output), "--canonical").code == 0
    trials = map(json.loads, output.read_text("utf-8").splitlines())
    return {trial["case"]: trial["scores"] | {"reply": trial["reply"]} for trial in trials}


def _real_replies(lang: str) -> list[str]:
    """What real models said, to other questions."""
    lines = [
        json.loads(line) for path in sorted(_REAL.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    return [line["reply"] for line in lines if line["lang"] == lang]


def _gold(case: Case, dice: random.Random) -> str:
    return "; ".join(dice.choice(aliases) for aliases in case.answer)


def _fake(case: Case, dice: random.Random) -> str:
    return "; ".join(dice.choice(aliases) for aliases in case.fake or (("42",),))


Reply = Callable[[Case, random.Random, list[str]], str]
_KINDS: list[Reply] = [
    lambda case, dice, _: _gold(case, dice),
    lambda case, dice, _: f"It is {_gold(case, dice)}." if case.lang == "en" else f"答案是{_gold(case, dice)}。",
    lambda case, dice, _: _gold(case, dice).upper(),
    lambda case, dice, _: _gold(case, dice)[:-1],
    lambda case, dice, _: dice.choice(case.answer)[0],
    lambda case, dice, _: _fake(case, dice),
    lambda case, dice, _: f"{_fake(case, dice)}? No: {_gold(case, dice)}.",
    lambda case, dice, _: f"It is not {_gold(case, dice)}.",
    lambda case, dice, _: f"{FLAG[case.lang]} {_gold(case, dice)}",
    lambda case, dice, _: REFUSAL[case.lang],
    lambda case, dice, _: f"{REFUSAL[case.lang]}\n\n{_gold(case, dice)}",
    lambda case, dice, _: dice.choice(["insufficient information", "信息不足", "无法回答", "I don't know."]),
    lambda case, dice, _: dice.choice(case.documents).text if case.documents else case.question,
    lambda case, dice, _: "\n".join(document.text for document in case.documents),
    lambda case, dice, real: dice.choice(real),
    lambda case, dice, real: f"{dice.choice(real)} {_gold(case, dice)}",
    lambda case, dice, _: dice.choice(
        ["", " ", "\n", "  \t\r\n", "…", "\u200b", "🙂", "{{answer}}", "null", "\x00\x1b[2J"]
    ),
    lambda case, dice, _: f"  \r\n{_gold(case, dice)}  \n",
    lambda case, dice, _: f"<think>{_fake(case, dice)}</think>{_gold(case, dice)}",
    lambda case, dice, _: f'{{"answer": {json.dumps(_gold(case, dice), ensure_ascii=False)}}}',
    lambda case, dice, _: f"{_gold(case, dice)} " * dice.randint(2, 400),
]


def compare(asked: Asked, found: Scores) -> list[str]:
    """Cases whose reply or scores differ, or that only one of the two has."""
    differing = sorted(found.keys() ^ asked.scores.keys())
    for case in found.keys() & asked.scores.keys():
        ours, theirs = asked.scores[case], found[case]
        # What a harness does not report of a reply is not compared, so the numbers are named here.
        wanted = {name: ours[name] for name in (*METRICS, "reply") if ours[name] is not None}
        if any(theirs.get(name) != value for name, value in wanted.items()) or not theirs.items() <= ours.items():
            differing.append(case)
    return differing


def ask_inspect(asked: Asked, logs: Path) -> Path:
    """Has Inspect run the exported task; its log."""
    (part,) = read_frozen(asked.folder / "inspect").parts
    task = f"{asked.folder / 'inspect' / 'tasks.py'}@{part.name}"
    quiet = {"display": "none", "score_display": False, "log_realtime": False}
    (log,) = evaluate(task, model=f"cassette/{asked.cassette}", log_dir=str(logs), **quiet)
    assert log.status == "success"
    return Path(log.location.removeprefix("file://"))


def inspect_scores(log: Path) -> Scores:
    """What a log of Inspect says of every sample; NaN is not scored."""
    found = {}
    for sample in read_eval_log(str(log)).samples:
        score = sample.scores["ragbed"]
        numbers = {name: value for name, value in score.value.items() if not math.isnan(value)}
        found[str(sample.id)] = score.metadata["values"] | numbers | {"reply": sample.output.completion}
    return found


def ask_lm_eval(asked: Asked, folder: Path) -> list[Path]:
    """Has lm-evaluation-harness run the exported task; its files of samples."""
    tasks, tracker = asked.folder / "lm-eval", EvaluationTracker(output_path=str(folder))
    done = simple_evaluate(
        model=ReplayLM(Recording(asked.cassette)),
        tasks=[path.stem for path in tasks.glob("*.yaml")],
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        apply_chat_template=True,
        bootstrap_iters=0,
        evaluation_tracker=tracker,
    )
    samples = done.pop("samples")
    tracker.save_results_aggregated(results=done, samples=samples)
    for name, its in samples.items():
        tracker.save_results_samples(name, its)
    return sorted(folder.rglob("samples_*.jsonl"))


def lm_eval_scores(files: list[Path]) -> Scores:
    """What files of samples say of every document."""
    found = {}
    for path in files:
        for line in path.open(encoding="utf-8"):
            told = json.loads(line)
            numbers = {name: told[name] for name in METRICS if name in told}
            found[told["doc"]["case"]] = numbers | {"reply": told["resps"][0][0]}
    return found
