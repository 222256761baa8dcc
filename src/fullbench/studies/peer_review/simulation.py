"""Simulated peer reviews: contestants of known skill who judge as well or as badly as configured.

A review follows the formula of `synthetic.biased_judge`, vectorised over all rows. The perceived quality of an answer
is its true quality as far as the reviewer sees it, plus a length bias, plus noise. Answers within half a mark tie. A
test checks that both implementations agree.
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
"""Share of verdicts in which a lazy reviewer ties without reading."""


@dataclass(frozen=True)
class SimulationSetting:
    """Settings of a simulated peer review.

    `related` is the correlation of judging ability with skill, from 0 to 1. A weaker judge sees less of the true
    quality, is noisier, and likes long answers more (`length`, marks per doubling). `colluders` favour each other in
    every review; `lazy` reviewers mostly tie; `blind` ones see nothing. `unusable` is the share of unusable verdicts.
    `spread` is the variation of quality within a contestant.

    Complications: contestants come in `families` of two, and every reviewer adds `own_family` marks to answers of its
    own family. All reviewers like length, by `shared_length` marks per doubling. Lengths vary by `length_spread`
    doublings between answers. `wordy_weak` is how strongly weak contestants are the wordy ones (1: fully).
    `correlated` is an error in marks that all reviewers share about an answerer on a picture. `clones` have one skill
    and give the same reviews.
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
    unusable: float = 0.0
    families: bool = False
    own_family: float = 0.0
    shared_length: float = 0.0
    length_spread: float = 0.0
    wordy_weak: float = 0.0
    correlated: float = 0.0
    clones: int = 0

    def __post_init__(self) -> None:
        if self.models < 3:
            raise InputError(f"peer review needs at least three contestants; found {self.models}")
        if self.images < 1:
            raise InputError(f"a simulation needs at least one picture; found {self.images}")
        if not (0 <= self.related <= 1 and 0 <= self.unusable < 1):
            raise InputError("'related' is from 0 to 1, and 'unusable' a share below 1")
        if min(self.colluders, self.lazy, self.blind) < 0 or self.colluders + self.lazy + self.blind > self.models:
            raise InputError("there cannot be more colluders, lazy and blind models than contestants")
        if not -1 <= self.wordy_weak <= 1:
            raise InputError(f"'wordy weak' is from -1 to 1; found {self.wordy_weak:g}")
        if min(self.length_spread, self.correlated) < 0:
            raise InputError("'length_spread' and 'correlated' are deviations, 0 or more")
        if self.clones == 1 or not 0 <= self.clones < self.models:
            raise InputError("give at least two clones, and fewer than contestants")
        if self.own_family and not self.families:
            raise InputError("own_family needs families; let contestants come in families of two")
        if self.colluders == 1:
            raise InputError("one model cannot collude alone; give at least two colluders")

    def honest(self) -> SimulationSetting:
        """Return the same settings without colluders."""
        return replace(self, colluders=0)


@dataclass(frozen=True)
class SimulatedReviews:
    """A simulated peer review: true skills, colluders, reviews, families, and the truth of each review.

    `truth` is 1 if the first answer is better, 0 if the second is, and 0.5 if they are close.
    """

    skill: Floats
    colluders: tuple[int, ...]
    reviews: Reviews
    families: tuple[str, ...] = ()
    truth: Floats | None = None


def simulate_reviews(setting: SimulationSetting, seed: int) -> SimulatedReviews:
    """Simulate a peer review. Skills and lengths do not depend on the number of pictures, nor answers on cheats."""
    import numpy as np

    rng = np.random.default_rng([seed, setting.models])
    size = setting.models
    skill = np.sort(rng.uniform(0.1, 0.9, size))[::-1].copy()
    shuffled_skill = rng.permutation(skill)
    able = setting.related * skill + (1 - setting.related) * shuffled_skill
    words = rng.standard_normal(size)
    cheats = rng.permutation(size)
    # Complications use their own generator, so that simulations without them do not change.
    further = np.random.default_rng([seed, setting.models, setting.images, 1])
    skill, able = _with_clones(setting, skill, able)
    words = _answer_lengths(setting, skill, words)
    family = further.permutation(np.arange(size) // 2) if setting.families else np.arange(size)
    rng = np.random.default_rng([seed, setting.models, setting.images])
    image, reviewer, first, second = full_design(size, setting.images)
    quality = np.clip(skill + setting.spread * rng.standard_normal((setting.images, size, size)), 0, 1)
    picture_ability = able.copy()
    colluding, lazy, blind = _assign_cheats(setting, cheats)
    picture_ability[blind] = 0.0
    gap = 4 * (quality[image, reviewer, first] - quality[image, reviewer, second])
    length = words + setting.length_spread * further.standard_normal((setting.images, size, size))
    lead = length[image, reviewer, first] - length[image, reviewer, second]
    liking = (setting.shared_length + setting.length * (1 - able[reviewer])) * lead
    kin_lead = (family[reviewer] == family[first]).astype(np.float64) - (family[reviewer] == family[second])
    mistaken = setting.correlated * further.standard_normal((setting.images, size))
    liking = (
        liking + setting.own_family * kin_lead * setting.families + mistaken[image, first] - mistaken[image, second]
    )
    idle = np.isin(reviewer, lazy)
    ally = _ally_signs(reviewer, first, second, colluding)
    worth, usable_by_part = {}, {}
    for part in (CORRECTNESS, VISUAL):
        noise = setting.noise * (1.5 - able[reviewer]) * 2**0.5 * rng.standard_normal(len(first))
        outcomes = _outcomes_from_lead(picture_ability[reviewer] * gap + liking + noise)
        outcomes = np.where(idle & (rng.uniform(size=len(first)) < LAZINESS), 0.5, outcomes)
        outcomes = np.where(ally == 0, outcomes, (ally + 1) / 2)
        usable_by_part[part] = rng.uniform(size=len(first)) >= setting.unusable
        worth[part] = np.stack([outcomes, 1 - outcomes], axis=1)
    worth[CORRELATION], usable_by_part[CORRELATION] = np.zeros((len(first), 2)), np.zeros(len(first), dtype=bool)
    names = tuple(f"model {place}" for place in range(size))
    pictures = tuple(f"picture {place}" for place in range(setting.images))
    items = ("",) * len(first)
    if setting.clones:
        _copy_clone_reviews(setting.clones, worth, usable_by_part, (image, reviewer, first, second))
    reviews = Reviews(names, pictures, items, image, reviewer, first, second, worth, usable_by_part, lead=lead)
    kinship = tuple(f"family {number}" for number in family)
    return SimulatedReviews(skill, tuple(int(who) for who in colluding), reviews, kinship, _outcomes_from_lead(gap))


def _with_clones(setting: SimulationSetting, skill: Floats, able: Floats) -> tuple[Floats, Floats]:
    if not setting.clones:
        return skill, able
    begin = (setting.models - setting.clones) // 2
    clone_slice = slice(begin, begin + setting.clones)
    skill, able = skill.copy(), able.copy()
    skill[clone_slice], able[clone_slice] = skill[clone_slice].mean(), able[clone_slice].mean()
    return skill, able


def _answer_lengths(setting: SimulationSetting, skill: Floats, words: Floats) -> Floats:
    """Wordiness of each contestant in doublings: random, or higher for weaker ones."""
    import numpy as np

    share = setting.wordy_weak
    if not share:
        return words
    weak = -(skill - skill.mean()) / max(float(skill.std()), 1e-9)
    lengths: Floats = share * weak + float(np.sqrt(1 - share**2)) * words
    return lengths


def _copy_clone_reviews(
    clones: int, worth: dict[str, Floats], usable_by_part: dict[str, Bools], design: Design
) -> None:
    """Copy only pairs that both clones review."""
    begin = (int(design[1].max()) + 1 - clones) // 2
    place = {key: row for row, key in enumerate(zip(*(column.tolist() for column in design), strict=True))}
    for (picture, who, first, second), row in place.items():
        source = place.get((picture, begin, first, second))
        if begin < who < begin + clones and source is not None:
            for part in (CORRECTNESS, VISUAL):
                worth[part][row], usable_by_part[part][row] = worth[part][source], usable_by_part[part][source]


@lru_cache(maxsize=32)
def full_design(models: int, images: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the full design as four columns: picture, reviewer, and the two answerers."""
    import numpy as np

    reviewer, first, second = np.meshgrid(*[np.arange(models)] * 3, indexing="ij")
    keep = (first < second) & (first != reviewer) & (second != reviewer)
    rows = [column[keep] for column in (reviewer, first, second)]
    image = np.repeat(np.arange(images), len(rows[0]))
    tiled_columns = [np.tile(column, images) for column in rows]
    return image, tiled_columns[0], tiled_columns[1], tiled_columns[2]


def _assign_cheats(setting: SimulationSetting, order: Ints) -> tuple[Ints, Ints, Ints]:
    ends = (setting.colluders, setting.colluders + setting.lazy, setting.colluders + setting.lazy + setting.blind)
    return order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] : ends[2]]


def _outcomes_from_lead(lead: Floats) -> Floats:
    import numpy as np

    return np.where(np.abs(lead) <= TIE, 0.5, (np.sign(lead) + 1) / 2)


def _ally_signs(
    reviewer: Ints, first: Ints, second: Ints, colluding: Ints
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """1 if a colluder has only the first answerer as an ally, -1 if only the second, else 0."""
    import numpy as np

    inside = np.isin(reviewer, colluding)
    return (np.isin(first, colluding).astype(np.int64) - np.isin(second, colluding)) * inside
