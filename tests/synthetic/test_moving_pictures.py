"""Moving pictures tell the truth as a whole, and nothing frame by frame."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from scipy.stats import chi2_contingency

from fullbench.synthetic import moving_pictures
from fullbench.synthetic.moving_pictures import FRAMES, HEIGHT, KINDS, WIDTH, Film, draw_films, draw_video_question
from tests.support.film_reader import answer_from_frames, frames_of

FIRST_MIDDLE_LAST = (0, FRAMES // 2, FRAMES - 1)


def features(film: Film, frame: int, names: list) -> list:
    """What one frame shows: in which sixth of the width and height, and which of the things or colours."""
    mover = film[frame]
    return [
        int(mover.x % WIDTH * 6 // WIDTH),
        int(mover.y % HEIGHT * 6 // HEIGHT),
        names.index((mover.shape, mover.colour)),
    ]


def lowest_p(pairs: list[tuple[object, int]]) -> float:
    """The p-value of "the feature is independent of the truth"."""
    counts = Counter(pairs)
    truths, values = sorted({one for one, _ in pairs}, key=str), sorted({two for _, two in pairs})
    if len(values) < 2:
        return 1.0
    return float(chi2_contingency([[counts[truth, value] for value in values] for truth in truths]).pvalue)


@pytest.mark.parametrize("kind", KINDS)
def test_one_frame_is_equally_likely_under_both_truths(kind):
    """Of 1,500 questions, each with a film for either truth: the first, the middle and the last frame alone."""
    found: dict[tuple[object, int, int], list[tuple[object, int]]] = {}
    for number in range(1_500):
        plot, right, films = draw_films(3, number * len(KINDS) + KINDS.index(kind))
        names = sorted({(mover.shape, mover.colour) for film in films for mover in film})
        random.Random(number).shuffle(names)
        axis = plot.answers if kind == "direction" else ""  # across and down are questions of their own
        for answer, film in zip((right, 1 - right), films, strict=True):
            truth = answer if kind == "sequence" else plot.answers[answer]
            if kind == "sequence":  # what is asked for, the first answer and the second
                names = _cast(plot.question, plot.answers, films)
            for frame in FIRST_MIDDLE_LAST:
                for place, value in enumerate(features(film, frame, names)):
                    found.setdefault((axis, frame, place), []).append((truth, value))
    assert min(lowest_p(pairs) for pairs in found.values()) > 0.0005


def _cast(question: str, answers: tuple[str, str], films: tuple[Film, Film]) -> list:
    things = {(mover.shape, mover.colour) for film in films for mover in film}
    by_noun = {moving_pictures.noun_of(colour, shape, lang): (shape, colour) for shape, colour in things
               for lang in ("en", "zh")}  # fmt: skip
    return [next(thing for noun, thing in by_noun.items() if noun in text) for text in (question, *answers)]


def test_a_frame_that_gives_the_answer_away_would_be_noticed():
    """A ball that starts in the middle: its last frame shows where it went."""
    ends = []
    for number in range(300):
        plot, right, films = draw_films(3, number * len(KINDS))
        for answer, film in zip((right, 1 - right), films, strict=True):
            moved = film[3].x - film[0].x
            ends.append((plot.answers[answer], int((WIDTH / 2 + moved) % WIDTH * 6 // WIDTH)))
    assert lowest_p(ends) < 0.0005


def test_a_reader_of_pixels_finds_every_answer_and_the_other_video_the_other_one():
    for index in range(2 * len(KINDS)):
        question = draw_video_question(5, index)
        answers = (question.right, question.wrong)
        shown, other = frames_of(question.shown), frames_of(question.other)
        assert len(shown) == len(other) == FRAMES, "the number of frames must not tell the answer"
        assert answer_from_frames(question.question, shown, answers) == 0, question
        assert answer_from_frames(question.question, other, answers) == 1, question
        backwards = answer_from_frames(question.question, shown[::-1], answers)
        assert backwards == (1 if question.is_reversible else 0)


def test_the_same_seed_draws_the_same_video_and_another_one_another():
    draw_video_question.cache_clear()
    first = draw_video_question(1, 2)
    draw_video_question.cache_clear()
    assert draw_video_question(1, 2) == first
    assert draw_video_question(2, 2).shown != first.shown
    assert {draw_video_question(1, index).language for index in range(10)} == {"en", "zh"}
