"""Rubrics from a study's file to every door: in one call and in one each, of the study and of each item, beside a plain
computation from what the server said."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from statistics import fmean

import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.cli.all_commands import app
from fullbench.errors import InputError
from tests.support.commands import stdout_of as cli
from tests.support.commands import write_rows as write
from tests.support.scripted_server import ScriptedServer

NAMES = ("alpha", "beta", "伽马")
CRITERIA = {"颜色": (2.0, "likert:no|yes"), "count": (1.0, "score:1-5"), "style": (0.5, "real:0-1")}
WORDS = {"颜色": "颜色说对了。", "count": "The number of things is right.", "style": "It reads well."}
RUBRIC = """
[[criteria]]
name = "颜色"
asks = "颜色说对了。"
weight = 2
[[criteria]]
name = "count"
asks = "The number of things is right."
ballot = "score:1-5"
[[criteria]]
name = "style"
asks = "It reads well."
weight = 0.5
ballot = "real:0-1"
"""
STUDY = """
name = "rubrics"
items = "items.jsonl"
responses = "answers.jsonl"
judges = ["rubric:quality"]
ledger = "study.ledger"

[rubrics.quality]
judge = "vllm:filler@{url}"
file = "rubric.toml"
calls = "{calls}"
"""


def drawn(answer, words, values):
    """What the server says of an answer by a criterion, in its words: always the same."""
    return values[int(hashlib.sha256(f"{answer}|{words}".encode()).hexdigest(), 16) % len(values)]


VALUES = {"颜色": ["no", "yes"], "count": ["1", "2", "3", "4", "5"], "style": ["0", "0.25", "0.5", "1"]}
BY_WORDS = {words: VALUES[name] for name, words in WORDS.items()}


def filler(asked):
    """Fills in a sheet line by line, or rules by the one criterion that it is asked about."""
    answer = re.search(r"answer-\d+-\S+", asked.words)[0]
    points = re.findall(r"^POINT (\w{4}) \(.*?\): (.+)$", asked.words, re.MULTILINE)
    if points:
        values = [(code, drawn(answer, words, BY_WORDS.get(words, ["no", "yes"]))) for code, words in points]
        return "Looking at each.\n" + "\n".join(f"POINT {code}: {value}" for code, value in values)
    (words,) = re.findall(r"Judge this alone: (.+)\.\n", asked.words)
    nonce = re.search(r"\b[a-z]{8}\b(?=[^\n]*$)", asked.last)
    return f"[[{drawn(answer, words, BY_WORDS[words])}]]" + (f" {nonce[0]}" if nonce else "")


def write_rubric_study(folder, url, calls="one", items=5, samples=2):
    rows = [{"id": f"题{number}", "question": "What is there?"} for number in range(items)]
    answers = [
        {"item": row["id"], "contestant": name, "sample": sample, "text": f"answer-{number}-{name}-{sample}"}
        for number, row in enumerate(rows) for name in NAMES for sample in range(samples)
    ]  # fmt: skip
    write(folder / "items.jsonl", rows)
    write(folder / "answers.jsonl", answers)
    (folder / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    (folder / "study.toml").write_text(STUDY.format(url=url, calls=calls), encoding="utf-8")
    return folder / "study.toml", answers


def exported(folder):
    cli(
        "ledger", "export", "--ledger", folder / "study.ledger", "--what", "verdicts", "--to", folder / "verdicts.jsonl"
    )
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]


def own_shares(answers):
    """Each contestant's mean by each criterion, and its weighted total, from the server's words alone."""
    marks = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        total = 0.0
        for name, (weight, _) in CRITERIA.items():
            value = drawn(answer["text"], WORDS[name], VALUES[name])
            mark = {"no": 1.0, "yes": 2.0}[value] if name == "颜色" else float(value)
            low, high = {"颜色": (1, 2), "count": (1, 5), "style": (0, 1)}[name]
            marks[name][answer["contestant"]].append(mark)
            total += weight * (mark - low) / (high - low)
        marks["rubric:quality"][answer["contestant"]].append(total / sum(weight for weight, _ in CRITERIA.values()))
    return {name: {who: round(fmean(each), 9) for who, each in by.items()} for name, by in marks.items()}


def means(tables, judge, criterion, ballot):
    (board,) = [
        table for table in tables
        if table["name"].startswith("leaderboard") and table["source"].get("criterion") == criterion
        and (table["source"].get("judge") == judge or (judge is None and "rubric:" not in table["source"]["judge"]))
    ]  # fmt: skip
    # Boards show the share of yes; `wanted` has marks, 1 for no and 2 for yes.
    is_share = ballot == "likert:no|yes"
    who = board["columns"].index("contestant")
    where = board["columns"].index('share of "yes"' if is_share else f"mean {ballot}")
    return {row[who]: round(row[where]["value"] + is_share, 9) for row in board["rows"]}


@pytest.mark.parametrize("calls", ["one", "each"])
def test_a_rubric_is_filled_in_by_criterion_and_its_total_is_a_judge_of_its_own(tmp_path, calls):
    with ScriptedServer({"filler": filler}) as server:
        study, answers = write_rubric_study(tmp_path, server.url, calls)
        ran = json.loads(cli("run", study, "--json", "--quiet"))
        asked = len(server.asked)
        assert asked == len(answers) * (1 if calls == "one" else len(CRITERIA))
        assert json.loads(cli("run", study, "--json", "--quiet")) == ran
        assert len(server.asked) == asked, "what is known is not asked again"
    stored = exported(tmp_path)
    assert len(stored) == len(answers) * len(CRITERIA)
    assert {verdict["criterion"] for verdict in stored} == set(CRITERIA), "no total is stored"
    assert sum(verdict["calls"] for verdict in stored) == asked, "a call is on the bill once"
    wanted = own_shares(answers)
    report = json.loads(cli("report", "--ledger", tmp_path / "study.ledger", "--json"))
    for door in (ran, report):
        for name, (_, ballot) in CRITERIA.items():
            assert means(door, None, name, ballot) == wanted[name]
        assert means(door, "rubric:quality", "overall", "real:0-1") == wanted["rubric:quality"]
    card = json.loads(cli("card", "rubric:quality", "--ledger", tmp_path / "study.ledger", "--json"))["tables"]
    assert means(card, "rubric:quality", "overall", "real:0-1") == wanted["rubric:quality"]
    replayed = CliRunner().invoke(app, ["replay", str(study), "--json"], catch_exceptions=False)
    assert json.loads(replayed.stdout) == ran
    assert "missing" not in replayed.output
    again = cli("ledger", "reread", "--ledger", tmp_path / "study.ledger", "--dry-run")
    assert "->" not in again, "every reply is read as before"


def test_items_bring_rubrics_of_their_own_and_a_line_that_is_missing_leaves_that_criterion_open(tmp_path):
    def forgetful(asked):
        lines = filler(asked).splitlines()
        return "\n".join(line for line in lines if "POINT" not in line or "answer-1-beta" not in asked.words) or "?"

    with ScriptedServer({"filler": forgetful}) as server:
        study, answers = write_rubric_study(tmp_path, server.url, samples=1)
        rows = [
            {"id": f"题{number}", "question": "What is there?",
             "rubric": [f"It names thing {number}.", {"asks": "It names 颜色.", "weight": 3}]}
            for number in range(5)
        ]  # fmt: skip
        write(tmp_path / "items.jsonl", rows)
        study.write_text(study.read_text(encoding="utf-8").replace('file = "rubric.toml"\n', ""), encoding="utf-8")
        ran = json.loads(cli("run", study, "--json", "--quiet"))
    wanted = defaultdict(list)
    for answer in answers:
        number = answer["item"].removeprefix("题")
        yes = [drawn(answer["text"], words, ["no", "yes"]) == "yes"
               for words in (f"It names thing {number}.", "It names 颜色.")]  # fmt: skip
        if "answer-1-beta" not in answer["text"]:
            wanted[answer["contestant"]].append((yes[0] + 3 * yes[1]) / 4)
    assert means(ran, "rubric:quality", "overall", "real:0-1") == {
        name: round(fmean(totals), 9) for name, totals in wanted.items()
    }
    (reasons,) = [table for table in ran if table["name"] == "reasons"]
    assert ["rubric:quality", "0 of 2 criteria have a mark"] in [row[:2] for row in reasons["rows"]]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("weight = 2", "weight = 0", "give it points above 0, or below 0 if it describes a flaw"),
        ("weight = 2", 'weight = "two"', "the weight of a criterion is a number"),
        ('"score:1-5"', '"choice"', "is marked on a scale for each response alone"),
        ('name = "count"', 'name = "颜色"', "has the criterion '颜色' twice"),
        (
            'asks = "It reads well."',
            'ask = "It reads well."',
            "a criterion has name, asks, weight, ballot, required, or the keys of HealthBench (criterion, points), "
            "PRBench or RaR (title, weight); found 'ask'",
        ),
        ("[[criteria]]", "[[criterion]]", "unknown key 'criterion' in a rubric"),
    ],
)
def test_a_rubric_that_cannot_be_is_refused_in_one_sentence(tmp_path, old, new, said):
    study, _ = write_rubric_study(tmp_path, "http://127.0.0.1:9/v1")
    (tmp_path / "rubric.toml").write_text(RUBRIC.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as told:
        cli("run", study)
    assert said in str(told.value)
    assert "rubric.toml" in str(told.value)
    assert not (tmp_path / "study.ledger").exists()


PROPOSED = (
    "1. sharp: The answer says sharp.\n2. **round**: The answer says round.\n- 红色：回答提到红色。\nsharp: It is long."
)


def labelled(folder, url, items=30):
    """Answers with traits; people like sharp and red, nobody cares for round; the judge's overall mark is noise."""
    rows = [{"id": f"题{number}", "question": "What is there?"} for number in range(items)]
    answers, labels = [], []
    for number, row in enumerate(rows):
        for name in NAMES:
            text = f"answer-{number}-{name}"
            traits = [trait for trait in ("sharp", "round", "红色") if drawn(text, trait, [0, 1])]
            answers.append({"item": row["id"], "contestant": name, "text": f"{text} {' '.join(traits)}"})
            mark = 1 + 3 * ("sharp" in traits) + 1 * ("红色" in traits)
            labels += [
                {"item": row["id"], "contestants": [name], "ballot": "score:1-5", "judge": "human", "rater": rater,
                 "marks": [min(5, max(1, mark + drawn(text, rater, [-1, 0, 0, 0, 1])))]}
                for rater in ("r1", "r2")
            ]  # fmt: skip
    write(folder / "items.jsonl", rows)
    write(folder / "answers.jsonl", answers)
    write(folder / "labels.jsonl", labels)
    return ("--items", folder / "items.jsonl", "--responses", folder / "answers.jsonl",
            "--labels", folder / "labels.jsonl", "--ledger", folder / "l.ledger")  # fmt: skip


def by_traits(asked):
    """Proposes points; fills in a sheet by whether the trait is in the answer; its overall mark is nearly noise."""
    if "You write rubrics" in asked.words:
        return PROPOSED
    answer = re.search(r"answer-\d+-[^\n]*", asked.words)[0]
    points = re.findall(r"^POINT (\w{4}) \(.*?\): (.+)$", asked.words, re.MULTILINE)
    if points:
        traits = {"The answer says sharp.": "sharp", "The answer says round.": "round", "回答提到红色。": "红色"}
        return "\n".join(
            f"POINT {code}: {'yes' if traits.get(words, '?') in answer else 'no'}" for code, words in points
        )
    return f"[[{drawn(answer, 'overall', ['1', '2', '3', '4', '5'])}]]"


def test_a_rubric_is_proposed_confirmed_and_learned_with_a_gain_on_items_held_out(tmp_path):
    with ScriptedServer({"m": by_traits}) as server:
        files = labelled(tmp_path, server.url)
        spec, out = f"vllm:m@{server.url}?mode=direct", tmp_path / "learned.toml"
        words = ["rubric", "learn", *files, "--judge", spec, "--model", f"vllm:m@{server.url}", "--out", out]
        tables = {table["name"]: table for table in json.loads(cli(*words, "--json", "--quiet"))}
        asked = len(server.asked)
        assert asked == 1 + 2 * 90, "one proposal, one sheet and one overall mark for each answer"
        shown = next(each for each in server.asked if "You write rubrics" in each.words).words
        cli(*words, "--json", "--quiet")
        assert len(server.asked) == asked
        weights = {row[0]: row[2] for row in tables["rubric weights"]["rows"]}
        assert list(weights) == ["sharp", "round", "红色", "sharp (2)"]
        assert weights["sharp"] > 2 * weights["红色"] > 4 * weights["round"]
        assert weights["sharp (2)"] == 0, "one that never holds counts for nothing"
        rows = {row[0]: row[1:] for row in tables["rubric test"]["rows"]}
        gain = rows["the rubric with learned weights"][1]
        assert gain["low"] > 0.3
        assert gain["units"] == len(held := held_out_items(tmp_path, weights, rows))
        assert not any(f"answer-{item.removeprefix('题')}-" in shown for item in held), "nothing of the test was shown"

        study = tmp_path / "study.toml"
        study.write_text(
            f'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\nledger = "l.ledger"\n'
            f'[rubrics.learned]\njudge = "{spec}"\nfile = "learned.toml"\n',
            encoding="utf-8",
        )
        with pytest.raises(InputError, match="was proposed by a model and waits for a person"):
            cli("run", study)
        confirmed = CliRunner().invoke(app, ["rubric", "confirm", str(out), "--by", "Ana 安"], input="y\nn\ny\n")
        assert confirmed.exit_code == 0, confirmed.output
        assert "2 criteria, 1 removed" in confirmed.output
        ran = json.loads(cli("run", study, "--json", "--quiet"))
        assert any(table["source"].get("judge") == "rubric:learned" for table in ran)
        text = out.read_text(encoding="utf-8")
        out.write_text(text.replace("The answer says sharp.", "The answer is sharp."), encoding="utf-8")
        with pytest.raises(InputError, match="was changed since a person confirmed it"):
            cli("run", study)
        out.write_text(re.sub(r"weight = \S+", "weight = 1", text), encoding="utf-8")
        assert "rubric:learned" in cli("judge", *files[:4], "--ledger", tmp_path / "other.ledger", "--judge", spec,
                                       "--rubric", out, "--quiet")  # fmt: skip


def test_judge_fills_in_a_rubric_beside_a_ballot_whoever_judges(tmp_path):
    with ScriptedServer({"m": filler}) as server:
        files, model = labelled(tmp_path, server.url, items=4), f"vllm:m@{server.url}"
        (tmp_path / "own.toml").write_text(RUBRIC, encoding="utf-8")
        words = ("judge", *files, "--judge", "length", "--judge", "chance?seed=1", "--ballot", "score:1-5")
        tables = json.loads(cli(*words, "--rubric", tmp_path / "own.toml", "--json", "--quiet"))
        assert "rubric:own by" in cli("judge", *files, "--judge", "length", "--judge", model, "--rubric",
                                      tmp_path / "own.toml", "--quiet")  # fmt: skip
        assert len(server.asked) == 12, "a sheet for each answer"
    (faults,) = [table for table in tables if table["name"] == "unusable"]
    counts = {(row[0], row[1]): row[3] for row in faults["rows"]}
    who = {who for who, _ in counts}
    assert who >= {"length", "chance?seed=1", "rubric:own by length", "rubric:own by chance"}, who
    assert {criterion for _, criterion in counts} == {"overall", *WORDS}


def held_out_items(folder, weights, rows):
    """The items of the test, by recomputing each correlation with numpy from the files alone."""
    import numpy as np

    from fullbench.studies.rubrics.learned_rubric_weights import is_held_out

    read = [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = {(answer["item"], answer["contestant"]): answer["text"] for answer in map(
        json.loads, (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines())}  # fmt: skip
    people = defaultdict(list)
    for label in read:
        if is_held_out(label["item"], 0.5, 0):
            people[label["item"], label["contestants"][0]].append(label["marks"][0])
    total = [sum(weight for name, weight in weights.items() if name in texts[place].split()) for place in people]
    expected = np.corrcoef(total, [fmean(marks) for marks in people.values()])[0, 1]
    assert abs(rows["the rubric with learned weights"][0]["value"] - expected) < 1e-9
    overall = [int(drawn(texts[place], "overall", ["1", "2", "3", "4", "5"])) for place in people]
    expected = np.corrcoef(overall, [fmean(marks) for marks in people.values()])[0, 1]
    assert abs(rows["the same judge, one overall mark"][0]["value"] - expected) < 1e-9
    return {item for item, _ in people}


def test_a_rubric_is_proposed_alone_read_by_a_person_and_judged_by(tmp_path):
    with ScriptedServer({"m": by_traits}) as server:
        files, out = labelled(tmp_path, server.url, items=6), tmp_path / "proposed.toml"
        model = ("--model", f"vllm:m@{server.url}", "--count", "3", "--quiet")
        words = ["rubric", "propose", *files, *model, "--out"]
        told = CliRunner().invoke(app, list(map(str, [*words, out])))
        assert told.exit_code == 0, told.output
        assert "Called 1, reused 0, failed 0" in told.output
        assert "fullbench rubric confirm" in told.output
        assert "answer-" in server.asked[0].words, "examples are shown"
        again = CliRunner().invoke(app, list(map(str, [*words, tmp_path / "again.toml"])))
        assert "Called 0, reused 1" in again.output, again.output
        judged = ("judge", *files[:4], "--ledger", tmp_path / "j.ledger", "--rubric", out, "--json", "--quiet",
                  "--judge", f"vllm:m@{server.url}?mode=direct")  # fmt: skip
        with pytest.raises(InputError, match="was proposed by a model and waits for a person"):
            cli(*judged)
        cli("rubric", "confirm", out, "--by", "安娜", "--leave-out", "round", "--yes")
        tables = json.loads(cli(*judged))
    with Ledger(tmp_path / "j.ledger", read_only=True) as ledger:
        marks = {(v.item, v.contestants[0], v.criterion): v.marks[0] for v in ledger.record()}
    texts = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = [name for name in ("sharp", "红色") if any(name == place[2] for place in marks)]
    assert kept == ["sharp", "红色"]
    assert not any(place[2] == "round" for place in marks)
    for answer in texts:
        for name in kept:
            mark = marks[answer["item"], answer["contestant"], name]
            assert mark == 1 + (name in answer["text"].split()), (answer, name)
    assert any(table["source"].get("judge", "").startswith("rubric:") for table in tables)


def test_too_few_marks_teach_nothing_and_say_so(tmp_path):
    with ScriptedServer({"m": by_traits}) as server:
        files = labelled(tmp_path, server.url, items=6)
        with pytest.raises(InputError, match="8 of each are needed"):
            cli("rubric", "learn", *files, "--judge", f"vllm:m@{server.url}?mode=direct", "--model",
                f"vllm:m@{server.url}", "--out", tmp_path / "learned.toml", "--quiet")  # fmt: skip
    assert not (tmp_path / "learned.toml").exists()
