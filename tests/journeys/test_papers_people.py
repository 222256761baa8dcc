"""The papers' human tables from votes in the app: each from votes over HTTP, beside a computation of its own."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from itertools import combinations, permutations
from statistics import fmean

import pytest
from scipy import stats

from fullbench import Case, Choice, Item, Ledger, Picture, Response, Score, Verdict
from fullbench.court.sample import sample
from fullbench.figures.peers import biases
from fullbench.judges.peer_review.wording import shipped
from fullbench.nouns.record import Record
from tests.journeys.voting import Site, asked, column, shown, tables
from tests.making import png

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


def test_mllm_as_a_judge_table_3(site, tmp_path):
    """Three people review two judges' rulings on scores and pairs of two data sets, in six trials."""
    ledger, rulings = tmp_path / "m.ledger", {}
    with Ledger(ledger) as book:
        for number in range(3):
            item = Item.ask(f"q{number}", f"Question {number}?", tags={"dataset": "charts" if number % 2 else "photos"})
            one, two = (Response.say(item.id, name, f"{name} says {number}") for name in ("x", "y"))
            for judge in ("honest", "fanciful"):
                for trial in range(6):
                    for responses, ballot, ruling in (
                        ((one,), Score(1, 5), (3.0,)),
                        ((one, two), Choice(), (1.0, 0.0)),
                    ):
                        case = Case(item, responses, ballot, trial=trial)
                        text = f"<{judge} {item.id} {ballot.spec} {trial}>"
                        book.add(case, Verdict.of(case, judge, ruling, text=text))
                        rulings[text] = (judge, ballot.spec, item.tags["dataset"], item.id)
    site.people("add", "mllm", "--kind", "agree", "--ledger", ledger, "--votes", 3)

    def said(person: str, text: str) -> tuple[bool, int, bool]:
        often = 0.8 if text.startswith("<fanciful") else 0.1
        luck = drawn(person, text)
        return luck.random() < 0.6, luck.randint(1, 5), luck.random() < often

    def choose(person, task):
        agree, grade, sees = said(person, shown(task)[0])
        return {"agree": "yes" if agree else "no", "grade": str(grade), "hallucination": "yes" if sees else "no"}

    assert site.vote("mllm", PEOPLE[:3], choose) == 3 * len(rulings)
    site.people("keep", "mllm", "--ledger", ledger)
    found = report(site, ledger, "mllm-as-a-judge")
    by = defaultdict(list)
    for text, (judge, ballot, dataset, item) in rulings.items():
        votes = [said(person, text) for person in PEOPLE[:3]]
        by[judge, ballot, dataset].append((sum(v[0] for v in votes) > 1, fmean(v[1] for v in votes), votes, item))
    for row in cells(found["reviews by dataset"]):
        part = by.pop((row["judge"], row["ballot"], row["data set"]))
        assert row["people agree"]["value"] == pytest.approx(fmean(agree for agree, *_ in part), abs=1e-12)
        assert row["grade of the reasons"]["value"] == pytest.approx(fmean(grade for _, grade, *_ in part), abs=1e-12)
        sees = fmean(sum(vote[2] for vote in votes) > 1 for _, _, votes, _ in part)
        assert row["hallucinates"]["value"] == pytest.approx(sees, abs=1e-12)
        grades = defaultdict(list)
        for _, grade, _, item in part:
            grades[item].append(grade)
        spread = [fmean(abs(grade - fmean(some)) for grade in some) for some in grades.values()]
        assert row["deviation of grades"]["value"] == pytest.approx(fmean(spread), abs=1e-12)
    assert not by
    among = {(row["criterion"], row["ballot"]): row for row in cells(found["among people"])}
    for criterion, place in (("agrees", 0), ("hallucinates", 2)):
        pairs = [
            said(a, text)[place] == said(b, text)[place] for text in rulings for a, b in combinations(PEOPLE[:3], 2)
        ]
        assert among[criterion, "likert:no|yes"]["pairs of votes that say the same"]["value"] == pytest.approx(
            fmean(pairs)
        )
    for judge in ("honest", "fanciful"):
        card = tables(site.cli("card", judge, "--ledger", ledger, "--json"))["reviews"]
        marked = {row["criterion"]: row for row in cells(card)}
        votes = [said(person, text) for text, (who, *_) in rulings.items() if who == judge for person in PEOPLE[:3]]
        for criterion, place in (("agrees", 0), ("hallucinates", 2)):
            assert marked[criterion]["share of yes"]["value"] == pytest.approx(fmean(vote[place] for vote in votes))
            assert marked[criterion]["mean mark"] is None, "codes have no mean"
        assert marked["reasons"]["mean mark"]["value"] == pytest.approx(fmean(vote[1] for vote in votes))
    desk = tables(site.people("show", "mllm", "--json"))["agreement"]
    for criterion, place, ballot in (("agrees", 0, "likert:no|yes"), ("reasons", 1, "score:1-5"),
                                     ("hallucinates", 2, "likert:no|yes")):  # fmt: skip
        units = [[float(said(person, text)[place]) for person in PEOPLE[:3]] for text in rulings]
        expected = alpha(units, ordinal=criterion == "reasons")
        assert among[criterion, ballot]["alpha"]["value"] == pytest.approx(expected, abs=1e-9), criterion
        shown_as = {"agrees": "Krippendorff's alpha (nominal)", "reasons": "Krippendorff's alpha (ordinal), grade",
                    "hallucinates": "Krippendorff's alpha (nominal), hallucination"}  # fmt: skip
        assert column(desk, "value", "figure")[shown_as[criterion]] == pytest.approx(expected, abs=1e-9)
    table_7(found, rulings, {text: [said(person, text)[2] for person in PEOPLE[:3]] for text in rulings})
    ranks = column(
        tables(site.cli("report", "--ledger", ledger, "--json"))["leaderboard human on hallucinates"], "rank"
    )
    assert ranks == {"honest": "1", "fanciful": "2"}, "more hallucination is worse"


def alpha(units: list[list[float]], *, ordinal: bool) -> float:
    """Krippendorff's alpha by its definition: disagreement of two votes on a unit over that of any two votes."""
    votes = sorted(vote for unit in units for vote in unit)
    counts = Counter(votes)

    def apart(one: float, two: float) -> float:
        if not ordinal:
            return float(one != two)
        low, high = sorted((one, two))
        between = sum(count for vote, count in counts.items() if low <= vote <= high)
        return (between - (counts[low] + counts[high]) / 2) ** 2 if one != two else 0.0

    inside = [apart(one, two) / (len(unit) - 1) for unit in units for one, two in permutations(unit, 2)]
    across = [apart(one, two) for one, two in permutations(votes, 2)]
    return 1 - (sum(inside) / len(votes)) / (sum(across) / len(across))


def table_7(found: dict[str, dict], rulings: dict[str, tuple], sees: dict[str, list[bool]]) -> None:
    """What changes from one judge to another on the same cases, by ballot, and which hallucinations are gone."""
    by_case = defaultdict(dict)
    for text, (judge, ballot, _, item) in rulings.items():
        by_case[ballot, item, text.rsplit(" ", 1)[1]][judge] = sees[text]
    for row in cells(found["hallucinations gone"]):
        cases = [
            (sum(each[row["other judge"]]) > 1, sum(each[row["judge"]]) > 1)
            for (ballot, *_), each in by_case.items() if ballot == row["ballot"]
        ]  # fmt: skip
        gone = [not after for before, after in cases if before]
        new = [after for before, after in cases if not before]
        for name, hits in (("hallucinations gone", gone), ("new hallucinations", new)):
            assert (row[name]["value"] if row[name] else None) == (pytest.approx(fmean(hits)) if hits else None)
            assert row[name] is None or row[name]["n"] == len(hits)
        assert row["rulings"] == len(cases) == 18
    assert len(found["hallucinations gone"]["rows"]) == 4, "two judges both ways, two ballots"
    changes = {(row["judge"], row["criterion"], row["ballot"]): row for row in cells(found["review changes"])}
    for ballot in ("score:1-5", "choice+tie"):
        moves = [fmean(each["honest"]) - fmean(each["fanciful"]) for (b, *_), each in by_case.items() if b == ballot]
        change = changes["honest", "hallucinates", ballot]
        assert change["other judge"] == "fanciful"
        assert change["change"]["value"] == pytest.approx(fmean(moves))


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
                    book.add(case, Verdict.of(case, "metric", (1.0, 0.0) if first else (0.0, 1.0)))
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
    assert column(board, "duels won") == pytest.approx(
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
            item = Item.ask(f"u{number}", f"Question {number}?", Picture.of(png((30 * number, 9, 9))), tags=tags)
            pair = tuple(Response.say(item.id, name, f"[{name}] of {item.id}") for name in ("m-one", "m-two"))
            for criterion in ("correctness", "visual"):
                case = Case(item, pair, Choice(), criterion)
                first = drawn("r", number, criterion).random() < 0.5
                text = f"<{criterion} {number}>"
                book.add(case, Verdict.of(case, "r", (1.0, 0.0) if first else (0.0, 1.0), text=text))
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
    apart = ("--apart-from", "choose correctness", "--apart-from", "choose visual")
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
    for known in sample(5, 2):
        (photos / f"{known.item.id}.png").write_bytes(known.item.pictures[0].data())
    words = ["peer-review", "--images", photos, "--contestants", "court:keen,court:wordy,court:hasty,court:blind",
             "--ledger", ledger, "--quiet", "--json"]  # fmt: skip
    before = tables(site.cli(*words))
    assert any("No truth is known here" in note for note in before["warnings"]["notes"])
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
        assert shipped().answer not in asked(task), "how contestants were to answer is nothing to judge by"
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
    assert any("Truth: people, by 48 votes of 2 on answers" in note for note in after["ranking"]["notes"])
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


def test_upme_biases_keep_criteria_apart():
    """Three people find every ruling on correctness right and every visual one wrong."""
    verdicts = []
    items = {}
    for number in range(10):
        item = Item.ask(f"b{number}", "?", tags={"reviewer": "r"})
        items[item.id] = item
        pair = (Response.say(item.id, "long", "many many words"), Response.say(item.id, "short", "few"))
        for criterion in ("correctness", "visual"):
            case = Case(item, pair, Choice(), criterion)
            first = number % 3 == 0
            ruling = (1.0, 0.0) if first else (0.0, 1.0)
            verdicts.append(Verdict.of(case, "r", ruling))
            right = ruling if criterion == "correctness" else ruling[::-1]
            verdicts += [Verdict.of(case, "human", right, rater=rater) for rater in ("a", "b")]
            verdicts.append(Verdict.of(case, "human", right[::-1], rater="c"))
    every = {
        (name, one): Response.say(name, one, text)
        for name in items
        for one, text in (("long", "a b c"), ("short", "a"))
    }
    record = Record(tuple(verdicts), items, every)
    for criterion, wrong in (("correctness", 0), ("visual", 10)):
        counts = biases.counted(record, criterion, biases.longer(record))
        assert (sum(counts.wrong), sum(counts.right)) == (wrong, 10 - wrong)


def test_mj_bench_ranks_generators_with_ties(site, tmp_path):
    """Two people rate the pictures of a prompt from 1 to 10; generators have one ranking, and equal ones tie."""
    ledger, names = tmp_path / "j.ledger", ("one", "two", "three")
    with Ledger(ledger) as book:
        for number in range(6):
            item = Item.ask(
                f"j{number}", f"Prompt {number}", tags={"perspective": ("alignment", "quality")[number % 2]}
            )
            answers = tuple(Response.say(item.id, name, f"[{name}] of {item.id}") for name in names)
            for answer in answers:
                book.add_response(item, answer)
            case = Case(item, answers, Score(1, 10))
            book.add(case, Verdict.of(case, "scorer", (5.0, 6.0, 7.0)))
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
                book.add(case, Verdict.of(case, "critic", (drawn("critic", number, name).randint(1, 10),)))
                answers[item.id, name] = drawn("critic", number, name).randint(1, 10)
    made = ("--ballot", "score:1-10", "--ledger", ledger, "--votes", 3, "--paper", "alignmmbench", "--reason")
    site.people("add", "align", "--kind", "score", *made)
    path = f"/api/v1/studies/{site.study('align')}"
    task = site.client(PEOPLE[0]).post(f"{path}/next", json={}).json()["task"]
    assert (task["reference"], task["anchors"]["9"]) == ("参考答案", "as good as the reference")
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
