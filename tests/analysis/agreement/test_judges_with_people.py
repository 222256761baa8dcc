"""Agreement, group by group, against independent libraries; and the card made of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein
from scipy.stats import kendalltau, pearsonr
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score

from fullbench import Choice, Item, Ranking, Record, Response, Score, Verdict
from fullbench.analysis.agreement.by_tag import accuracy_on_decided_pairs, agreement_tables, group_averages
from fullbench.analysis.agreement.judges_with_people import (
    compare_with_people,
    groups_by_tag,
    judge_agreements,
    winner_index,
)
from fullbench.analysis.agreement.repeats_and_orders import steadiness_tables as repeats
from fullbench.analysis.judge_card import build_card as judge_card
from fullbench.analysis.people.doubtful_cases_and_people_decisions import find_doubtful_cases
from fullbench.analysis.right_and_wrong_cases_for_rerun import select_subset
from fullbench.core.case import Case
from fullbench.core.model_call import Usage
from fullbench.errors import InputError
from fullbench.reports import judge_card_display as cards
from fullbench.stats.intervals.cluster_intervals import ONE_ITEM

NAMES = ("a", "b", "c", "d")


def make(judges: dict[str, float], items: int = 60, seed: int = 5) -> Record:
    """People and judges that see the same quality through more or less noise; some verdicts are faults."""
    rng = np.random.default_rng(seed)
    asked, said, verdicts = {}, {}, []
    for i in range(items):
        tags = {"dataset": "one" if i % 3 else "two", "abilities": "see+think" if i % 2 else "see"}
        item = asked[f"i{i}"] = Item.ask(f"i{i}", "What is it?", tags=tags)
        worth = rng.normal(size=4)
        for name, words in zip(NAMES, rng.integers(3, 40, size=4), strict=True):
            said[item.id, name] = Response.say(item.id, name, "word " * int(words))
        shown = tuple(said[item.id, name] for name in NAMES)
        for judge, noise in {"human": 0.2, **judges}.items():
            seen = worth + noise * rng.normal(size=4)
            score = np.clip(np.rint(3 + seen), 1, 5)
            usage = Usage(calls=1, tokens_in=100, tokens_out=10, dollars=0.001, seconds=0.5)
            for place in range(4):
                ruling = "refused" if judge != "human" and rng.random() < 0.05 else (float(score[place]),)
                verdicts.append(
                    Verdict.from_case(Case(item, shown[place : place + 1], Score(1, 5)), judge, ruling, usage=usage)
                )
            gap = seen[0] - seen[1]
            marks = (0.5, 0.5) if abs(gap) < 0.3 else (float(gap > 0), float(gap < 0))
            flip = judge != "human" and i % 2
            pair = Case(item, (shown[1], shown[0]) if flip else shown[:2], Choice())
            verdicts.append(Verdict.from_case(pair, judge, marks[::-1] if flip else marks))
            ranks = np.argsort(np.argsort(seen)) + 1.0
            verdicts.append(Verdict.from_case(Case(item, shown, Ranking()), judge, tuple(map(float, ranks))))
    return Record(tuple(verdicts), asked, said)


@pytest.fixture(scope="module")
def record() -> Record:
    return make({"good": 0.4, "poor": 3.0})


def test_scores_against_scipy(record: Record):
    met = compare_with_people(record)
    pairs = met.pairings("good", "scores")
    ours, theirs = [p.marks[0] for p in pairs], [p.other_marks[0] for p in pairs]
    found = next(entry for entry in judge_agreements(met, "good") if entry.shape == "scores")
    assert found.metrics["Pearson"].value == pytest.approx(pearsonr(ours, theirs).statistic)
    assert found.metrics["Kendall"].value == pytest.approx(kendalltau(ours, theirs).statistic)
    assert found.metrics["error"].value == pytest.approx(np.mean(np.abs(np.subtract(ours, theirs))))
    assert found.metrics["kappa, quadratic"].value == pytest.approx(
        cohen_kappa_score(ours, theirs, weights="quadratic", labels=[1, 2, 3, 4, 5])
    )
    assert found.n + found.faults == 240
    assert found.faults > 0


def test_pairs_against_sklearn_with_half_of_them_shown_the_other_way_round(record: Record):
    met = compare_with_people(record)

    def classes(marks):
        return "tie" if marks[0] == marks[1] else "AB"[marks[1] > marks[0]]

    ours, theirs = zip(
        *((classes(p.marks), classes(p.other_marks)) for p in met.pairings("good", "pairs")), strict=True
    )
    found = next(entry for entry in judge_agreements(met, "good") if entry.shape == "pairs").metrics
    assert found["accuracy with ties"].value == pytest.approx(accuracy_score(theirs, ours))
    assert found["F1, macro"].value == pytest.approx(f1_score(theirs, ours, average="macro"))
    assert found["F1, by size"].value == pytest.approx(f1_score(theirs, ours, average="weighted"))
    assert found["kappa"].value == pytest.approx(cohen_kappa_score(theirs, ours))
    decided = [(x, y) for x, y in zip(ours, theirs, strict=True) if "tie" not in {x, y}]
    assert found["accuracy without ties"].value == pytest.approx(np.mean([x == y for x, y in decided]))
    assert found["accuracy without ties"].value > 0.8


def test_rankings_against_rapidfuzz(record: Record):
    met = compare_with_people(record)

    def letters(marks):
        return "".join("ABCD"[i] for i in np.argsort(-np.array(marks)))

    wanted = [
        Levenshtein.normalized_distance(letters(p.marks), letters(p.other_marks))
        for p in met.pairings("good", "rankings")
    ]
    found = next(entry for entry in judge_agreements(met, "good") if entry.shape == "rankings").metrics
    assert found["edit distance"].value == pytest.approx(np.mean(wanted))


def test_pairs_that_everybody_decides_are_the_same_rows_for_all(record: Record):
    met = compare_with_people(record)
    made = accuracy_on_decided_pairs(met)
    ours, theirs = ({(p.verdict.item): p for p in met.pairings(judge, "pairs")} for judge in ("good", "poor"))
    rows = [
        item for item in ours if all(p[item].marks[0] != 0.5 and p[item].other_marks[0] != 0.5 for p in (ours, theirs))
    ]
    wanted = {
        judge: np.mean([p[item].marks == p[item].other_marks for item in rows])
        for judge, p in (("good", ours), ("poor", theirs))
    }
    assert {row[0]: row[1].value for row in made.rows} == pytest.approx(wanted)
    assert {row[1].n for row in made.rows} == {len(rows)}
    assert accuracy_on_decided_pairs(compare_with_people(record.where(lambda v: v.judge != "poor"))).rows == []


def test_groups_and_their_mean(record: Record):
    met = compare_with_people(record)
    found = {e.group: e for e in judge_agreements(met, "good", groups_by_tag(record, "dataset")) if e.shape == "scores"}
    assert set(found) == {"one", "two"}
    means = group_averages(met, "good", groups_by_tag(record, "dataset"))["scores"]
    assert set(means) == {"Pearson", "Spearman", "Kendall", "error", "kappa, quadratic"}
    for name, mean in means.items():
        assert mean.value == pytest.approx(np.mean([e.metrics[name].value for e in found.values()])), name


def test_groups_that_share_items_have_no_mean(record: Record):
    met = compare_with_people(record)
    groups = {
        e.group: e.n for e in judge_agreements(met, "good", groups_by_tag(record, "abilities")) if e.shape == "pairs"
    }
    assert groups == {"see": 60, "think": 30}
    assert group_averages(met, "good", groups_by_tag(record, "abilities")) == {}


def test_every_table_says_n_and_faults(record: Record):
    made = agreement_tables(compare_with_people(record), ["dataset"])
    assert len(made) == 8
    for table in made:
        assert table.columns[-2:] == ("n", "unusable")
        assert {row[0] for row in table.rows} == {"good", "poor"}


def test_a_card_tells_the_good_judge_from_the_poor_one(record: Record, tmp_path):
    made = judge_card(record, "poor", tags=["dataset"], own_contestants=["a"])
    names = [table.name for table in made.tables]
    assert {"agreement", "scores by dataset", "other judges", "biases", "unusable", "costs"} <= set(names)
    standing = next(table for table in made.tables if table.name == "other judges")
    told = {(row[0], row[1]): row[4] for row in standing.rows}
    assert told == {("good", "scores"): "yes", ("good", "pairs"): "yes", ("good", "rankings"): "yes"}
    assert "1,000 verdicts cost 0.67 dollars" in made.lead
    for name in ("card.html", "card.json", "card.md"):
        cards.write_card(made, tmp_path / name)
    assert json.loads((tmp_path / "card.json").read_text())["judge"] == "poor"
    assert "Judge card: poor" in (tmp_path / "card.html").read_text()


def test_a_card_without_people_claims_nothing(record: Record):
    made = judge_card(record.where(judge="good"), "good")
    assert "so agreement cannot be computed" in made.lead
    assert "agreement" not in [table.name for table in made.tables]


def test_a_card_of_nobody_is_refused(record: Record):
    with pytest.raises(InputError, match="good, human, poor"):
        judge_card(record, "nobody")


def test_subsets_split_what_the_judge_got_right_from_what_it_got_wrong(record: Record):
    right, wrong = select_subset(record, "poor", "hq"), select_subset(record, "poor", "hard")
    pairs = compare_with_people(right).pairings("poor", "scores"), compare_with_people(wrong).pairings("poor", "scores")
    assert all(p.marks == p.other_marks for p in pairs[0])
    assert all(abs(p.marks[0] - p.other_marks[0]) >= 2 for p in pairs[1])
    assert pairs[0]
    assert pairs[1]
    assert {v.judge for v in wrong} == {"human", "poor"}
    assert set(wrong.items) == {v.item for v in wrong}


def test_a_ruling_caught_hallucinating_is_hard_even_where_it_is_right(record: Record):
    verdict = next(
        p.verdict for p in compare_with_people(record).pairings("good", "scores") if p.marks == p.other_marks
    )
    review = Verdict("r", "human", verdict.case, ("good",), "likert:no|yes", "hallucinates", marks=(2.0,))
    more = Record((*record.verdicts, review), record.items, record.responses)
    places = {(v.item, v.contestants) for v in select_subset(more, "good", "hard")}
    assert (verdict.item, verdict.contestants) in places
    assert (verdict.item, verdict.contestants) not in {
        (v.item, v.contestants) for v in select_subset(more, "good", "hq")
    }


def test_steadiness_counts_a_fault_against_the_judge(record: Record):
    case = Case(record.items["i0"], (record.responses["i0", "a"],), Score(1, 5))
    other = Case(record.items["i1"], (record.responses["i1", "a"],), Score(1, 5))
    rulings = [(4,), (4,), (4,), "refused", "refused", "unreadable"]
    heard = [Verdict.from_case(case.at(trial), "j", ruling) for trial, ruling in enumerate(rulings)]
    heard += [Verdict.from_case(other.at(trial), "j", (2,)) for trial in range(6)]
    steadied, histogram = repeats(Record(tuple(heard), record.items, record.responses))
    (row,) = steadied.rows
    assert row[2].value == pytest.approx((3 / 6 + 1) / 2)
    assert row[3].value == 0.5
    assert [line[2:] for line in histogram.rows] == [["3 of 6", 1], ["6 of 6", 1]]
    assert find_doubtful_cases(Record(tuple(heard))) == [("j", case.key)]


def test_one_item_gives_values_without_intervals_and_a_mean_over_groups_leaves_it_apart(record: Record):
    chosen = [v for v in record if v.item == "i0" and v.fault is None]
    alone = compare_with_people(Record(tuple(chosen), record.items, record.responses))
    by_shape = {entry.shape: entry for entry in judge_agreements(alone, "good")}
    pairs = alone.pairings("good", "scores")
    ours, theirs = [p.marks[0] for p in pairs], [p.other_marks[0] for p in pairs]
    error, pearson = (by_shape["scores"].metrics[name] for name in ("error", "Pearson"))
    assert error.value == pytest.approx(np.mean(np.abs(np.subtract(ours, theirs))))
    assert pearson.value == pytest.approx(pearsonr(ours, theirs).statistic)
    assert by_shape["pairs"].metrics["accuracy with ties"].value == float(
        winner_index(alone.pairings("good", "pairs")[0].marks)
        == winner_index(alone.pairings("good", "pairs")[0].other_marks)
    )
    estimates = [estimate for entry in by_shape.values() for estimate in entry.metrics.values()]
    assert {(estimate.why, estimate.units) for estimate in estimates} == {(ONE_ITEM, 1)}
    assert all(estimate.low == estimate.value == estimate.high for estimate in estimates)

    items = {name: replace(item, tags=item.tags | {"size": "big" if name == "i0" else f"s{int(name[1:]) % 2}"})
             for name, item in record.items.items()}  # fmt: skip
    met = compare_with_people(Record(record.verdicts, items, record.responses))
    table = next(table for table in agreement_tables(met, ["size"], judges=["good"]) if table.name == "pairs by size")
    assert [str(row[1]) for row in table.rows] == ["big", "s0", "s1", "mean of 2"]
    assert table.rows[3][2].value == pytest.approx((table.rows[1][2].value + table.rows[2][2].value) / 2)
    assert table.rows[0][2].why == ONE_ITEM
    assert [note for note in table.notes if "1 group of one item" in note]


def test_intervals_of_rankings_stay_on_their_scale_where_ranks_are_shared():
    """Several people's mean ranks are often equal: breaking such ties must not lose the scale of the figure."""
    rng = np.random.default_rng(3)
    asked, said, verdicts = {}, {}, []
    for i in range(8):
        item = asked[f"i{i}"] = Item.ask(f"i{i}", "什么?", tags={"dataset": "one" if i % 2 else "two"})
        for name in NAMES[:3]:
            said[item.id, name] = Response.say(item.id, name, name)
        case = Case(item, tuple(said[item.id, name] for name in NAMES[:3]), Ranking())
        verdicts += [
            Verdict.from_case(case, "human", tuple(map(float, rng.permutation(3) + 1)), rater=rater)
            for rater in ("x", "y")
        ]
        verdicts.append(Verdict.from_case(case, "j", tuple(map(float, rng.permutation(3) + 1))))
    record = Record(tuple(verdicts), asked, said)
    met = compare_with_people(record)
    shared = [p for p in met.pairings("j", "rankings") if len(set(p.other_marks)) < 3]
    assert shared, "some mean ranks are equal"
    least = {"Kendall": -1.0}
    for entry in judge_agreements(met, "j", groups_by_tag(record, "dataset")):
        for name, figure in entry.metrics.items():
            assert least.get(name, 0.0) <= figure.low < figure.high <= 1.0, (entry.group, name)
    for name, figure in group_averages(met, "j", groups_by_tag(record, "dataset"))["rankings"].items():
        assert least.get(name, 0.0) <= figure.low < figure.high <= 1.0, name
