"""A leaderboard keeps submissions whole: whoever comes later meets everybody on every item, and only that is asked."""

from __future__ import annotations

import json
import random
import time
from collections import Counter

import pytest
from scipy.optimize import minimize

from fullbench import Case, Item, Ledger, Response, Score, Verdict
from fullbench.studies.leaderboards.withheld_test_sets import mark_withheld_items, without_withheld_items
from fullbench.web.app import create_app
from fullbench.web.results.catalogue.catalogue_board_and_page_updater import update_catalogue
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.api_script import Script
from tests.support.commands import cells, cli, read_jsonl, write_rows
from tests.support.scripted_server import ScriptedServer
from tests.web.conftest import signed_in


def write_submissions(folder, items, names):
    folder.mkdir(exist_ok=True)
    rows = [
        {
            "id": f"题{n}",
            "question": f"What of {n}?",
            "reference": f"the reference answer {n} " + "word " * (4 + 17 * n % 13),
            "captions": [f"caption {n}"],
            "tags": {"family": f"f{n % 3}"},
        }
        for n in range(items)
    ]
    write_rows(folder / "items.jsonl", rows)
    lot = random.Random(5)
    for name in names:
        answers = [{"item": f"题{n}", "text": f"{name} on {n} " + "word " * lot.randint(1, 30)} for n in range(items)]
        write_rows(folder / f"{name}.jsonl", answers)


def matches(ledger, judge="length"):
    """How often every two met, by the ledger."""
    with Ledger(ledger, read_only=True) as book:
        met = Counter(frozenset(verdict.contestants) for verdict in book.verdicts(judge))
        kept = Counter(response.contestant for response in book.responses(None))
    return {pair: count // 2 for pair, count in met.items()}, kept


def test_every_answer_is_kept_and_later_newcomers_meet_on_every_item(tmp_path):
    write_submissions(tmp_path / "d", 40, ("one", "two", "three"))
    ledger = tmp_path / "b.ledger"
    common = ("--data", tmp_path / "d", "--judge", "length", "--ledger", ledger, "--quiet")
    few = ("--reference-matches", 10)
    cli("leaderboard", "add", "one", "--predictions", tmp_path / "d" / "one.jsonl", *few, *common)
    met, kept = matches(ledger)
    assert met == {frozenset({"one", "reference"}): 10}
    assert kept == {"one": 40, "reference": 40}, "all answers, not only the ten that were shown"
    cli("leaderboard", "add", "two", "--predictions", tmp_path / "d" / "two.jsonl", *few, *common)
    met, kept = matches(ledger)
    assert met[frozenset({"one", "two"})] == 40
    assert kept["two"] == 40
    entered = cli("leaderboard", "submit", "three", "--predictions", tmp_path / "d" / "three.jsonl", "--data",
                  tmp_path / "d", "--ledger", ledger)  # fmt: skip
    assert "40 responses to 40 items, 40 of them new" in entered.output
    # Nothing was asked by submitting; it plays from the ledger, without its file.
    assert matches(ledger)[0] == met
    told = cli("leaderboard", "add", "three", "--opponents", 2, *few, *common)
    assert "Called 180, reused 0" in told.output
    met, _ = matches(ledger)
    assert met[frozenset({"one", "three"})] == met[frozenset({"two", "three"})] == 40
    assert "Called 0, reused 180" in cli("leaderboard", "add", "three", "--opponents", 2, *few, *common).output


def test_a_leaderboard_is_tried_on_the_first_items_and_goes_on(tmp_path):
    write_submissions(tmp_path / "d", 12, ("one", "two", "three"))
    ledger = tmp_path / "b.ledger"
    common = ("--data", tmp_path / "d", "--judge", "length", "--ledger", ledger, "--quiet")
    for name in ("one", "two"):
        cli("leaderboard", "submit", name, "--predictions", tmp_path / "d" / f"{name}.jsonl", *common[:2], *common[4:6])
    added = ("leaderboard", "add", "three", "--predictions", tmp_path / "d" / "three.jsonl", *common)
    planned = cli(*added, "--limit", 5, "--dry-run")
    assert "Only the first 5 of 12 items" in planned.output
    tried = cli(*added, "--limit", 5)
    assert "Only the first 5 of 12 items are in this run" in tried.output
    assert "Called 20, reused 0" in tried.output, "an opponent and the reference on each item, in both orders"
    with Ledger(ledger, read_only=True) as book:
        heard = {verdict.item for verdict in book.verdicts("length")}
    assert heard == {f"题{n}" for n in range(5)}
    assert matches(ledger)[1] == {"one": 12, "two": 12, "three": 12, "reference": 12}, "submissions are kept whole"
    assert "Called 28, reused 20" in cli(*added).output, "the same command goes on, and nothing is asked twice"


def test_what_cannot_be_a_submission_is_refused_and_nothing_is_kept(tmp_path):
    write_submissions(tmp_path / "d", 5, ("one",))
    ledger = tmp_path / "b.ledger"
    short = write_rows(tmp_path / "short.jsonl", [{"item": "题0", "text": "x"}, {"item": "题3", "text": "y"}])
    submit = ("leaderboard", "submit", "one", "--data", tmp_path / "d", "--ledger", ledger, "--predictions")
    refused = cli(*submit, short, code=2)
    assert "leaves 3 of 5 items unanswered (题1, 题2, 题4)" in refused.output
    with Ledger(ledger, read_only=True) as book:
        assert not list(book.responses(None))
    assert "2 responses to 5 items" in cli(*submit, short, "--partial").output
    other = write_rows(tmp_path / "other.jsonl", [{"item": f"题{n}", "text": "changed"} for n in range(5)])
    assert "answered item '题0' differently before" in cli(*submit, other, code=2).output
    two = write_rows(tmp_path / "two.jsonl", [{"item": "题0", "contestant": "one", "text": "x"},
                                              {"item": "题0", "contestant": "two", "text": "x"}])  # fmt: skip
    assert "one contestant" in cli(*submit, two, "--partial", code=2).output


def bradley_terry(pairs):
    """Ratings by plain maximum likelihood, on the scale of the board: mean 1000, 400 points for odds of ten."""
    names = sorted({name for one, two, _ in pairs for name in (one, two)})

    def loss(values):
        import math

        strength = dict(zip(names, values, strict=True))
        total = 0.0
        for one, two, won in pairs:
            gap = strength[one] - strength[two]
            total += math.log1p(math.exp(-gap)) * won + math.log1p(math.exp(gap)) * (1 - won)
        return total + 1e-9 * sum(value * value for value in values)

    found = minimize(loss, [0.0] * len(names), method="BFGS", options={"gtol": 1e-9})
    scale = 400 / 2.302585092994046
    middle = sum(found.x) / len(names)
    return {name: 1000 + scale * (value - middle) for name, value in zip(names, found.x, strict=True)}


def test_the_history_of_ranks_and_wins_against_the_reference_by_family(tmp_path):
    """By an independent computation over the ledger's verdicts, step by step."""
    write_submissions(tmp_path / "d", 30, ("one", "two", "three"))
    ledger = tmp_path / "b.ledger"
    for name in ("one", "two", "three"):
        cli("leaderboard", "add", name, "--predictions", tmp_path / "d" / f"{name}.jsonl", "--data", tmp_path / "d",
            "--judge", "length", "--ledger", ledger, "--quiet", "--reference-matches", 30)  # fmt: skip
    show = ("leaderboard", "show", "--judge", "length", "--ledger", ledger, "--rule", "mean", "--history")
    tables = cli(*show, "--json").tables
    with Ledger(ledger, read_only=True) as book:
        verdicts = list(book.verdicts("length"))
        families = {item.id: item.tags["family"] for item in book.items()}
    pairs: dict[tuple[str, str, str], list[float]] = {}
    for verdict in verdicts:
        (one, two), (first, second) = verdict.contestants, verdict.marks
        won = (first > second) + 0.5 * (first == second)
        key = (verdict.item, *sorted((one, two)))
        pairs.setdefault(key, []).append(won if key[1] == one else 1 - won)
    settled = [(key, sum(each) / len(each)) for key, each in pairs.items()]
    steps = cells(tables["history"], "rating", "step number", "contestant")
    for step, there in ((1, {"one", "reference"}), (2, {"one", "two", "reference"}), (3, None)):
        played = [(key[1], key[2], won) for key, won in settled if there is None or {key[1], key[2]} <= there]
        expected = bradley_terry(played)
        got = {name: rating for (number, name), rating in steps.items() if number == step}
        if len(expected) > 2:
            assert got == pytest.approx(expected, abs=0.5)
        assert set(got) == set(expected)
    by_family = cells(tables["by family against reference"], "won", "family", "contestant")
    for (family, name), share in by_family.items():
        theirs = [won if key[1] == name else 1 - won for key, won in settled
                  if {key[1], key[2]} == {name, "reference"} and families[key[0]] == family]  # fmt: skip
        assert share == pytest.approx(sum(theirs) / len(theirs))
    assert {name for _, name in by_family} == {"one", "two", "three"}
    page = tmp_path / "board.html"
    cli(*show, "--out", page)
    text = page.read_text(encoding="utf-8")
    assert "History of ranks" in text
    assert "Submissions in the ledger" in text


def test_a_mark_withholds_a_case_and_the_ledger_remembers_it(tmp_path):
    ledger, items = (
        tmp_path / "w.ledger",
        [Item.ask(f"w{n}", f"What of {n}?", reference=f"secret {n}") for n in range(3)],
    )
    with Ledger(ledger) as book:
        for item in mark_withheld_items(book, items, withheld=True):
            case = Case(item, (Response.say(item.id, "a", f"one on {item.id}"),), Score(1, 5))
            book.add(case, Verdict.from_case(case, "j", (3.0,), text="the reference answer"))
    with Ledger(ledger) as book:
        assert all(item.is_withheld for item in mark_withheld_items(book, items, withheld=False))
    for study in ("default", "other"):
        with Ledger(ledger, study=study) as book:
            for item in items:  # as a run brings them that knows nothing of the mark
                case = Case(item, (Response.say(item.id, "a", f"one on {item.id}"),), Score(1, 5))
                book.add(case, Verdict.from_case(case, f"j-{study}", (2.0,)))
    with Ledger(ledger, study="default") as book:
        record, left_out = without_withheld_items(book.record())
    assert (len(record), dict(record.items), dict(record.responses), left_out) == (0, {}, {}, 3)
    served(ledger, tmp_path, ("secret", "What of", "one on", "the reference answer"))


@pytest.mark.slow
def test_a_withheld_test_set_is_judged_and_never_shown(tmp_path):
    """Ratings are those of an open board; references, questions and answers are in nothing that goes to others."""
    write_submissions(tmp_path / "d", 12, ("one", "two", "three"))
    items, questions = tmp_path / "d" / "items.jsonl", tmp_path / "questions.jsonl"
    told = cli("leaderboard", "questions", "--data", items, "--out", questions)
    assert "12 questions, without references, captions and labels" in told.output
    assert [set(row) - {"tags"} for row in read_jsonl(questions)] == [{"id", "question"}] * 12
    boards = {}
    for kind, mark in (("open", ()), ("secret", ("--withheld",))):
        ledger = tmp_path / f"{kind}.ledger"
        common = ("--data", items, "--ledger", ledger)
        for name in ("one", "two", "three"):
            file = ("--predictions", tmp_path / "d" / f"{name}.jsonl")
            cli("leaderboard", "submit", name, *file, *common, *(mark if name == "one" else ()))
            # Who adds a submission need not say it again: the ledger knows what it withholds.
            cli("leaderboard", "add", name, *common, "--judge", "length", "--quiet", "--out", tmp_path / "x.json")
        boards[kind] = json.loads(cli("leaderboard", "show", "--judge", "length", "--ledger", ledger, "--json").stdout)
    rated = [[(row[1], row[2]["value"]) for row in board[0]["rows"]] for board in boards.values()]
    assert rated[0] == rated[1]
    assert len(rated[1]) == 4
    said = cli("leaderboard", "submit", "late", "--predictions", tmp_path / "d" / "one.jsonl", "--data", items,
               "--ledger", tmp_path / "open.ledger", "--withheld", code=2).output  # fmt: skip
    assert "12 of these items as public ones" in said

    secret = tmp_path / "secret.ledger"
    words = ("the reference answer", "What of", "caption 1", "one on", "two on", "three on")
    for kind, leaks in (("open", True), ("secret", False)):
        page, site = tmp_path / f"{kind}.html", tmp_path / f"{kind}-site"
        cli("leaderboard", "show", "--judge", "length", "--ledger", tmp_path / f"{kind}.ledger", "--out", page)
        told = cli("export", "site", "--ledger", tmp_path / f"{kind}.ledger", "--out", site, "--no-charts", "--web",
                   tmp_path / "none")  # fmt: skip
        assert ("verdicts are withheld" in told.output) is not leaks
        texts = {path: path.read_text(encoding="utf-8", errors="ignore") for path in [page, *site.rglob("*")]
                 if path.is_file()}  # fmt: skip
        found = {(path.name, word) for path, text in texts.items() for word in words if word in text}
        assert bool(found) is leaks, found
        assert ("12 of 12 items are a withheld test set" in texts[page]) is not leaks
        assert any("three" in text for text in texts.values()), "contestants are on the board"
        log = tmp_path / f"{kind}-arena.jsonl"
        told = cli("export", "arena", "--ledger", tmp_path / f"{kind}.ledger", "--out", log, code=0 if leaks else 2)
        assert ("12 items are withheld" in told.output) is not leaks
        assert (log.exists() and "What of" in log.read_text(encoding="utf-8")) is leaks
    served(secret, tmp_path, words)


def served(ledger, folder, words) -> None:
    """The site and its API as readers see them: no case of the withheld set, in lists, searches and pages."""
    settings = Settings(f"sqlite:///{folder / 'web.sqlite'}", str(ledger), data=folder / "web", public=True)
    app = create_app(settings)
    with Ledger(ledger, read_only=True) as book:
        update_catalogue(app.state.engine, book)
        case = next(iter(book.verdicts())).case
    for visitor, sees in ((signed_in(app, "vic", "viewer"), False), (signed_in(app, "lea", "organiser"), True)):
        texts = [visitor.get(path).text for path in ("/", "/verdicts", "/verdicts?q=reference", "/judges")]
        page = visitor.get(f"/cases/{case}")
        assert page.status_code == (200 if sees else 403)
        assert any(word in text for text in (*texts, page.text) for word in words) is sees
        assert any("verdicts are withheld" in text for text in texts) is not sees
    with Script(app, "Sam", "viewer") as script:
        listed = script.get("/api/v1/verdicts").json()
        asked = script.get(f"/api/v1/cases/{case}")
        texts = [script.get(f"/api/v1/{path}").text for path in ("boards", "judges", "verdicts?q=reference")]
    assert (asked.status_code, listed["rows"], listed["withheld"] > 0) == (403, [], True)
    assert not any(word in text for text in (*texts, asked.text) for word in words)
    app.state.engine.dispose()


@pytest.mark.slow
def test_thirty_submissions_of_five_hundred_items_and_one_more(tmp_path):
    names = [f"m{n}" for n in range(31)]
    write_submissions(tmp_path / "d", 500, names)
    ledger = tmp_path / "b.ledger"
    judge = {"j": lambda asked: f"Overall, Response {'AB'[len(asked.last) % 2]} is better."}
    with ScriptedServer(judge) as server:
        for name in names[:30]:
            words = ("--data", tmp_path / "d", "--judge", "length", "--ledger", ledger, "--out", tmp_path / "x.json")
            cli("leaderboard", "add", name, "--predictions", tmp_path / "d" / f"{name}.jsonl", "--quiet", *words)
        spec = f"vllm:j@{server.url}"
        common = (
            "--data",
            tmp_path / "d",
            "--judge",
            spec,
            "--prompt-style",
            "ref-free",
            "--ledger",
            ledger,
            "--quiet",
        )
        added = ("leaderboard", "add", "m30", "--predictions", tmp_path / "d" / "m30.jsonl", *common)
        told = cli(*added, "--out", tmp_path / "x.json")
        assert "Called 1,300, reused 0" in told.output
        assert len(server.asked) == 1300
        assert "Called 0, reused 1,300" in cli(*added, "--out", tmp_path / "x.json").output
        assert len(server.asked) == 1300
    show = ("leaderboard", "show", "--judge", "length", "--ledger", ledger)
    times = []
    for _ in range(4):
        start = time.process_time()
        shown = cli(*show, "--json")
        times.append(time.process_time() - start)
    assert len(json.loads(shown.stdout)[0]["rows"]) == 31
    # The computer's own time, without imports: other work on the machine is not the board's.
    assert min(times) < 2, times
