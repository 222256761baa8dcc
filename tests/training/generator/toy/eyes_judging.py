"""Judges of sheets that go by what they see: exact, seeing badly, erring now and then, and chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fullbench.synthetic.picture_reading import Sight
from tests.training.generator.toy.sheets import SHARP, kinds_of, rightness

if TYPE_CHECKING:
    from multiprocessing.pool import Pool

    from numpy.typing import NDArray

    Marks = NDArray[np.float64]


@dataclass(frozen=True)
class EyeJudge:
    """Prefers of two pictures the one that shows more of what was asked for, as its eyes see it.

    In a share of the pairs it says the opposite; where both are the same to it, a coin decides.
    """

    name: str
    sight: Sight = field(default=SHARP)
    flips: float = 0.0


JUDGES = (
    EyeJudge("exact"),
    EyeJudge("chance", flips=0.5),
    EyeJudge("errs in 30 %", flips=0.3),
    EyeJudge("near-sighted", Sight(blur=2, overlooks=2.5)),
    EyeJudge("colour-confused", Sight(confusion=1.0, overlooks=2.5)),
    EyeJudge("errs in 15 %", flips=0.15),
    EyeJudge("very near-sighted", Sight(blur=3, overlooks=2.5)),
)


def marks(prompts: Sequence[str], pictures: Any, sights: Sequence[Sight], pool: Pool | None = None) -> Marks:
    """How right each picture (a tensor from -1 to 1) is to each pair of eyes; a row a picture.

    Pixels are rounded as in a file, so that nothing is seen which a file would not hold.
    """
    pixels = ((pictures.float() + 1) * 127.5).round().clamp(0, 255).div(255).cpu().numpy().astype(np.float32)
    jobs = [(prompt, image, tuple(sights)) for prompt, image in zip(prompts, pixels, strict=True)]
    seen = list(map(_seen, jobs)) if pool is None else pool.map(_seen, jobs, chunksize=64)
    return np.array(seen)


def _seen(job: tuple[str, Any, tuple[Sight, ...]]) -> list[float]:
    prompt, pixels, sights = job
    asked = kinds_of(prompt)
    return [rightness(asked, pixels, sight) for sight in sights]


def preferred(first: Marks, second: Marks, judge: EyeJudge, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Whether the judge prefers the first of each two."""
    coin = rng.random(first.shape) < 0.5
    ahead = np.where(first == second, coin, first > second)
    flipped = rng.random(first.shape) < judge.flips
    chosen: NDArray[np.bool_] = ahead ^ flipped
    return chosen


def best_of(groups: Marks, judge: EyeJudge, rng: np.random.Generator) -> NDArray[np.int64]:
    """The place of the winner in each row of eight (or any power of two), by rounds of pairs."""
    places = np.tile(np.arange(groups.shape[1]), (len(groups), 1))
    while places.shape[1] > 1:
        left, right = places[:, ::2], places[:, 1::2]
        first, second = (np.take_along_axis(groups, side, axis=1) for side in (left, right))
        places = np.where(preferred(first, second, judge, rng), left, right)
    winners: NDArray[np.int64] = places[:, 0]
    return winners


def accuracy(truth: Marks, seen: Marks, judge: EyeJudge, rng: np.random.Generator) -> Mapping[str, float]:
    """How often the judge prefers the truly better of two pictures, among pairs of which one is: as MJ-Bench counts."""
    half = len(truth) // 2
    first, second = truth[:half], truth[half : 2 * half]
    told = first != second
    says = preferred(seen[:half], seen[half : 2 * half], judge, rng)
    right = (says == (first > second))[told]
    return {"accuracy": float(right.mean()), "pairs": int(told.sum())}
