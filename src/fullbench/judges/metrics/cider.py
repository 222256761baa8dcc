"""CIDEr-D: shared n-grams, weighted by their rarity among all references."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fullbench.errors import InputError
from fullbench.judges.metrics.ngram_overlap import Words, count_ngrams

# CIDEr-D's n-grams of 1 to 4 words.
_ORDER = 4
_SIGMA = 6.0  # width of the Gaussian penalty for a difference in length
_Vector = tuple[dict[tuple[str, ...], float], float]


@dataclass(frozen=True)
class Cider:
    """CIDEr-D (Vedantam et al. 2015, arXiv:1411.5726) with the references that define rarity.

    >>> metric = Cider.from_references([["a", "red", "kite"], ["a", "blue", "boat"]])
    >>> round(metric.score("a red kite".split(), ["a red kite".split()]), 3)
    7.5
    """

    documents: int
    document_counts: Counter[tuple[str, ...]]
    _vectors: dict[tuple[str, ...], list[_Vector]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_references(cls, references: Iterable[Words]) -> Cider:
        """Build the metric from the references of all items, one document each."""
        document_counts: Counter[tuple[str, ...]] = Counter()
        documents = 0
        for words in references:
            documents += 1
            for n in range(1, _ORDER + 1):
                document_counts.update(set(count_ngrams(words, n)))
        if documents < 2:
            raise InputError(
                f"CIDEr weights words by how rare they are in several references; found {documents} of them"
            )
        return cls(documents, document_counts)

    def _weight_vectors(self, words: Words) -> list[_Vector]:
        log_all = math.log(self.documents)
        vectors = []
        for n in range(1, _ORDER + 1):
            weights = {
                gram: count * (log_all - math.log(max(1, self.document_counts.get(gram, 0))))
                for gram, count in count_ngrams(words, n).items()
            }
            vectors.append((weights, math.sqrt(sum(weight * weight for weight in weights.values()))))
        return vectors

    def _reference_vectors(self, words: Words) -> list[_Vector]:
        key = tuple(words)
        if key not in self._vectors:
            self._vectors[key] = self._weight_vectors(words)
        return self._vectors[key]

    def score(self, candidate: Words, references: Sequence[Words]) -> float:
        """Return a score from 0 to 10: the mean over references and over n-grams of one to four words."""
        vectors = self._weight_vectors(candidate)
        total = 0.0
        for reference in references:
            penalty = math.exp(-((len(candidate) - len(reference)) ** 2) / (2 * _SIGMA**2))
            for (weights, candidate_norm), (reference_weights, reference_norm) in zip(
                vectors, self._reference_vectors(reference), strict=True
            ):
                if candidate_norm and reference_norm:
                    overlap = sum(
                        min(weight, reference_weights[gram]) * reference_weights[gram]
                        for gram, weight in weights.items()
                        if gram in reference_weights
                    )
                    total += penalty * overlap / (candidate_norm * reference_norm)
        return 10 * total / (_ORDER * len(references))
