"""Fit the linear models of the robust scorer to labelled responses, and write their weights into the package.

    python -m benches scorer_train [--folds 6]

The data are the labelled responses of `tests/scoring`. With `--folds`, every response is predicted by models that have
not seen its question, and nothing is written.
"""

from __future__ import annotations

import argparse
import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from benches import ROOT
from benches.scorer_rows import (
    CALIBRATION,
    PARTS,
    Judged,
    LabelledRow,
    judge_rows,
    read_pairs,
    read_part,
    read_written,
)
from ragbed.schema import Lang
from ragbed.scoring.robust import model
from ragbed.scoring.robust.features import by_sentence, mention_features, response_features, sentence_features
from ragbed.scoring.robust.tokens import FALSE, TRUE
from ragbed.scoring.robust.verdict import read_case

WEIGHTS = ROOT / "src" / "ragbed" / "scoring" / "robust" / "weights"
FITTED = [part for part in PARTS if part != CALIBRATION]
SMALLEST = {"sentence": 0.2, "response": 0.02, "mention": 0.05}  # smaller weights change hardly any verdict
PENALTIES = {"sentence": 0.08, "response": 3.0, "mention": 2.0}  # how strongly large weights are penalised
# Added to the log odds of a flag and of a refusal; a cross-validation by set had the fewest errors near them.
SHIFTS = {"flagged": 0.25, "refused": 0.4}
# Responses that regression tests check count more than once.
COPIES = {"adversarial": 5.0, "phrasings": 2.0, "training": 2.0, "labelled": 2.0}
MIN_COUNT = 2  # a feature of fewer sentences, responses or mentions is left out

Floats: TypeAlias = NDArray[np.float64]
Loss: TypeAlias = Callable[[Floats], tuple[float, Floats]]


class Example(NamedTuple):
    """A labelled response with its features; `mentions` is empty if the mention model does not decide."""

    row: LabelledRow
    sentences: list[set[str]]
    lengths: list[float]
    response: set[str]
    mentions: list[tuple[str, set[str]]]


def main() -> int:
    """Write the weights of both languages, or print the errors of a cross-validation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=0, help="parts of a cross-validation; nothing is written")
    folds = parser.parse_args().folds
    predicted: list[Judged] = []
    for lang in get_args(Lang):
        examples = list(read_examples(lang))
        if folds:
            predicted += _predict(examples, folds)
            continue
        weights = fit(examples)
        (WEIGHTS / f"{lang}.json.gz").write_bytes(gzip.compress(msgspec.json.encode(weights), mtime=0))
        print(f"{lang}: {len(examples)} responses, {len(weights.sentence) + len(weights.mention)} weights")
    if predicted:
        _print_errors("Part", predicted, lambda each: each.row.source)
        rows = [each for each in predicted if each.row.stratum and each.row.source != "labelled"]
        _print_errors("Stratum", rows, lambda each: each.row.stratum)
        _print_errors("Language", rows, lambda each: each.row.case.lang)
    return 0


def read_examples(lang: Lang) -> Iterator[Example]:
    """Yield the labelled responses of a language with their features."""
    own = (row for part in FITTED for row in read_part(part) if row.case.lang == lang)
    for row in chain(own, read_written(lang), read_pairs(lang)):
        reader = read_case(row.case, row.reply)
        sentences = by_sentence(reader.tokens)
        is_decided = len(reader.true) == 1 and bool(reader.true[0] or reader.false)
        yield Example(
            row,
            [sentence_features(sentence) for sentence in sentences] or [set()],
            [model.sentence_length(sentence) for sentence in sentences] or [1.0],
            response_features(sentences),
            mention_features(reader.tokens) if is_decided else [],
        )


def fit(examples: Sequence[Example]) -> model.Weights:
    """Return the weights that fit labelled responses."""
    sentences, owners = _flatten([each.sentences for each in examples])
    terms, response_terms = _vocabulary(sentences), _vocabulary([each.response for each in examples])
    lengths = np.array([1 / length for each in examples for length in each.lengths])
    found = csr_matrix(_matrix(sentences, terms).multiply(lengths[:, None]))
    responses = _matrix([each.response for each in examples], response_terms)
    copies = np.array([COPIES.get(each.row.source, 1.0) for each in examples])
    penalties = np.repeat([PENALTIES["sentence"], PENALTIES["response"], 0], [len(terms), len(response_terms), 1])
    solved = []
    for label in SHIFTS:
        wanted = np.array([float(each.row.labels[label]) for each in examples])
        loss = _phrase_loss(found, owners, responses, wanted, copies)
        solved.append(_minimize(loss, penalties))
    pairs = np.round(np.array(solved).T, 3)
    decided = [each for each in examples if each.mentions]
    mention_terms, mention_weights = _fit_mentions(decided)
    return model.Weights(
        bias=(round(float(pairs[-1][0]) + SHIFTS["flagged"], 3), round(float(pairs[-1][1]) + SHIFTS["refused"], 3)),
        sentence=_pairs(terms, pairs[: len(terms)], SMALLEST["sentence"]),
        response=_pairs(response_terms, pairs[len(terms) : -1], SMALLEST["response"]),
        mention={
            term: weight
            for term, weight in zip(mention_terms, mention_weights, strict=False)
            if abs(weight) >= SMALLEST["mention"]
        },
        none=mention_weights[-1],
    )


def _fit_mentions(examples: Sequence[Example]) -> tuple[list[str], list[float]]:
    # A response that names the false answer is used twice: is the true one its answer, and is the false one?
    views = [(each, TRUE) for each in examples]
    views += [
        (each, FALSE)
        for each in examples
        if "misled" in each.row.labels and any(name == FALSE for name, _ in each.mentions)
    ]
    mentions, owners = _flatten([[features for _, features in each.mentions] for each, _ in views])
    terms = _vocabulary(mentions)
    is_true = np.array([candidate == answer for each, answer in views for candidate, _ in each.mentions])
    wanted = np.array([float(each.row.labels["correct" if answer == TRUE else "misled"]) for each, answer in views])
    penalties = np.repeat([PENALTIES["mention"], 0], [len(terms), 1])
    copies = np.array([COPIES.get(each.row.source, 1.0) for each, _ in views])
    loss = _mention_loss(_matrix(mentions, terms), owners, is_true, wanted, copies)
    return list(terms), [float(weight) for weight in np.round(_minimize(loss, penalties), 3)]


def _minimize(loss: Loss, penalties: Floats) -> Floats:
    def penalised(weights: Floats) -> tuple[float, Floats]:
        value, gradient = loss(weights)
        return value + float(penalties @ weights**2) / 2, gradient + penalties * weights

    options = {"maxiter": 200}
    return np.asarray(minimize(penalised, np.zeros(len(penalties)), jac=True, method="L-BFGS-B", options=options).x)


def _phrase_loss(
    sentences: csr_matrix, owners: NDArray[np.int64], responses: csr_matrix, wanted: Floats, copies: Floats
) -> Loss:
    """Return the loss of the smooth maximum over the sentences of a response plus the score of the response."""
    count, terms = len(wanted), sentences.shape[1]

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = model.SHARPNESS * (sentences @ weights[:terms])
        top = np.full(count, -np.inf)
        np.maximum.at(top, owners, scores)
        shares = np.exp(scores - top[owners])
        totals = np.bincount(owners, shares, count)
        odds = (top + np.log(totals)) / model.SHARPNESS + responses @ weights[terms:-1] + weights[-1]
        slope = copies * (1 / (1 + np.exp(-odds)) - wanted)
        each = slope[owners] * shares / totals[owners]
        gradient = np.concatenate([sentences.T @ each, responses.T @ slope, [slope.sum()]])
        return float(copies @ np.logaddexp(0, (1 - 2 * wanted) * odds)), gradient

    return loss


def _mention_loss(
    mentions: csr_matrix, owners: NDArray[np.int64], is_true: NDArray[np.bool_], wanted: Floats, copies: Floats
) -> Loss:
    """Return the loss for the probability of the true answer, among all mentions in a response or none of them."""
    count = len(wanted)

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = mentions @ weights[:-1]
        top = np.full(count, weights[-1])
        np.maximum.at(top, owners, scores)
        chances, none = np.exp(scores - top[owners]), np.exp(weights[-1] - top)
        true = np.bincount(owners, chances * is_true, count) + 1e-12
        other = np.bincount(owners, chances * ~is_true, count) + none + 1e-12
        odds = np.log(true) - np.log(other)
        slope = copies * (1 / (1 + np.exp(-odds)) - wanted)
        each = np.where(is_true, slope[owners] / true[owners], -slope[owners] / other[owners]) * chances
        gradient = np.append(mentions.T @ each, -(slope * none / other).sum())
        return float(copies @ np.logaddexp(0, (1 - 2 * wanted) * odds)), gradient

    return loss


def _flatten(groups: Sequence[Sequence[set[str]]]) -> tuple[list[set[str]], NDArray[np.int64]]:
    """Return all sets of features and the number of the response to which each belongs."""
    return [each for group in groups for each in group], np.repeat(
        np.arange(len(groups)), [len(group) for group in groups]
    )


def _vocabulary(found: Iterable[set[str]]) -> dict[str, int]:
    counts = Counter(feature for features in found for feature in features)
    return {term: at for at, term in enumerate(sorted(term for term, count in counts.items() if count >= MIN_COUNT))}


def _matrix(found: Sequence[set[str]], vocabulary: dict[str, int]) -> csr_matrix:
    rows = [sorted(vocabulary[feature] for feature in features if feature in vocabulary) for features in found]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row], dtype=np.int64)
    return csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(rows), len(vocabulary)))


def _pairs(terms: Iterable[str], weights: Floats, smallest: float) -> dict[str, tuple[float, float]]:
    found = zip(terms, weights, strict=True)
    return {
        term: (float(flag), float(refusal))
        for term, (flag, refusal) in found
        if max(abs(flag), abs(refusal)) >= smallest
    }


def _predict(examples: Sequence[Example], folds: int) -> Iterator[Judged]:
    """Yield the verdicts of responses by models that were fitted without their questions."""
    load_weights, numbers = model.load_weights, [zlib.crc32(each.row.case.question.encode()) for each in examples]
    for fold in range(folds):
        weights = fit([each for each, number in zip(examples, numbers, strict=True) if number % folds != fold])
        model.load_weights = lambda _lang, fitted=weights: fitted  # type: ignore[assignment]
        model.known_features.cache_clear()
        left_out = (each.row for each, number in zip(examples, numbers, strict=True) if number % folds == fold)
        yield from judge_rows(left_out)
    model.load_weights = load_weights


def _print_errors(title: str, predicted: Sequence[Judged], group: Callable[[Judged], str]) -> None:
    """Print the number of errors per group; missed credit counts the verdict `unsure` as an error."""
    counts: dict[str, Counter[str]] = {}
    for each in predicted:
        values, is_right = each.judged._asdict(), each.row.labels["correct"]
        found = {
            "n": True,
            "any error": each.row.is_wrong(values),
            "false credit": bool(each.judged.correct) and not is_right,
            "missed credit": is_right and not each.judged.correct,
            "refusal": each.row.is_wrong(values, ["refused"]),
            "flag": each.row.is_wrong(values, ["flagged"]),
            "unsure": each.judged.verdict == "unsure",
        }
        for name in (group(each), "all"):
            counts.setdefault(name, Counter()).update(key for key, is_true in found.items() if is_true)
    print(f"\n| {title} | {' | '.join(found)} |\n" + "|---" * (len(found) + 1) + "|")
    for name, count in sorted(counts.items()):
        print(f"| {name} | {' | '.join(str(count[key]) for key in found)} |")
