"""Votes over HTTP reach every table; several votes are joined by a rule and none is lost."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from itertools import combinations
from statistics import fmean, median

import pytest
from scipy.stats import pearsonr

from fullbench import Case, Choice, Item, Ledger, Picture, Ranking, Response, Score, Verdict
from tests.journeys.voting import Site, column, shown, tables
from tests.support.data_builders import png
from tests.support.wait_until import until

ITEMS = [f"q{n}" for n in range(8)]
NAMES = ("x", "y", "z")
PEOPLE = ["ann", "bob", "eve"]
JUDGE = "a-model"


def drawn(*what: object) -> random.Random:
    return random.Random("/".join(map(str, what)))


def text(item: str, contestant: str) -> str:
    return f"answer {contestant} to {item} 答案"


def whose(response: str) -> tuple[str, str]:
    """The item and the contestant of an answer."""
    contestant, item = re.search(r"answer (\w+) to (\w+)", response).groups()
    return item, contestant


def score(person: str, item: str, contestant: str) -> int:
    """What somebody scores an answer: all say 6, 7, 8 of the first item."""
    if item == "q0":
        return {"ann": 6, "bob": 7, "eve": 8}[person]
    return min(10, max(1, {"x": 4, "y": 6, "z": 8}[contestant] + drawn(person, item, contestant).randint(-3, 3)))


def best(person: str, item: str, pair: tuple[str, str]) -> str:
    """Which of a pair somebody prefers, or tie."""
    return drawn("pair", person, item, *pair).choice([*pair, "tie"])


def order(person: str, item: str) -> list[str]:
    return drawn("rank", person, item).sample(NAMES, 3)


def rating(person: str, item: str, contestant: str) -> int:
    return drawn("rate", person, item, contestant).randint(1, 10)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("votes")
    with Ledger(folder / "synthetic.ledger") as ledger:
        for name in ITEMS:
            item = Item.ask(name, f"What is {name}? 是什么？")
            # The kind `rate` is for pictures.
            answers = [Response(name, who, (text(name, who), Picture.from_bytes(png()))) for who in NAMES]
            for answer in answers:
                case = Case(item, (answer,), Score(1, 10))
                mark = drawn("judge", name, answer.contestant).randint(1, 10)
                ledger.add(case, Verdict.from_case(case, JUDGE, (mark,)))
            for pair in combinations(answers, 2):
                for way in (pair, pair[::-1]):
                    case = Case(item, way, Choice(tie=True))
                    first = drawn("judge", name, *(one.contestant for one in way)).random() < 0.6
                    ledger.add(case, Verdict.from_case(case, JUDGE, (1.0, 0.0) if first else (0.0, 1.0)))
            case = Case(item, tuple(answers), Ranking())
            marks = drawn("judge rank", name).sample([1.0, 2.0, 3.0], 3)
            ledger.add(case, Verdict.from_case(case, JUDGE, marks))
            case = Case(item, tuple(answers), Score(1, 10))
            ledger.add(
                case, Verdict.from_case(case, JUDGE, [float(drawn("r", name, who).randint(1, 10)) for who in NAMES])
            )
    served = Site(folder, folder / "synthetic.ledger")
    served.client("boss", "organiser")  # pictures need a lead's account
    kinds = {"score": "score:1-10", "pair": "choice+tie", "rank": "ranking", "rate": "score:1-10"}
    for kind, ballot in kinds.items():
        served.people("add", kind, "--kind", kind, "--ballot", ballot, "--ledger", served.ledger, "--votes", 3)

    def choose(person: str, task: dict) -> dict[str, str]:
        answers = [whose(response) for response in shown(task)]
        item, names = answers[0][0], [name for _, name in answers]
        if task["kind"] == "score":
            return {"mark": str(score(person, item, names[0]))}
        if task["kind"] == "pair":
            won = best(person, item, tuple(sorted(names)))
            return {"best": "tie" if won == "tie" else str(names.index(won))}
        if task["kind"] == "rank":
            return {"order": ",".join(str(names.index(name)) for name in order(person, item))}
        return {f"mark{place}": str(rating(person, item, name)) for place, name in enumerate(names)}

    for kind in kinds:
        count = served.vote(kind, PEOPLE, choose)
        assert count == 3 * {"score": 24, "pair": 24, "rank": 8, "rate": 8}[kind]
        served.people("keep", kind, "--ledger", served.ledger)
    yield served
    served.close()


def report(site, *options: object) -> dict[str, dict]:
    return tables(site.cli("report", "--ledger", site.ledger, "--json", *options))


def joint_scores(middle) -> dict[tuple[str, str], float]:
    return {(q, who): middle([score(person, q, who) for person in PEOPLE]) for q in ITEMS for who in NAMES}


def joint_winner(item: str, pair: tuple[str, str]) -> str | None:
    """The commonest vote on a pair; None where no vote is."""
    counts = Counter(best(person, item, pair) for person in PEOPLE).most_common()
    leading = [vote for vote, count in counts if count == counts[0][1]]
    return leading[0] if len(leading) == 1 else None


def test_every_vote_is_in_the_ledger_with_its_rater(site):
    with Ledger(site.ledger, read_only=True) as ledger:
        votes = list(ledger.verdicts("human", texts=False))
    assert len(votes) == 3 * (24 + 24 + 8 + 8)
    assert {vote.rater for vote in votes} == {site.rater(name) for name in PEOPLE}
    assert not {vote.rater for vote in votes} & set(PEOPLE), "names stay in the web's database"
    assert all(vote.circumstances.blind for vote in votes)


@pytest.mark.parametrize(("rule", "middle"), [("default", fmean), ("mean", fmean), ("median", median)])
def test_scores_are_joined_and_none_vanishes(site, rule, middle):
    found = report(site, "--rule", rule)
    joint = joint_scores(middle)
    assert joint["q0", "x"] == 7
    means = column(found["leaderboard human, score"], "mean score:1-10")
    assert means == pytest.approx({who: fmean(joint[q, who] for q in ITEMS) for who in NAMES}, abs=1e-12)
    ours = [drawn("judge", q, who).randint(1, 10) for q, who in joint]
    agreement = found["agreement scores"]
    assert agreement["source"]["rule"] == ("mean" if rule == "default" else rule)
    assert column(agreement, "Pearson", "judge")[JUDGE] == pytest.approx(pearsonr(ours, list(joint.values()))[0])
    assert column(agreement, "n", "judge")[JUDGE] == len(joint)
    said = " ".join(agreement["notes"])
    assert "72 votes on 24 sets of responses, 24 of them with several votes" in said
    assert f"the {'mean' if rule == 'default' else rule}" in said


def test_a_split_pair_is_a_tie_that_is_counted(site):
    found = report(site)
    pairs = [(q, pair) for q in ITEMS for pair in combinations(NAMES, 2)]
    winners = {place: joint_winner(*place) for place in pairs}
    split = sum(winner is None for winner in winners.values())
    assert split > 1
    hits = 0
    for (item, pair), winner in winners.items():
        for way in (pair, pair[::-1]):
            first = drawn("judge", item, *way).random() < 0.6
            hits += way[0 if first else 1] == winner
    agreement = found["agreement pairs"]
    assert column(agreement, "n", "judge")[JUDGE] == 2 * len(pairs) + len(ITEMS)
    assert any(f"{split} of them are split" in note and "ties" in note for note in agreement["notes"])
    rated = {q: [fmean(rating(person, q, who) for person in PEOPLE) for who in NAMES] for q in ITEMS}
    for q in ITEMS:
        ours = [drawn("r", q, who).randint(1, 10) for who in NAMES]
        tops = [[place for place, mark in enumerate(marks) if mark == max(marks)] for marks in (ours, rated[q])]
        hits += (tops[0][0] if len(tops[0]) == 1 else None) == (tops[1][0] if len(tops[1]) == 1 else None)
    share = column(agreement, "accuracy with ties", "judge")[JUDGE]
    assert share == pytest.approx(hits / (2 * len(pairs) + len(ITEMS)), abs=1e-12)


def test_rankings_have_mean_ranks(site):
    found = report(site)
    agreement = found["agreement rankings"]
    assert column(agreement, "n", "judge")[JUDGE] == len(ITEMS)
    hits = 0.0
    for q in ITEMS:
        mean_rank = {who: fmean(order(person, q).index(who) for person in PEOPLE) for who in NAMES}
        leading = [who for who in NAMES if mean_rank[who] == min(mean_rank.values())]
        marks = dict(zip(NAMES, drawn("judge rank", q).sample([1.0, 2.0, 3.0], 3), strict=True))
        hits += (max(marks, key=marks.get) in leading) / len(leading)
    assert column(agreement, "same first", "judge")[JUDGE] == pytest.approx(hits / len(ITEMS), abs=1e-12)


def test_picture_ratings_are_means_of_each_picture(site):
    with Ledger(site.ledger, read_only=True) as ledger:
        from fullbench.analysis.people.joined_votes import join_column_votes

        part = join_column_votes(ledger.columns(["human"])).columns
    rated = {}
    for row in range(len(part)):
        if part.response_counts[row] == 3 and part.names["ballot"][part.ballot[row]] == "score:1-10":
            for at in range(part.start[row], part.start[row + 1]):
                who = part.names["contestant"][part.contestant[at]]
                rated[part.names["item"][part.item[row]], who] = part.mark[at]
    assert rated == {(q, who): fmean(rating(one, q, who) for one in PEOPLE) for q in ITEMS for who in NAMES}


def test_each_vote_on_its_own(site):
    found = report(site, "--rule", "each")
    won = Counter()
    for q in ITEMS:
        for pair in combinations(NAMES, 2):
            for person in PEOPLE:
                vote = best(person, q, pair)
                for who in pair:
                    won[who] += 0.5 if vote == "tie" else float(vote == who)
            for person in PEOPLE:
                a, b = (rating(person, q, who) for who in pair)
                won[pair[0]] += 0.5 if a == b else float(a > b)
                won[pair[1]] += 0.5 if a == b else float(b > a)
    shares = column(found["leaderboard human, pair"], "matches won")
    assert shares == pytest.approx({who: won[who] / (8 * 2 * 3 * 2) for who in NAMES}, abs=1e-12)


def dawid_skene(votes: dict[str, dict[str, int]]) -> dict[str, int]:
    """Expectation maximisation in plain Python: labels by task and person to the likeliest label of each task."""
    labels = sorted({label for cast in votes.values() for label in cast.values()}, key=str)
    chance = {task: {label: list(cast.values()).count(label) / len(cast) for label in labels}
              for task, cast in votes.items()}  # fmt: skip
    likelihood = [-1e9]
    while len(likelihood) < 3 or likelihood[-1] - likelihood[-2] >= 1e-7 * 3 * len(votes):
        total = 0.0
        share = {label: fmean(chance[task][label] for task in votes) for label in labels}
        errs: dict[tuple[str, int, int], float] = {}
        for person in PEOPLE:
            for truth in labels:
                weight = sum(chance[task][truth] for task in votes)
                for said in labels:
                    given = sum(chance[task][truth] for task in votes if votes[task][person] == said)
                    errs[person, truth, said] = given / weight if weight > 1e-10 else 1 / len(labels)
        for task, cast in votes.items():
            raw = {label: max(share[label], 1e-10) for label in labels}
            for person, said in cast.items():
                raw = {label: raw[label] * max(errs[person, label, said], 1e-10) for label in labels}
            chance[task] = {label: value / sum(raw.values()) for label, value in raw.items()}
            total += math.log(sum(raw.values()))
        likelihood.append(total)
    return {task: max(labels, key=lambda label: round(chance[task][label], 9)) for task in votes}


def test_dawid_and_skene(site):
    votes = {f"{q}/{who}": {one: score(one, q, who) for one in PEOPLE} for q in ITEMS for who in NAMES}
    labels = dawid_skene(votes)
    means = column(report(site, "--rule", "dawid-skene")["leaderboard human, score"], "mean score:1-10")
    assert means == pytest.approx({who: fmean(labels[f"{q}/{who}"] for q in ITEMS) for who in NAMES}, abs=1e-12)


def test_every_door_says_the_same(site):
    whole = report(site)
    card = tables(site.cli("card", JUDGE, "--ledger", site.ledger, "--json"))["agreement"]
    pearson = next(row[2]["value"] for row in card["rows"] if row[:2] == ["scores", "Pearson"])
    assert pearson == column(whole["agreement scores"], "Pearson", "judge")[JUDGE]
    assert card["source"]["rule"]["scores"] == "mean"
    shown_board = tables(site.cli("leaderboard", "show", "--ledger", site.ledger, "--judge", "human", "--json"))
    ours = column(whole["leaderboard human, score"], "mean score:1-10")
    assert column(shown_board["board, score"], "mean score:1-10") == ours
    campaign = tables(site.people("show", "score", "--json"))["contestants"]
    assert column(campaign, "mean score:1-10") == ours
    boss = site.client("boss", "organiser")

    def human() -> dict | None:
        listed = [row for row in boss.get("/api/v1/boards").json()["rows"] if row["judge"] == "human"]
        board = boss.get(f"/api/v1/boards/{listed[0]['name']}") if listed and listed[0]["verdicts"] == 192 else None
        return board.json() if board is not None and board.status_code == 200 else None

    board = until(human)
    by_name = {table["name"]: table for table in (one.get("table", one) for one in board["tables"])}
    assert column(by_name["leaderboard, score"], "mean score:1-10") == ours


def test_an_unknown_rule_is_one_sentence(site):
    said = site.cli("report", "--ledger", site.ledger, "--rule", "loudest", code=2)
    assert "unknown rule 'loudest' for several votes; known: default, mean, median" in said
    assert "unknown rule" in site.cli(
        "leaderboard", "show", "--ledger", site.ledger, "--judge", "human", "--rule", "loudest", code=2
    )


def test_what_a_judge_got_right_and_wrong_by_peoples_votes(site, tmp_path):
    """MLLM-as-a-Judge's HQ and HARD, from votes of the site: the panels of each, and a study that runs them again."""
    with Ledger(site.ledger, read_only=True) as ledger:
        ruled = [verdict for verdict in ledger.verdicts(JUDGE) if len(verdict.contestants) < 3]
    means = joint_scores(fmean)
    said: dict[tuple[str, frozenset[str]], list[tuple[bool, bool]]] = {}
    for verdict in ruled:
        names = verdict.contestants
        if len(names) == 1:
            apart = abs(verdict.marks[0] - means[verdict.item, names[0]])
            both = (apart < 0.5, apart >= 2)
        else:
            won = joint_winner(verdict.item, tuple(sorted(names)))
            chosen = names[verdict.marks.index(1.0)]
            both = (chosen == won, won in names and chosen != won)
        said.setdefault((verdict.item, frozenset(names)), []).append(both)
    expected = {
        "hq": {panel for panel, rulings in said.items() if all(right for right, _ in rulings)},
        "hard": {panel for panel, rulings in said.items() if any(wrong for _, wrong in rulings)},
    }
    for which, panels in expected.items():
        out = tmp_path / which
        site.cli(
            "export", "mllm-as-a-judge", "--ledger", site.ledger, "--subset", which, "--judge", JUDGE, "--out", out
        )
        rows = [json.loads(line) for line in (out / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
        found = {(row["item"], frozenset(row["contestants"])) for row in rows if len(row["contestants"]) < 3}
        assert found == panels
        assert 3 < len(panels) < 45
        assert (out / "study.toml").exists()
