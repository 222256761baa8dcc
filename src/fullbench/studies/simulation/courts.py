"""Simulated peer reviews, many at a time: contestants of known skill who judge as well, or as badly, as was planted.

One review follows the formula of `court.simulated`, for all rows at once: what a reviewer feels for an answer is its
quality as far as the reviewer sees it, plus its length as far as the reviewer likes length, plus noise; answers within
half a mark tie. So the two are one court at two speeds, and a test holds them together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from fullbench.errors import InputError
from fullbench.figures.peers.reviews import Reviews
from fullbench.nouns.criteria import CORRECTNESS, CORRELATION, VISUAL

if TYPE_CHECKING:
    import numpy as np

    from fullbench.stats.arrays import Floats, Ints

TIE = 0.5
"""Felt marks that lie this close tie, as in `court.simulated`."""
LAZINESS = 0.8
"""The share of rulings in which a lazy reviewer ties without looking."""


@dataclass(frozen=True)
class Setting:
    """How a court is made.

    `related` is how far judging ability goes with skill: 1 fully, 0 not at all. The weaker the judge, the less it sees
    (`sight`), the noisier it is, and the more it likes long answers (`length`, marks for each doubling). `colluders`
    rule for each other in every review; `lazy` ones mostly tie; `blind` ones see nothing. `faults` is the share of
    rulings that are none. `spread` is how far the quality of one contestant's answers varies.
    """

    models: int = 6
    images: int = 25
    related: float = 1.0
    noise: float = 0.6
    length: float = 0.5
    spread: float = 0.3
    colluders: int = 0
    lazy: int = 0
    blind: int = 0
    faults: float = 0.0

    def __post_init__(self) -> None:
        if self.models < 3:
            raise InputError(f"peer review needs at least three contestants; found {self.models}")
        if self.images < 1:
            raise InputError(f"a court needs at least one picture; found {self.images}")
        if not (0 <= self.related <= 1 and 0 <= self.faults < 1):
            raise InputError("'related' is from 0 to 1, and 'faults' a share below 1")
        if min(self.colluders, self.lazy, self.blind) < 0 or self.colluders + self.lazy + self.blind > self.models:
            raise InputError("there cannot be more cheats than contestants")
        if self.colluders == 1:
            raise InputError("one cannot collude alone: give two colluders or more")

    def honest(self) -> Setting:
        """The same court without colluders."""
        return replace(self, colluders=0)


@dataclass(frozen=True)
class Court:
    """One court: the true skills, who cheats, and all reviews."""

    skill: Floats
    colluders: tuple[int, ...]
    reviews: Reviews


def court(setting: Setting, seed: int) -> Court:
    """A court from its seed: skills and lengths are the same for any number of pictures, answers with any cheats."""
    import numpy as np

    rng = np.random.default_rng([seed, setting.models])
    size = setting.models
    skill = np.sort(rng.uniform(0.1, 0.9, size))[::-1].copy()
    other = rng.permutation(skill)
    able = setting.related * skill + (1 - setting.related) * other
    words = rng.standard_normal(size)
    cheats = rng.permutation(size)
    rng = np.random.default_rng([seed, setting.models, setting.images])
    image, reviewer, first, second = slots(size, setting.images)
    quality = np.clip(skill + setting.spread * rng.standard_normal((setting.images, size, size)), 0, 1)
    sight = able.copy()
    colluding, lazy, blind = _cheats(setting, cheats)
    sight[blind] = 0.0
    gap = 4 * (quality[image, reviewer, first] - quality[image, reviewer, second])
    liking = setting.length * (1 - able[reviewer]) * (words[first] - words[second])
    idle = np.isin(reviewer, lazy)
    ally = _allies(reviewer, first, second, colluding)
    worth, known = {}, {}
    for part in (CORRECTNESS, VISUAL):
        noise = setting.noise * (1.5 - able[reviewer]) * 2**0.5 * rng.standard_normal(len(first))
        won = _ruled(sight[reviewer] * gap + liking + noise)
        won = np.where(idle & (rng.uniform(size=len(first)) < LAZINESS), 0.5, won)
        won = np.where(ally == 0, won, (ally + 1) / 2)
        known[part] = rng.uniform(size=len(first)) >= setting.faults
        worth[part] = np.stack([won, 1 - won], axis=1)
    worth[CORRELATION], known[CORRELATION] = np.zeros((len(first), 2)), np.zeros(len(first), dtype=bool)
    names = tuple(f"model {place}" for place in range(size))
    pictures = tuple(f"picture {place}" for place in range(setting.images))
    items = ("",) * len(first)
    reviews = Reviews(names, pictures, items, image, reviewer, first, second, worth, known)
    return Court(skill, tuple(int(who) for who in colluding), reviews)


@lru_cache(maxsize=32)
def slots(models: int, images: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The full design as four columns: picture, reviewer, and the two who answer."""
    import numpy as np

    reviewer, first, second = np.meshgrid(*[np.arange(models)] * 3, indexing="ij")
    keep = (first < second) & (first != reviewer) & (second != reviewer)
    rows = [column[keep] for column in (reviewer, first, second)]
    image = np.repeat(np.arange(images), len(rows[0]))
    tiled = [np.tile(column, images) for column in rows]
    return image, tiled[0], tiled[1], tiled[2]


def _cheats(setting: Setting, order: Ints) -> tuple[Ints, Ints, Ints]:
    ends = (setting.colluders, setting.colluders + setting.lazy, setting.colluders + setting.lazy + setting.blind)
    return order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] : ends[2]]


def _ruled(lead: Floats) -> Floats:
    import numpy as np

    return np.where(np.abs(lead) <= TIE, 0.5, (np.sign(lead) + 1) / 2)


def _allies(reviewer: Ints, first: Ints, second: Ints, colluding: Ints) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """1 where a colluder rules for its ally `first`, -1 for its ally `second`, 0 where it has none here, or two."""
    import numpy as np

    inside = np.isin(reviewer, colluding)
    return (np.isin(first, colluding).astype(np.int64) - np.isin(second, colluding)) * inside
