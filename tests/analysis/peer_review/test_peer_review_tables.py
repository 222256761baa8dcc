"""Tables of a peer review, from records small enough to follow."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from fullbench.analysis.peer_review.ground_truth import true_scores
from fullbench.analysis.peer_review.peer_review_tables import build_peer_review_tables, score_intervals
from fullbench.analysis.peer_review.ranking_methods import RankingOptions
from fullbench.analysis.peer_review.reviewer_length_and_family_biases import (
    count_choices,
    longer_answer_check,
    own_family_check,
)
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.rubric import CORRECTNESS, CORRELATION, VISUAL
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.judges.peer_review.review_items_and_cases import BALLOT, COSINE, question_requests, written_questions
from fullbench.reports.charts.chart_specification_and_rendering import build_chart
from tests.support.data_builders import png

NAMES = ("ant", "bee", "cat", "dog")
SKILL = {"ant": 4, "bee": 3, "cat": 2, "dog": 1}


def record(images=6, *, correlation=True, truth=True, extra=(), criteria=(CORRECTNESS, VISUAL), wrong=()):
    """Everybody rules by skill, but those in `wrong` the other way round; the truth rules by skill."""
    items, responses, verdicts = {}, {}, []
    for place in range(images):
        for author in NAMES:
            item = Item(f"{place} | {author}", Item.ask("x", "?").turns, tags={"image": str(place), "reviewer": author})
            items[item.id] = item
            given = {name: Response.say(item.id, name, "word " * (2 * SKILL[name])) for name in NAMES if name != author}
            responses |= {(item.id, name): response for name, response in given.items()}
            for one, two in combinations(given.values(), 2):
                lead = (SKILL[one.contestant] > SKILL[two.contestant]) != (author in wrong)
                for criterion in criteria:
                    case = Case(item, (one, two), BALLOT, criterion)
                    verdicts.append(Verdict.from_case(case, f"{author}+judge", (float(lead), float(not lead))))
                    verdicts += [Verdict.from_case(case, judge, (0.5, 0.5)) for judge in extra]
                if truth:
                    better = float(SKILL[one.contestant] > SKILL[two.contestant])
                    verdicts.append(
                        Verdict.from_case(Case(item, (one, two), BALLOT, CORRECTNESS), "truth", (better, 1 - better))
                    )
            if correlation:
                verdicts += [
                    Verdict.from_case(Case(item, (response,), COSINE, CORRELATION), "fit", (SKILL[name] / 10,))
                    for name, response in given.items()
                ]
    return Record(tuple(verdicts), items, responses)


def test_a_score_is_the_weighted_sum_of_its_parts():
    reviews = Reviews.from_record(record(1))
    points, heard = reviews.points()
    assert heard.all()
    row = reviews.items.index("0 | dog")
    assert (reviews.names[reviews.first[row]], reviews.names[reviews.second[row]]) == ("ant", "bee")
    assert points[row].tolist() == pytest.approx([0.4 + 0.4 + 0.2 * 0.4, 0.2 * 0.3])


def test_a_part_that_is_missing_gives_its_weight_to_the_others():
    with_it, without = Reviews.from_record(record(1)), Reviews.from_record(record(1, correlation=False))
    assert without.points()[0].sum(axis=1) == pytest.approx(1)
    assert with_it.points({CORRECTNESS: 1.0})[0] == pytest.approx(without.points()[0])
    notes = next(
        table for table in build_peer_review_tables(record(2, correlation=False)) if table.name == "ranking"
    ).notes
    assert "correlation: unknown for 24 of 24 reviews. The other parts take its weight." in notes
    with pytest.raises(InputError, match="a score has the parts"):
        with_it.points({"beauty": 1.0})


def test_both_orders_are_one_review():
    whole = record(1)
    turned = [
        Verdict(v.case + "t", v.judge, v.item, v.contestants[::-1], v.ballot, v.criterion, 0, (0.0, 1.0))
        for v in whole
        if v.criterion == VISUAL
    ]
    reviews = Reviews.from_record(Record((*whole.verdicts, *turned), whole.items, whole.responses))
    assert len(reviews) == len(Reviews.from_record(whole)) == 12
    assert set(np.unique(reviews.worth[VISUAL])) <= {0.0, 0.5, 1.0}


def test_the_ranking_and_who_moves_it():
    made = {table.name: table for table in build_peer_review_tables(record(wrong=("dog",)))}
    assert made["ranking"].column("contestant") == ["ant", "bee", "cat", "dog"]
    weights = dict(zip(made["reviewers"].column("reviewer"), made["reviewers"].column("weight"), strict=True))
    assert weights["dog"] == pytest.approx(0, abs=1e-6)
    assert weights["ant"] == pytest.approx(1, abs=1e-6)
    moves = dict(zip(made["reviewers"].column("reviewer"), made["reviewers"].column("moves uniform"), strict=True))
    assert moves["dog"] == max(moves.values())
    near = dict(zip(made["nearness"].column("method"), made["nearness"].column("spearman"), strict=True))
    assert near["UPME"] == 1
    assert len(made["ablation"].rows) == 8
    assert made["gamma"].column("correlation") == [0.2, 0.4, 0.2, 0.2]
    assert made["sizes"].column("pictures") == [5, 6]


def test_matrices_of_some_pictures_are_sums_over_them():
    reviews = Reviews.from_record(record(4, wrong=("cat",)))
    whole = reviews.peers()
    assert reviews.peers(images=range(4)).points == pytest.approx(whole.points)
    twice = reviews.peers(images=[1, 1, 3])
    parts = [reviews.peers(images=[image]) for image in (1, 1, 3)]
    assert twice.points == pytest.approx(sum(part.points for part in parts))
    assert twice.counts == pytest.approx(sum(part.counts for part in parts))


def test_intervals_hold_their_value():
    for estimate in score_intervals(Reviews.from_record(record(wrong=("dog",))), RankingOptions()):
        assert estimate.low <= estimate.value <= estimate.high


def test_a_judge_from_outside_takes_no_part_in_the_peer_review():
    alone, beside = (
        {table.name: table for table in build_peer_review_tables(record(2, extra=extra, correlation=False))}
        for extra in ((), ("length", "chance"))
    )
    assert set(beside) - set(alone) == {"won by length", "won by chance"}
    assert beside["ranking"] == alone["ranking"]
    assert beside["won by length"].column("won") == [0.5] * 4


def test_unusable_reviews_are_counted_for_each_contestant():
    whole = record(2, extra=("length",), correlation=False)
    is_lost = [not verdict.judge.startswith("truth") and "dog" in verdict.contestants for verdict in whole]
    verdicts = [
        replace(verdict, marks=None, fault="refused") if lost and place % 3 == 0 else verdict
        for place, (verdict, lost) in enumerate(zip(whole, is_lost, strict=True))
    ]
    made = {
        table.name: table for table in build_peer_review_tables(Record(tuple(verdicts), whole.items, whole.responses))
    }
    for name, judges in (("ranking", {f"{who}+judge" for who in NAMES}), ("won by length", {"length"})):
        unusable = Counter(who for v in verdicts if v.fault and v.judge in judges for who in v.contestants)
        table = made[name]
        found = dict(zip(table.column("contestant"), table.column("unusable"), strict=True))
        assert found == {who: unusable[who] for who in found}
        assert found["dog"] > 0


def test_each_reviewer_alone_ranks_the_others():
    made = {table.name: table for table in build_peer_review_tables(record(wrong=("dog",)))}
    near = dict(zip(made["nearness"].column("method"), made["nearness"].column("spearman"), strict=True))
    assert near["ant alone"] == 1
    assert near["dog alone"] == -1


def test_verbosity_and_ones_own_are_counted_against_the_truth():
    made = record(3, wrong=("cat", "dog"))
    found = count_choices(made, CORRECTNESS, longer_answer_check(made))
    assert found.right == (18, 0)
    assert found.wrong == (0, 18)
    assert found.test.phi == pytest.approx(-1)
    kin = {"ant": "a", "bee": "a", "cat": "c", "dog": "c"}
    own = count_choices(made, CORRECTNESS, own_family_check(made, kin))
    assert own.right == own.wrong == (12, 0)
    assert own.test is None
    nothing = count_choices(record(1, truth=False), CORRECTNESS, longer_answer_check(made))
    assert nothing.test is None
    assert "never given" in nothing.why


def test_truth_is_the_mean_mark():
    assert true_scores(record(2)) == {"ant": 1.0, "bee": pytest.approx(2 / 3), "cat": pytest.approx(1 / 3), "dog": 0.0}


def test_reviewers_that_nobody_reviewed_are_left_out_and_counted():
    whole = record(2)
    renamed = {
        name: Item(item.id, item.turns, tags={**item.tags, "reviewer": "stranger"})
        if item.tags["reviewer"] == "dog"
        else item
        for name, item in whole.items.items()
    }
    reviews = Reviews.from_record(Record(whole.verdicts, renamed, whole.responses))
    assert reviews.outside == 6
    assert len(reviews) == 18


@pytest.mark.parametrize("text", ["", "   ", "**Question:** ", '""'])
def test_an_empty_question_is_none(text):
    images = {"p": Picture.from_bytes(png())}
    (asked,) = question_requests(images)
    assert written_questions(images, [Response.say(asked.id, "ant", text)]) == []
    (made,) = written_questions(images, [Response.say(asked.id, "ant", f"{text} What is it?")])
    assert made.question == "What is it?"
    assert made.tags == {"image": "p", "reviewer": "ant", "instructed": "yes"}
    refused = Response.say(asked.id, "ant", "I would rather not.", tags={"stop": "refused"})
    assert written_questions(images, [refused]) == []


def test_too_few_reviews_leave_out_what_they_do_not_allow():
    whole = record(1, truth=False)
    few = [verdict for verdict in whole if verdict.item == "0 | dog" and set(verdict.contestants) == {"ant", "bee"}]
    made = build_peer_review_tables(Record(tuple(few), whole.items, whole.responses))
    assert [table.name for table in made] == ["unusable", "costs"]
    reviews = Reviews.from_record(Record(tuple(few), whole.items, whole.responses))
    assert (len(reviews), reviews.outside) == (0, 1)


def test_a_part_that_misses_a_contestant_is_left_out_with_the_reason():
    whole = record(2, truth=False, correlation=False)
    kept = [verdict for verdict in whole if verdict.criterion == VISUAL or "ant" not in verdict.contestants]
    made = {table.name: table for table in build_peer_review_tables(Record(tuple(kept), whole.items, whole.responses))}
    assert made["left out"].rows == [["ablation", "contestant 0 was never reviewed"]]
    assert made["ranking"].column("contestant")[0] == "ant"


def test_the_ranking_says_which_neighbours_are_not_told_apart():
    def notes(found):
        return " ".join(next(table for table in build_peer_review_tables(found) if table.name == "ranking").notes)

    assert "No intervals of neighbours overlap." in notes(record())
    even = record(criteria=(CORRECTNESS,), correlation=False, wrong=("bee", "dog"))
    assert "the order of these may be reversed" in notes(even)


def test_rulings_that_nobody_could_read_are_a_sentence():
    whole = record(2, truth=False, correlation=False)
    unread = tuple(
        Verdict(v.case, v.judge, v.item, v.contestants, v.ballot, v.criterion, fault="unreadable") for v in whole
    )
    made = {table.name: table for table in build_peer_review_tables(Record(unread, whole.items, whole.responses))}
    assert made["left out"].rows == [["ranking", "none of 48 verdicts could be read: see the unusable verdicts"]]


def test_the_counts_of_one_criterion_are_a_heat_map():
    made = {table.name: table for table in build_peer_review_tables(record(6, wrong=("dog",)))}
    drawn = build_chart(made["biases"])
    assert drawn.alt.startswith("Bias of wrong reviews. Heat map")
    assert "Curves: value over round" in build_chart(made["convergence"]).alt
    assert "Curves: value over pictures" in build_chart(made["sizes"]).alt
    assert "Bars: pearson by parts" in build_chart(made["ablation"]).alt
    assert "Curves: value over round" in build_chart(made["nearing"]).alt
    assert "Dots with intervals: value by reviewer, 5 rows" in build_chart(made["accuracy"]).alt


def test_biases_keep_criteria_apart():
    """Three people find every ruling on correctness right and every visual one wrong."""
    verdicts = []
    items = {}
    for number in range(10):
        item = Item.ask(f"b{number}", "?", tags={"reviewer": "r"})
        items[item.id] = item
        pair = (Response.say(item.id, "long", "many many words"), Response.say(item.id, "short", "few"))
        for criterion in ("correctness", "visual"):
            case = Case(item, pair, BALLOT, criterion)
            first = number % 3 == 0
            ruling = (1.0, 0.0) if first else (0.0, 1.0)
            verdicts.append(Verdict.from_case(case, "r", ruling))
            right = ruling if criterion == "correctness" else ruling[::-1]
            verdicts += [Verdict.from_case(case, "human", right, rater=rater) for rater in ("a", "b")]
            verdicts.append(Verdict.from_case(case, "human", right[::-1], rater="c"))
    every = {
        (name, one): Response.say(name, one, text)
        for name in items
        for one, text in (("long", "a b c"), ("short", "a"))
    }
    heard = Record(tuple(verdicts), items, every)
    for criterion, wrong in (("correctness", 0), ("visual", 10)):
        counts = count_choices(heard, criterion, longer_answer_check(heard))
        assert (sum(counts.wrong), sum(counts.right)) == (wrong, 10 - wrong)
