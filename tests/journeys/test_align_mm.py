"""AlignMMBench on data of one's own, by the command line: Table 3 with sizes and ranks, exports that can be run."""

from __future__ import annotations

import csv
import json
import re
from statistics import fmean, median, pstdev

import pytest
from scipy import stats

from tests.support.commands import cells, cli, write_rows
from tests.support.data_builders import png
from tests.support.scripted_server import Asked, ScriptedServer

TASKS = ("Counting", "OCR", "Writing")


def questions(seeds: int, wordings: int) -> list[dict]:
    return [
        {"id": f"s{seed}-{variant}", "question": f"第 {seed} 题的第 {variant} 种问法？", "reference": f"参考 {seed}",
         "tags": {"task": TASKS[seed % len(TASKS)], "seed": f"s{seed}", "variant": str(variant)}}
        for seed in range(seeds) for variant in range(wordings)
    ]  # fmt: skip


def test_what_export_says_comes_next_can_be_typed(tmp_path, monkeypatch):
    """A release with a judge's ratings: the printed commands run, and the ratings are among the tables."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release").mkdir()
    write_rows(tmp_path / "release" / "items.jsonl", asked := questions(6, 2))
    write_rows(
        tmp_path / "release" / "responses.jsonl",
        [{"item": item["id"], "contestant": name, "text": f"{name} {item['id']}"} for item in asked for name in "ab"],
    )
    ratings = [
        {"item": item["id"], "contestant": name, "ballot": "score:1-10", "judge": "rater", "marks": [1 + place % 7 + n]}
        for place, item in enumerate(asked) for n, name in enumerate("ab")
    ]  # fmt: skip
    write_rows(tmp_path / "release" / "verdicts.jsonl", ratings)
    said = cli("export", "alignmmbench", "--data", "release", "--out", "out").stderr
    commands = [line.partition("fullbench ")[2].split() for line in said.splitlines() if "fullbench " in line]
    assert [words[0] for words in commands] == ["run", "report"], said
    study = tmp_path / "out" / "study.toml"  # drawing its page is tried elsewhere, and takes longest
    study.write_text(study.read_text(encoding="utf-8").replace('report = "report.html"\n', ""), encoding="utf-8")
    cli(*commands[0], "--quiet", "--json")
    table = cli(*commands[1], "--json").tables["averages rater"]
    for name in "ab":
        marks = [row["marks"][0] for row in ratings if row["contestant"] == name]
        assert cells(table, "mean over questions", "contestant")[name] == pytest.approx(fmean(marks))

    # Questions alone cannot be run until somebody answers, and that is what is said.
    write_rows(tmp_path / "metadata.jsonl", [
        {"question_id": "00000000-0", "image_path": "images/0.jpg", "history": [], "prompt": "几个？",
         "ref_answer": "三个", "task": "Counting", "category": "Perception & Understanding"}
    ])  # fmt: skip
    said = cli("export", "alignmmbench", "--data", tmp_path, "--out", "unanswered").stderr
    assert "Next:" not in said
    assert "There are no responses yet. Add contestants to unanswered/study.toml" in said
    assert "Name contestants or responses" in cli("run", "unanswered/study.toml", "--quiet", code=2).stderr
    study = tmp_path / "unanswered" / "study.toml"
    named = re.sub(
        "# contestants = .*", 'contestants = ["offline:canned?text=三个"]', study.read_text(encoding="utf-8")
    )
    study.write_text(named.replace('report = "report.html"\n', ""), encoding="utf-8")
    assert "averages length" in cli("run", "unanswered/study.toml", "--quiet", "--json").tables


MARKS = {
    "rock": lambda seed, variant: 6 + seed % 3,
    "good": lambda seed, variant: 7 + (seed + variant) % 3,
    "wild": lambda seed, variant: 1 + (3 * seed + 4 * variant) % 9,
    "meek": lambda seed, variant: 2 + (seed + variant) % 2,
    "good without image": lambda seed, variant: 1 + (seed + variant) % 4,
}
ABOUT = {"rock": ("72B", 4), "good": ("-", 1), "wild": ("8B", 2), "me": ("19B", 3), "someone else": ("7B", 9)}
"""Sizes and ranks elsewhere; a contestant may be named by its beginning."""


def test_table_3_with_sizes_ranks_and_a_contestant_that_never_wavers(tmp_path):
    """Five contestants, six seeds in three wordings, a critic on a server: every figure again by hand, ∞ among them."""
    seeds, wordings = range(6), range(3)
    items = questions(len(seeds), len(wordings))
    write_rows(tmp_path / "items.jsonl", items)
    write_rows(tmp_path / "answers.jsonl", [
        {"item": item["id"], "contestant": name, "text": f"[[{name}/{item['id']}]]"} for item in items for name in MARKS
    ])  # fmt: skip
    with (tmp_path / "about.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("contestant", "size", "rank"), *((k, *v) for k, v in ABOUT.items())])

    def rate(asked: Asked) -> str:
        name, seed, variant = re.search(r"\[\[(.+)/s(\d+)-(\d+)\]\]", asked.words).groups()
        return json.dumps({"Rating": MARKS[name](int(seed), int(variant)), "Reason": "对照参考答案。"})

    with ScriptedServer({"critic": rate}) as server:
        (tmp_path / "s.toml").write_text(
            'name = "s"\nbenchmark = "alignmmbench"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
            f'about = "about.csv"\nledger = "s.ledger"\njudges = ["critic:vllm:critic@{server.url}"]\n',
            encoding="utf-8",
        )
        found = cli("run", tmp_path / "s.toml", "--quiet", "--json").tables
    named = {name.partition(" critic")[0]: table for name, table in found.items()}
    marks = {name: {(s, v): mark(s, v) for s in seeds for v in wordings} for name, mark in MARKS.items()}
    by_task = {
        name: [fmean(value for (s, _), value in own.items() if s % 3 == task) for task in range(3)]
        for name, own in marks.items()
    }
    spread = {name: [pstdev(own[s, v] for v in wordings) for s in seeds] for name, own in marks.items()}
    board = named["averages"]
    average = {name: fmean(tasks) for name, tasks in by_task.items()}
    assert cells(board, "Avg", "contestant") == pytest.approx(average)
    aligned = {name: len(seeds) / sum(own) if sum(own) else "∞" for name, own in spread.items()}
    for name, shown in cells(board, "alignment", "contestant").items():
        assert shown == (aligned[name] if name == "rock" else pytest.approx(aligned[name])), name
    for place, task in enumerate(TASKS):
        assert cells(named["tasks"], task, "contestant") == pytest.approx({n: by_task[n][place] for n in MARKS})

    # Size and rank stand on the boards; the place is among those that have a rank.
    known = {"rock": ("72B", 4), "good": (None, 1), "wild": ("8B", 2), "meek": ("19B", 3)}
    for table in (board, named["tasks"]):
        assert cells(table, "size", "contestant") == {name: known.get(name, (None, None))[0] for name in MARKS}
        assert cells(table, "rank elsewhere", "contestant") == {
            name: known.get(name, (None, None))[1] for name in MARKS
        }
    places = cells(board, "place on the board", "contestant")
    ranked = sorted(known, key=lambda name: -average[name])
    assert places == {name: ranked.index(name) + 1 if name in known else None for name in MARKS}
    rho = stats.spearmanr([places[name] for name in known], [known[name][1] for name in known]).statistic
    notes = " ".join(board["notes"])
    assert f"Spearman correlation of this order with the ranks from elsewhere: {rho:.3f} (4 contestants)" in notes
    assert "1 name with known ranks matches no single contestant here: someone else." in notes

    # The quadrants: split at the medians of those with pictures, the steady one above every line.
    pictured = [name for name in MARKS if name in known]
    lines = (
        median(average[name] for name in pictured),
        median(float("inf") if name == "rock" else aligned[name] for name in pictured),
    )
    kinds = {(True, True): "Robust Convergence", (True, False): "Component-Centric",
             (False, True): "Alignment-Driven", (False, False): "Baseline Limited"}  # fmt: skip
    expected = {
        name: kinds[average[name] >= lines[0], name == "rock" or aligned[name] >= lines[1]] for name in pictured
    }
    assert cells(named["quadrants"], "quadrant", "contestant") == {**expected, "good without image": None}
    assert len(set(expected.values())) == 4

    # The same file serves a report, and a wrong one is named.
    again = cli("report", "--ledger", tmp_path / "s.ledger", "--benchmark", "alignmmbench", "--about",
                tmp_path / "about.csv", "--json").tables  # fmt: skip
    assert cells(next(t for n, t in again.items() if n.startswith("averages")), "size", "contestant")["meek"] == "19B"
    (tmp_path / "s.ledger").unlink()  # nobody is asked before the file was read: there is no server any longer
    (tmp_path / "about.csv").write_text("contestant,rank\nrock,first\n", encoding="utf-8")
    said = cli("run", tmp_path / "s.toml", "--quiet", code=2).output
    assert "a rank is a whole number, 1 for the best; found 'first'" in said


def test_what_is_known_of_contestants_never_hides_a_boards_own_column(tmp_path):
    """A plain leaderboard has a rank and a rating already: those that are given stand beside them under other names."""
    write_rows(tmp_path / "items.jsonl", [{"id": f"i{n}", "question": f"Q{n}?"} for n in range(4)])
    answers = [
        {"item": f"i{n}", "contestant": who, "text": "word " * (4 * len(who) + n)}
        for n in range(4)
        for who in ("a", "bb", "ccc")
    ]
    write_rows(tmp_path / "answers.jsonl", answers)
    (tmp_path / "about.csv").write_text("contestant,rating,rank\na,AA,1\nbb,B,2\nccc,C,3\n", encoding="utf-8")
    (tmp_path / "s.toml").write_text(
        'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\njudges = ["length"]\nballots = ["choice"]\n'
        'about = "about.csv"\nledger = "s.ledger"\n',
        encoding="utf-8",
    )
    found = cli("run", tmp_path / "s.toml", "--quiet", "--json").tables
    board = next(table for name, table in found.items() if name.startswith("leaderboard"))
    assert len(set(board["columns"])) == len(board["columns"])
    assert cells(board, "rating (given)", "contestant") == {"a": "AA", "bb": "B", "ccc": "C"}
    assert cells(board, "rank elsewhere", "contestant") == {"a": 1, "bb": 2, "ccc": 3}
    assert cells(board, "place on the board", "contestant") == {"a": 3, "bb": 2, "ccc": 1}
    assert any("from elsewhere: -1.000 (3 contestants)" in note for note in board["notes"])


def test_table_3_with_a_row_without_pictures_from_pictures_and_questions(tmp_path):
    """Contestants on a server answer questions on pictures, one of them again without; a critic scores and explains."""
    rows = []
    for number in range(6):
        (tmp_path / f"{number}.png").write_bytes(png((number * 30, 9, 9)))
        rows.append({"id": f"s{number}", "question": f"第 {number} 题？", "images": [f"{number}.png"],
                     "reference": f"参考 {number}", "tags": {"task": TASKS[number % 3]}})  # fmt: skip
    write_rows(tmp_path / "items.jsonl", rows)

    def answer(asked: Asked) -> str:
        return f"[[{asked.model}/{len(asked.pictures)}/{re.search(r'第 (.)', asked.words)[1]}]]"

    def rate(asked: Asked) -> str:
        assert not asked.pictures, "the critic reads texts only"
        model, pictures, number = re.search(r"\[\[(\w+)/(\d)/(\d)\]\]", asked.words).groups()
        score = {"strong": 8, "weak": 5}[model] * int(pictures) + int(number) % 2 + 1 * (pictures == "0")
        return json.dumps({"Rating": score, "Reason": "对照参考答案。"})

    with ScriptedServer({"strong": answer, "weak": answer, "critic": rate}) as server:
        strong, weak, critic = (f"vllm:{name}@{server.url}" for name in ("strong", "weak", "critic"))
        (tmp_path / "s.toml").write_text(
            'name = "s"\nbenchmark = "alignmmbench"\ndata = "items.jsonl"\nledger = "s.ledger"\n'
            f'contestants = ["{strong}", "{weak}", "blind:{strong}"]\njudges = ["critic:{critic}?mode=analyze"]\n',
            encoding="utf-8",
        )
        found = cli("run", tmp_path / "s.toml", "--quiet", "--json").tables
        sent = len(server.asked)
        charts = tmp_path / "charts"
        cli("report", "--ledger", tmp_path / "s.ledger", "--benchmark", "alignmmbench", "--charts", charts)
        assert len(server.asked) == sent == 18 + 18, "a report calls nobody"
    board = next(table for name, table in found.items() if name.startswith("averages critic"))
    average = cells(board, "Avg", "contestant")
    base_scores = {"strong": 8, "weak": 5, "blind": 1}
    for name, mean in average.items():
        kind = "blind" if "blind" in name or "without" in name else "strong" if "strong" in name else "weak"
        tasks = [fmean(base_scores[kind] + number % 2 for number in range(task, 6, 3)) for task in range(3)]
        assert mean == pytest.approx(fmean(tasks)), name
    assert len(average) == 3
    (radar,) = charts.glob("task-means-*.svg")
    assert [task for task in TASKS if task not in radar.read_text(encoding="utf-8")] == []
