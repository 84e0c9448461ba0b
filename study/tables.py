"""The tables of docs/project/results.md, as Markdown lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ragbed.analysis.statistics.rates import Interval, combine_rates
from ragbed.schema import Estimate
from study import MODELS
from study.comparisons import DATASETS, Row
from study.outcomes import (
    Outcomes,
    Prediction,
    ability_predictions,
    count_outcomes,
    is_sent,
    matches,
    predictions,
    short,
)

_STRATEGIES = ("quote", "numbered", "unwarned", "decompose", "isolate", "cite")
_GAINS = (("noise", "base"), ("rejection", "base"), ("integration", "int"), ("counterfactual", "fact"))


def share(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    return f"{100 * estimate.value:.1f} [{100 * (estimate.low or 0):.1f}, {100 * (estimate.high or 0):.1f}]"


def points(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")


def _difference(row: Row) -> str:
    text = _interval(row.difference)
    return f"**{text}**" if row.is_significant else text


def _interval(difference: Interval) -> str:
    low, high = (f"{100 * bound:.1f}".replace("-", "−") for bound in difference[1:])
    return f"{points(difference.value)} [{low}, {high}]"


def _pair(models: str) -> str:
    return short(models).replace("Qwen2.5-Coder-", "").replace("SmolLM2-", "")


def runs_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield the table of models: file, responses, cases that were too long or failed, tokens, and wall time."""
    yield "| Model | Weights (SHA-256) | Responses | Truncated | Too long | Failed | Tokens in, out | Minutes |"
    yield "|---|---|---|---|---|---|---|---|"
    for model in MODELS:
        own = [recording for recording in outcomes.recordings if recording.run.model.name == model]
        trials = [trial for recording in own for trial in recording.trials if is_sent(trial)]
        tokens = [sum(trial.usage[side] for trial in trials if trial.usage) / 1e6 for side in (0, 1)]
        truncated = sum(trial.outcome == "truncated" for trial in trials)
        counts = count_outcomes(own)
        described, minutes = own[0].run.model, sum(recording.run.wall_s for recording in own) / 60
        yield (
            f"| {short(model)} | `{described.file}` (`{described.sha256[:12]}…`) | "
            f"{counts.responses:,} | {truncated:,} | {counts.too_long} | {counts.failed} | "
            f"{tokens[0]:.1f} M, {tokens[1]:.2f} M | {minutes:.0f} |"
        )


def noise_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield accuracy by noise ratio, the effect of noise, and the effect of position, for each dataset and model."""
    yield "| Data | Model | Noise 0 | Noise 0.4 | Noise 0.8 | 1a: 0.8 minus 0 | 1d: worst, best position |"
    yield "|---|---|---|---|---|---|---|"
    for data in DATASETS:
        for model in MODELS:
            run, key = outcomes.trials.run_of(data), ("noise", model, data)
            rates = [outcomes.find(run, key, "accuracy", noise=noise) for noise in (0.0, 0.4, 0.8)]
            spread = outcomes.row("1d", data, model)
            ends = f"{100 * spread.first:.1f}, {100 * spread.second:.1f}"
            cells = [f"{100 * (rate.value or 0.0):.1f}" for rate in rates]
            cells += [_difference(outcomes.row("1a", data, model)), f"**{ends}**" if spread.is_significant else ends]
            yield f"| `{data}` | {short(model)} | {' | '.join(cells)} |"


def models_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield the differences between the models in accuracy and refusal recall."""
    yield "| Data | Models | 1b: accuracy at noise 0.4 | 1c: refusal recall |"
    yield "|---|---|---|---|"
    for accuracy, refusal in zip(outcomes.rows("1b"), outcomes.rows("1c"), strict=True):
        cells = f"{_difference(accuracy)} | {_difference(refusal)}"
        yield f"| `{accuracy.data}` | {_pair(accuracy.model)} | {cells} |"


def abilities_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield the exploratory rates of the other abilities."""
    yield "| Data | Ability | " + " | ".join(map(short, MODELS)) + " |"
    yield "|---|---|---|---|---|"
    for run, data, name, table, metric, place in _abilities():
        profile = "robust+cite" if table == "citations" else "robust"
        shown = [_cell(outcomes, run, (table, model, data), metric, profile, place) for model in MODELS]
        source = "RGB" if run == "rgb-main" else "synthetic"
        yield f"| {source} `{data}` | {name} | {' | '.join(shown)} |"


def _abilities() -> Iterator[tuple[str, str, str, str, str, dict[str, float]]]:
    """Yield run, dataset, name, table, metric and condition of each row."""
    for run, data in (("synthetic-main", "en_base"), ("synthetic-main", "zh_base"), ("rgb-main", "zh_refine")):
        yield run, data, "refusal recall", "rejection", "refusal_recall", {}
    for run, data in (("synthetic-main", "en_int"), ("synthetic-main", "zh_int"), ("rgb-main", "zh_int")):
        yield run, data, "integration, noise 0", "integration", "accuracy", {"noise": 0.0}
    for run, data in (("synthetic-main", "en_fact"), ("synthetic-main", "zh_fact"), ("rgb-main", "en_fact")):
        yield run, data, "closed-book", "closed-book", "accuracy", {}
        yield run, data, "misled, all false", "counterfactual", "misled_at_all", {"noise": 0.0}
    for data in ("en_fact", "zh_fact"):
        yield "synthetic-conflict", data, "context bias", "conflict", "context_bias", {}
    for data in ("en_base", "zh_base"):
        yield "synthetic-strategies", data, "citation F1", "citations", "citation_f1", {"noise": 0.4}


def _cell(
    outcomes: Outcomes, run: str, key: tuple[str, str, str], metric: str, profile: str, place: dict[str, float]
) -> str:
    try:
        return share(outcomes.find(run, key, metric, profile, **place))
    except KeyError:  # no question has this condition, e.g. no closed-book answer is right
        return "–"


def strategies_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield the gain of each strategy over the plain prompt, for the largest model: English, Chinese."""
    yield "| Strategy | " + " | ".join(testbed for testbed, _ in _GAINS) + " |"
    yield "|---|" + "---|" * len(_GAINS)
    for strategy in _STRATEGIES:
        cells = []
        for testbed, kind in _GAINS:
            found = [
                outcomes.find(
                    "synthetic-strategies", ("remedies", MODELS[-1], f"{lang}_{kind}"), f"{testbed}_gain",
                    f"robust+{strategy}",
                )
                for lang in ("en", "zh")
            ]  # fmt: skip
            cells.append(", ".join(_gain(estimate) for estimate in found))
        yield f"| `{strategy}` | {' | '.join(cells)} |"


def _gain(estimate: Estimate) -> str:
    text = points(estimate.value or 0.0)
    return f"{text}*" if (estimate.low or 0.0) > 0 or (estimate.high or 0.0) < 0 else text


def synthetic_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield each shared metric on synthetic data and RGB's, and whether the models have the same order."""
    names = ", ".join(short(model).split("-")[-1] for model in MODELS)
    yield f"| Metric ({names}) | Synthetic | RGB | Same order |"
    yield "|---|---|---|---|"
    for match in matches(outcomes):
        sides = [
            ", ".join(f"{100 * (estimate.value or 0.0):.1f}" for estimate in side)
            for side in (match.synthetic, match.rgb)
        ]
        yield f"| {match.name} | {sides[0]} | {sides[1]} | {'yes' if match.is_same_order else 'no'} |"


def spacing_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield the difference between the models on synthetic data minus their difference on RGB's data."""
    yield "| Models | 1b, synthetic minus RGB | 1c, synthetic minus RGB |"
    yield "|---|---|---|"
    for pair in dict.fromkeys(row.model for row in outcomes.rows("1b")):
        cells = []
        for family in ("1b", "1c"):
            sides = [outcomes.row(family, data, pair).difference for data in ("zh_base", "zh_refine")]
            cells.append(_interval(combine_rates(sides, (1, -1))))
        yield f"| {_pair(pair)} | {' | '.join(cells)} |"


def faults_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield the effect of each property of the original code."""
    yield "| Data | Model | 3a: evidence | 3b: substring | 3c: original's cases | constant position |"
    yield "|---|---|---|---|---|---|"
    for data in DATASETS:
        for model in MODELS:
            cells = [_difference(outcomes.row(family, data, model)) for family in ("3a", "3b")]
            cells.append(_difference(outcomes.row("3c", data, model)) if data == "zh_refine" else "–")
            cells.append(_difference(outcomes.row("position", data, model)))
            yield f"| `{data}` | {short(model)} | {' | '.join(cells)} |"


def predictions_table(found: Iterable[Prediction]) -> Iterator[str]:
    """Yield the outcome of each prediction."""
    yield "| Prediction | Outcome | Result |"
    yield "|---|---|---|"
    for prediction in found:
        result = "right" if prediction.is_right else "**wrong**"
        yield f"| {prediction.number} | {prediction.outcome.replace('-', '−')} | {result} |"


def findings(outcomes: Outcomes) -> Iterator[str]:
    """Yield the main results as a list; each range covers all rows, whether they are significant or not."""
    noise, evidence, substring = (outcomes.rows(family) for family in ("1a", "3a", "3b"))
    synthetic = [row for row in noise if row.data != "zh_refine"]
    rgb = [row for row in noise if row.data == "zh_refine"]
    counts, found = count_outcomes(outcomes.recordings), predictions(outcomes)
    right = sum(prediction.is_right for prediction in found)
    yield (
        f"* Accuracy at 80% noise minus accuracy without noise: {_range(rgb)} on RGB's Chinese questions, and "
        f"{_range(synthetic)} on synthetic data."
    )
    yield (
        f"* With one supporting document in every condition, this difference changes by {_range(evidence)}. The prompt "
        "without distractors is then shorter (one document instead of five), so the change may be due to its length."
    )
    yield (
        f"* Substring matching changes accuracy on complete responses by {_range(substring)} compared with the robust "
        "scorer. It also gives credit to truncated responses, which the robust scorer counts as wrong."
    )
    yield (
        f"* There are {counts.responses:,} responses. {counts.too_long} cases were too long for the model and were not "
        f"sent; {counts.failed or 'no'} other cases failed."
    )
    yield f"* {right} of {len(found)} predictions were right."


def _range(rows: list[Row]) -> str:
    """Return the lowest and the highest difference of all rows, and in how many of them it is significant."""
    values = [row.difference.value for row in rows]
    significant = sum(row.is_significant for row in rows)
    return f"{points(min(values))} to {points(max(values))} points (significant in {significant} of {len(rows)} rows)"


BLOCKS: dict[str, Callable[[Outcomes], Iterator[str]]] = {
    "findings": findings,
    "runs": runs_table,
    "noise": noise_table,
    "models": models_table,
    "abilities": abilities_table,
    "strategies": strategies_table,
    "synthetic": synthetic_table,
    "spacing": spacing_table,
    "faults": faults_table,
    "predictions": lambda outcomes: predictions_table(predictions(outcomes)),
    "abilitypredictions": lambda outcomes: predictions_table(ability_predictions(outcomes)),
}
