"""The light critic: a linear head over words, and over how like the reference an answer is. It needs no torch.

Without a reference it knows which words and turns of phrase people mark high or low, and nothing of what is true: a
baseline that a larger critic has to beat, and a judge where there is nothing else.
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
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody, Kind
from fullbench.core.text import length_of, words_of
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.files.writers import replacing
from fullbench.training.critic.critic_judge import alone, numbered, recuses
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.scored_answers import Scored

# What the light critic measures beside single words: how an answer is written, and how like the reference it is.
#
# Numbers, negation and characters are compared, in English and Chinese alike: "three" and 三 are the number 3, and runs
# of characters need no segmentation into words. Every measure is a number; a random map bends them, so that a linear
# head can learn that two of them count together.

Floats = npt.NDArray[np.float64]
BENDS = 256
"""How many directions the random map has."""
_WIDTH = 0.2
"""How fast the map bends along a measure of deviation 1; chosen on the court's answers, whose truth is known."""
_FARTHEST = 5.0
"""Measures are cut off at so many deviations: nothing was learned beyond."""
_COMPARED = 80
"""Words of both texts of which the longest common order is sought."""
_ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_CHINESE = {**{sign: value for value, sign in enumerate("零一二三四五六七八九十")}, "两": 2}
_SPOKEN = {**{word: value for value, word in enumerate(_ENGLISH)}, **_CHINESE}
_NUMBER = re.compile(rf"\d+(?:\.\d+)?|\b(?:{'|'.join(_ENGLISH)})\b|一(?![共样起些般定直切])|[零二两三四五六七八九十]")
"""A Chinese one is also part of words that count nothing: altogether, alike, together."""
_NEGATION = re.compile(r"\b(?:no|not|none|never|nothing|cannot|without|neither|nor)\b|n['’]t\b|[不没无非未]")
_EXCUSE = re.compile(r"\b(?:sorry|unable|cannot|can['’]t|as an ai|i don['’]t)\b|抱歉|无法|不能")
_SENTENCE = re.compile(r"[.!?。！？]+")
_LISTED = re.compile(r"^\s*(?:[-*•]|\d+[.)])", re.MULTILINE)


def figures_in(text: str) -> list[float]:
    """The numbers of a text in order: digits, decimals, English and Chinese number words, with or without a unit.

    >>> figures_in("Three of 12 cost 2.50; 答案是四")
    [3.0, 12.0, 2.5, 4.0]
    """
    found = _NUMBER.findall(text.lower())
    return [float(_SPOKEN[word]) if word in _SPOKEN else float(word) for word in found]


def measures(case: Case) -> list[float]:
    """An answer as numbers: its manner, and beside a reference how like that it is (zeros where there is none)."""
    answer = case.responses[0].text
    wanted = case.item.reference or ""
    words, asked = words_of(answer), words_of(case.item.question)
    return [*_manner(answer, words, asked), *_likeness(answer, words, wanted, words_of(wanted), set(asked))]


def _manner(answer: str, words: Sequence[str], asked: Sequence[str]) -> list[float]:
    length, sentences, low = max(1, len(words)), len(_SENTENCE.findall(answer)), answer.lower()
    pairs = list(pairwise(words))
    known = set(asked)
    return [
        math.log(length), math.log(length) ** 2, math.log1p(len(asked)),
        len(set(words)) / length, len(set(pairs)) / max(1, len(pairs)),
        math.log1p(sentences), length / max(1, sentences), answer.count("\n"), len(_LISTED.findall(answer)),
        float(answer.rstrip("\"'）) ")[-1:] in {*".!?。！？"}), float(bool(_EXCUSE.search(low))),
        len(figures_in(answer)), len(_NEGATION.findall(low)), len(known & set(words)) / max(1, len(known)),
        sum(character.isupper() for character in answer) / max(1, len(answer)),
    ]  # fmt: skip


def _likeness(answer: str, words: Sequence[str], wanted: str, right: Sequence[str], asked: set[str]) -> list[float]:
    """How like the reference an answer is; what the question says already is compared once with and once without."""
    if not right:
        return [0.0] * 27
    news = [[word for word in text if word not in asked] for text in (words, right)]
    said, true = figures_in(answer), figures_in(wanted)
    low, low_wanted = answer.lower(), wanted.lower()
    longer = math.log(max(1, len(words)) / len(right))
    return [
        *_shared(words, right), *_shared(*news), float(not news[1]),
        *_shared(list(pairwise(words)), list(pairwise(right))),
        *(share for size in (2, 3, 5) for share in _shared(_runs(low, size), _runs(low_wanted, size))),
        float(bool(true)), float(bool(said)), float(set(said) == set(true)), *_shared(said, true),
        float(said[-1:] == true[-1:]), min(5.0, abs(said[-1] - true[-1])) if said and true else 2.5,
        float(bool(_NEGATION.search(low)) == bool(_NEGATION.search(low_wanted))),
        float(low_wanted.strip(" .。") in low), longer, abs(longer),
        float(list(words[:1]) == list(right[:1])), float(list(words[-1:]) == list(right[-1:])),
        _in_order(words[:_COMPARED], right[:_COMPARED]) / min(_COMPARED, len(right)),
    ]  # fmt: skip


def _runs(text: str, size: int) -> list[str]:
    """All runs of so many characters."""
    plain = " ".join(text.split())
    return [plain[start : start + size] for start in range(len(plain) - size + 1)]


def _shared(these: Sequence[Hashable], those: Sequence[Hashable]) -> tuple[float, float]:
    """What both have, as a share of the first and of the second."""
    both = sum((Counter(these) & Counter(those)).values())
    return both / max(1, len(these)), both / max(1, len(those))


def _in_order(these: Sequence[str], those: Sequence[str]) -> int:
    """The length of the longest sequence of words that both have in the same order."""
    row = [0] * (len(those) + 1)
    for word in these:
        corner = 0
        for place, other in enumerate(those, 1):
            row[place], corner = (corner + 1 if word == other else max(row[place], row[place - 1])), row[place]
    return row[-1]


@dataclass(frozen=True)
class Bending:
    """A random map that bends measures (Rahimi and Recht 2007, Random Features for Large-Scale Kernel Machines).

    It is stored with a critic, since random generators of other versions may draw otherwise. A measure that did not
    vary in training has a scale of 0: nothing was learned about it.
    """

    middle: Floats
    scale: Floats
    directions: Floats
    phases: Floats

    @classmethod
    def of(cls, rows: Floats, seed: int = 0) -> Bending:
        rng = np.random.default_rng(seed)
        deviation = rows.std(axis=0)
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-9)
        directions = _WIDTH * rng.standard_normal((rows.shape[1], BENDS))
        return cls(rows.mean(axis=0), scale, directions, rng.uniform(0, 2 * np.pi, BENDS))

    def __call__(self, rows: Floats) -> Floats:
        standard = np.clip((rows - self.middle) * self.scale, -_FARTHEST, _FARTHEST)
        bent: Floats = np.sqrt(2 / BENDS) * np.cos(standard @ self.directions + self.phases)
        return bent


SIZE = 1 << 16
"""How many places features are hashed to."""
STRENGTHS = (0.3, 1.0, 2.0, 4.0)
FILE = "weights.npz"
_FOLDS = 3
_LENGTHS = 2


def features(case: Case) -> tuple[list[int], list[float]]:
    """Where and what: the answer's words and pairs of words, the question's, those the answer shares with the
    reference, and how long the answer is. Each group has length 1, so that long answers do not count more."""
    question, answer = words_of(case.item.question), words_of(case.responses[0].text)
    groups = {"a": _grams(answer), "q": _grams(question)}
    if case.item.reference:
        wanted = set(words_of(case.item.reference))
        groups["r"] = [word for word in answer if word in wanted]
        groups["n"] = [word for word in wanted if word not in set(answer)]
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


def _grams(words: Sequence[str]) -> list[str]:
    return [*words, *(f"{word} {next_word}" for word, next_word in pairwise(words))]


def matrix(cases: Sequence[Case]) -> Any:
    """The features of cases, a row each."""
    from scipy.sparse import csr_array

    rows = [features(case) for case in cases]
    ends = np.cumsum([0, *(len(places) for places, _ in rows)])
    places = np.array([place for row_places, _ in rows for place in row_places], dtype=np.int64)
    values = np.array([value for _, row_values in rows for value in row_values], dtype=np.float64)
    return csr_array((values, places, ends), shape=(len(rows), SIZE))


def ridge(rows: Any, marks: Floats, strength: float) -> Floats:
    """The weights of a ridge regression (Hoerl and Kennard 1970, doi:10.1080/00401706.1970.10488634)."""
    from scipy.sparse.linalg import lsqr

    weights: Floats = lsqr(rows, marks, damp=strength**0.5, atol=1e-5, btol=1e-5)[0]
    return weights


def beside(cases: Sequence[Case], bending: Bending) -> Any:
    """The features of cases, and beside them their measures, bent."""
    from scipy.sparse import csr_array, hstack

    return hstack([matrix(cases), csr_array(bending(_measured(cases)))], format="csr")


def _measured(cases: Sequence[Case]) -> Floats:
    return np.array([measures(case) for case in cases])


def shown(case: Case, *, reference: bool) -> Case:
    """The case as the critic sees it: without the reference where it is asked without."""
    return case if reference else replace(case, item=replace(case.item, reference=""))


@dataclass(frozen=True)
class Fitted:
    """A head that was learned: weights over features, the map of measures, the mean mark, and the strength chosen."""

    weights: Floats
    bending: Bending
    mean: float
    deviation: float
    strength: float


def fit(scored: Sequence[Scored], seed: int = 0, *, reference: bool = True) -> Fitted:
    """Learn from scores. How strongly weights are held down is chosen by trying each strength on held-out items."""
    marks = np.array([answer.mark for answer in scored])
    cases = [shown(answer.case, reference=reference) for answer in scored]
    bending = Bending.of(_measured(cases), seed)
    rows = beside(cases, bending)
    fold = np.array([int(digest([seed, answer.case.item.id])[:8], 16) % _FOLDS for answer in scored])
    strength = min(STRENGTHS, key=lambda tried: _error(rows, marks, fold, tried))
    mean, deviation = float(marks.mean()), float(marks.std())
    return Fitted(ridge(rows, marks - mean, strength), bending, mean, deviation or 1.0, strength)


def _error(rows: Any, marks: Floats, fold: npt.NDArray[np.int64], strength: float) -> float:
    """The mean absolute error on items that were left out in turn."""
    errors: list[Floats] = []
    for held in range(_FOLDS):
        inside, outside = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        if not len(inside) or not len(outside):
            continue
        mean = marks[inside].mean()
        predicted = mean + rows[outside] @ ridge(rows[inside], marks[inside] - mean, strength)
        errors.append(np.abs(predicted - marks[outside]))
    return float(np.concatenate(errors).mean()) if errors else 0.0


@dataclass(frozen=True, eq=False)
class LightJudge(AsksNobody):
    """Judge made from a light critic."""

    kind: ClassVar[Kind] = "scorer"

    label: str
    critic: Critic
    weights: Floats
    bending: Bending

    @classmethod
    def read(cls, folder: Path, critic: Critic) -> LightJudge:
        file = folder / "model" / FILE
        try:
            with np.load(file, allow_pickle=False) as arrays:
                weights = arrays["weights"]
                bending = Bending(*(arrays[field.name] for field in fields(Bending)))
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
            "bending": _digest(self.bending),
        }  # fmt: skip

    @cached_property
    def name(self) -> str:
        return f"{self.label}+light2#{digest(self.settings)[:8]}"

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        """One verdict a case, in order."""
        asking = self.critic.asking
        for case in cases:
            if reason := recuses(case, asking):
                yield Verdict.of(case, self.name, "recused", text=reason)
                continue
            rows = beside(list(alone(shown(case, reference=asking.reference), asking.scale)), self.bending)
            yield numbered(case, self.name, (self.critic.mean + rows @ self.weights).tolist(), asking.scale)


def _digest(bending: Bending) -> str:
    return digest([getattr(bending, field.name).astype("<f8").tobytes().hex() for field in fields(Bending)])


def write_weights(fitted: Fitted, folder: Path) -> None:
    """The weights and the map of measures as a file, whole or not at all."""
    out = io.BytesIO()
    arrays = {field.name: getattr(fitted.bending, field.name) for field in fields(Bending)}
    np.savez(out, weights=fitted.weights, **arrays)
    with replacing(folder / FILE) as part:
        part.write_bytes(out.getvalue())
