"""Tool-grounded correlation: what it says by hand-made notes, and what it is worth on real photos and real answers."""

from __future__ import annotations

from random import Random

import pytest

from fullbench.benchmarks.upme.label_free_check_of_image_text_correlation import held_out_separation, picture_separation
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.models.tools.picture_notes_and_their_wording import Notes, Thing
from fullbench.models.tools.text_image_fit_from_notes import Weights, text_image_cosine
from fullbench.studies.judge_contestant_and_benchmark_specs import correlation_from_spec
from fullbench.synthetic.item_generator import build_items
from scripts import weigh
from tests.support.offline_tools import PHOTOS, with_photos, with_tools

DATA = PHOTOS.parent
STREET = Notes(
    (Thing("car", 0.8, (0.1, 0.1, 0.3, 0.3)), Thing("person", 0.6, (0.6, 0.2, 0.1, 0.5))),
    ("NO PARKING", "禁止停车"),
    {"grey": 0.6, "blue": 0.2},
)


def test_the_fit_grows_with_what_is_confirmed_and_falls_with_what_is_not():
    right = text_image_cosine(STREET, "A man stands beside a car under a sign that says no parking.")
    half = text_image_cosine(STREET, "A man stands beside a car.")
    wrong = text_image_cosine(STREET, "A cat sleeps on a couch beside a dog.")
    padded = text_image_cosine(
        STREET, "A man stands beside a car. Democracy, poetry, weather and arithmetic matter to everybody."
    )
    chinese = text_image_cosine(STREET, "图中有一个人，牌子上写着禁止停车。")
    assert right > half > padded > wrong == 0
    assert chinese > wrong
    assert text_image_cosine(STREET, "") is None
    assert text_image_cosine(Notes(), "A car.") is None


def test_the_cosine_of_a_text_with_itself_is_one():
    bag = Notes((), ("blossom", "hammer", "24"), {})
    assert text_image_cosine(bag, "blossom hammer 24") == pytest.approx(1)


class Flat:
    """A judge to whom everything fits alike, or who abstains."""

    name, settings = "flat", {}

    def __init__(self, ruling):
        self.ruling = ruling

    def judge(self, cases):
        for case in cases:
            yield Verdict.from_case(case, self.name, self.ruling)


def test_a_correlation_that_says_nothing_separates_nothing():
    given = [(known.item.pictures[0], "words") for known in build_items(7, 4)]
    assert picture_separation(Flat((0.3,)), given).value == 0.5
    with pytest.raises(ValueError, match="no row was counted"):
        picture_separation(Flat("abstained"), given)
    with pytest.raises(InputError, match="at least two pictures"):
        picture_separation(Flat((0.3,)), given[:1])


def test_colours_separate_drawn_scenes():
    known = [one for one in build_items(7, 30) if one.scene.things]
    given = [
        (one.item.pictures[0], f"I see {', '.join(sorted({thing.colour for thing in one.scene.things}))}.")
        for one in known
    ]
    assert picture_separation(correlation_from_spec("colours"), given).low > 0.7


class Noise:
    """A judge whose marks have nothing to do with anything."""

    def __init__(self, seed):
        self.name, self.settings = f"noise {seed}", {"seed": seed}

    def judge(self, cases):
        for case in cases:
            lot = Random(f"{self.name}/{case.item.id}/{case.responses[0].text}")
            yield Verdict.from_case(case, self.name, (lot.random(),))


KNOWN = [one for one in build_items(7, 40) if one.scene.things]
GIVEN = [
    (one.item.pictures[0], f"{place}: {', '.join(sorted({thing.colour for thing in one.scene.things}))}")
    for place, one in enumerate(KNOWN)
]


def test_a_choice_among_noise_is_worth_nothing_on_other_pictures():
    judges = [Noise(seed) for seed in range(30)]
    flattered = max(picture_separation(judge, GIVEN).value for judge in judges)
    found = held_out_separation(judges, GIVEN, repeats=5)
    assert flattered > 0.55
    assert found.separation.low < 0.5 < found.separation.high
    assert sum(found.choice_counts.values()) == 25
    assert found == held_out_separation(judges, GIVEN, repeats=5)


def test_a_choice_that_is_none_reaches_what_it_reaches():
    good = correlation_from_spec("colours")
    found = held_out_separation([Noise(1), good, Noise(2)], GIVEN, repeats=5)
    assert found.choice_counts == {good.name: 25}
    assert found.separation.value == pytest.approx(picture_separation(good, GIVEN).value, abs=0.03)
    with pytest.raises(InputError, match="each of 30 parts needs at least two pictures"):
        held_out_separation([good], GIVEN, folds=30)


@with_tools
@with_photos
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_on_real_photos_an_answer_fits_its_own_picture_better():
    given = weigh.answers(DATA)
    found = picture_separation(correlation_from_spec("tools"), given)
    assert len({picture.digest for picture, _ in given}) == 83
    assert 0.85 < found.value < 0.87
    assert found.low > 0.8
    assert picture_separation(correlation_from_spec("colours"), given).high < found.low


@with_tools
@with_photos
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_weights_are_those_that_the_chooser_chooses_and_hold_on_other_pictures():
    given, ways = weigh.answers(DATA), weigh.grid()
    found = held_out_separation(list(ways.values()), given, repeats=4)
    (most, times), *_ = found.choice_counts.items()
    assert most == ways[Weights()].name
    assert times > 10
    assert found.separation.low > 0.8
