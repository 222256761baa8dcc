"""Tables 3 and 7 and Figure 21 of MLLM-as-a-Judge from votes over HTTP."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import combinations, permutations
from statistics import fmean

import pytest

from fullbench import Case, Choice, Item, Ledger, Response, Score, Verdict
from tests.journeys.voting import Site, column, shown, tables
from tests.support import commands
from tests.support.commands import cli, read_jsonl, write_rows
from tests.support.data_builders import png
from tests.support.scripted_server import ScriptedServer

PEOPLE = ["ann", "bob", "cid"]


def drawn(*what: object) -> random.Random:
    return random.Random("/".join(map(str, what)))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    served = Site(folder, None)
    yield served
    served.close()


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
                        book.add(case, Verdict.from_case(case, judge, ruling, text=text))
                        rulings[text] = (judge, ballot.spec, item.tags["dataset"], item.id)
    site.people("add", "mllm", "--kind", "agree", "--ledger", ledger, "--votes", 3)

    def said(person: str, text: str) -> tuple[bool, int, bool]:
        often = 0.8 if text.startswith("<fanciful") else 0.1
        luck = drawn(person, text)
        return luck.random() < 0.6, luck.randint(1, 5), luck.random() < often

    def choose(person, task):
        agree, grade, sees = said(person, shown(task)[0])
        return {"agree": "yes" if agree else "no", "grade": str(grade), "hallucination": "yes" if sees else "no"}

    assert site.vote("mllm", PEOPLE, choose) == 3 * len(rulings)
    site.people("keep", "mllm", "--ledger", ledger)
    found = tables(site.cli("report", "--ledger", ledger, "--benchmark", "mllm-as-a-judge", "--json"))
    by = defaultdict(list)
    for text, (judge, ballot, dataset, item) in rulings.items():
        votes = [said(person, text) for person in PEOPLE]
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
        pairs = [said(a, text)[place] == said(b, text)[place] for text in rulings for a, b in combinations(PEOPLE, 2)]
        assert among[criterion, "likert:no|yes"]["pairs of votes that say the same"]["value"] == pytest.approx(
            fmean(pairs)
        )
    for judge in ("honest", "fanciful"):
        card = tables(site.cli("card", judge, "--ledger", ledger, "--json"))["reviews"]
        marked = {row["criterion"]: row for row in cells(card)}
        votes = [said(person, text) for text, (who, *_) in rulings.items() if who == judge for person in PEOPLE]
        for criterion, place in (("agrees", 0), ("hallucinates", 2)):
            assert marked[criterion]["share of yes"]["value"] == pytest.approx(fmean(vote[place] for vote in votes))
            assert marked[criterion]["mean mark"] is None, "codes have no mean"
        assert marked["reasons"]["mean mark"]["value"] == pytest.approx(fmean(vote[1] for vote in votes))
    desk = tables(site.people("show", "mllm", "--json"))["agreement"]
    for criterion, place, ballot in (("agrees", 0, "likert:no|yes"), ("reasons", 1, "score:1-5"),
                                     ("hallucinates", 2, "likert:no|yes")):  # fmt: skip
        units = [[float(said(person, text)[place]) for person in PEOPLE] for text in rulings]
        expected = alpha(units, ordinal=criterion == "reasons")
        assert among[criterion, ballot]["alpha"]["value"] == pytest.approx(expected, abs=1e-9), criterion
        shown_as = {"agrees": "Krippendorff's alpha (nominal)", "reasons": "Krippendorff's alpha (ordinal), grade",
                    "hallucinates": "Krippendorff's alpha (nominal), hallucination"}  # fmt: skip
        assert column(desk, "value", "metric")[shown_as[criterion]] == pytest.approx(expected, abs=1e-9)
    table_7(found, rulings, {text: [said(person, text)[2] for person in PEOPLE] for text in rulings})
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
        assert row["verdicts"] == len(cases) == 18
    assert len(found["hallucinations gone"]["rows"]) == 4, "two judges both ways, two ballots"
    changes = {(row["judge"], row["criterion"], row["ballot"]): row for row in cells(found["review changes"])}
    for ballot in ("score:1-5", "choice+tie"):
        moves = [fmean(each["honest"]) - fmean(each["fanciful"]) for (b, *_), each in by_case.items() if b == ballot]
        change = changes["honest", "hallucinates", ballot]
        assert change["other judge"] == "fanciful"
        assert change["change"]["value"] == pytest.approx(fmean(moves))


def test_figure_21_judges_are_ranked_by_which_analysis_people_prefer(site, tmp_path):
    (tmp_path / "p.png").write_bytes(png((200, 9, 9)))
    rows = [{"id": f"题{n}", "question": f"What of {n}?", "pictures": ["p.png"], "tags": {"task": "pair"}}
            for n in range(8)]  # fmt: skip
    write_rows(tmp_path / "items.jsonl", rows)
    answers = [{"item": row["id"], "contestant": name, "text": f"{name} on {row['id']}"}
               for row in rows for name in ("alpha", "beta")]  # fmt: skip
    write_rows(tmp_path / "answers.jsonl", answers)
    judges = {f"j{n}": (lambda asked, n=n: f"理由 {n}: the first is clearer. [[A]]") for n in range(3)}
    with ScriptedServer(judges) as server:
        specs = ", ".join(f'"vllm:{name}@{server.url}"' for name in judges)
        (tmp_path / "s.toml").write_text(
            'name = "s"\nbenchmark = "mllm-as-a-judge"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
            f'orders = "sorted"\nledger = "s.ledger"\njudges = ["length", {specs}]\n',
            encoding="utf-8",
        )
        cli("run", tmp_path / "s.toml", "--quiet", "--json")
    out = ("--ledger", tmp_path / "s.ledger", "--to")
    told = cli("ledger", "export", "--what", "cases", *out, tmp_path / "cases.jsonl")
    assert "(8 cases)" in told.output
    cli("ledger", "export", "--what", "analyses", *out, tmp_path / "analyses.jsonl")
    cases, reasons = read_jsonl(tmp_path / "cases.jsonl"), read_jsonl(tmp_path / "analyses.jsonl")
    assert len(reasons) == 8 * 3, "length wrote no reasons"
    assert all("alpha on" in str(row) and "beta on" in str(row) and "What of" in str(row) for row in cases)
    assert {row["item"] for row in reasons} == {row["id"] for row in cases}
    site.client("boss", "organiser")
    files = ("--items", tmp_path / "cases.jsonl", "--responses", tmp_path / "analyses.jsonl")
    site.people("add", "reasons", "--kind", "pair", "--ballot", "choice", *files, "--votes", 3)

    def better(person: str, pair: list[str]) -> str:
        """Whose reasons somebody likes better; `pair` are the reasons, each with its judge's number."""
        one, two = sorted(pair)
        return one if drawn(person, one, two).random() < 0.3 + 0.1 * int(two.split()[1][0]) else two

    won = defaultdict(list)

    def choose(person, task):
        pair = [text.partition(":")[0] for text in shown(task)]
        best = better(person, pair)
        for each in pair:
            won[each.split()[1]].append(each == best)
        return {"best": str(pair.index(best))}

    assert site.vote("reasons", PEOPLE, choose) == 3 * len(list(combinations(judges, 2))) * len(cases)
    site.people("keep", "reasons", "--ledger", tmp_path / "c.ledger")
    show = ("leaderboard", "show", "--ledger", tmp_path / "c.ledger", "--judge", "human", "--rule", "each", "--json")
    board = cli(*show).tables["board"]
    expected = {number: fmean(each) for number, each in won.items()}
    assert {name[1]: won_by for name, won_by in commands.cells(board, "matches won", "contestant").items()} == (
        pytest.approx(expected)
    )
    assert [name[1] for name in commands.cells(board, "rank", "contestant")] == sorted(
        expected, key=lambda number: -expected[number]
    )
    charts = tmp_path / "charts"
    cli("report", "--ledger", tmp_path / "c.ledger", "--out", tmp_path / "c.html", "--charts", charts)
    assert list(charts.glob("*human*.svg"))
    table_3_in_run(site, tmp_path, {f"j{n}": n for n in range(3)})


def table_3_in_run(site, folder, judges: dict[str, int]) -> None:
    """After people reviewed the verdicts, the study's own command shows what they said, without another call."""
    site.people("add", "agree", "--kind", "agree", "--ledger", folder / "s.ledger", "--votes", 1)

    def likes(text: str) -> bool:
        return drawn("agrees", text).random() < 0.4

    texts = []

    def choose(_person, task):
        texts.append(shown(task)[0])
        return {"agree": "yes" if likes(texts[-1]) else "no", "grade": "4", "hallucination": "no"}

    assert site.vote("agree", PEOPLE, choose) == 8 * len(judges)
    site.people("keep", "agree", "--ledger", folder / "s.ledger")
    found = cli("run", folder / "s.toml", "--quiet", "--json")
    assert "Called 0" in found.output
    rows = commands.cells(found.tables["reviews"], "people agree", "judge")
    expected = {
        name: fmean(likes(text) for text in texts if f"理由 {number}" in text) for name, number in judges.items()
    }
    assert {name.partition("@")[0]: share for name, share in rows.items()} == pytest.approx(expected)
    contestants = found.tables["summary contestants"]["rows"]
    assert not {"agrees", "reasons", "hallucinates"} & set(str(contestants)), "reviews rank nobody"
    assert "identical to what the ledger" in cli("replay", folder / "s.toml", "--check").output
