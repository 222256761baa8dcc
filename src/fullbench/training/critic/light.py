"""The light critic: a linear head over words, and over how like the reference an answer is. It needs no torch.

Without a reference it knows which words and turns of phrase people mark high or low, and nothing of what is true: a
baseline that a larger critic has to beat, and a judge where there is nothing else.
"""

from __future__ import annotations

import io
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from fullbench.errors import InputError
from fullbench.files.writers import replacing
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody, Kind
from fullbench.core.text import length_of, words_of
from fullbench.core.verdict import Verdict
from fullbench.training.critic.description import Critic
from fullbench.training.critic.likeness import BENDS, Bending, Floats, measures
from fullbench.training.critic.ruling import alone, numbered, recuses
from fullbench.training.critic.scored import Scored

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
