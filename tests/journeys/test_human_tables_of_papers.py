"""Human tables of the papers from votes over HTTP equal an independent computation."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from itertools import combinations
from statistics import fmean

import pytest
from scipy import stats

from fullbench import Case, Choice, Item, Ledger, Picture, Response, Score, Verdict
from fullbench.judges.peer_review.review_prompts import default_review_template
from fullbench.synthetic.item_generator import build_items
from tests.journeys.voting import Site, asked, column, shown, tables
from tests.support.data_builders import png

PEOPLE = ["ann", "bob", "cid", "dee", "eve"]


def drawn(*what: object) -> random.Random:
    return random.Random("/".join(map(str, what)))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    served = Site(folder, None)
    yield served
    served.close()


def report(site, ledger, benchmark: str) -> dict[str, dict]:
    return tables(site.cli("report", "--ledger", ledger, "--benchmark", benchmark, "--json"))


def cells(table: dict) -> list[dict]:
    labels = [entry["label"] if isinstance(entry, dict) else entry for entry in table["columns"]]
    return [dict(zip(labels, row, strict=True)) for row in table["rows"]]


def test_visit_bench_figure_7_and_the_human_board(site, tmp_path):
    """Five forced choices on every pair: levels of agreement, accuracy of a judge, all votes as matches."""
    ledger, names = tmp_path / "v.ledger", ("alpha", "beta", "gamma", "reference")
    worth = dict(zip(names, (0.2, 0.4, 0.6, 0.9), strict=True))
    rulings = {}
    with Ledger(ledger) as book:
        for number in range(10):
            item = Item.ask(f"v{number}", f"Question {number}?", tags={"family": "home" if number % 2 else "road"})
            answers = [Response.say(item.id, name, f"[{name}] of {item.id}") for name in names]
            for pair in combinations(answers, 2):
                for way in (pair, pair[::-1]):
                    case = Case(item, way, Choice(tie=False))
                    first = drawn("judge", item.id, *(one.contestant for one in way)).random() < 0.5
                    book.add(case, Verdict.from_case(case, "metric", (1.0, 0.0) if first else (0.0, 1.0)))
                    rulings.setdefault((item.id, *sorted(one.contestant for one in pair)), []).append(
                        way[0 if first else 1].contestant
                    )
    site.people("add", "visit", "--kind", "pair", "--ballot", "choice", "--ledger", ledger, "--votes", 5)

    def best(person: str, item: str, pair: tuple[str, str]) -> str:
        low, high = sorted(pair, key=worth.get)
        return high if drawn(person, item, *pair).random() < 0.5 + (worth[high] - worth[low]) / 2 else low

    def choose(person, task):
        there = [re.search(r"\[(\w+)\] of (\w+)", text).groups() for text in shown(task)]
        pair = tuple(sorted(name for name, _ in there))
        return {"best": str([name for name, _ in there].index(best(person, there[0][1], pair)))}

    assert site.vote("visit", PEOPLE, choose) == 5 * 60
    site.people("keep", "visit", "--ledger", ledger)
    found = report(site, ledger, "visitbench")
    hits = defaultdict(list)
    votes_won, duels = Counter(), Counter()
    for (item, *pair), ruled in rulings.items():
        cast = Counter(best(person, item, tuple(pair)) for person in PEOPLE)
        winner, count = cast.most_common(1)[0]
        hits[f"{count}/5"].append(fmean(ruling == winner for ruling in ruled))
        for name in pair:
            votes_won[name] += cast[name]
            duels[name] += 5
    table = {row["people who agree"]: row["accuracy"] for row in cells(found["people"]) if row["judge"] == "metric"}
    assert {level: table[level]["value"] for level in ("5/5", "4/5", "3/5")} == pytest.approx(
        {level: fmean(hits[level]) for level in ("5/5", "4/5", "3/5")}, abs=1e-12
    )
    every = json.loads(site.cli("report", "--ledger", ledger, "--benchmark", "visitbench", "--json"))
    board = next(table for table in every if table["title"].startswith("Leaderboard by human"))
    assert "each" in board["title"]
    assert column(board, "matches won") == pytest.approx(
        {name: votes_won[name] / duels[name] for name in names}, abs=1e-12
    )
    assert column(board, "matches") == dict.fromkeys(names, 150)
    assert column(board, "rank")["reference"] == "1"


def test_upme_table_3(site, tmp_path):
    """Two people choose, two others are told the ruling; agreement and consistency by criterion."""
    ledger, rulings = tmp_path / "u.ledger", {}
    with Ledger(ledger) as book:
        for number in range(8):
            tags = {"reviewer": "r", "image": f"p{number}"}
            item = Item.ask(
                f"u{number}", f"Question {number}?", Picture.from_bytes(png((30 * number, 9, 9))), tags=tags
            )
            pair = tuple(Response.say(item.id, name, f"[{name}] of {item.id}") for name in ("m-one", "m-two"))
            for criterion in ("correctness", "visual"):
                case = Case(item, pair, Choice(), criterion)
                first = drawn("r", number, criterion).random() < 0.5
                text = f"<{criterion} {number}>"
                book.add(case, Verdict.from_case(case, "r", (1.0, 0.0) if first else (0.0, 1.0), text=text))
                rulings[criterion, item.id] = (text, "m-one" if first else "m-two")
    site.client("boss", "organiser")
    paper = ("--paper", "upme", "--ledger", ledger, "--votes", 2, "--most", 5)
    for criterion in ("correctness", "visual"):
        site.people("add", f"choose {criterion}", "--kind", "pair", "--criterion", criterion, "--reason", *paper)
        path = f"/api/v1/studies/{site.study(f'choose {criterion}')}"
        lease = site.client("ann").post(f"{path}/next", json={}).json()["task"]["lease"]
        bare = {"lease": lease, "key": lease, "fields": {"best": "0"}, "seconds": 3}
        refused = site.client("ann").post(f"{path}/votes", json=bare)
        assert (refused.status_code, "reason" in refused.text) == (400, True), refused.text

        def choose(person, task, criterion=criterion):
            there = [re.search(r"\[([\w-]+)\] of (\w+)", text).groups() for text in shown(task)]
            wish = drawn("truth", criterion, there[0][1]).choice(["m-one", "m-two"])
            return {"best": str([name for name, _ in there].index(wish)), "reason": f"{wish} 看得更准"}

        assert site.vote(f"choose {criterion}", ["ann", "bob"], choose) == 16
        site.people("keep", f"choose {criterion}", "--ledger", ledger)
        with Ledger(ledger, read_only=True) as book:
            votes = list(book.record(["human"]).where(criterion=criterion))
        won = [vote.contestants[vote.marks.index(max(vote.marks))] for vote in votes]
        assert [vote.text for vote in votes] == [f"{name} 看得更准" for name in won]
    one = site.said("add", "told visual", "--kind", "agree", "--ledger", ledger, "--criterion", "visual")
    assert "8 tasks" in one
    assert "16 votes of people with a reason were left out" in " ".join(one.split())
    assert "8 verdicts on other criteria were left out." in " ".join(one.split())
    none = ("--kind", "agree", "--ledger", ledger, "--criterion", "taste")
    assert "there are: correctness, visual" in site.people("add", "none", *none, code=2)
    apart = ("--separate-from", "choose correctness", "--separate-from", "choose visual")
    assert "16 tasks" in site.said("add", "told", "--kind", "agree", *paper, *apart)
    offered = site.client("ann").post(f"/api/v1/studies/{site.study('told')}/next", json={}).json()
    assert offered["task"] is None, "who chose on a picture is not told of a ruling on it"
    likes = {"correctness": 0.4, "visual": 0.9}

    def agree(_person, task):
        text = shown(task)[0]
        yes = drawn("agree", text).random() < likes[text[1:].split()[0]]
        return {"agree": "yes" if yes else "no", "grade": "5", "hallucination": "yes"}

    assert site.vote("told", ["cid", "dee"], agree) == 32
    site.people("keep", "told", "--ledger", ledger)
    table = report(site, ledger, "upme")["people"]
    for criterion in ("correctness", "visual"):
        mine = [(text, won, item) for (name, item), (text, won) in rulings.items() if name == criterion]
        agreed = fmean(drawn("agree", text).random() < likes[criterion] for text, _, _ in mine)
        same = fmean(drawn("truth", criterion, item).choice(["m-one", "m-two"]) == won for _, won, item in mine)
        assert column(table, "agreement", "criterion")[criterion] == pytest.approx(agreed, abs=1e-12)
        assert column(table, "consistency", "criterion")[criterion] == pytest.approx(same, abs=1e-12)


def test_a_peer_review_takes_peoples_votes_for_the_truth(site, tmp_path):
    """Models review each other on pictures; people choose between the same answers; the same command then compares."""
    photos, ledger = tmp_path / "photos", tmp_path / "p.ledger"
    photos.mkdir()
    for known in build_items(5, 2):
        (photos / f"{known.item.id}.png").write_bytes(known.item.pictures[0].data())
    words = ["peer-review", "--images", photos, "--contestants",
             "synthetic:keen,synthetic:wordy,synthetic:hasty,synthetic:blind",
             "--ledger", ledger, "--quiet", "--json"]  # fmt: skip
    before = tables(site.cli(*words))
    assert any("The truth is unknown here" in note for note in before["warnings"]["notes"])
    assert "accuracy" not in before
    assert "truth" not in str(before["ranking"]["columns"])
    with Ledger(ledger, read_only=True) as book:
        cases = {
            (verdict.item, frozenset(verdict.contestants))
            for verdict in book.record() if verdict.criterion == "correctness"
        }  # fmt: skip
        texts = {(response.item, response.contestant): response.text for response in book.responses()}
    site.client("boss", "organiser")
    site.people("add", "choose", "--kind", "pair", "--ledger", ledger, "--criterion", "correctness", "--votes", 2)

    def longer(_person, task):
        assert default_review_template().answer not in asked(task), (
            "how contestants were to answer is nothing to judge by"
        )
        lengths = [len(text) for text in shown(task)]
        return {"best": "tie" if lengths[0] == lengths[1] else str(lengths.index(max(lengths)))}

    assert site.vote("choose", ["ann", "bob"], longer) == 2 * len(cases) == 48
    site.people("keep", "choose", "--ledger", ledger)
    after = tables(site.cli(*words))
    marks = defaultdict(list)
    for item, pair in cases:
        for name in pair:
            (other,) = pair - {name}
            lead = len(texts[item, name]) - len(texts[item, other])
            marks[name].append(0.5 if lead == 0 else float(lead > 0))
    truth = {name: fmean(values) for name, values in marks.items()}
    assert column(after["ranking"], "truth") == pytest.approx(truth)
    assert any("Truth: people, by 48 votes of 2 on " in note for note in after["ranking"]["notes"])
    assert column(after["ranking"], "UPME") == column(before["ranking"], "UPME"), "people move no score"
    with Ledger(ledger, read_only=True) as book:
        hits = defaultdict(list)
        for verdict in book.record():
            if verdict.judge != "human" and verdict.criterion == "correctness":
                one, two = verdict.contestants
                lead = len(texts[verdict.item, one]) - len(texts[verdict.item, two])
                hits[verdict.judge.partition("+")[0]].append(
                    verdict.marks[0] == (0.5 if lead == 0 else float(lead > 0))
                )
    right = column(after["accuracy"], "correctness right", "reviewer")
    assert {name: right[name] for name in hits} == pytest.approx({name: fmean(hit) for name, hit in hits.items()})


def test_mj_bench_ranks_generators_with_ties(site, tmp_path):
    """Two people rate the pictures of a prompt from 1 to 10; generators have one ranking, and equal ones tie."""
    ledger, names = tmp_path / "j.ledger", ("one", "two", "three")
    with Ledger(ledger) as book:
        for number in range(6):
            item = Item.ask(
                f"j{number}", f"Prompt {number}", tags={"perspective": ("alignment", "quality")[number % 2]}
            )
            drawing = Picture.from_bytes(png())
            answers = tuple(Response(item.id, name, (f"[{name}] of {item.id}", drawing)) for name in names)
            for answer in answers:
                book.add_response(item, answer)
            case = Case(item, answers, Score(1, 10))
            book.add(case, Verdict.from_case(case, "scorer", (5.0, 6.0, 7.0)))
    site.client("lead", "organiser")  # pictures need a lead's account
    site.people("add", "mj", "--kind", "rate", "--ledger", ledger, "--votes", 2)

    def mark(person: str, item: str, name: str) -> int:
        alike = "pair" if name in {"one", "two"} else name  # two generators that nobody tells apart
        return drawn(person, item, alike).randint(1, 7) + (3 if name == "three" else 0)

    def choose(person, task):
        there = [re.search(r"\[(\w+)\] of (\w+)", text).groups() for text in shown(task)]
        return {f"mark{place}": str(mark(person, item, name)) for place, (name, item) in enumerate(there)}

    assert site.vote("mj", ["ann", "bob"], choose) == 12
    site.people("keep", "mj", "--ledger", ledger)
    made = report(site, ledger, "mjbench")
    table = made["generators"]
    means = {
        (f"j{n}", name): fmean(mark(person, f"j{n}", name) for person in ("ann", "bob"))
        for n in range(6)
        for name in names
    }
    assert column(table, "mean mark") == pytest.approx(
        {name: fmean(means[f"j{n}", name] for n in range(6)) for name in names}
    )

    def mean_ranks(numbers: range) -> dict[str, float]:
        ranks = {}
        for name in names:
            each = []
            for n in numbers:
                others = [means[f"j{n}", other] for other in names]
                own = means[f"j{n}", name]
                each.append(sum(other > own for other in others) + (others.count(own) + 1) / 2)
            ranks[name] = fmean(each)
        return ranks

    assert column(table, "mean rank") == pytest.approx(mean_ranks(range(6)), abs=1e-12)
    for first, about in enumerate(("alignment", "quality")):
        rows = [row for row in cells(made["generators by perspective"]) if row["perspective"] == about]
        numbers = range(first, 6, 2)
        assert {row["contestant"]: row["mean rank"]["value"] for row in rows} == pytest.approx(mean_ranks(numbers))
        marks = {name: fmean(means[f"j{n}", name] for n in numbers) for name in names}
        assert {row["contestant"]: row["mean mark"]["value"] for row in rows} == pytest.approx(marks)
        assert {row["contestant"]: row["rank"] for row in rows} == {"three": "1", "one": "2-3", "two": "2-3"}
    assert column(table, "rank")["one"] == column(table, "rank")["two"]
    assert any("12 votes on 6 sets" in note for note in table["notes"])


def test_align_mm_bench_critic_beside_people(site, tmp_path):
    """Three people score answers 1 to 10: the critic's six figures are against their means."""
    ledger, answers = tmp_path / "a.ledger", {}
    with Ledger(ledger) as book:
        for number in range(12):
            item = Item.ask(f"a{number}", f"问题 {number}", tags={"task": "Counting"}, reference="参考答案")
            for name in ("m1", "m2"):
                response = Response.say(item.id, name, f"[{name}] of {item.id}")
                case = Case(item, (response,), Score(1, 10))
                book.add(case, Verdict.from_case(case, "critic", (drawn("critic", number, name).randint(1, 10),)))
                answers[item.id, name] = drawn("critic", number, name).randint(1, 10)
    made = ("--ballot", "score:1-10", "--ledger", ledger, "--votes", 3, "--paper", "alignmmbench", "--reason")
    site.people("add", "align", "--kind", "score", *made)
    path = f"/api/v1/studies/{site.study('align')}"
    task = site.client(PEOPLE[0]).post(f"{path}/next", json={}).json()["task"]
    assert task["reference"] == "参考答案"
    assert "wrong throughout" in task["anchors"]["3"], "3, not 1, is wholly wrong"
    assert "asks for a number" in task["criterion_rules"]
    bare = {"lease": task["lease"], "key": task["lease"], "fields": {"mark": "9"}, "seconds": 3}
    refused = site.client(PEOPLE[0]).post(f"{path}/votes", json=bare)
    assert (refused.status_code, "reason" in refused.text) == (400, True), refused.text

    def score(person: str, item: str, name: str) -> int:
        return min(10, max(1, answers[item, name] + drawn(person, item, name).randint(-2, 2)))

    def choose(person, task):
        name, item = re.search(r"\[(\w+)\] of (\w+)", shown(task)[0]).groups()
        return {"mark": str(score(person, item, name)), "reason": f"{person} 说 {item}"}

    assert site.vote("align", PEOPLE[:3], choose) == 72
    site.people("keep", "align", "--ledger", ledger)
    row = next(row for row in cells(report(site, ledger, "alignmmbench")["critics"]) if row["split"] == "all")
    truth = {place: fmean(score(person, *place) for person in PEOPLE[:3]) for place in answers}
    assert row["n"] == 24
    assert row["e"]["value"] == pytest.approx(fmean(abs(answers[p] - truth[p]) for p in answers), abs=1e-12)
    both = [answers[p] for p in answers], [truth[p] for p in answers]
    for figure, by_scipy in (("r", stats.pearsonr), ("ρ", stats.spearmanr), ("τ", stats.kendalltau)):
        assert row[figure]["value"] == pytest.approx(by_scipy(*both).statistic, abs=1e-9), figure
    with Ledger(ledger, read_only=True) as book:
        reasons = {verdict.text for verdict in book.verdicts("human")}
    assert reasons == {f"{person} 说 a{n}" for person in PEOPLE[:3] for n in range(12)}, "what a critic learns to write"
