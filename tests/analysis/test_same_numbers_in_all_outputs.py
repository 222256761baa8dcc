"""Random ledgers: every output shows the numbers of a slow computation in plain Python."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.boards.leaderboard import Settings, build_boards, leaderboard_tables
from fullbench.analysis.boards.leaderboard_companion_tables import standing_tables
from fullbench.analysis.judge_card import build_card
from fullbench.analysis.scope_suffixes_of_table_titles import ballot_of
from fullbench.cli.all_commands import app
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.columns_from_parquet import read_parquet_columns
from fullbench.columns.verdict_columns import STUDY
from fullbench.core.ballot import Choice, Ranking, Score
from fullbench.core.case import cases
from fullbench.core.item import Item
from fullbench.core.model_call import Usage
from fullbench.core.response import Response
from fullbench.core.verdict import FAULTS, Failure, Verdict
from fullbench.core.verdict_record import Record
from fullbench.files.item_response_verdict_files import write_verdicts
from fullbench.ledger.ledger import Ledger
from fullbench.web.results.boards.contestant_board_under_one_judge import Subject, compute_board
from tests.support.commands import write_rows


def ledger_of(path: Path, seed: int, study: str | None = None) -> list[Verdict]:
    """A random ledger: judges, criteria, ballots, samples, trials, faults, ties, orders, failed calls."""
    draw = random.Random(seed)
    names = [f"m{number}" for number in range(draw.randint(2, 5))]
    samples = {name: draw.choice((1, 1, 2, 3)) if draw.random() < 0.4 else 1 for name in names}
    given = []
    with Ledger(path, study=study) as ledger:
        for number in range(draw.randint(1, 7)):
            item = Item.ask(f"i{number}", f"question {number} of {seed}")
            said = [
                Response.say(item.id, name, f"{name} {sample}", sample=sample)
                for name in names for sample in range(samples[name]) if draw.random() < 0.95
            ]  # fmt: skip
            for judge in ("j", "k", "human")[: draw.randint(1, 3)]:
                for criterion in ("overall", "brevity")[: draw.randint(1, 2)]:
                    given += _heard(draw, ledger, (judge, criterion), item, said)
    return given


def _heard(draw, ledger, place, item, said):
    judge, criterion = place
    forms = draw.sample([(Score(1, 3), 1), (Choice(tie=True), 2), (Ranking(), None)], draw.randint(1, 3))
    for ballot, size in forms:
        orders, trials = draw.choice(("sorted", "both")), draw.choice((1, 1, 2))
        for case in cases([item], said, ballot, size=size, orders=orders, criterion=criterion, trials=trials):
            luck = draw.random()
            if luck < 0.05:
                ledger.add(case, Failure(case.key, judge, case.trial, "time-out"))
                continue
            ruling = draw.choice(FAULTS) if luck < 0.15 else _marks(draw, case)
            usage = Usage(1, 0, 10, draw.randrange(9), None if judge == "k" else draw.random(), draw.random())
            raters = draw.sample(("ann", "bob", "cy"), draw.randint(1, 3)) if judge == "human" else [""]
            for rater in raters:
                for revision in range(2 if rater and draw.random() < 0.1 else 1):
                    verdict = Verdict.from_case(
                        case, judge, ruling if draw.random() < 0.5 or rater == "" else _marks(draw, case), usage=usage,
                        text="because", rater=rater, revision=revision,
                    )  # fmt: skip
                    ledger.add(case, verdict)
                    yield verdict


def _marks(draw, case):
    if isinstance(case.ballot, Score):
        return [float(draw.randrange(1, 4))]
    if isinstance(case.ballot, Ranking):
        return [float(mark) for mark in draw.sample(range(1, len(case.responses) + 1), len(case.responses))]
    return draw.choice([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])


def family(verdict):
    return "score" if len(verdict.contestants) == 1 else "ranking" if verdict.ballot == "ranking" else "pair"


def one_each(verdicts):
    """People's votes on the same responses as one ruling, by the usual rules: means of marks and ranks, majorities."""
    panels = defaultdict(list)
    for v in verdicts:
        if not v.rater:
            yield v
        elif v.marks is not None:
            panels[v.judge, v.criterion, v.ballot, v.item, tuple(sorted(v.shown_responses))].append(v)
    for (_, _, ballot, _, responses), votes in panels.items():
        marks = [
            tuple(Fraction(dict(zip(v.shown_responses, v.marks, strict=True))[one]) for one in responses) for v in votes
        ]
        if ballot.startswith("choice"):
            times = {vote: marks.count(vote) for vote in marks}
            marks = [vote for vote, count in times.items() if count == max(times.values())]
            if any(len(set(vote)) == 1 for vote in marks):
                marks = [vote for vote in marks if len(set(vote)) == 1]
        joint = dict(zip(responses, (sum(column) / len(marks) for column in zip(*marks, strict=True)), strict=True))
        names, samples = zip(*responses, strict=True)
        ruling = {"marks": tuple(float(joint[one]) for one in responses), "rater": "", "trial": 0}
        yield replace(votes[0], contestants=names, samples=samples, **ruling)


def slow(verdicts):
    """Win rates and means by their definition: {(judge, criterion, family): {contestant: (won, n, means)}}."""
    orders = defaultdict(lambda: defaultdict(list))
    single = defaultdict(list)
    marks = defaultdict(list)
    voted = []
    for v in verdicts:
        if v.marks is None:
            continue
        key = (v.judge, v.criterion, family(v))
        shown = list(zip(v.shown_responses, map(Fraction, v.marks), strict=True))
        if len(shown) == 1:
            single[key, v.item, v.ballot, v.trial, v.rater].append(shown[0])
            marks[key, v.contestants[0], v.ballot].append(shown[0][1])
        for (one, mark), (two, other) in combinations(shown, 2):
            if one[0] == two[0]:
                continue
            first, second = sorted((one, two))
            won = _won(mark, other) if first == one else 1 - _won(mark, other)
            if v.rater:  # a person's votes count one by one, whatever the order
                voted.append((key, first[0], second[0], won))
                continue
            orders[key, v.item, v.ballot, v.trial, v.rater, first, second][one == first].append(won)
    results = defaultdict(lambda: defaultdict(list))
    for key, *match in voted:
        _count(results[key], *match)
    for (key, *_, first, second), heard in orders.items():
        means = [sum(each) / len(each) for each in heard.values()]
        _count(results[key], first[0], second[0], sum(means) / len(means))
    for (key, *_), marked in single.items():
        several = {name for (name, _), _ in marked if sum(other == name for (other, _), _ in marked) > 1}
        for ((one, sample), mark), ((two, number), other) in combinations(marked, 2):
            if one != two and (sample == number or not (one in several and two in several)):
                _count(results[key], one, two, _won(mark, other))
    return results, {key: sum(values) / len(values) for key, values in marks.items()}


def _won(mark, other):
    return Fraction(1 if mark > other else 0 if mark < other else Fraction(1, 2))


def _count(result, one, two, won):
    result[one].append(won)
    result[two].append(1 - won)


def shown(found):
    """Everything that a board says of its contestants."""
    return {
        (board.key.judge, board.key.criterion, board.key.family): [
            _line(board.standings.typed_columns, row) for row in board.standings.rows
        ]
        for board in found
    }


def _line(columns, row):
    by_key = {column.key: cell for column, cell in zip(columns, row, strict=True)}
    means = {
        ballot_of(column): cell
        for column, cell in zip(columns, row, strict=True)
        if ballot_of(column) and cell is not None
    }
    return by_key["contestant"], by_key["rank"], by_key.get("rating"), by_key.get("matches won"), means


def cells(made, *columns):
    """The cells of every leaderboard among some tables, by its key."""
    return {
        (table.source["judge"], table.source["criterion"], table.source["family"]): [
            [row[list(table.columns).index(name)] if name in table.columns else None for name in columns]
            for row in table.rows
        ]
        for table in made
        if {"judge", "criterion", "family"} <= set(table.source)
    }


def check(folder: Path, seed: int, *, cards: bool = True) -> None:
    path = folder / f"{seed}.ledger"
    given = ledger_of(path, seed)
    with Ledger(path, read_only=True) as ledger:
        record, columns = ledger.record(), ledger.columns()
        write_verdicts(folder / f"{seed}.parquet", ledger.verdicts())
    if not given:
        return
    memory = columns_from_verdicts(record)
    parquet = read_parquet_columns(folder / f"{seed}.parquet")
    assert memory.has_same_verdicts(parquet)
    assert columns.rows(columns.judge >= 0).mark.tobytes() == memory.mark.tobytes()
    by_ledger = shown(build_boards(columns))
    assert by_ledger == shown(build_boards(record)) == shown(build_boards(parquet))
    _as_defined(shown(build_boards(columns, Settings(votes="each"))), *slow(record))
    _as_defined(by_ledger, *slow(one_each(record)))
    _doors(record, columns, by_ledger, cards=cards)


def _as_defined(by_door, results, means):
    for key, lines in by_door.items():
        for name, _, _, won, marked in lines:
            each = results[key][name]
            assert (0 if won is None else won.n) == len(each)
            assert won is None or won.value == pytest.approx(float(sum(each) / len(each)), abs=1e-12)
            for ballot, mean in marked.items():
                assert mean.value == pytest.approx(float(means[key, name, ballot]), abs=1e-12)
            assert all(one is None or one.why or one.low < one.high for one in (won, *marked.values()))


def whole(made):
    """Every column of every leaderboard among some tables, by its key."""
    return {
        (table.source["judge"], table.source["criterion"], table.source["family"]): {
            str(column): [row[place] for row in table.rows] for place, column in enumerate(table.columns)
        }
        for table in made
        if {"judge", "criterion", "family", "rule"} <= set(table.source)
    }


def _same(one, other, *, own=()):
    """All columns but those that only one door has, n and intervals included."""
    assert set(one) == set(other)
    for key, columns in one.items():
        assert set(columns) ^ set(other[key]) <= set(own), key
        for name in set(columns) & set(other[key]):
            assert columns[name] == other[key][name], (key, name)


ELO = ("Elo", "Elo over orders", "matches")


def _doors(record, columns, by_ledger, *, cards):
    report = whole(standard_verdict_tables.verdict_tables(columns))
    assert set(report) == set(by_ledger)
    for judge in columns.judges():
        mine = {key: board for key, board in report.items() if key[0] == judge}
        shown_with_elo = whole(standing_tables(record, judge))
        _same(shown_with_elo, mine, own=ELO)
        for board in shown_with_elo.values():
            if "Elo" in board:
                assert board["matches"] == [0 if won is None else won.n for won in board["matches won"]]
        # A card also resamples every agreement, which takes most of the time: the suite looks at every fifth.
        if cards:
            _same(whole(build_card(record, judge, columns=columns).tables), mine)
        site = {}
        for criterion in {key[1] for key in mine}:
            board = compute_board(columns, Subject(STUDY, judge, criterion), {})
            site |= whole([linked.table for linked in board.tables])
        _same(site, mine, own=("unusable",))


@pytest.mark.parametrize("block", range(2))
def test_twenty_random_ledgers_say_the_same_at_every_door(block, tmp_path):
    for seed in range(10 * block, 10 * block + 10):
        check(tmp_path, seed, cards=seed % 5 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_a_thousand_random_ledgers_say_the_same_at_every_door(block, tmp_path):
    for seed in range(20 + 50 * block, 70 + 50 * block):
        check(tmp_path, seed)


def _json(*words):
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def _listed(made):
    names = ("rank", "contestant", "rating", "matches won")
    return {
        (one["source"]["judge"], one["source"]["criterion"], one["source"]["family"]): [
            [row[one["columns"].index(name)] if name in one["columns"] else None for name in names]
            for row in one["rows"]
        ]
        for one in made
        if {"judge", "criterion", "family"} <= set(one["source"])
    }


@pytest.mark.parametrize("seed", [3, 17, 29])
def test_the_commands_say_the_same(seed, tmp_path):
    path = tmp_path / "x.ledger"
    ledger_of(path, seed)
    ledger = str(path)
    report = _listed(_json("report", "--ledger", ledger))
    assert report
    assert _listed(_json("ledger", "tables", ledger)) == report
    CliRunner().invoke(app, ["ledger", "export", ledger, "--to", str(tmp_path / "x.parquet")])
    assert _listed(_json("ledger", "tables", str(tmp_path / "x.parquet"))) == report
    for judge in {key[0] for key in report}:
        mine = {key: rows for key, rows in report.items() if key[0] == judge}
        assert _listed(_json("leaderboard", "show", "--ledger", ledger, "--judge", judge)) == mine
        assert _listed(_json("card", judge, "--ledger", ledger)["tables"]) == mine


WORDS = ("the cat sits on a red mat near one big old tree and two rivers under blue sky while birds sing").split()  # noqa: SIM905


def study_with_references(folder, seed):
    """A VisIT study of one's own: the reference competes; samples, trials and missing answers."""
    draw = random.Random(seed)
    items = [
        {"id": f"i{n}", "question": f"Q{n}?", "reference": " ".join(draw.sample(WORDS, draw.randint(4, 9))),
         "tags": {"family": "ab"[n % 2]}}
        for n in range(draw.randint(4, 7))
    ]  # fmt: skip
    answers = [
        {"item": item["id"], "contestant": name, "sample": sample,
         "text": " ".join(draw.sample(WORDS, draw.randint(2, 12)))}
        for item in items for name in "abc" for sample in range(2 if name == "b" else 1) if draw.random() < 0.9
    ]  # fmt: skip
    write_rows(folder / "items.jsonl", items)
    write_rows(folder / "answers.jsonl", answers)
    (folder / "study.toml").write_text(
        'name = "s"\nbenchmark = "visitbench"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
        f'ledger = "s.ledger"\njudges = ["length", "chance", "rouge"]\ntrials = {draw.randint(1, 2)}\n',
        encoding="utf-8",
    )
    return folder / "study.toml", folder / "s.ledger"


def elo_of(matches, seed=3):
    """The median over shuffled orders, K = 4, of matches (first, second, share won by the first)."""
    lot, ended = random.Random(seed), defaultdict(list)
    for _ in range(150):
        rating = defaultdict(lambda: 1000.0)
        for one, two, won in lot.sample(matches, len(matches)):
            gain = 4 * (won - 1 / (1 + 10 ** ((rating[two] - rating[one]) / 400)))
            rating[one] += gain
            rating[two] -= gain
        for name, value in rating.items():
            ended[name].append(value)
    return {name: sorted(values)[len(values) // 2] for name, values in ended.items()}


def check_study(folder, seed):
    study, ledger = study_with_references(folder, seed)
    done = CliRunner().invoke(app, ["run", str(study), "--quiet", "--json"])
    assert done.exit_code == 0, done.output
    run = json.loads(done.stdout)
    report = _json("report", "--ledger", str(ledger), "--benchmark", "visitbench")
    same = ("name", "title", "columns", "rows", "notes")
    assert [[table[key] for key in same] for table in run] == [[table[key] for key in same] for table in report]
    assert not any("text of an answer is missing" in note for table in run for note in table["notes"])
    CliRunner().invoke(
        app, ["ledger", "export", "--ledger", str(ledger), "--what", "verdicts", "--to", str(folder / "v.jsonl")]
    )
    verdicts = [json.loads(line) for line in (folder / "v.jsonl").read_text(encoding="utf-8").splitlines()]
    for judge in {row["judge"] for row in verdicts}:
        paper = ["leaderboard", "show", "--ledger", str(ledger), "--judge", judge]
        board = next(
            one for one in _json(*paper, "--rule", "both-agree", "--reference", "reference") if one["name"] == "board"
        )
        ours = next(one for one in run if one["name"] == "board" and one["source"]["judge"] == judge)
        assert (board["columns"], board["rows"]) == (ours["columns"], ours["rows"])
        board = next(one for one in _json(*paper) if one["name"] == "board")
        heads = [str(head["key"] if isinstance(head, dict) else head) for head in board["columns"]]
        orders = defaultdict(lambda: defaultdict(list))
        for row in verdicts:
            if row["judge"] == judge and row["marks"]:
                shown = dict(
                    zip(zip(row["contestants"], row.get("samples") or [0, 0], strict=True), row["marks"], strict=True)
                )
                one, two = sorted(shown)
                orders[row["item"], row.get("trial", 0), one, two][row["contestants"][0] == one[0]].append(
                    float(_won(shown[one], shown[two]))
                )
        matches = [
            (one[0], two[0], sum(sum(each) / len(each) for each in by_order.values()) / len(by_order))
            for (_, _, one, two), by_order in orders.items()
        ]
        expected = elo_of(matches)
        for row in board["rows"]:
            name = row[heads.index("contestant")]
            assert row[heads.index("matches")] == sum(name in match[:2] for match in matches)
            assert row[heads.index("matches won")]["n"] == row[heads.index("matches")]
            assert row[heads.index("Elo")] == pytest.approx(expected[name], abs=4)


def test_run_report_and_leaderboard_agree_on_a_study_with_references(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_study(tmp_path, 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_run_report_and_leaderboard_agree_on_many_studies_with_references(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_study(tmp_path, seed)


def test_two_criteria_are_two_leaderboards(tmp_path):
    """ann wins on accuracy, bob on brevity: nobody is equal to anybody."""
    verdicts = [
        Verdict(f"{criterion}{place}{first}", "j", f"i{place}", (first, second), "choice", criterion,
                marks=(float(first == best), float(second == best)))
        for criterion, best in (("accuracy", "ann"), ("brevity", "bob"))
        for place in range(30)
        for first, second in (("ann", "bob"), ("bob", "ann"))
    ]  # fmt: skip
    made = leaderboard_tables(Record(tuple(verdicts)))
    assert [table.title for table in made] == ["Leaderboard by j on accuracy", "Leaderboard by j on brevity"]
    assert [table.rows[0][1] for table in made] == ["ann", "bob"]


def test_who_beats_everybody_stands_first_and_has_a_rank():
    """A judge whose ace wins all, and whose other two win some against each other."""
    verdicts = []
    for place in range(12):
        for first, second in (("ace", "b"), ("b", "c"), ("c", "ace")):
            best = "ace" if "ace" in (first, second) else "b" if place % 3 else "c"
            verdicts.append(Verdict(f"{place}{first}", "j", f"i{place}", (first, second), "choice",
                                    marks=(float(first == best), float(second == best))))  # fmt: skip
    (board,) = build_boards(Record(tuple(verdicts)))
    assert board.contestants == ["ace", "b", "c"]
    first, second, _ = board.standings.column("rank")
    assert first == "1"
    assert int(second[0]) > 1


def test_a_judge_that_always_refuses_has_no_leaderboard_and_one_that_often_does_keeps_its_ratings():
    """Refusals leave a pair out; they never pull its sides together."""
    fair = random.Random(1)
    ruled = [
        (place, first, second, "a" if fair.random() < 0.8 else "b")
        for place in range(200) for first, second in (("a", "b"), ("b", "a"))
    ]  # fmt: skip
    for share in (0.0, 0.3, 1.0):
        draw = random.Random(2)
        verdicts = [
            Verdict(f"{place}{first}", "j", f"i{place}", (first, second), "choice",
                    **({"fault": "refused"} if draw.random() < share
                       else {"marks": (float(first == best), float(second == best))}))
            for place, first, second, best in ruled
        ]  # fmt: skip
        found = list(build_boards(Record(tuple(verdicts)), Settings(rule="both-agree")))
        if share == 1.0:
            assert not found
            continue
        decided = [row for row in found[0].matches.rows.outcome if row != 0.5]
        assert sum(decided) / len(decided) == pytest.approx(16 / 17, abs=0.05)
        assert found[0].rating_of(found[0].contestants[0]).value == pytest.approx(1135, abs=40)
        assert any("unusable" in note for note in found[0].standings.notes) == bool(share)


def test_judges_that_always_choose_a_place_are_not_told_apart(tmp_path):
    """Always-first and always-second are right equally often over both orders."""
    verdicts = []
    for place in range(20):
        for first, second in (("a", "b"), ("b", "a")):
            case, item = f"{place}{first}", f"i{place}"
            best = "a" if place % 2 else "b"
            for judge, marks in (("first", (1.0, 0.0)), ("second", (0.0, 1.0)),
                                 ("human", (float(first == best), float(second == best)))):  # fmt: skip
                verdicts.append(Verdict(case, judge, item, (first, second), "choice", marks=marks))
    made = build_card(Record(tuple(verdicts)), "first")
    (table,) = (one for one in made.tables if one.name == "other judges")
    (row,) = table.rows
    assert row[3].value == 0
    assert row[-1] == "no"


def test_studies_stand_apart_and_each_is_as_if_it_were_alone(tmp_path):
    both = str(tmp_path / "both.ledger")
    for study, seed in (("x", 3), ("y", 17)):
        ledger_of(Path(both), seed, study)
        ledger_of(tmp_path / f"{study}.ledger", seed)
    report = _json("report", "--ledger", both)
    for study in ("x", "y"):
        alone = _listed(_json("report", "--ledger", str(tmp_path / f"{study}.ledger")))
        mine = [one for one in report if one["source"].get("study") == study]
        assert _listed(mine) == alone
        assert all(f" in {study}" in one["title"] for one in mine)
        assert _listed(_json("report", "--ledger", both, "--study", study)) == alone
        judge = next(key[0] for key in alone)
        shown_ = _listed(_json("leaderboard", "show", "--ledger", both, "--study", study, "--judge", judge))
        assert shown_ == {key: rows for key, rows in alone.items() if key[0] == judge}
