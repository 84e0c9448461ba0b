"""Evaluate a testbed with generated responses in ragbed, Inspect AI and lm-evaluation-harness."""

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
_RATIOS = {"noise": 5, "integration": 3}  # noise ratios, if there are several


Scores: TypeAlias = dict[str, dict[str, Any]]  # scores and response by case


@dataclass(frozen=True)
class Evaluated:
    """A frozen testbed in one language with recorded responses and the scores of ragbed.

    Attributes:
        folder: Contains an exported folder for each harness.
    """

    folder: Path
    archive: Path
    scores: Scores


def make_data(lang: Lang, folder: Path, count: int) -> None:
    """Write synthetic news with short documents for the given number of cases of every testbed."""
    spec = SynthSpec(seed=7, lang=lang, supports=6, distractors=6, part_supports=3, true_documents=5, tokens=65)
    counts = {"base": count, "int": -(-count // _RATIOS["integration"]), "fact": count}
    write_dataset((spec,), counts, folder, workers=1)


def evaluate_testbed(data: Path, lang: Lang, testbed: str, count: int, folder: Path) -> Evaluated:
    """Export a testbed, generate responses and score them with ragbed."""
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
            draw = random.Random(prompt_hash(case.messages))  # the items of a minimal pair can share a prompt
            reply = draw.choice(_KINDS)(case, draw, real)
            sink.write(json.dumps({"case": case.case, "reply": reply}) + "\n")
    run = folder / "run"
    words = ("--from", "jsonl", "-d", str(frozen), "-m", MODEL, "--out", str(run))
    assert type_command("import", str(replies), *words).code == 0
    assert type_command("export", str(run), "--to", "archive", "-o", str(folder / "run.zip")).code == 0
    return Evaluated(folder, folder / "run.zip", scores_of(run))


def scores_of(run: Path) -> Scores:
    """Return the response and the scores of every trial of a run."""
    output = run.with_suffix(".jsonl")
    assert type_command("export", str(run), "--to", "jsonl", "-o", str(output), "--canonical").code == 0
    trials = map(json.loads, output.read_text("utf-8").splitlines())
    return {trial["case"]: trial["scores"] | {"reply": trial["reply"]} for trial in trials}


def _real_replies(lang: str) -> list[str]:
    """Return responses of real models to other questions."""
    lines = [
        json.loads(line) for path in sorted(_REAL.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    return [line["reply"] for line in lines if line["lang"] == lang]


def _gold(case: Case, draw: random.Random) -> str:
    return "; ".join(draw.choice(aliases) for aliases in case.answer)


def _fake(case: Case, draw: random.Random) -> str:
    return "; ".join(draw.choice(aliases) for aliases in case.fake or (("42",),))


Reply = Callable[[Case, random.Random, list[str]], str]
_KINDS: list[Reply] = [
    lambda case, draw, _: _gold(case, draw),
    lambda case, draw, _: f"It is {_gold(case, draw)}." if case.lang == "en" else f"答案是{_gold(case, draw)}。",
    lambda case, draw, _: _gold(case, draw).upper(),
    lambda case, draw, _: _gold(case, draw)[:-1],
    lambda case, draw, _: draw.choice(case.answer)[0],
    lambda case, draw, _: _fake(case, draw),
    lambda case, draw, _: f"{_fake(case, draw)}? No: {_gold(case, draw)}.",
    lambda case, draw, _: f"It is not {_gold(case, draw)}.",
    lambda case, draw, _: f"{FLAG[case.lang]} {_gold(case, draw)}",
    lambda case, draw, _: REFUSAL[case.lang],
    lambda case, draw, _: f"{REFUSAL[case.lang]}\n\n{_gold(case, draw)}",
    lambda case, draw, _: draw.choice(["insufficient information", "信息不足", "无法回答", "I don't know."]),
    lambda case, draw, _: draw.choice(case.documents).text if case.documents else case.question,
    lambda case, draw, _: "\n".join(document.text for document in case.documents),
    lambda case, draw, real: draw.choice(real),
    lambda case, draw, real: f"{draw.choice(real)} {_gold(case, draw)}",
    lambda case, draw, _: draw.choice(
        ["", " ", "\n", "  \t\r\n", "…", "\u200b", "🙂", "{{answer}}", "null", "\x00\x1b[2J"]
    ),
    lambda case, draw, _: f"  \r\n{_gold(case, draw)}  \n",
    lambda case, draw, _: f'{{"answer": {json.dumps(_gold(case, draw), ensure_ascii=False)}}}',
    lambda case, draw, _: f"{_gold(case, draw)} " * draw.randint(2, 400),
]


def compare(evaluated: Evaluated, found: Scores) -> list[str]:
    """Return the cases whose response or scores differ or that only one side has."""
    differing = sorted(found.keys() ^ evaluated.scores.keys())
    for case in found.keys() & evaluated.scores.keys():
        ours, theirs = evaluated.scores[case], found[case]
        # A harness does not report all values, so the compared ones are listed here.
        wanted = {name: ours[name] for name in (*METRICS, "reply") if ours[name] is not None}
        if any(theirs.get(name) != value for name, value in wanted.items()) or not theirs.items() <= ours.items():
            differing.append(case)
    return differing


def run_inspect(evaluated: Evaluated, logs: Path) -> Path:
    """Run the exported task in Inspect and return the path of its log."""
    (part,) = read_frozen(evaluated.folder / "inspect").parts
    task = f"{evaluated.folder / 'inspect' / 'tasks.py'}@{part.name}"
    quiet = {"display": "none", "score_display": False, "log_realtime": False}
    (log,) = evaluate(task, model=f"replay/{evaluated.archive}", log_dir=str(logs), **quiet)
    assert log.status == "success", log.error
    return Path(log.location.removeprefix("file://"))


def inspect_scores(log: Path) -> Scores:
    """Return the scores in a log of Inspect; NaN means not scored."""
    found = {}
    for sample in read_eval_log(str(log)).samples:
        score = sample.scores["ragbed"]
        numbers = {name: value for name, value in score.value.items() if not math.isnan(value)}
        found[str(sample.id)] = score.metadata["values"] | numbers | {"reply": sample.output.completion}
    return found


def run_lm_eval(evaluated: Evaluated, folder: Path) -> list[Path]:
    """Run the exported task in lm-evaluation-harness and return the paths of its sample files."""
    tasks, tracker = evaluated.folder / "lm-eval", EvaluationTracker(output_path=str(folder))
    done = simple_evaluate(
        model=ReplayLM(str(evaluated.archive)),
        tasks=[path.stem for path in tasks.glob("*.yaml")],
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        apply_chat_template=True,
        bootstrap_iters=0,
        evaluation_tracker=tracker,
    )
    samples = done.pop("samples")
    tracker.save_results_aggregated(results=done, samples=samples)
    for name, task_samples in samples.items():
        tracker.save_results_samples(name, task_samples)
    return sorted(folder.rglob("samples_*.jsonl"))


def lm_eval_scores(files: list[Path]) -> Scores:
    """Return the scores in sample files."""
    found = {}
    for path in files:
        for line in path.read_text("utf-8").rstrip("\n").split("\n"):
            sample = json.loads(line)
            numbers = {name: sample[name] for name in METRICS if name in sample}
            found[sample["doc"]["case"]] = numbers | {"reply": sample["resps"][0][0]}
    return found
