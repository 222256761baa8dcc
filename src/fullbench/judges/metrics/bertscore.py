"""BERTScore: every token vector is matched to its nearest one in the other text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from fullbench.core.language_and_words import words_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float64]
else:
    Vectors = Any


class Encoder(Protocol):
    """Turns a text into vectors, one row per token, and a weight of each token (1 counts, 0 does not)."""

    @property
    def name(self) -> str: ...

    def __call__(self, text: str) -> tuple[Vectors, Vectors]: ...


def bert_score(candidate: tuple[Vectors, Vectors], reference: tuple[Vectors, Vectors]) -> float:
    """Return the F1 of greedy matching by cosine (Zhang et al. 2020, arXiv:1904.09675), without rarity weights.

    Tokens that do not count (the special tokens around a text) can be matched, as in the authors' code.

    >>> import numpy as np
    >>> one, two = np.array([[1.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> round(bert_score((one, np.ones(1)), (two, np.ones(2))), 3)
    0.667
    """
    import numpy as np

    (candidate_vectors, candidate_counts), (reference_vectors, reference_counts) = candidate, reference
    if not candidate_counts.sum() or not reference_counts.sum():
        return 0.0
    near = _normalise_rows(candidate_vectors, np) @ _normalise_rows(reference_vectors, np).T
    precision = float(np.average(near.max(axis=1), weights=candidate_counts))
    recall = float(np.average(near.max(axis=0), weights=reference_counts))
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _normalise_rows(vectors: Vectors, np: Any) -> Any:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


class SpellingEncoder:
    """A small encoder without any download: similarly spelled words have similar vectors.

    Every run of three letters of a word (with its ends marked) has a fixed random direction; a word is their sum. It
    knows spelling but not meaning: use a real encoder if meaning matters.
    """

    def __init__(self, size: int = 64) -> None:
        self.size = size
        self.name = f"spelling-{size}"

    def __call__(self, text: str) -> tuple[Vectors, Vectors]:
        import numpy as np

        words = words_of(text)
        vectors = np.stack([_word_vector(word, self.size) for word in words]) if words else np.zeros((0, self.size))
        return vectors, np.ones(len(words))


@lru_cache(maxsize=100_000)
def _word_vector(word: str, size: int) -> Any:
    import numpy as np

    bounded_word = f"<{word}>"
    total = np.zeros(size)
    for start in range(max(1, len(bounded_word) - 2)):
        total += _letters_direction(bounded_word[start : start + 3], size)
    return total


@lru_cache(maxsize=100_000)
def _letters_direction(letters: str, size: int) -> Any:
    import numpy as np

    seed = int.from_bytes(hashlib.blake2b(letters.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(size)


def cache_encodings(encoder: Encoder, size: int = 4096) -> Callable[[str], tuple[Vectors, Vectors]]:
    """Cache the latest texts of an encoder, since a reference occurs many times."""
    return lru_cache(maxsize=size)(encoder)


def scores_against_reference(
    encoder: Callable[[str], tuple[Vectors, Vectors]], texts: Sequence[str], reference: str, baseline: float = 0.0
) -> list[float]:
    """Return the BERTScore of each text with the reference, rescaled so that unrelated texts get 0."""
    scores = [bert_score(encoder(text), encoder(reference)) for text in texts]
    return [(score - baseline) / (1 - baseline) for score in scores]


def baseline_of(encoder: Callable[[str], tuple[Vectors, Vectors]], texts: Sequence[str]) -> float:
    """Return the mean score of unrelated texts: each with the next of a sorted list."""
    sorted_texts = sorted(set(texts))
    pairs = zip(sorted_texts, [*sorted_texts[1:], *sorted_texts[:1]], strict=True)
    scores = [bert_score(encoder(text), encoder(next_text)) for text, next_text in pairs]
    return sum(scores) / len(scores)
