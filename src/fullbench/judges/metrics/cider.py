"""CIDEr-D: shared runs of words, weighed by how rare they are among all references."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fullbench.errors import InputError
from fullbench.judges.metrics.ngram_overlap import Words, ngrams

_ORDER = 4
_SIGMA = 6.0
_Vector = tuple[dict[tuple[str, ...], float], float]


@dataclass(frozen=True)
class Cider:
    """CIDEr-D (Vedantam et al. 2015, arXiv:1411.5726) with the references that say what is rare.

    >>> metric = Cider.of([["a", "red", "kite"], ["a", "blue", "boat"]])
    >>> round(metric.score("a red kite".split(), ["a red kite".split()]), 3)
    7.5
    """

    documents: int
    seen: Counter[tuple[str, ...]]
    _vectors: dict[tuple[str, ...], list[_Vector]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, references: Iterable[Words]) -> Cider:
        """The metric, from the references of all items: one document each."""
        seen: Counter[tuple[str, ...]] = Counter()
        documents = 0
        for words in references:
            documents += 1
            for n in range(1, _ORDER + 1):
                seen.update(set(ngrams(words, n)))
        if documents < 2:
            raise InputError(f"CIDEr weighs words by how rare they are among references; found {documents} of them")
        return cls(documents, seen)

    def _weighed(self, words: Words) -> list[_Vector]:
        log_all = math.log(self.documents)
        vectors = []
        for n in range(1, _ORDER + 1):
            weights = {
                gram: count * (log_all - math.log(max(1, self.seen.get(gram, 0))))
                for gram, count in ngrams(words, n).items()
            }
            vectors.append((weights, math.sqrt(sum(weight * weight for weight in weights.values()))))
        return vectors

    def _of_reference(self, words: Words) -> list[_Vector]:
        key = tuple(words)
        if key not in self._vectors:
            self._vectors[key] = self._weighed(words)
        return self._vectors[key]

    def score(self, candidate: Words, references: Sequence[Words]) -> float:
        """From 0 to 10: the mean over references and over runs of one to four words."""
        vectors = self._weighed(candidate)
        total = 0.0
        for reference in references:
            penalty = math.exp(-((len(candidate) - len(reference)) ** 2) / (2 * _SIGMA**2))
            for (weights, long), (wanted, wide) in zip(vectors, self._of_reference(reference), strict=True):
                if long and wide:
                    shared = sum(
                        min(weight, wanted[gram]) * wanted[gram] for gram, weight in weights.items() if gram in wanted
                    )
                    total += penalty * shared / (long * wide)
        return 10 * total / (_ORDER * len(references))
