"""Both papers end to end on new data: pictures, contestants and judges behind a server, raters, and every table again.

Each figure is computed a second time from the exported verdicts, by scipy, scikit-learn or plain Python.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from tests.journeys import visit_again
from tests.journeys.commands import cells, cli, read_jsonl, write_rows
from tests.making import png
from tests.scripted_server import Asked, ScriptedServer

SETS = ("chart", "photo", "地图")
CONTESTANTS = ("alpha", "beta", "gamma", "delta")
RATERS = ("r1", "r2", "r3")
QUALITY = {"alpha": 4, "beta": 3, "gamma": 2, "delta": 1}


def number(text: str) -> int:
    """A number that depends on the text alone."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def answer(name: str):
    def say(asked: Asked) -> str:
        return f"{name} sees {asked.pictures[0][:4]}: " + "word " * (3 + number(name + asked.last) % 17)

    return say


def shown(asked: Asked) -> list[str]:
    """Whose answers are shown, in their order."""
    return re.findall(r"\b(alpha|beta|gamma|delta|truth) (?:sees|is)\b", asked.last)


def judge(sway: int):
    """A judge that knows the contestants' quality, with noise of its own, and favours what is shown first by `sway`."""

    def rule(asked: Asked) -> str:
        names = shown(asked)
        worth = [
            2 * QUALITY.get(name, 5) + number(f"{sway}{name}{asked.pictures}") % 6 + (sway if place == 0 else 0)
            for place, name in enumerate(names)
        ]
        if len(names) == 1:
            return f"Thought through. [[{min(5, 1 + worth[0] // 3)}]]"
        order = sorted(range(len(names)), key=lambda place: -worth[place])
        if len(names) == 2:
            letter = "AB"[order[0]]
            return f"Thought through. Overall, Response {letter} is better. [[{letter}]]"
        return "Thought through. " + ", ".join(f"[[{'ABCD'[place]}]]" for place in order)

    return rule


def lay_out(folder, items: int) -> None:
    (folder / "p").mkdir(parents=True)
    rows = []
    for n in range(items):
        (folder / "p" / f"{n}.png").write_bytes(png((n * 5 % 256, n * 11 % 256, 90), (12, 12)))
        tags = {"task": ("score", "pair", "batch")[n % 3], "dataset": SETS[n // 3 % 3], "family": f"family {n % 5}",
                "abilities": ("recognition", "inference")[n % 2], "images": "single", "label": "correct"}  # fmt: skip
        rows.append(
            {"id": f"题{n}", "question": f"What of {n}?", "pictures": [f"p/{n}.png"], "captions": [f"caption {n}"],
             "reference": f"truth is {n}, told in so many words", "tags": tags}
        )  # fmt: skip
    write_rows(folder / "items.jsonl", rows)


def labels(items, answers, *, forced: bool) -> list[dict[str, object]]:
    """Three raters with noise: scores and rankings, or pairs of everybody."""
    rows: list[dict[str, object]] = []
    by_item = defaultdict(dict)
    for row in answers:
        by_item[row["item"]][row["contestant"]] = row
    for item in items:
        names = sorted(by_item[item["id"]])
        for rater in RATERS:
            lot = random.Random(f"{rater}{item['id']}")
            base = {"item": item["id"], "judge": "human", "rater": rater}
            worth = {name: QUALITY.get(name.split("@")[0], 5) + lot.uniform(-2, 2) for name in names}
            task = "pair" if forced else item["tags"]["task"]
            if task == "score":
                for name in names:
                    mark = int(min(5, max(1, round(worth[name] + 0.5))))
                    rows.append({**base, "contestants": [name], "marks": [mark], "ballot": "score:1-5"})
            elif task == "pair":
                for one, two in combinations(names, 2):
                    first = worth[one] > worth[two]
                    close = not forced and abs(worth[one] - worth[two]) < 0.4
                    marks = [0.5, 0.5] if close else [float(first), float(not first)]
                    form = "choice" if forced else "choice+tie"
                    rows.append({**base, "contestants": [one, two], "marks": marks, "ballot": form})
            else:
                order = sorted(names, key=lambda name: -worth[name])
                marks = [float(len(names) - order.index(name)) for name in names]
                rows.append({**base, "contestants": names, "marks": marks, "ballot": "ranking"})
    return rows


def joined(rows, *, kind: str):
    """People's votes as one ruling for each set of responses: means of scores and ranks, majorities of pairs."""
    votes = defaultdict(list)
    for row in rows:
        votes[row["item"], tuple(row["contestants"])].append(row["marks"])
    found = {}
    for place, each in votes.items():
        if kind == "pair":
            signs = Counter(int(np.sign(one - two)) for one, two in each)
            (best, most), *rest = signs.most_common()
            found[place] = best if not rest or rest[0][1] < most else 0
        else:
            found[place] = np.mean(each, axis=0)
    return found


def journey(folder, items: int) -> None:
    lay_out(folder, items)
    models = {name: answer(name) for name in CONTESTANTS} | {f"j{sway}": judge(sway) for sway in (0, 2, 4)}
    with ScriptedServer(models) as server:
        contestants = [f"vllm:{name}@{server.url}" for name in CONTESTANTS]
        judges = [f"vllm:j{sway}@{server.url}" for sway in (0, 2, 4)]
        out = folder / "answers.jsonl"
        asked = [word for spec in contestants for word in ("--contestant", spec)]
        where = ("--items", folder / "items.jsonl", "--out", out, "--ledger", folder / "m.ledger", "--quiet")
        cli("answer", *where, *asked)
        answers = read_jsonl(out)
        assert len(answers) == 4 * items
        rows = read_jsonl(folder / "items.jsonl")
        mllm_judge(folder, rows, answers, judges)
        visit_bench(folder, rows, answers, judges)
        assert {len(one.pictures) for one in server.asked} == {1}


def study(folder, name, benchmark, judges, **more) -> object:
    table = {"name": name, "benchmark": benchmark, "data": "items.jsonl", "responses": "answers.jsonl",
             "labels": f"{name}-labels.jsonl", "ledger": f"{name}.ledger", "judges": judges, **more}  # fmt: skip
    path = folder / f"{name}.toml"
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()), encoding="utf-8")
    return path


def exported(folder, name):
    out = folder / f"{name}-verdicts.jsonl"
    cli("ledger", "export", "--ledger", folder / f"{name}.ledger", "--what", "verdicts", "--to", out)
    return read_jsonl(out)


def mllm_judge(folder, items, answers, judges) -> None:
    people = labels(items, answers, forced=False)
    write_rows(folder / "mj-labels.jsonl", people)
    tables = cli(
        "run", study(folder, "mj", "mllm-as-a-judge", judges, orders="sorted", trials=2), "--quiet", "--json"
    ).tables
    verdicts = [row for row in exported(folder, "mj") if row["judge"] != "human"]
    dataset = {item["id"]: item["tags"]["dataset"] for item in items}
    truth = {kind: joined([row for row in people if row["ballot"] == form], kind=kind)
             for kind, form in (("score", "score:1-5"), ("pair", "choice+tie"), ("batch", "ranking"))}  # fmt: skip
    pearson = cells(tables["scores by dataset"], "Pearson", "judge", "dataset")
    chances = cells(tables["scores by dataset"], "p", "judge", "dataset")
    accuracy = cells(tables["pairs by dataset"], "accuracy, ties a class", "judge", "dataset")
    f1 = cells(tables["pairs by dataset, F1, macro"], "F1, macro", "judge", "dataset")
    distance = cells(tables["rankings by dataset"], "edit distance", "judge", "dataset")
    for name in {row["judge"] for row in verdicts}:
        means = defaultdict(list)
        for group in SETS:
            mine = [row for row in verdicts if row["judge"] == name and dataset[row["item"]] == group]
            pairs = [
                (row["marks"][0], truth["score"][row["item"], tuple(row["contestants"])][0])
                for row in mine if row["ballot"] == "score:1-5"
            ]  # fmt: skip
            expected = stats.pearsonr(*zip(*pairs, strict=True))
            assert pearson[name, group] == pytest.approx(expected.statistic, abs=1e-9)
            assert 0 <= chances[name, group] <= 1
            means["Pearson"].append(expected.statistic)
            codes = [
                (int(np.sign(row["marks"][0] - row["marks"][1])),
                 int(truth["pair"][row["item"], tuple(row["contestants"])]))
                for row in mine if row["ballot"] == "choice+tie"
            ]  # fmt: skip
            assert accuracy[name, group] == pytest.approx(np.mean([one == two for one, two in codes]))
            means["accuracy"].append(np.mean([one == two for one, two in codes]))
            given, wanted = zip(*codes, strict=True)
            score = f1_score(wanted, given, average="macro", zero_division=0)
            assert f1[name, group] == pytest.approx(score)
            means["F1"].append(score)
        rows = [row for row in verdicts if row["judge"] == name]
        assert pearson[name, "mean of 3"] == pytest.approx(np.mean(means["Pearson"]))
        assert accuracy[name, "mean of 3"] == pytest.approx(np.mean(means["accuracy"]))
        assert f1[name, "mean of 3"] == pytest.approx(np.mean(means["F1"]))
        assert 0 <= distance[name, "mean of 3"] <= 1
        given = Counter(row["marks"][0] for row in rows if row["ballot"] == "score:1-5")
        density = cells(tables["score density"], "share", "judge", "mark")
        assert [density[name, mark] for mark in range(1, 6)] == pytest.approx(
            [given[mark] / given.total() for mark in range(1, 6)]
        )
        # Both trials say the same, for the judge is scripted.
        assert cells(tables["steadiness"], "consistency", "judge", "ruling")[name, "scores"] == 1
        gaps = defaultdict(list)
        for row in rows:
            if row["ballot"] == "score:1-5":
                who = row["contestants"][0]
                gaps[who].append(row["marks"][0] - truth["score"][row["item"], (who,)][0])
        favours = cells(tables["favours"], "difference", "judge", "contestant")
        for who, each in gaps.items():
            assert favours[name, who] == pytest.approx(np.mean(each))
    assert {"radar scores", "radar pairs", "radar rankings", "answer lengths", "judgment lengths", "scores by length",
            "steadiness histogram", "biases", "positions"} <= set(tables)  # fmt: skip
    charts = folder / "charts"
    page = folder / "mj.html"
    report = ("report", "--ledger", folder / "mj.ledger", "--benchmark", "mllm-as-a-judge", "--charts", charts)
    cli(*report, "--out", page)
    drawn = {path.stem for path in charts.glob("*.svg")}
    assert {"radar-scores", "score-density", "answer-lengths", "favours", "scores-by-length"} <= drawn
    assert drawn == {path.stem for path in charts.glob("*.png")}


def visit_bench(folder, items, answers, judges) -> None:
    people = labels(items, answers, forced=True)
    references = [{"item": item["id"], "contestant": "reference", "text": item["reference"]} for item in items]
    people += [row for row in labels(items, [*answers, *references], forced=True) if "reference" in row["contestants"]]
    write_rows(folder / "vb-labels.jsonl", people)
    items = visit_again.with_requests(folder, items)
    tables_list = json.loads(
        cli("run", study(folder, "vb", "visitbench", [*judges, "length", "rouge"]), "--quiet", "--json").stdout
    )
    tables = {table["name"]: table for table in tables_list}
    verdicts = exported(folder, "vb")
    votes = defaultdict(list)
    for row in people:
        votes[row["item"], *row["contestants"]].append(row["marks"][0] > row["marks"][1])
    accuracy = cells(tables["people"], "accuracy", "judge", "people who agree")
    for name in {row["judge"] for row in verdicts} - {"human"}:
        hits = defaultdict(lambda: defaultdict(list))
        for row in verdicts:
            if row["judge"] != name:
                continue
            one, two = sorted(row["contestants"])
            said = votes[row["item"], one, two]
            marks = dict(zip(row["contestants"], row["marks"], strict=True))
            first = marks[one] - marks[two]
            right = 0.5 if first == 0 else float((first > 0) == (sum(said) > 1))
            level = f"{max(sum(said), 3 - sum(said))}/3"
            hits[level][row["item"], one, two].append(right)
            hits["all"][row["item"], one, two].append(right)
        for level, found in hits.items():
            assert accuracy[name, level] == pytest.approx(np.mean([np.mean(each) for each in found.values()])), level
    boards = [table for table in tables_list if table["name"] == "standings"]
    assert len(boards) == 6, "five judges and people"
    by_people = next(table for table in boards if "by human" in table["title"])
    order = [row[by_people["columns"].index("contestant")].split("@")[0] for row in by_people["rows"]]
    assert order[0] in {"reference", "alpha"}
    assert order[-1] == "delta"
    against = cells(by_people, "wins against the reference", "contestant")
    for who in against:
        if who != "reference":
            won = [
                first == (one == who)
                for (_, one, two), each in votes.items() if {one, two} == {who, "reference"} for first in each
            ]  # fmt: skip
            assert against[who] == pytest.approx(np.mean(won))
    assert cells(tables["verified"], "share", "images", "people said")["overall", "correct"] == 1
    visit_again.check(tables_list, items, people, verdicts)


def test_both_papers_on_a_few_items(tmp_path):
    journey(tmp_path / "few", 18)


@pytest.mark.slow
def test_both_papers_on_fifty_items(tmp_path):
    journey(tmp_path / "fifty", 50)
