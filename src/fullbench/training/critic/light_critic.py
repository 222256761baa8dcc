"""Light critic: a linear head over words, style and similarity to the reference. It needs no torch.

Without a reference it only knows which words and phrases people mark high or low, not what is true. It is a baseline
that a larger critic has to beat, and a judge if there is no other.
"""

from __future__ import annotations

import io
import math
import re
import zlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import CallsNoModel, Kind
from fullbench.core.language_and_words import length_of, words_of
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.files.row_writers import replace_atomically
from fullbench.training.critic.critic_judge import abstention_reason, single_answer_cases, verdict_from_scores
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.scored_answers import ScoredAnswer

# Measures compare numbers, negation and characters, in English and Chinese alike: "three" and 三 are the number 3, and
# runs of characters need no segmentation into words. A random nonlinear map lets a linear head learn interactions.

Floats = npt.NDArray[np.float64]
BENDS = 256
"""Number of directions of the random map."""
_WIDTH = 0.2
"""Frequency of the map along a measure of deviation 1; tuned on the synthetic benchmark, whose truth is known."""
_FARTHEST = 5.0
"""Measures are clipped at this many deviations: there are no training data beyond."""
_MAX_COMPARED_WORDS = 80
"""Words of each text that are compared for the longest common subsequence, which takes quadratic time."""
_ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_CHINESE = {**{sign: value for value, sign in enumerate("零一二三四五六七八九十")}, "两": 2}
_NUMBER_WORDS = {**{word: value for value, word in enumerate(_ENGLISH)}, **_CHINESE}
_NUMBER = re.compile(rf"\d+(?:\.\d+)?|\b(?:{'|'.join(_ENGLISH)})\b|一(?![共样起些般定直切])|[零二两三四五六七八九十]")
"""The Chinese character for one is also part of words that count nothing: altogether, alike, together."""
_NEGATION = re.compile(r"\b(?:no|not|none|never|nothing|cannot|without|neither|nor)\b|n['’]t\b|[不没无非未]")
_EXCUSE = re.compile(r"\b(?:sorry|unable|cannot|can['’]t|as an ai|i don['’]t)\b|抱歉|无法|不能")
_SENTENCE = re.compile(r"[.!?。！？]+")
_LIST_LINE = re.compile(r"^\s*(?:[-*•]|\d+[.)])", re.MULTILINE)


def numbers_in_text(text: str) -> list[float]:
    """Return the numbers of a text in order: digits, decimals, English and Chinese number words.

    >>> numbers_in_text("Three of 12 cost 2.50; 答案是四")
    [3.0, 12.0, 2.5, 4.0]
    """
    number_words = _NUMBER.findall(text.lower())
    return [float(_NUMBER_WORDS[word]) if word in _NUMBER_WORDS else float(word) for word in number_words]


def answer_measures(case: Case) -> list[float]:
    """Return an answer as numbers: its style, and its similarity to the reference (zeros if there is none)."""
    answer = case.responses[0].text
    reference = case.item.reference or ""
    words, question_words = words_of(answer), words_of(case.item.question)
    return [
        *_style_measures(answer, words, question_words),
        *_reference_measures(answer, words, reference, words_of(reference), set(question_words)),
    ]


def _style_measures(answer: str, words: Sequence[str], question_words: Sequence[str]) -> list[float]:
    length, sentences, lowercase_answer = max(1, len(words)), len(_SENTENCE.findall(answer)), answer.lower()
    pairs = list(pairwise(words))
    question_vocabulary = set(question_words)
    return [
        math.log(length),
        math.log(length) ** 2,
        math.log1p(len(question_words)),
        len(set(words)) / length,
        len(set(pairs)) / max(1, len(pairs)),
        math.log1p(sentences),
        length / max(1, sentences),
        answer.count("\n"),
        len(_LIST_LINE.findall(answer)),
        float(answer.rstrip("\"'）) ")[-1:] in {*".!?。！？"}),
        float(bool(_EXCUSE.search(lowercase_answer))),
        len(numbers_in_text(answer)),
        len(_NEGATION.findall(lowercase_answer)),
        len(question_vocabulary & set(words)) / max(1, len(question_vocabulary)),
        sum(character.isupper() for character in answer) / max(1, len(answer)),
    ]


def _reference_measures(
    answer: str, words: Sequence[str], reference: str, reference_words: Sequence[str], question_words: set[str]
) -> list[float]:
    if not reference_words:
        return [0.0] * 27
    new_words = [[word for word in text if word not in question_words] for text in (words, reference_words)]
    answer_numbers, reference_numbers = numbers_in_text(answer), numbers_in_text(reference)
    lowercase_answer, lowercase_reference = answer.lower(), reference.lower()
    log_length_ratio = math.log(max(1, len(words)) / len(reference_words))
    return [
        *_overlap_shares(words, reference_words),
        *_overlap_shares(*new_words),
        float(not new_words[1]),
        *_overlap_shares(list(pairwise(words)), list(pairwise(reference_words))),
        *(
            share
            for size in (2, 3, 5)
            for share in _overlap_shares(
                _character_runs(lowercase_answer, size), _character_runs(lowercase_reference, size)
            )
        ),
        float(bool(reference_numbers)),
        float(bool(answer_numbers)),
        float(set(answer_numbers) == set(reference_numbers)),
        *_overlap_shares(answer_numbers, reference_numbers),
        float(answer_numbers[-1:] == reference_numbers[-1:]),
        min(5.0, abs(answer_numbers[-1] - reference_numbers[-1])) if answer_numbers and reference_numbers else 2.5,
        float(bool(_NEGATION.search(lowercase_answer)) == bool(_NEGATION.search(lowercase_reference))),
        float(lowercase_reference.strip(" .。") in lowercase_answer),
        log_length_ratio,
        abs(log_length_ratio),
        float(list(words[:1]) == list(reference_words[:1])),
        float(list(words[-1:]) == list(reference_words[-1:])),
        _longest_common_order(words[:_MAX_COMPARED_WORDS], reference_words[:_MAX_COMPARED_WORDS])
        / min(_MAX_COMPARED_WORDS, len(reference_words)),
    ]


def _character_runs(text: str, size: int) -> list[str]:
    plain = " ".join(text.split())
    return [plain[start : start + size] for start in range(len(plain) - size + 1)]


def _overlap_shares(first: Sequence[Hashable], second: Sequence[Hashable]) -> tuple[float, float]:
    common_count = sum((Counter(first) & Counter(second)).values())
    return common_count / max(1, len(first)), common_count / max(1, len(second))


def _longest_common_order(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for word in first:
        corner = 0
        for position, other_word in enumerate(second, 1):
            row[position], corner = (
                (corner + 1 if word == other_word else max(row[position], row[position - 1])),
                row[position],
            )
    return row[-1]


@dataclass(frozen=True)
class RandomFeatureMap:
    """Random nonlinear features (Rahimi and Recht 2007, Random Features for Large-Scale Kernel Machines).

    The map is stored with the critic, because random generators of other versions may draw other numbers. A measure
    that did not vary in training has a scale of 0: nothing was learned about it.
    """

    middle: Floats
    scale: Floats
    directions: Floats
    phases: Floats

    @classmethod
    def from_measures(cls, rows: Floats, seed: int = 0) -> RandomFeatureMap:
        rng = np.random.default_rng(seed)
        deviation = rows.std(axis=0)
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-9)
        directions = _WIDTH * rng.standard_normal((rows.shape[1], BENDS))
        return cls(rows.mean(axis=0), scale, directions, rng.uniform(0, 2 * np.pi, BENDS))

    def __call__(self, rows: Floats) -> Floats:
        standard = np.clip((rows - self.middle) * self.scale, -_FARTHEST, _FARTHEST)
        bent_rows: Floats = np.sqrt(2 / BENDS) * np.cos(standard @ self.directions + self.phases)
        return bent_rows


SIZE = 1 << 16
"""Number of columns that features are hashed to."""
STRENGTHS = (0.3, 1.0, 2.0, 4.0)
FILE = "weights.npz"
_FOLDS = 3
_LENGTHS = 2


def hashed_features(case: Case) -> tuple[list[int], list[float]]:
    """Return the columns and values of a case's hashed features.

    Features are words and word pairs of the answer and of the question, words shared with the reference or missing from
    the answer, and the answer's length. Each group has norm 1, so that long answers do not count more.
    """
    question, answer = words_of(case.item.question), words_of(case.responses[0].text)
    groups = {"a": _words_and_pairs(answer), "q": _words_and_pairs(question)}
    if case.item.reference:
        reference_words = set(words_of(case.item.reference))
        groups["r"] = [word for word in answer if word in reference_words]
        groups["n"] = [word for word in reference_words if word not in set(answer)]
    places: list[int] = []
    values: list[float] = []
    for name, grams in groups.items():
        counts = Counter(zlib.crc32(f"{name}/{gram}".encode()) for gram in grams)
        length = sum(count * count for count in counts.values()) ** 0.5 or 1.0
        for code, count in counts.items():
            places.append(code % (SIZE - _LENGTHS))
            values.append((1 if code & (1 << 31) else -1) * count / length)
    size = float(np.log(length_of(case.responses[0].text))) / 10
    return [*places, SIZE - 2, SIZE - 1], [*values, size, size * size]


def _words_and_pairs(words: Sequence[str]) -> list[str]:
    return [*words, *(f"{word} {next_word}" for word, next_word in pairwise(words))]


def feature_matrix(cases: Sequence[Case]) -> Any:
    """Return the hashed features of cases, one row each."""
    from scipy.sparse import csr_array

    rows = [hashed_features(case) for case in cases]
    ends = np.cumsum([0, *(len(places) for places, _ in rows)])
    places = np.array([place for row_places, _ in rows for place in row_places], dtype=np.int64)
    values = np.array([value for _, row_values in rows for value in row_values], dtype=np.float64)
    return csr_array((values, places, ends), shape=(len(rows), SIZE))


def ridge_weights(rows: Any, marks: Floats, strength: float) -> Floats:
    """Return the weights of a ridge regression (Hoerl and Kennard 1970, doi:10.1080/00401706.1970.10488634)."""
    from scipy.sparse.linalg import lsqr

    weights: Floats = lsqr(rows, marks, damp=strength**0.5, atol=1e-5, btol=1e-5)[0]
    return weights


def full_feature_matrix(cases: Sequence[Case], bending: RandomFeatureMap) -> Any:
    """Return the hashed features of cases, followed by the random features of their measures."""
    from scipy.sparse import csr_array, hstack

    return hstack([feature_matrix(cases), csr_array(bending(_measure_cases(cases)))], format="csr")


def _measure_cases(cases: Sequence[Case]) -> Floats:
    return np.array([answer_measures(case) for case in cases])


def visible_case(case: Case, *, reference: bool) -> Case:
    """Return the case as shown to the critic: without the reference if it is trained without."""
    return case if reference else replace(case, item=replace(case.item, reference=""))


@dataclass(frozen=True)
class FittedHead:
    """Fitted head: weights over features, the map of measures, the mean mark, and the chosen ridge strength."""

    weights: Floats
    bending: RandomFeatureMap
    mean: float
    deviation: float
    strength: float


def fit_head(scored_answers: Sequence[ScoredAnswer], seed: int = 0, *, reference: bool = True) -> FittedHead:
    """Fit the head to scores. The ridge strength is chosen by cross-validation over items."""
    marks = np.array([answer.mark for answer in scored_answers])
    cases = [visible_case(answer.case, reference=reference) for answer in scored_answers]
    bending = RandomFeatureMap.from_measures(_measure_cases(cases), seed)
    rows = full_feature_matrix(cases, bending)
    fold = np.array([int(digest([seed, answer.case.item.id])[:8], 16) % _FOLDS for answer in scored_answers])
    strength = min(STRENGTHS, key=lambda candidate: _held_out_error(rows, marks, fold, candidate))
    mean, deviation = float(marks.mean()), float(marks.std())
    return FittedHead(ridge_weights(rows, marks - mean, strength), bending, mean, deviation or 1.0, strength)


def _held_out_error(rows: Any, marks: Floats, fold: npt.NDArray[np.int64], strength: float) -> float:
    errors: list[Floats] = []
    for held_out_fold in range(_FOLDS):
        training_rows, test_rows = np.flatnonzero(fold != held_out_fold), np.flatnonzero(fold == held_out_fold)
        if not len(training_rows) or not len(test_rows):
            continue
        mean = marks[training_rows].mean()
        predictions = mean + rows[test_rows] @ ridge_weights(rows[training_rows], marks[training_rows] - mean, strength)
        errors.append(np.abs(predictions - marks[test_rows]))
    return float(np.concatenate(errors).mean()) if errors else 0.0


@dataclass(frozen=True, eq=False)
class LightJudge(CallsNoModel):
    """Judge made from a light critic."""

    kind: ClassVar[Kind] = "scorer"

    label: str
    critic: Critic
    weights: Floats
    bending: RandomFeatureMap

    @classmethod
    def read(cls, folder: Path, critic: Critic) -> LightJudge:
        file = folder / "model" / FILE
        try:
            with np.load(file, allow_pickle=False) as arrays:
                weights = arrays["weights"]
                bending = RandomFeatureMap(*(arrays[field.name] for field in fields(RandomFeatureMap)))
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise InputError(f"the weights cannot be read ({error})", path=file) from error
        size = SIZE + BENDS
        if weights.shape != (size,):
            raise InputError(f"the weights have the shape {weights.shape}; {size} were expected", path=file)
        return cls(folder.resolve().name, critic, weights, bending)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        weights_digest = digest(self.weights.astype("<f8").tobytes().hex())
        return {
            "weights": weights_digest, "mean": self.critic.mean, "asking": self.critic.asking.values,
            "bending": _feature_map_digest(self.bending),
        }  # fmt: skip

    @cached_property
    def name(self) -> str:
        return f"{self.label}+light2#{digest(self.settings)[:8]}"

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        """Yield one verdict per case, in order."""
        asking = self.critic.asking
        for case in cases:
            if reason := abstention_reason(case, asking):
                yield Verdict.from_case(case, self.name, "abstained", text=reason)
                continue
            rows = full_feature_matrix(
                list(single_answer_cases(visible_case(case, reference=asking.reference), asking.scale)), self.bending
            )
            yield verdict_from_scores(case, self.name, (self.critic.mean + rows @ self.weights).tolist(), asking.scale)


def _feature_map_digest(bending: RandomFeatureMap) -> str:
    return digest([getattr(bending, field.name).astype("<f8").tobytes().hex() for field in fields(RandomFeatureMap)])


def write_weights(head: FittedHead, folder: Path) -> None:
    """Write the weights and the map of measures to a file atomically."""
    out = io.BytesIO()
    arrays = {field.name: getattr(head.bending, field.name) for field in fields(RandomFeatureMap)}
    np.savez(out, weights=head.weights, **arrays)
    with replace_atomically(folder / FILE) as part:
        part.write_bytes(out.getvalue())
