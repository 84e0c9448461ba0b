"""Linear models that identify a response's answer and decide whether the response refuses or flags an error.

The weights of the features (`features.py`) are in `weights/{en,zh}.json.gz`. `python -m benches scorer_train` fits them
to labelled responses; none of the files depends on the machine that scores.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed.schema import Lang
from ragbed.scoring.robust.features import START, by_sentence, mention_features, response_features, word_features
from ragbed.scoring.robust.tokens import Token

MOST_CERTAIN = 8.0  # maximum log odds; greater ones are not more reliable
SHARPNESS = 2.0  # sharpness of the smooth maximum; higher values give more weight to the strongest sentence


class Weights(msgspec.Struct, frozen=True):
    """The model weights for a language; each pair contains the weights for an error flag and for a refusal.

    Attributes:
        bias: The pair that every response gets.
        sentence: The pairs of the features of a sentence.
        response: The pairs of the features of a response.
        mention: The weight of each feature of a mention.
        none: The weight of giving none of the candidates as the answer.
        limits: The log odds of the true answer between which a verdict is `unsure`.
        calibration: For each label, the intercept and the slope that turn log odds into calibrated ones.
    """

    bias: tuple[float, float]
    sentence: dict[str, tuple[float, float]]
    response: dict[str, tuple[float, float]]
    mention: dict[str, float]
    none: float
    limits: tuple[float, float] = (-0.3, 0.5)
    calibration: dict[str, tuple[float, float]] = {}


class Phrases(NamedTuple):
    """The log odds that a response flags an error and that it refuses, with the clearest sentence for each.

    Attributes:
        flag: The log odds of an error flag.
        refusal: The log odds of a refusal.
        flag_at: The number of the sentence with the flag.
        refusal_at: The number of the sentence with the refusal.
    """

    flag: float
    refusal: float
    flag_at: int
    refusal_at: int


@lru_cache(maxsize=2)
def load_weights(lang: Lang) -> Weights:
    """Return the model weights for a language."""
    content = (Path(__file__).parent / "weights" / f"{lang}.json.gz").read_bytes()
    return msgspec.json.decode(gzip.decompress(content), type=Weights)


def read_phrases(tokens: Sequence[Token], lang: Lang) -> Phrases:
    """Return the log odds that a response flags an error and that it refuses, with the clearest sentence for each."""
    weights = load_weights(lang)
    sentences = by_sentence(tokens)
    scores = [_score_sentence(sentence, lang) for sentence in sentences] or [(0.0, 0.0)]
    flag, refusal = _sum_pairs(response_features(sentences), weights.response)
    flags, refusals = [pair[0] for pair in scores], [pair[1] for pair in scores]
    numbers = [sentence[0].sentence for sentence in sentences] or [0]
    return Phrases(
        flag + weights.bias[0] + pool(flags),
        refusal + weights.bias[1] + pool(refusals),
        numbers[flags.index(max(flags))],
        numbers[refusals.index(max(refusals))],
    )


def _score_sentence(sentence: Sequence[Token], lang: Lang) -> tuple[float, float]:
    """Return a sentence's error-flag and refusal scores, normalised so that long sentences have no advantage."""
    known: dict[str, tuple[float, float]] = {}  # keyed by feature, so that each feature counts only once per sentence
    before = START[:2]
    for token in sentence:
        word = token[:2]
        if found := known_features(lang, before, word):
            known.update(found)
        before = word
    flag = refusal = 0.0
    for pair in known.values():
        flag += pair[0]
        refusal += pair[1]
    length = sentence_length(sentence)
    return flag / length, refusal / length


def sentence_length(sentence: Sequence[Token]) -> float:
    """Return the divisor that normalises a sentence's scores: the square root of its length in tokens."""
    return math.sqrt(max(1, len(sentence)))


def calibrate(odds: float, label: str, lang: Lang) -> float:
    """Return the calibrated probability of a label (`correct`, `parts`, `refused` or `flagged`)."""
    intercept, slope = load_weights(lang).calibration.get(label, (0.0, 1.0))
    return 1 / (1 + math.exp(-intercept - slope * min(max(odds, -MOST_CERTAIN), MOST_CERTAIN)))


@lru_cache(maxsize=65_536)  # The same word pairs occur in many responses.
def known_features(
    lang: Lang, before: tuple[str, tuple[str, ...]], word: tuple[str, tuple[str, ...]]
) -> dict[str, tuple[float, float]]:
    """Return the weights for the features of a word and its predecessor, omitting features without a weight.

    Each of the two words is given with its classes.
    """
    weights = load_weights(lang).sentence
    return {feature: weights[feature] for feature in word_features(*before, *word) if feature in weights}


def _sum_pairs(features: Iterable[str], weights: dict[str, tuple[float, float]]) -> tuple[float, float]:
    flag = refusal = 0.0
    get = weights.get
    for feature in features:
        if pair := get(feature):
            flag += pair[0]
            refusal += pair[1]
    return flag, refusal


def pool(scores: Sequence[float]) -> float:
    """Return a smooth maximum of the sentence scores."""
    top = max(scores)
    return top + math.log(sum(math.exp(SHARPNESS * (score - top)) for score in scores)) / SHARPNESS


def weigh_candidates(tokens: Sequence[Token], lang: Lang) -> dict[str, float]:
    """Return, for each candidate, the probability that the response gives it as the answer."""
    weights = load_weights(lang)
    get = weights.mention.get
    scored = [(candidate, sum(filter(None, map(get, features)))) for candidate, features in mention_features(tokens)]
    top = max([weights.none, *(score for _, score in scored)])
    found: dict[str, float] = {}
    for candidate, score in scored:
        found[candidate] = found.get(candidate, 0.0) + math.exp(score - top)
    total = sum(found.values()) + math.exp(weights.none - top)
    return {candidate: value / total for candidate, value in found.items()}
