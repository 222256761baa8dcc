"""Simulated peer reviews, many at a time: contestants of known skill who judge as well, or as badly, as was planted.

One review follows the formula of `synthetic.biased_judge`, for all rows at once: what a reviewer feels for an answer is
its quality as far as the reviewer sees it, plus its length as far as the reviewer likes length, plus noise; answers
within half a mark tie. So the two are one court at two speeds, and a test holds them together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.rubric import CORRECTNESS, CORRELATION, VISUAL
from fullbench.errors import InputError
from fullbench.synthetic.biased_judge import TIE

if TYPE_CHECKING:
    import numpy as np

    from fullbench.stats.array_checks import Bools, Floats, Ints

    Design = tuple[Ints, Ints, Ints, Ints]

LAZINESS = 0.8
"""The share of rulings in which a lazy reviewer ties without looking."""


@dataclass(frozen=True)
class Setting:
    """How a court is made.

    `related` is how far judging ability goes with skill: 1 fully, 0 not at all. The weaker the judge, the less it sees
    (`sight`), the noisier it is, and the more it likes long answers (`length`, marks for each doubling). `colluders`
    rule for each other in every review; `lazy` ones mostly tie; `blind` ones see nothing. `faults` is the share of
    rulings that are none. `spread` is how far the quality of one contestant's answers varies.

    What makes a court less convenient: contestants come in `families` of two, and every reviewer adds `kin` marks to an
    answer of its own family; all reviewers like length, `shared_length` marks for each doubling; lengths differ from
    answer to answer by `wobble` doublings; `wordy_weak` is how far weak contestants are the wordy ones (1 fully);
    `correlated` is a mistake in marks that all reviewers make together about an answerer on a picture; `clones` are
    contestants of one skill whose reviews are one another's.
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
    families: bool = False
    kin: float = 0.0
    shared_length: float = 0.0
    wobble: float = 0.0
    wordy_weak: float = 0.0
    correlated: float = 0.0
    clones: int = 0

    def __post_init__(self) -> None:
        if self.models < 3:
            raise InputError(f"peer review needs at least three contestants; found {self.models}")
        if self.images < 1:
            raise InputError(f"a court needs at least one picture; found {self.images}")
        if not (0 <= self.related <= 1 and 0 <= self.faults < 1):
            raise InputError("'related' is from 0 to 1, and 'faults' a share below 1")
        if min(self.colluders, self.lazy, self.blind) < 0 or self.colluders + self.lazy + self.blind > self.models:
            raise InputError("there cannot be more cheats than contestants")
        if not -1 <= self.wordy_weak <= 1:
            raise InputError(f"'wordy weak' is from -1 to 1; found {self.wordy_weak:g}")
        if min(self.wobble, self.correlated) < 0:
            raise InputError("'wobble' and 'correlated' are deviations, 0 or more")
        if self.clones == 1 or not 0 <= self.clones < self.models:
            raise InputError("clones are two or more, and fewer than the contestants")
        if self.kin and not self.families:
            raise InputError("kin need families: say that contestants come in families of two")
        if self.colluders == 1:
            raise InputError("one cannot collude alone: give two colluders or more")

    def honest(self) -> Setting:
        """The same court without colluders."""
        return replace(self, colluders=0)


@dataclass(frozen=True)
class Court:
    """One court: the true skills, who cheats, all reviews, who is of which family, and who is truly better in each.

    `truth` is 1 where the first answer of a review is the better one, 0 where the second is, 0.5 where they are close.
    """

    skill: Floats
    colluders: tuple[int, ...]
    reviews: Reviews
    families: tuple[str, ...] = ()
    truth: Floats | None = None


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
    # What a plain court has none of is drawn apart, so that plain courts stay what they were.
    further = np.random.default_rng([seed, setting.models, setting.images, 1])
    skill, able = _cloned(setting, skill, able)
    words = _wordy(setting, skill, words)
    family = further.permutation(np.arange(size) // 2) if setting.families else np.arange(size)
    rng = np.random.default_rng([seed, setting.models, setting.images])
    image, reviewer, first, second = slots(size, setting.images)
    quality = np.clip(skill + setting.spread * rng.standard_normal((setting.images, size, size)), 0, 1)
    sight = able.copy()
    colluding, lazy, blind = _cheats(setting, cheats)
    sight[blind] = 0.0
    gap = 4 * (quality[image, reviewer, first] - quality[image, reviewer, second])
    length = words + setting.wobble * further.standard_normal((setting.images, size, size))
    lead = length[image, reviewer, first] - length[image, reviewer, second]
    liking = (setting.shared_length + setting.length * (1 - able[reviewer])) * lead
    own = (family[reviewer] == family[first]).astype(np.float64) - (family[reviewer] == family[second])
    mistaken = setting.correlated * further.standard_normal((setting.images, size))
    liking = liking + setting.kin * own * setting.families + mistaken[image, first] - mistaken[image, second]
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
    if setting.clones:
        _copy(setting.clones, worth, known, (image, reviewer, first, second))
    reviews = Reviews(names, pictures, items, image, reviewer, first, second, worth, known, lead=lead)
    kinship = tuple(f"family {number}" for number in family)
    return Court(skill, tuple(int(who) for who in colluding), reviews, kinship, _ruled(gap))


def _cloned(setting: Setting, skill: Floats, able: Floats) -> tuple[Floats, Floats]:
    """Skills and judging abilities with the middling ones made alike: the clones."""
    if not setting.clones:
        return skill, able
    begin = (setting.models - setting.clones) // 2
    alike = slice(begin, begin + setting.clones)
    skill, able = skill.copy(), able.copy()
    skill[alike], able[alike] = skill[alike].mean(), able[alike].mean()
    return skill, able


def _wordy(setting: Setting, skill: Floats, words: Floats) -> Floats:
    """How wordy each contestant is, in doublings: by chance, or as weak as it is."""
    import numpy as np

    share = setting.wordy_weak
    if not share:
        return words
    weak = -(skill - skill.mean()) / max(float(skill.std()), 1e-9)
    mixed: Floats = share * weak + float(np.sqrt(1 - share**2)) * words
    return mixed


def _copy(clones: int, worth: dict[str, Floats], known: dict[str, Bools], design: Design) -> None:
    """Let every clone rule as the first of them does, where both rule on the same two."""
    begin = (int(design[1].max()) + 1 - clones) // 2
    place = {key: row for row, key in enumerate(zip(*(column.tolist() for column in design), strict=True))}
    for (picture, who, one, two), row in place.items():
        source = place.get((picture, begin, one, two))
        if begin < who < begin + clones and source is not None:
            for part in (CORRECTNESS, VISUAL):
                worth[part][row], known[part][row] = worth[part][source], known[part][source]


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
