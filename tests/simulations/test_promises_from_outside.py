"""The promises of docs/explanation/truth.md, simulated from the docs alone, by public names of the package.

Votes and verdicts follow Davidson's model of ties. Items have heavy-tailed effects, which people and the judge share,
and the judge has tastes of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

from fullbench import Item, Record, Response, Verdict, card, report

NAMES = ("north", "east", "south", "west")
STRENGTH, TASTE = np.array([0.8, 0.3, -0.2, -0.9]), np.array([-0.5, 0.6, 0.9, -1.0])
PAIRS = list(combinations(range(4), 2))
TIE, PLACE = 0.35, 0.25


def chances(gap):
    """Chances that the first wins, of a tie, and that the second wins."""
    first, second = np.exp(gap / 2), np.exp(-gap / 2)
    return np.array([first, TIE + 0 * first, second]) / (first + second + TIE)


def draw_marks(rng, gap):
    return [(1.0, 0.0), (0.5, 0.5), (0.0, 1.0)][rng.choice(3, p=chances(gap))]


def gaps(rng, items):
    """What people and the judge feel about every pair of every item: log-odds."""
    people = STRENGTH + rng.laplace(0, 0.6, (items, 4))
    judge = 1.2 * people + 0.6 * TASTE + rng.normal(0, 0.4, (items, 4))
    return [np.stack([of[:, one] - of[:, two] for one, two in PAIRS], axis=1) for of in (people, judge)]


def truth():
    """Shares of matches won, ratings and agreement on 200,000 items."""
    people, judge = gaps(np.random.default_rng(77), 200_000)
    votes, orders = chances(people), [chances(judge + PLACE), chances(judge - PLACE)]
    verdicts = sum(orders) / 2
    found = {"accuracy": float((votes * verdicts).sum(axis=0).mean())}
    first, second = orders[0][0].sum() + orders[1][2].sum(), orders[0][2].sum() + orders[1][0].sum()
    found["first shown wins"] = first / (first + second)
    for who, of in (("people", votes), ("judge", verdicts)):
        beats = np.zeros((4, 4))
        for (one, two), share in zip(PAIRS, (of[0] + of[1] / 2).mean(axis=0), strict=True):
            beats[one, two], beats[two, one] = share, 1 - share
        worth = np.ones(4)
        for _ in range(3000):  # Zermelo's iteration for Bradley-Terry
            worth = beats.sum(axis=1) / (1 / (worth[:, None] + worth) - np.diag(0.5 / worth)).sum(axis=1)
            worth /= np.exp(np.log(worth).mean())
        found |= {(who, "matches won", name): share / 3 for name, share in zip(NAMES, beats.sum(axis=1), strict=True)}
        found |= {(who, "rating", name): 1000 + 400 * np.log10(one) for name, one in zip(NAMES, worth, strict=True)}
    return found


def board_world(rng, items, share):
    people, judge = gaps(rng, items)
    voted, verdicts = rng.permutation(people.size)[: round(share * people.size)], []
    is_voted = np.isin(np.arange(people.size), voted).reshape(people.shape)
    for item, pair in np.ndindex(people.shape):
        one, two = (NAMES[who] for who in PAIRS[pair])
        for shown, gap in (((one, two), judge[item, pair]), ((two, one), -judge[item, pair])):
            marks = draw_marks(rng, gap + PLACE)
            verdicts.append(Verdict(f"{item}/{shown}", "robot", f"i{item}", shown, "choice+tie", marks=marks))
        if is_voted[item, pair]:
            marks = draw_marks(rng, people[item, pair])
            verdicts.append(
                Verdict(f"{item}/{(one, two)}", "human", f"i{item}", (one, two), "choice+tie", marks=marks, rater="p")
            )
    return Record(tuple(verdicts))


def rows(table):
    return [dict(zip(map(str, table.columns), row, strict=True)) for row in table.rows]


def shown_numbers(tables):
    """Yield the name of a true number and the estimate of it."""
    for table in tables:
        title = str(table.title)
        for row in rows(table):
            if "corrected" in row and "contestant" in row:
                yield "corrected", ("people", row.get("metric", "rating"), row["contestant"]), row["corrected"]
            elif title.startswith("Leaderboard by ") and "corrected" not in title:
                who = "people" if "human" in title else "judge"
                for metric in ("rating", "matches won"):
                    yield who, (who, metric, row["contestant"]), row.get(metric)
            elif row.get("judge") == "robot":
                for column, name in (("accuracy with ties", "accuracy"), ("first shown wins", "first shown wins")):
                    yield name, name, row.get(column)


def coverage(items, share, worlds, seed=11):
    """Return the share of worlds' intervals that hold the truth, by board, and how many there are."""
    true, rng, held = truth(), np.random.default_rng([seed, items]), defaultdict(list)
    for _ in range(worlds):
        for board, name, estimate in shown_numbers(report(board_world(rng, items, share), corrected=True)):
            if estimate is not None:
                held[board].append(estimate.low <= true[name] <= estimate.high)
    return {board: (np.mean(each), len(each)) for board, each in held.items()}


def check_coverage(items, share, worlds):
    found = coverage(items, share, worlds)
    assert set(found) == {"corrected", "people", "judge", "accuracy", "first shown wins"}
    goal = 0.92 if items < 12 else 0.93
    for board, (part, _) in found.items():
        assert part + 2 * (goal * (1 - goal) / worlds) ** 0.5 >= goal, (board, found)


def test_a_few_worlds():
    check_coverage(12, 0.5, 8)


@pytest.mark.slow
@pytest.mark.parametrize(("items", "share"), [(5, 0.9), (8, 0.7), (12, 0.5), (20, 0.4), (60, 0.2)])
def test_intervals_hold_the_truth(items, share):
    check_coverage(items, share, 2000 if items < 60 else 1000)


def mark(value):
    return float(np.clip(np.rint(value), 1, 5))


def score_world(rng, items):
    """Long answers are better; judges without a bias, two of them alike, one noisy, one that uses half of the scale."""
    judges = {"plain": (1.0, 0.7), "twin": (1.0, 0.7), "noisy": (1.0, 1.6), "narrow": (0.5, 0.5)}
    all_items, responses, verdicts = {}, {}, []
    for number in range(items):
        item = all_items[f"i{number}"] = Item.ask(f"i{number}", "?")
        hard = rng.normal(0, 0.5)
        for name in NAMES:
            words = int(np.exp(rng.normal(3, 0.7))) + 1
            worth = 3 + hard + 0.5 * (np.log2(words) - 4.3) + rng.normal(0, 0.6)
            responses[item.id, name] = Response.say(item.id, name, "word " * words)
            shown = (f"{number}{name}", item.id, (name,), "score:1-5")
            case, *rest = shown
            verdicts += [Verdict(case, "human", *rest, marks=(mark(worth + rng.normal(0, 0.7)),), rater=rater)
                         for rater in "abc"]  # fmt: skip
            verdicts += [
                Verdict(case, judge, *rest, marks=(mark(3 + slope * (worth - 3) + rng.normal(0, error)),))
                for judge, (slope, error) in judges.items()
            ]
    return Record(tuple(verdicts), all_items, responses), list(judges)


def share_accused(worlds, items=30, seed=1):
    """Return the share of cards that find a bias, by judge, and of cards that distinguish the twins."""
    rng, found = np.random.default_rng(seed), Counter()
    for _ in range(worlds):
        record, judges = score_world(rng, items)
        cards = {judge: card(record, judge) for judge in judges}
        found.update(judge for judge, made in cards.items() if "Biases found" in str(made.lead))
        (others,) = (table for table in cards["plain"].tables if table.name == "other judges")
        found["twins"] += any(
            row["other judge"] == "twin" and str(row["distinguished"]) == "yes" for row in rows(others)
        )
    return {name: found[name] / worlds for name in (*judges, "twins")}


def replacement_answers(worlds, items=30, seed=2):
    """Return the share of "yes", "no" and "not enough data" of five judges; people agree in about half of the pairs."""
    rng, answers = np.random.default_rng(seed), defaultdict(Counter)
    for _ in range(worlds):
        verdicts = []
        for item, (one, two) in ((item, pair) for item in range(items) for pair in PAIRS):
            gap = rng.normal(0, 0.8) + (STRENGTH[one] - STRENGTH[two]) / 2
            for shown, felt in (((NAMES[one], NAMES[two]), gap), ((NAMES[two], NAMES[one]), -gap)):
                coin = [(1.0, 0.0), (0.0, 1.0)][rng.integers(2)]
                rulings = {"ties": (0.5, 0.5), "first": (1.0, 0.0), "coin": coin, "person": draw_marks(rng, felt),
                           "mostly ties": (0.5, 0.5) if rng.random() < 0.9 else coin}  # fmt: skip
                case = (f"{item}/{shown}", f"i{item}", shown, "choice+tie")
                verdicts += [Verdict(case[0], judge, *case[1:], marks=marks) for judge, marks in rulings.items()]
            case = (f"{item}/{(NAMES[one], NAMES[two])}", f"i{item}", (NAMES[one], NAMES[two]), "choice+tie")
            verdicts += [Verdict(case[0], "human", *case[1:], marks=draw_marks(rng, gap), rater=rater)
                         for rater in "abc"]  # fmt: skip
        record = Record(tuple(verdicts))
        for judge in ("ties", "first", "coin", "mostly ties", "person"):
            (table,) = (table for table in card(record, judge).tables if table.name == "replacement")
            answers[judge][str(rows(table)[0]["may replace people"])] += 1
    return {judge: {answer: count / worlds for answer, count in of.items()} for judge, of in answers.items()}


def test_a_few_cards():
    assert max(share_accused(2).values()) <= 0.5
    assert replacement_answers(1)["ties"] == {"no": 1.0}


@pytest.mark.slow
def test_clean_judges_are_not_accused_and_empty_judges_replace_nobody():
    room = 2 * (0.05 * 0.95 / 200) ** 0.5
    assert max(share_accused(200).values()) <= 0.05 + room
    answers = replacement_answers(200)
    assert all(answers[judge].get("yes", 0) <= 0.05 + room for judge in set(answers) - {"person"})
    assert answers["person"].get("no", 0) <= 0.05 + room
