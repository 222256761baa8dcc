"""Peer review on pictures of one's own with real servers, people's votes on both criteria, and every figure by hand."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from fullbench import Case, Ledger, Verdict
from fullbench.core.rubric import CORRECTNESS, CORRELATION, VISUAL
from fullbench.judges.peer_review.review_items_and_cases import BALLOT
from fullbench.judges.peer_review.review_prompts import default_review_template
from tests.support.commands import Done, cli
from tests.support.data_builders import chance, png
from tests.support.scripted_server import Asked, ScriptedServer

COLOURS = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220), "yellow": (230, 220, 20),
           "purple": (150, 20, 220)}  # fmt: skip
PICTURES = {hashlib.sha256(png(rgb)).hexdigest(): name for name, rgb in COLOURS.items()}
SKILL = {"gpt-a": 0.9, "gpt-b": 0.75, "tau": 0.6, "rho": 0.35}
FAMILY = {"gpt-a": "gpt", "gpt-b": "gpt", "tau": "house", "rho": "house"}
HUMAN = {"gpt-a": 71.5, "gpt-b": 64.0, "tau": 30.2, "rho": 44.9}
GAMMA = {CORRECTNESS: 0.3, VISUAL: 0.3, CORRELATION: 0.4}
OWN_WORDS = """=== user
写一个问题，用 [own] 开头。
--- answer
Say it in my own manner.
--- choose
Pick in my own manner.
--- correctness
my own rule of right and wrong
--- visual
my own rule of looking
"""
OWN_PROMPT = """=== system
You sit in my own court.
=== user
{pictures}
{question}
--- pictures
{text}
--- question
It was asked:
{text}
--- case
{criterion}
{responses}
{verdict}
--- criterion
Go by {text}!
--- responses
{text}
--- direct
{text}
--- analyze
{text}
"""


def said(asked: Asked) -> str:
    """A model that writes questions, answers with its skill, and rules by the colour (or, on looks, by length)."""
    model, (picture,) = asked.model, asked.pictures
    colour = PICTURES[picture]
    answers = re.findall(r"<(response [A-Z] \w+)>\n(.*?)\n</\1>", asked.last, re.DOTALL)
    if answers:
        texts = [text for _, text in answers]
        looks = "understands the picture" in asked.last or "rule of looking" in asked.last or "理解得如何" in asked.last
        worth = [len(text) if looks else colour in text for text in texts]
        if chance("rules", model, colour, *sorted(texts), looks) > SKILL[model]:
            worth = [text == min(texts) for text in texts] if worth[0] == worth[1] else worth[::-1]
        ruling = "C" if worth[0] == worth[1] else "A" if worth[0] > worth[1] else "B"
        return f"看过了。\n[[{ruling}]]"
    if "What colour" in asked.last:
        right = chance("answers", model, asked.last, picture) < SKILL[model]
        others = sorted(set(COLOURS) - {colour})
        named = colour if right else others[int(len(others) * chance("wrong", model, picture))]
        return f"It is {named}{' and it is so' * int(4 * chance('long', model, asked.last, picture))}."
    return f"What colour is this? 什么颜色？ ({model}, {colour})"


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(dict.fromkeys(SKILL, said)) as served:
        yield served


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pictures")
    (made / "photos").mkdir()
    for name, rgb in COLOURS.items():
        (made / "photos" / f"{name}.png").write_bytes(png(rgb))
    rows = "".join(f"{name},{score}\n" for name, score in HUMAN.items())
    (made / "scores.csv").write_text(f"contestant,score\n{rows}", encoding="utf-8")
    (made / "wording.txt").write_text(OWN_WORDS, encoding="utf-8")
    (made / "template.txt").write_text(OWN_PROMPT, encoding="utf-8")
    return made


def command(server: ScriptedServer, folder: Path, *more: object) -> Done:
    named = ",".join(f"vllm:{name}@{server.url}?label=here" for name in SKILL)
    words = ("--images", folder / "photos", "--contestants", named, "--ledger", folder / "a.ledger")
    kin = ("--families", ",".join(f"{name}={family}" for name, family in FAMILY.items()))
    return cli("peer-review", *words, *kin, "--quiet", "--json", *more)


def short(name: str) -> str:
    """A contestant or a reviewer by the name of its model."""
    return name.partition("@here")[0]


def kin_of(verdict: Verdict) -> set[str]:
    return {FAMILY[short(name)] for name in verdict.contestants}


def vote(case: Case) -> tuple[float, float]:
    """People go by the colour on both criteria, and say the contrary on looks in a third of cases."""
    hits = [case.item.tags["image"].partition(".")[0] in response.text for response in case.responses]
    if case.criterion == VISUAL and chance("people", case.item.id, sorted(map(short, case.contestants))) < 1 / 3:
        hits.reverse()
    return (0.5, 0.5) if hits[0] == hits[1] else (float(hits[0]), float(hits[1]))


@pytest.fixture(scope="module")
def reviewed(server, folder):
    """The review; then three people's votes on every pair by both criteria; then the same command again."""
    words = ("--correlation", "colours", "--gamma", "0.3,0.3,0.4", "--initial", "uniform",
             "--human-scores", folder / "scores.csv")  # fmt: skip
    before = command(server, folder, *words).tables
    asked = list(server.asked)
    with Ledger(folder / "a.ledger") as book:
        record = book.record()
        for verdict in record:
            if len(verdict.contestants) == 2:
                shown = tuple(record.responses[verdict.item, name] for name in verdict.contestants)
                case = Case(record.items[verdict.item], shown, BALLOT, verdict.criterion)
                for person in ("p1", "p2", "p3"):
                    book.add(case, Verdict.from_case(case, "human", vote(case), rater=person))
    after = command(server, folder, *words).tables
    assert len(server.asked) == len(asked), "nothing is asked twice"
    return before, after, asked, folder / "a.ledger"


def labels(table: dict) -> list[str]:
    return [entry["label"] if isinstance(entry, dict) else entry for entry in table["columns"]]


def cells(table: dict, *keys: str) -> dict:
    """The rows of a table as dictionaries, by the values of some columns; estimates by their value."""
    plain = [
        {
            label: cell["value"] if isinstance(cell, dict) else short(cell) if isinstance(cell, str) else cell
            for label, cell in zip(labels(table), row, strict=True)
        }
        for row in table["rows"]
    ]
    return {tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]]: row for row in plain}


def rulings(ledger: Path) -> list[tuple[str, str, str, str, str, float]]:
    """Plain rows of the usual reviewers: item, reviewer, first, second, criterion, what the first got."""
    with Ledger(ledger, read_only=True) as book:
        return [
            (verdict.item, short(verdict.judge), *map(short, verdict.contestants), verdict.criterion, verdict.marks[0])
            for verdict in book.record()
            if len(verdict.contestants) == 2 and verdict.judge != "human" and "[" not in verdict.item
        ]


def texts(ledger: Path) -> dict[tuple[str, str], str]:
    with Ledger(ledger, read_only=True) as book:
        return {(response.item, short(response.contestant)): response.text for response in book.responses()}


def points(ledger: Path, gamma: dict[str, float] = GAMMA) -> dict[tuple[str, str], list[float]]:
    """What each reviewer gave each contestant, review by review (equations 6 to 9); cosines by the words alone."""
    text, parts = texts(ledger), defaultdict(dict)
    for item, reviewer, one, two, criterion, mark in rulings(ledger):
        for name, won in ((one, mark), (two, 1 - mark)):
            parts[item, reviewer, frozenset((one, two)), name][criterion] = won
    given = defaultdict(list)
    for (item, reviewer, _, name), worth in parts.items():
        named = next(colour for colour in COLOURS if colour in text[item, name])
        worth[CORRELATION] = 1.0 if item.startswith(named) else -1.0
        given[reviewer, name].append(sum(gamma[part] * worth[part] for part in gamma) / sum(gamma.values()))
    return given


def graded(given: dict[tuple[str, str], list[float]], weight: dict[str, float]) -> dict[str, float]:
    """Weighted means (equation 5)."""
    grades = {}
    for name in SKILL:
        heard = [(weight[who], mark) for (who, of), marks in given.items() if of == name for mark in marks]
        plain = fmean(mark for _, mark in heard)
        total = sum(share for share, _ in heard)
        grades[name] = sum(share * mark for share, mark in heard) / total if total > 1e-9 else plain
    return grades


def settled(given: dict[tuple[str, str], list[float]]) -> dict[str, float]:
    """Weights that are the scores from 0 to 1, by plain iteration from uniform ones (equation 10)."""
    weight = dict.fromkeys(SKILL, 1.0)
    for _ in range(300):
        grade = graded(given, weight)
        low, high = min(grade.values()), max(grade.values())
        weight = {name: 0.5 * weight[name] + 0.5 * (grade[name] - low) / (high - low) for name in SKILL}
    return grade


def pearson(scores: dict[str, float]) -> float:
    return stats.pearsonr([scores[name] for name in SKILL], [HUMAN[name] for name in SKILL]).statistic


def test_scores_of_three_parts_and_every_weighting_are_those_computed_by_hand(reviewed):
    _, tables, _, ledger = reviewed
    given, near = points(ledger), cells(tables["nearness"], "method")
    ranking = cells(tables["ranking"], "contestant")
    alike = graded(given, dict.fromkeys(SKILL, 1.0))
    assert {name: row["uniform"] for name, row in ranking.items()} == pytest.approx(alike)
    assert {name: row["UPME"] for name, row in ranking.items()} == pytest.approx(settled(given), abs=1e-6)
    assert {name: row["truth"] for name, row in ranking.items()} == HUMAN
    best_first = sorted(SKILL, key=lambda name: -HUMAN[name])
    steps = dict(zip(best_first, (1, 2 / 3, 1 / 3, 0), strict=True))
    turned = dict(zip(best_first, (0, 1 / 3, 2 / 3, 1), strict=True))
    assert near["consistent weights"]["pearson"] == pytest.approx(pearson(graded(given, steps)))
    assert near["reversed weights"]["pearson"] == pytest.approx(pearson(graded(given, turned)))
    assert near["uniform"]["pearson"] == pytest.approx(pearson(alike))
    assert any("1 of 1 starts converged" in note for note in tables["convergence"]["notes"]), "--initial uniform"
    curve = cells(tables["nearing"], "round")
    assert curve[0]["pearson"] == pytest.approx(pearson(alike))
    ended = curve[max(curve)]["pearson"]
    assert ended == pytest.approx(near["UPME"]["pearson"], abs=1e-4), "the curve ends where the start settled"


def test_the_ablation_takes_away_parts_of_the_very_weights_that_were_named(reviewed):
    _, tables, _, ledger = reviewed
    rows = cells(tables["ablation"], "parts")
    assert rows.pop("all, equal weights")["pearson"] == pytest.approx(
        pearson(graded(points(ledger), dict.fromkeys(SKILL, 1.0)))
    )
    combined = [" + ".join(some) for size in (1, 2, 3) for some in combinations(GAMMA, size)]
    assert list(rows) == combined
    for name, row in rows.items():
        some = {part: GAMMA[part] for part in name.split(" + ")}
        assert row["pearson"] == pytest.approx(pearson(settled(points(ledger, some))), abs=1e-5), name


def test_accuracy_and_biases_stand_by_criterion_against_peoples_votes(reviewed):
    before, tables, _, ledger = reviewed
    assert not {"accuracy", "biases", "people"} & set(before), "a list of scores says nothing of single pairs"
    text = texts(ledger)
    hits, counts = defaultdict(list), defaultdict(lambda: [0, 0, 0, 0])
    for item, reviewer, one, two, criterion, mark in rulings(ledger):
        colour = item.partition(".")[0]
        true = [float(colour in text[item, name]) for name in (one, two)]
        true = 0.5 if true[0] == true[1] else true[0]
        if criterion == VISUAL and chance("people", item, sorted((one, two))) < 1 / 3:
            true = 1 - true
        hits[reviewer, criterion].append(mark == true)
        if mark == 0.5 or true == 0.5:
            continue
        winner, loser = (one, two) if mark == 1 else (two, one)
        wrong = 0 if mark != true else 2
        if len(text[item, winner].split()) != len(text[item, loser].split()):
            longer = len(text[item, winner].split()) > len(text[item, loser].split())
            counts["longer answer", criterion][wrong + (not longer)] += 1
        if (FAMILY[winner] == FAMILY[reviewer]) != (FAMILY[loser] == FAMILY[reviewer]):
            counts["own family", criterion][wrong + (FAMILY[winner] != FAMILY[reviewer])] += 1
    accuracy = cells(tables["accuracy"], "reviewer")
    for (reviewer, criterion), hit in hits.items():
        assert accuracy[reviewer][f"{criterion} right"] == pytest.approx(fmean(hit))
    for criterion in (CORRECTNESS, VISUAL):
        every = [hit for (_, of), some in hits.items() if of == criterion for hit in some]
        assert accuracy["all reviewers"][f"{criterion} right"] == pytest.approx(fmean(every))
        assert cells(tables["people"], "criterion")[criterion]["consistency"] == pytest.approx(fmean(every))
    shown = cells(tables["biases"], "chosen", "criterion")
    assert set(shown) == set(counts)
    for key, row in shown.items():
        assert [row[label] for label in ("wrong: yes", "wrong: no", "right: yes", "right: no")] == counts[key]
        test = stats.chi2_contingency(np.array(counts[key]).reshape(2, 2), correction=False)
        assert (row["chi-square"], row["p"]) == pytest.approx((test.statistic, test.pvalue))


def test_who_could_decide_the_order_by_ruling_for_each_other(reviewed):
    _, tables, _, ledger = reviewed
    given = points(ledger)
    grade = settled(given)
    best = max(grade, key=grade.get)
    able = []
    for pair in combinations(sorted(SKILL), 2):
        favoured = {
            (who, of): [1.0] * len(marks) if {who, of} == set(pair) else marks for (who, of), marks in given.items()
        }
        after = settled(favoured)
        if best not in pair and max(after, key=after.get) in pair:
            able.append(pair)
    (note,) = (note for note in tables["warnings"]["notes"] if "could put one of themselves first" in note)
    assert able
    assert note.startswith(f"{len(able)} of 6 pairs of reviewers")
    assert all(name in note for name in able[0])


def test_reviewers_see_the_picture_the_question_and_the_answers_alone(reviewed):
    *_, asked, _ = reviewed
    reviews = [one for one in asked if "<response A" in one.last]
    assert len(reviews) == 4 * 3 * 5 * 2
    assert not any(
        default_review_template().answer in one.words or "The conversation before" in one.words for one in reviews
    )
    assert all(len(one.pictures) == 1 for one in reviews)
    answers = [one for one in asked if one.last.startswith("What colour")]
    assert len(answers) == 4 * 3 * 5
    assert all(one.turns[0] == ("system", default_review_template().answer) for one in answers)
    assert all(f"({one.model}," not in one.last for one in answers), "nobody answers its own question"


def test_words_and_prompt_of_ones_own_in_chinese_without_kin(server, folder, reviewed):
    """Another wording has other questions, answers and judges in the same ledger: nothing of the first is mixed in."""
    before = len(server.asked)
    words = ("--review-template", folder / "wording.txt", "--template", folder / "template.txt", "--language", "zh")
    tables = command(server, folder, *words, "--no-own-family", "--limit", 2, "--initial", "random").tables
    asked = server.asked[before:]
    wrote = [one for one in asked if "写一个问题" in one.last]
    reviews = [one for one in asked if one.turns[0] == ("system", "You sit in my own court.")]
    answers = [one for one in asked if one.turns[0] == ("system", "Say it in my own manner.")]
    assert (len(wrote), len(answers), len(reviews)) == (4 * 2, 4 * 2 * 2, 4 * 2 * 2)
    assert len(asked) == len(wrote) + len(answers) + len(reviews)
    rules = [re.search(r"Go by my own rule of (\w+)", one.last)[1] for one in reviews]
    assert sorted(rules) == ["looking"] * 8 + ["right"] * 8
    assert all("It was asked:\nWhat colour" in one.last for one in reviews)
    with Ledger(folder / "a.ledger", read_only=True) as book:
        ours = [verdict for verdict in book.record() if "[" in verdict.item]
    assert len(ours) == len(reviews)
    assert all(FAMILY[short(verdict.judge)] not in kin_of(verdict) for verdict in ours)
    won = defaultdict(list)
    for verdict in ours:
        for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
            won[short(name)].append(mark)
    shown = {name: row["uniform"] for name, row in cells(tables["ranking"], "contestant").items()}
    assert shown == pytest.approx({name: fmean(marks) for name, marks in won.items()})
    assert any("of 1 starts converged" in note for note in tables["convergence"]["notes"])


def test_the_shipped_chinese_words_ask_throughout(server, folder, reviewed):
    before = len(server.asked)
    command(server, folder, "--language", "zh", "--limit", 1)
    zh = default_review_template("zh")
    asked = [one.words for one in server.asked[before:]]
    assert len(asked) == 4 + 4 * 3 + 4 * 3 * 2
    for said_in, times in ((zh.write, 4), (zh.answer, 12), (zh.criteria[CORRECTNESS], 12), (zh.criteria[VISUAL], 12)):
        assert sum(said_in in words for words in asked) == times
    assert not any("Judge this alone" in words or "You will examine" in words for words in asked)
