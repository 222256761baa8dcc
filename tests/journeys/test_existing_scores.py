"""Scores that exist already, in CSV files with usual column names, to tables, cards, panels and corrected boards.

Three judges score 50 items of three models; `kind` is one mark too lenient, `noisy` hardly looks. Two people score 30
of the items. All numbers are computed again with scipy from the same rows.
"""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import fmean
from threading import Thread

import pytest
from scipy.stats import pearsonr

import fullbench
from fullbench import Ledger
from fullbench.errors import DataWarning
from tests.journeys.test_imports_end_on_a_page import write_alpaca, write_arena, write_inspect
from tests.support.data_builders import png

SKILL = {"m1": 4.2, "m2": 3.4, "m3": 2.2}
ITEMS = [f"q{number}" for number in range(50)]
JUDGES = {"good": (0.0, 0.3), "kind": (0.7, 0.6), "noisy": (0.3, 2.5)}
"""Bias and noise of each judge."""
FILES = ("--items", "items.csv", "--responses", "answers.csv", "--verdicts", "scores.csv", "--labels", "people.csv")


def write_csv(path: Path, rows: list[dict]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def rows(tmp_path) -> dict[str, list[dict]]:
    draw = random.Random(7)
    truth = {(item, model): draw.gauss(skill, 0.8) for item in ITEMS for model, skill in SKILL.items()}

    def mark(place: tuple[str, str], bias: float, noise: float) -> int:
        return max(1, min(5, round(truth[place] + draw.gauss(bias, noise))))

    tables = {
        "items": [{"question_id": item, "question": f"What is {item}?"} for item in ITEMS],
        "answers": [{"question_id": i, "model": m, "answer": f"{m} says {i}"} for i, m in truth],
        "scores": [
            {"question_id": i, "model": m, "annotator": judge, "score": mark((i, m), *how)}
            for i, m in truth for judge, how in JUDGES.items()
        ],
        "people": [
            {"question_id": i, "model": m, "rater": rater, "score": mark((i, m), 0.0, 0.3)}
            for i, m in truth if i in ITEMS[:30] for rater in ("ann", "bob")
        ],
    }  # fmt: skip
    for name, table in tables.items():
        write_csv(tmp_path / f"{name}.csv", table)
    return tables


def means(rows: list[dict], column: str, judge: str) -> dict[str, float]:
    by_model = defaultdict(list)
    for row in rows:
        if row[column] == judge:
            by_model[row["model"]].append(row["score"])
    return {model: fmean(scores) for model, scores in by_model.items()}


def cells(table: dict, column: str, label: str = "contestant") -> dict[str, float]:
    place = next(at for at, name in enumerate(table["columns"]) if name.startswith(column))
    at = table["columns"].index(label)
    return {row[at]: row[place]["value"] if isinstance(row[place], dict) else row[place] for row in table["rows"]}


def tables_of(out: str) -> dict[str, dict]:
    return {table["name"]: table for table in json.loads(out)}


def agreement_with_people(rows: dict[str, list[dict]]) -> dict[str, float]:
    votes = defaultdict(list)
    for row in rows["people"]:
        votes[row["question_id"], row["model"]].append(row["score"])
    numbers = {}
    for judge in JUDGES:
        marks = {(r["question_id"], r["model"]): r["score"] for r in rows["scores"] if r["annotator"] == judge}
        pairs = [(marks[place], fmean(scores)) for place, scores in votes.items()]
        numbers[judge] = pearsonr(*zip(*pairs, strict=True)).statistic
    return numbers


def check_boards(tables: dict[str, dict], rows: dict[str, list[dict]]) -> None:
    for judge in JUDGES:
        assert cells(tables[f"leaderboard {judge}"], "mean") == pytest.approx(means(rows["scores"], "annotator", judge))
    agreed = {judge: value for judge, value in cells(tables["summary judges"], "agreement", "judge").items() if value}
    assert {judge: agreed[judge] for judge in JUDGES} == pytest.approx(agreement_with_people(rows))
    assert tables["summary contestants"]["notes"][0].startswith("m1 leads (by people's votes)")


def test_scores_in_files_give_the_same_numbers_in_every_way_in(cli, tmp_path, rows):
    code, out, err = cli("report", *FILES, "--json")
    assert (code, (tmp_path / "fullbench.ledger").exists()) == (0, False), err
    assert "630 scores from 1 to 5 were read as score:1-5" in err
    by_report = tables_of(out)
    check_boards(by_report, rows)
    people = {m: fmean(r["score"] for r in rows["people"] if r["model"] == m) for m in SKILL}
    assert cells(by_report["leaderboard human"], "mean") == pytest.approx(people)

    assert cli("judge", *FILES, "--ledger", "kept.ledger", "--quiet")[0] == 0
    code, out, err = cli("report", "--ledger", "kept.ledger", "--json")
    check_boards(tables_of(out), rows)
    code, out, err = cli("card", "good", "--ledger", "kept.ledger")
    assert (code, f"{agreement_with_people(rows)['good']:.2f}" in out) == (0, True), out + err

    with pytest.warns(DataWarning, match="were read as score:1-5"):
        frames = fullbench.report(rows["scores"], items=rows["items"], responses=rows["answers"], labels=rows["people"])
    boards = {table.name: table for table in frames}
    for judge in JUDGES:
        board = boards[f"leaderboard {judge}"]
        place = next(at for at, name in enumerate(board.columns) if name.startswith("mean"))
        found = {row[board.columns.index("contestant")]: row[place].value for row in board.rows}
        assert found == pytest.approx(means(rows["scores"], "annotator", judge))


def test_a_file_of_verdicts_can_be_added_to_a_ledger_report_and_to_a_run(cli, tmp_path, rows):
    assert (
        cli("judge", *FILES[:4], "--judge", "length", "--ballot", "score:1-5", "--ledger", "l.ledger", "--quiet")[0]
        == 0
    )
    code, out, err = cli("report", "--ledger", "l.ledger", *FILES[4:], "--ballot", "score:1-5", "--json")
    assert code == 0, err
    check_boards(tables_of(out), rows)
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        assert len(book.record()) == 150, "a report stores nothing"
    bare = STUDY.format(judges='"length"').replace('verdicts = "scores.csv"', "").partition("[panels")[0]
    (tmp_path / "s.toml").write_text(bare, encoding="utf-8")
    code, out, err = cli("run", "s.toml", "--verdicts", "scores.csv", "--json", "--quiet")
    assert code == 0, err
    check_boards(tables_of(out), rows)
    found = fullbench.run("s.toml", verdicts="scores.csv", quiet=True)
    assert found.record.judges == ["good", "human", "kind", "length", "noisy"]


STUDY = """
name = "mixed"
items = "items.csv"
responses = "answers.csv"
labels = "people.csv"
verdicts = "scores.csv"
ballots = ["score:1-5"]
judges = [{judges}]
ledger = "mixed.ledger"
report = "mixed.html"
[panels.all]
members = ["good", "kind", "noisy"]
rule = "mean"
"""


def test_imported_judges_are_members_of_panels_and_stand_next_to_judges_that_are_called(cli, tmp_path, rows):
    (tmp_path / "s.toml").write_text(STUDY.format(judges=""), encoding="utf-8")
    code, out, err = cli("run", "s.toml", "--json", "--quiet")
    assert code == 0, err
    tables = tables_of(out)
    check_boards(tables, rows)
    wanted = {model: fmean(means(rows["scores"], "annotator", judge)[model] for judge in JUDGES) for model in SKILL}
    assert cells(tables["leaderboard panel:all"], "mean") == pytest.approx(wanted)

    with_length = (
        STUDY.format(judges='"length"').replace('"kind", "noisy"', '"length"').replace("panels.all", "panels.both")
    )
    (tmp_path / "s.toml").write_text(with_length, encoding="utf-8")
    code, out, err = cli("run", "s.toml", "--json", "--quiet")
    assert (code, "Called 150" in err) == (0, True), err
    tables = tables_of(out)
    check_boards(tables, rows)
    both = cells(tables["leaderboard good"], "mean"), cells(tables["leaderboard length"], "mean")
    assert cells(tables["leaderboard panel:both"], "mean") == pytest.approx(
        {model: (both[0][model] + both[1][model]) / 2 for model in SKILL}
    )
    code, out, err = cli("run", "s.toml", "--json", "--quiet")
    assert (code, "Called 0, reused 150" in err) == (0, True), err
    assert cli("replay", "s.toml", "--check")[0] == 0
    with Ledger(tmp_path / "mixed.ledger", read_only=True) as book:
        assert len(book.record()) == 630 + 150


def test_corrected_boards_correct_an_imported_judge(cli, rows):
    code, out, err = cli("report", *FILES, "--judge", "kind", "--corrected", "--json")
    assert code == 0, err
    board = tables_of(out)["corrected kind, score, shares and means"]
    of_means = {**board, "rows": [row for row in board["rows"] if row[0].startswith("mean")]}
    people = {m: fmean(r["score"] for r in rows["people"] if r["model"] == m) for m in SKILL}
    judged = means(rows["scores"], "annotator", "kind")
    assert cells(of_means, "judge alone") == pytest.approx(judged)
    assert cells(of_means, "people alone") == pytest.approx(people)
    for model, value in cells(of_means, "corrected").items():
        assert abs(value - people[model]) < abs(judged[model] - people[model]) / 2


def test_winners_of_pairs_with_a_column_preference(cli, tmp_path, rows):
    pairs = [
        {"question_id": item, "model_a": first, "model_b": second, "preference": "A" if first == "m1" else "2",
         "judge": judge}
        for number, item in enumerate(ITEMS) for first, second in [("m1", "m2") if number % 2 else ("m2", "m1")]
        for judge in ("j1", "j2")
    ]  # fmt: skip
    write_csv(tmp_path / "pairs.csv", pairs)
    code, out, err = cli("report", "--items", "items.csv", "--responses", "answers.csv", "--verdicts", "pairs.csv",
                         "--json")  # fmt: skip
    assert code == 0, err
    assert cells(tables_of(out)["leaderboard j2"], "matches won") == {"m1": 1.0, "m2": 0.0}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (FILES[:2], "No responses given. Add --responses FILE"),
        (FILES[:4], "No verdicts given. Add --verdicts FILE"),
        (FILES[2:], "No items given. Add --items FILE"),
        ((*FILES, "--ledger", "x.ledger"), "--items and --ledger exclude each other"),
        (
            (*FILES[:4], "--verdicts", "items.csv"),
            "items.csv: No column for the contestant and the score. Found: question_id, question.",
        ),
        (
            (*FILES[:4], "--verdicts", "answers.csv"),
            "answers.csv: No column for the score. Found: question_id, model, answer.",
        ),
        ((*FILES[:4], "--verdicts", "other.csv"), "all 2 verdicts are on items that are not here"),
    ],
)
def test_what_is_missing_is_one_sentence(cli, tmp_path, rows, words, sentence):
    write_csv(tmp_path / "other.csv", [{"item": f"x{n}", "model": "m1", "judge": "j", "score": n} for n in (1, 2)])
    code, out, err = cli("report", *words)
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert sentence in err
    assert not list(tmp_path.glob("*.ledger"))


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        ("viel", "scores.csv:5: 'score' must be a finite number; found 'viel'"),
        ("", "scores.csv:5: 'score' is empty here: leave the row out"),
    ],
)
def test_a_score_that_is_no_number_is_refused_as_such(cli, tmp_path, rows, score, sentence):
    rows["scores"][3]["score"] = score
    write_csv(tmp_path / "scores.csv", rows["scores"])
    code, out, err = cli("report", *FILES)
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert sentence in err


def test_rows_that_judge_again_are_counted_and_averaged_as_trials(cli, tmp_path, rows):
    first = rows["scores"][0]
    again = {**first, "score": 1 if first["score"] > 1 else 5}
    rows["scores"] += [again, dict(rows["scores"][1])]
    write_csv(tmp_path / "scores.csv", rows["scores"])
    code, out, err = cli("report", *FILES, "--json")
    assert code == 0, err
    assert "scores.csv: 2 of 452 rows name the item, contestants and judge of an earlier row, 1 with another" in err
    assert f"line 452: good on item 'q0', m1, {again['score']} after {first['score']}. All rows count" in err
    board = tables_of(out)[f"leaderboard {first['annotator']}"]
    assert cells(board, "mean") == pytest.approx(means(rows["scores"], "annotator", first["annotator"]))


def test_contestants_of_people_and_judges_that_differ_are_named(cli, tmp_path, rows):
    for row in rows["people"]:
        row["model"] = row["model"].replace("m3", "千问")
    write_csv(tmp_path / "people.csv", rows["people"])
    code, _out, err = cli("report", *FILES)
    assert code == 0, err
    assert "People voted on 千问, but the judges judged m3: these are not compared." in err
    write_csv(tmp_path / "people.csv", [row for row in rows["people"] if row["model"] != "千问"])
    code, _out, err = cli("report", *FILES)
    assert (code, "Only the judges judged m3: agreement is not measured there." in err) == (0, True), err


def test_votes_on_items_that_no_judge_judged_are_counted_with_the_nearest_name(cli, tmp_path, rows):
    for row in rows["people"][:2]:
        row["question_id"] = f"{rows['people'][0]['question_id']}x"
    write_csv(tmp_path / "people.csv", rows["people"])
    code, _out, err = cli("report", "--verdicts", "scores.csv", "--labels", "people.csv")
    assert code == 0, err
    assert f"people.csv: 2 of {len(rows['people'])} votes are on items that no judge judged, the first on 'q0x'" in err
    assert "did you mean 'q0'?" in err


def test_a_file_without_a_judge_has_the_judge_of_its_name_and_scales_differ_by_judge(cli, tmp_path, rows):
    marks = [{"item": r["question_id"], "contestant": r["model"], "rating": r["score"] * 20 - 3} for r in rows["scores"]
             if r["annotator"] == "good"]  # fmt: skip
    write_csv(tmp_path / "mymetric.csv", marks)
    code, out, err = cli("report", *FILES[:4], "--verdicts", "mymetric.csv", *FILES[6:], "--json")
    assert code == 0, err
    assert "mymetric.csv: no column 'judge'. The judge is called 'mymetric', like the file." in err
    assert "by mymetric from 17 to 97 were read as score:0-100" in err
    assert "by human from 1 to 5 were read as score:1-5" in err
    good = means(rows["scores"], "annotator", "good")
    assert cells(tables_of(out)["leaderboard mymetric"], "mean") == pytest.approx(
        {model: mean * 20 - 3 for model, mean in good.items()}
    )


def test_an_import_can_be_repeated_and_its_study_run(cli, tmp_path):
    write_alpaca(tmp_path / "alp")
    code, first, err = cli("import", "alp", "--out", "study", "--json")
    assert (code, "1 file of other formats skipped (leaderboard.json)" in err) == (0, True), err
    text = (tmp_path / "study" / "study.toml").read_text(encoding="utf-8")
    assert 'verdicts = "verdicts.jsonl"' in text
    assert "judges = []" in text
    code, second, err = cli("run", "study/study.toml", "--json", "--quiet")
    assert code == 0, err
    assert cli("replay", "study/study.toml", "--check")[0] == 0
    assert "No model is called" in cli("run", "study/study.toml", "--dry-run")[2]
    by_import, by_run = tables_of(first), tables_of(second)
    name = "leaderboard weighted_gpt4"
    assert by_run[name]["rows"] == by_import[name]["rows"]
    assert by_run["summary contestants"]["notes"] == by_import["summary contestants"]["notes"]
    with Ledger(tmp_path / "study" / "study.ledger", read_only=True) as book:
        assert len(book.record()) == 24

    files = tmp_path / "alp" / "results" / "strong" / "weighted_gpt4" / "annotations.json"
    rows = json.loads(files.read_text(encoding="utf-8"))
    rows[0]["preference"] = 1.0
    files.write_text(json.dumps(rows), encoding="utf-8")
    ledger = ("--ledger", "study/study.ledger", "--study", "study")
    code, out, err = cli("import", "alpaca", "alp", *ledger, "--json")
    assert (code, "1 verdict differs from the ledger's" in err) == (0, True), err
    wins = cells(tables_of(out)[name], "weighted win rate")
    assert wins["strong"] == pytest.approx(fmean(row["preference"] - 1 for row in rows))
    code, out, err = cli("report", *ledger, "--json")
    assert cells(tables_of(out)[name], "weighted win rate") == pytest.approx(wins)


def test_a_ledger_that_refuses_an_import_leaves_no_folder_behind(cli, tmp_path):
    write_arena(tmp_path / "data")
    ledger = ("--ledger", "l.ledger", "--study", "one")
    assert cli("import", "data", *ledger, "--out", "first")[0] == 0
    assert 'ledger = "../l.ledger"' in (tmp_path / "first" / "study.toml").read_text(encoding="utf-8")
    file = tmp_path / "data" / "clean_battle_conv.json"
    file.write_text(file.read_text(encoding="utf-8").replace("strong says 5", "another answer"), encoding="utf-8")
    code, out, err = cli("import", "data", *ledger, "--out", "second")
    assert (code, out, "answered item 'b5' differently before" in err) == (2, "", True), err
    assert not (tmp_path / "second").exists()


def test_several_files_and_folders_in_one_call(cli, tmp_path):
    write_inspect(tmp_path / "logs")
    (tmp_path / "more").mkdir()
    (tmp_path / "logs" / "2026-05-01_pictures_weak.json").rename(tmp_path / "more" / "weak.json")
    code, _, err = cli("import", "logs", "more/weak.json", "--ledger", "l.ledger")
    assert code == 0, err
    assert "Format: inspect; 2 files read; 1 file of other formats skipped (logs.json)." in err
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        assert book.record().contestants == ["strong", "weak"]


def test_what_cannot_be_detected_is_refused_with_candidates(cli, tmp_path):
    write_arena(tmp_path / "both")
    write_inspect(tmp_path / "both")
    refused = {
        ("both",): ("Several formats fit", "arena or wildvision: 1 file", "inspect: 2 files", "import KIND PATH"),
        ("both/elo_results.json",): ("The format was not recognised.", "elo_results.json has rating", "alpaca"),
        ("alpacca", "both"): ("There is no importer 'alpacca'; did you mean 'alpaca'?",),
        ("alpaca",): ("No file given.",),
        ("alpaca", "both"): ("No file of the format alpaca was found in this folder.", "clean_battle_conv.json"),
        ("nowhere.json",): ("No such file or folder.",),
    }
    for words, sentences in refused.items():
        code, out, err = cli("import", *words, "--ledger", "l.ledger")
        assert (code, out, len(err.splitlines())) == (2, "", 1), err
        assert all(sentence in err for sentence in sentences), err
    assert not (tmp_path / "l.ledger").exists()
    code, _, err = cli("import", "inspect", "both", "--ledger", "l.ledger")
    assert (code, "2 files read; 3 files of other formats skipped" in err) == (0, True), err


def test_pictures_of_an_import_come_from_named_folders_or_stay_out_with_a_count(cli, tmp_path):
    write_arena(tmp_path / "data")
    file = tmp_path / "data" / "clean_battle_conv.json"
    rows = json.loads(file.read_text(encoding="utf-8"))
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "p.png").write_bytes(png())

    def write(image: str) -> None:
        file.write_text(json.dumps([{**row, "image": image} for row in rows]), encoding="utf-8")

    write("../pictures/p.png")
    code, _, err = cli("import", "data", "--ledger", "near.ledger")
    assert (code, "add --pictures-from" in err) == (2, True), err
    code, _, err = cli("import", "data", "--ledger", "near.ledger", "--pictures-from", "pictures")
    assert code == 0, err
    with Ledger(tmp_path / "near.ledger", read_only=True) as book:
        assert {len(item.pictures) for item in book.items()} == {1}
    for image in ("gone.png", "https://pictures.invalid/p.png"):
        write(image)
        code, _, err = cli("import", "data", "--ledger", "far.ledger")
        assert (code, "--fetch-urls" in err) == (2, image.startswith("https")), err
        code, out, err = cli("import", "data", "--ledger", f"{image[:4]}.ledger", "--without-pictures")
        assert code == 0, err
        assert f"{len(rows)} of {len(rows)} items name pictures that are not here" in " ".join(out.split())
        assert "pictures of questions, which are missing" in out


@contextmanager
def served_folder(folder: Path) -> Iterator[str]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_pictures_with_addresses_are_downloaded_on_request(cli, tmp_path, monkeypatch):
    write_arena(tmp_path / "data")
    file = tmp_path / "data" / "clean_battle_conv.json"
    rows = json.loads(file.read_text(encoding="utf-8"))
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "p.png").write_bytes(png())
    with served_folder(tmp_path / "web") as host:
        monkeypatch.setenv("FULLBENCH_FETCH_PRIVATE", host)
        monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))
        file.write_text(json.dumps([{**row, "image": f"http://{host}/p.png"} for row in rows]), encoding="utf-8")
        code, _, err = cli("import", "data", "--ledger", "web.ledger", "--fetch-urls")
    assert code == 0, err
    with Ledger(tmp_path / "web.ledger", read_only=True) as book:
        assert {item.pictures[0].data() for item in book.items()} == {png()}


def test_an_import_of_two_judges_says_how_often_they_agree(cli, tmp_path):
    draw = random.Random(2)
    choices = {judge: [1 + (draw.random() > error) for _ in range(30)] for judge, error in (("j1", 0.1), ("j2", 0.3))}
    rows = [
        {"instruction": f"Q{n}?", "output_1": f"a{n}", "generator_1": "weak", "output_2": f"b{n}",
         "generator_2": "strong", "annotator": judge, "preference": preference}
        for judge, preferences in choices.items() for n, preference in enumerate(preferences)
    ]  # fmt: skip
    (tmp_path / "two.json").write_text(json.dumps(rows), encoding="utf-8")
    code, out, err = cli("import", "two.json", "--ledger", "l.ledger", "--report", "p.html")
    assert code == 0, err
    same = fmean(one == other for one, other in zip(*choices.values(), strict=True))
    assert f"pairs   {same:.2f} [" in out.partition("Agreement between judges")[2]
    assert "Agreement between judges" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_an_import_of_a_table_of_scores_names_the_command_that_shows_it(cli, rows):
    code, out, err = cli("import", "scores.csv")
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    named = err.partition("Show it with `fullbench ")[2].partition("`")[0]
    words = named.replace("ITEMS", "items.csv").replace("RESPONSES", "answers.csv").split()
    code, out, err = cli(*words, "--json")
    assert code == 0, err
    good = means(rows["scores"], "annotator", "good")
    assert cells(tables_of(out)["leaderboard good"], "mean") == pytest.approx(good)


def test_report_and_card_in_python_take_quiet_like_the_other_functions(tmp_path, rows, recwarn):
    marks = [
        {key: row[key] for key in ("question_id", "model", "score")}
        for row in rows["scores"]
        if row["annotator"] == "good"
    ]
    write_csv(tmp_path / "good.csv", marks)
    sources = {"items": tmp_path / "items.csv", "responses": tmp_path / "answers.csv"}
    quiet = fullbench.report(tmp_path / "good.csv", **sources, quiet=True)
    assert not [warning for warning in recwarn if issubclass(warning.category, DataWarning)]
    with pytest.warns(DataWarning, match="The judge is called 'good'"):
        loud = fullbench.report(tmp_path / "good.csv", **sources)
    assert str(quiet) == str(loud)
    record = fullbench.judge(
        sources["items"],
        sources["responses"],
        verdicts=tmp_path / "scores.csv",
        ledger=tmp_path / "l.ledger",
        quiet=True,
    )
    assert str(fullbench.card(record, "good", quiet=True)) == str(fullbench.card(record, "good"))
