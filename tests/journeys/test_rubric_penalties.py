"""Rubrics with penalties, required criteria and released rows, next to a plain computation from the server's words."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from statistics import fmean

import pytest
from typer.testing import CliRunner

import fullbench
from fullbench import Ledger
from fullbench.cli.all_commands import app
from fullbench.errors import DataWarning, InputError
from tests.support.commands import stdout_of as cli
from tests.support.commands import write_rows as write
from tests.support.scripted_server import ScriptedServer

CONTESTANTS = ("alpha", "beta", "伽马")
ITEMS = 4


def drawn(answer, words, values=("no", "yes")):
    """What the server says of an answer by a criterion, in its words: always the same."""
    return values[int(hashlib.sha256(f"{answer}|{words}".encode()).hexdigest(), 16) % len(values)]


def reasoned_sheet(asked):
    """Fills in a sheet with a reason before each line."""
    answer = re.search(r"answer-\d+-\S+", asked.words)[0]
    points = re.findall(r"^POINT (\w{4}) \((.*?)\): (.+)$", asked.words, re.MULTILINE)
    return "\n".join(
        f"REASON {code}: because {words[:20]} of {answer}\nPOINT {code}: {drawn(answer, words, values_in(scale))}"
        for code, scale, words in points
    )


def values_in(scale):
    return tuple(scale.rpartition(": ")[2].split(", ")) if ":" in scale else ("1", "2", "3", "4", "5")


POINTS = {  # per item: text and points
    number: [(f"Names thing {number}.", 7), ("Says when to see a doctor, e.g. at once.", 5),
             (f"Gives a dose of {number} g.", -8), ("Is too long.", -2)]
    for number in range(ITEMS)
}  # fmt: skip


def health_bench(number):
    turns = [{"role": "user", "content": f"Question {number}?"}, {"role": "assistant", "content": "Since when?"},
             {"role": "user", "content": "Since Monday. 是吗?"}]  # fmt: skip
    rubrics = [{"criterion": text, "points": points, "tags": ["level:example"]} for text, points in POINTS[number]]
    return {
        "prompt_id": f"hb{number}", "prompt": turns, "rubrics": rubrics, "example_tags": ["theme:hedging"],
        "ideal_completions_data": {"ideal_completion": "See a doctor."}, "canary": "x",
    }  # fmt: skip


def pr_bench(number):
    kinds = {7: "critically important", 5: "important", -8: "critically detrimental", -2: "slightly detrimental"}
    every = {f"{kind.replace(' ', '_')}_weight": None for kind in kinds.values()}
    rubric = [
        {"id": f"c{place}", "title": text, "annotations": {**every, "criteria_category": "Accuracy",
         "criteria_description": "another text", "weight_class": kinds[points],
         f"{kinds[points].replace(' ', '_')}_weight": points}}
        for place, (text, points) in enumerate(POINTS[number])
    ]  # fmt: skip
    return {
        "task": f"pr{number}", "turns": 2, "field": "Finance", "topic": "Tax", "prompt_0": f"Question {number}?",
        "response_0": "Since when?", "reference_texts_0": ["Law 1", "Law 2"], "prompt_1": "Since Monday.",
        "response_1": None, "reference_texts_1": None, "prompt_2": None, "rubric": rubric,
    }  # fmt: skip


def rar(number):
    rubric = [{"title": f"T{place}", "description": text, "weight": points}
              for place, (text, points) in enumerate(POINTS[number])]  # fmt: skip
    return {"question": f"Question {number}?", "reference_answer": "See a doctor.", "rubric": rubric,
            "rubric_count": 4}  # fmt: skip


FORMS = {
    "HealthBench": (health_bench, "hb{}", "{}", 0),
    "PRBench": (pr_bench, "pr{}", "{}", 0),
    "RaR": (rar, "row-{}", "T{place}: {}", 1),
}


def own_totals(form, *, clipped):
    """Each contestant's mean total, by HealthBench's formula, from the server's words alone."""
    _, _, wording, _ = FORMS[form]
    totals = defaultdict(list)
    for number in range(ITEMS):
        for who in CONTESTANTS:
            met = [points for place, (text, points) in enumerate(POINTS[number])
                   if drawn(f"answer-{number}-{who}", wording.format(text, place=place)) == "yes"]  # fmt: skip
            total = sum(met) / sum(points for _, points in POINTS[number] if points > 0)
            totals[who].append(min(1, max(0, total)) if clipped else total)
    return {who: round(fmean(values), 9) for who, values in totals.items()}


def means(tables, judge):
    (board,) = [table for table in tables if table["source"].get("judge") == judge
                and table["name"].startswith("leaderboard")]  # fmt: skip
    (column,) = [place for place, name in enumerate(board["columns"]) if name.startswith("mean real:")]
    who = board["columns"].index("contestant")
    return {row[who]: round(row[column]["value"], 9) for row in board["rows"]}


def write_released_rubric_rows(folder, form):
    build, name, _, first = FORMS[form]
    write(folder / "items.jsonl", [build(number) for number in range(ITEMS)])
    write(folder / "answers.jsonl", [
        {"item": name.format(number + first), "contestant": who, "text": f"answer-{number}-{who}"}
        for number in range(ITEMS) for who in CONTESTANTS
    ])  # fmt: skip
    return folder / "items.jsonl", folder / "answers.jsonl"


@pytest.mark.parametrize("form", FORMS)
def test_released_rows_are_judged_unchanged_from_cli_study_file_and_python(tmp_path, form):
    items, answers = write_released_rubric_rows(tmp_path, form)
    with ScriptedServer({"m": reasoned_sheet}) as server:
        spec, ledger = f"vllm:m@{server.url}", tmp_path / "l.ledger"
        files = ("--items", items, "--responses", answers, "--ledger", ledger)
        tables = json.loads(cli("judge", *files, "--judge", spec, "--rubric", "items", "--json", "--quiet"))
        assert means(tables, "rubric:items") == own_totals(form, clipped=True)
        asked = [each.words for each in server.asked]
        assert len(asked) == ITEMS * len(CONTESTANTS), "a call for each answer"

        study = tmp_path / "study.toml"
        study.write_text(
            f'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\nledger = "l.ledger"\n'
            f'[rubrics.plain]\njudge = "{spec}"\ntotal = "unclipped"\n', encoding="utf-8",
        )  # fmt: skip
        ran = json.loads(cli("run", study, "--json", "--quiet"))
        assert means(ran, "rubric:plain") == own_totals(form, clipped=False) != own_totals(form, clipped=True)

        record = fullbench.judge(str(items), str(answers), str(ledger), judge=spec, rubric=True)
        totals = defaultdict(list)
        for verdict in record:
            if verdict.judge.startswith("rubric:"):
                totals[verdict.contestants[0]].append(verdict.marks[0])
        assert {who: round(fmean(values), 9) for who, values in totals.items()} == own_totals(form, clipped=True)
        assert len(server.asked) == len(asked), "the judge was called once for all three"
    for words in asked:
        flaws, merits = (
            re.findall(rf"^POINT \w{{4}} \(one of these words, {order}.*?\): (.+)$", words, re.MULTILINE)
            for order in ("from not having this flaw", "worst to best")
        )
        assert len(flaws) == len(merits) == 2
        assert all(any(line.endswith(text) for text, points in POINTS[int(re.search(r"answer-(\d)", words)[1])]
                       if points < 0) for line in flaws)  # fmt: skip
        if form != "RaR":
            assert "Since when?" in words
        assert ("Reference Text 0:\nLaw 1\n\nReference Text 1:\nLaw 2\n\nQuestion" in words) == (form == "PRBench")
    with Ledger(ledger, read_only=True) as book:
        kept = list(book.record(study="default"))
    assert len(kept) == ITEMS * len(CONTESTANTS) * 4
    for verdict in kept:
        assert verdict.text.startswith(f"because {verdict.criterion[:20]}"), "the explanation of this criterion alone"
    shown = cli("show", kept[0].case, "--ledger", ledger)
    assert f"reason:\n    because {kept[0].criterion[:20]}" in shown


RUBRIC = """
total = "{total}"
cap = 0.25
[[criteria]]
name = "题意"
asks = "The answer is about the question."
weight = 4
required = true
[[criteria]]
name = "depth"
weight = 3.5
ballot = "score:1-5"
[[criteria]]
name = "danger"
asks = "It gives a dangerous dose."
weight = -6
ballot = "flaw:none|some|much"
required = true
"""


@pytest.mark.parametrize(("total", "calls"), [("clipped", "one"), ("unclipped", "each"), ("sum", "one")])
def test_required_criteria_cap_the_total_and_flaws_cost_points(tmp_path, total, calls):
    def judge(asked):
        if "POINT" in asked.words:
            return reasoned_sheet(asked)
        answer = re.search(r"answer-\d+-\S+", asked.words)[0]
        (words,) = re.findall(r"Judge this alone: (.+)\.\n", asked.words)
        values = re.search(r"one of these words, .*? \((.*?)\)", asked.words)
        assert ("from not having this flaw" in asked.words) == ("dangerous" in words)
        nonce = re.search(r"\b[a-z]{8}\b(?=[^\n]*$)", asked.last)
        value = drawn(answer, words, values_in(f": {values[1]}" if values else ""))
        return f"[[{value}]]" + (f" {nonce[0]}" if nonce else "")

    write(tmp_path / "items.jsonl", [{"id": f"i{number}", "question": "What?"} for number in range(6)])
    write(tmp_path / "answers.jsonl", [
        {"item": f"i{number}", "contestant": who, "sample": sample, "text": f"answer-{number}-{who}-{sample}"}
        for number in range(6) for who in CONTESTANTS for sample in (0, 1)
    ])  # fmt: skip
    (tmp_path / "r.toml").write_text(RUBRIC.format(total=total), encoding="utf-8")
    with ScriptedServer({"m": judge}) as server:
        study = tmp_path / "study.toml"
        study.write_text(
            f'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\nledger = "l.ledger"\n'
            f'[rubrics.q]\njudge = "vllm:m@{server.url}"\nfile = "r.toml"\ncalls = "{calls}"\n', encoding="utf-8",
        )  # fmt: skip
        tables = json.loads(cli("run", study, "--json", "--quiet"))
    totals, caps = defaultdict(list), 0
    for number in range(6):
        for who in CONTESTANTS:
            for answer in (f"answer-{number}-{who}-0", f"answer-{number}-{who}-1"):
                off_topic = drawn(answer, "The answer is about the question.") == "no"
                depth = (int(drawn(answer, "depth", ("1", "2", "3", "4", "5"))) - 1) / 4
                danger = {"none": 0, "some": 0.5, "much": 1}[
                    drawn(answer, "It gives a dangerous dose.", ("none", "some", "much"))
                ]
                points = 4 * (not off_topic) + 3.5 * depth - 6 * danger
                points = points if total == "sum" else points / 7.5
                points = min(1, max(0, points)) if total == "clipped" else points
                if off_topic or danger == 1:
                    caps += points > 0.25
                    points = min(points, 0.25)
                totals[who].append(points)
    assert caps, "the cap had something to do"
    assert means(tables, "rubric:q") == {who: round(fmean(values), 9) for who, values in totals.items()}
    (board,) = [table for table in tables if table["source"].get("criterion") == "danger"
                and table["name"].startswith("leaderboard")]  # fmt: skip
    assert any("The lower mark wins" in note for note in board["notes"]), board["notes"]


@pytest.mark.parametrize(
    ("rubric", "sentence"),
    [
        ('[{"criterion": "Is rude.", "points": -3}]', "the rubric of item 'i0' has no criterion with positive points"),
        ('[{"criterion": "Is kind.", "points": 0}]', "has the weight 0; give it points above 0, or below 0"),
        ('[{"criterion": "Is kind.", "pts": 3}]', "a criterion has name, asks, weight, ballot, required, or"),
        ('[{"title": "Is kind.", "annotations": {"weight_class": "huge"}}]', "or the keys of HealthBench"),
        ('[{"criterion": "Is kind.", "points": 3}', "the rubric of item 'i0' cannot be read: "),
        ("[]", "the rubric of item 'i0' cannot be read: a rubric is a list of criteria; found '[]'"),
    ],
)
def test_a_rubric_of_an_item_that_cannot_be_is_refused_before_anything_is_written(tmp_path, rubric, sentence):
    write(tmp_path / "items.jsonl", [{"id": "i0", "question": "What?", "rubric": rubric}])
    write(tmp_path / "answers.jsonl", [{"item": "i0", "contestant": "a", "text": "answer-0-a"}])
    done = CliRunner().invoke(app, [str(word) for word in (
        "judge", "--items", tmp_path / "items.jsonl", "--responses", tmp_path / "answers.jsonl", "--judge", "length",
        "--rubric", "items", "--ledger", tmp_path / "l.ledger")])  # fmt: skip
    assert isinstance(done.exception, InputError)
    assert sentence in str(done.exception)
    assert not (tmp_path / "l.ledger").exists()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("weight = 4", "weight = -4", "no criterion with positive points"),
        ("cap = 0.25", "cap = 1", "from 0 to below the best total 1; found 1"),
        ('"flaw:none|some|much"', '"score:1-5"', "criteria with negative points are marked in words, as flaw:no|yes"),
        ('"clipped"', '"mean"', "the total of a rubric is clipped, unclipped, sum; found 'mean'"),
        ("required = true", 'required = "yes"', "'required' of a criterion is true or false; found 'yes'"),
        ("required = true", "", "the cap 0.25 has no effect: no criterion is required"),
        ("cap = 0.25", 'cap = "low"', "the cap of a rubric is a number; found 'low'"),
    ],
)
def test_a_rubric_file_that_cannot_be_is_refused_with_its_name(tmp_path, old, new, sentence):
    write(tmp_path / "items.jsonl", [{"id": "i0", "question": "What?"}])
    write(tmp_path / "answers.jsonl", [{"item": "i0", "contestant": "a", "text": "answer-0-a"}])
    text = RUBRIC.format(total="clipped").replace("weight = 3.5", "weight = -1").replace('"score:1-5"', '"flaw:no|yes"')
    (tmp_path / "r.toml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        cli("judge", "--items", tmp_path / "items.jsonl", "--responses", tmp_path / "answers.jsonl",
            "--judge", "length", "--rubric", tmp_path / "r.toml", "--ledger", tmp_path / "l.ledger")  # fmt: skip
    assert sentence in str(refused.value)
    assert "r.toml" in str(refused.value)
    assert not (tmp_path / "l.ledger").exists()


def test_a_json_rubric_of_a_release_is_confirmed_criteria_for_every_item(tmp_path):
    write(tmp_path / "items.jsonl", [{"id": "i0", "question": "What?"}, {"id": "i1", "question": "Why?"}])
    write(tmp_path / "answers.jsonl", [{"item": item, "contestant": who, "text": f"answer-{item[1]}-{who}"}
                                       for item in ("i0", "i1") for who in ("a", "b")])  # fmt: skip
    criteria = [{"criterion": "Is kind.", "points": 3, "tags": ["axis:tone"]}, {"criterion": "Is rude.", "points": -3}]
    (tmp_path / "r.json").write_text(json.dumps(criteria), encoding="utf-8")
    with ScriptedServer({"m": reasoned_sheet}) as server:
        tables = json.loads(cli("judge", "--items", tmp_path / "items.jsonl", "--responses", tmp_path / "answers.jsonl",
                                "--judge", f"vllm:m@{server.url}", "--rubric", tmp_path / "r.json", "--ledger",
                                tmp_path / "l.ledger", "--json", "--quiet"))  # fmt: skip
    met = {who: [(drawn(f"answer-{number}-{who}", "Is kind.") == "yes") - (drawn(f"answer-{number}-{who}", "Is rude.")
                 == "yes") for number in (0, 1)] for who in ("a", "b")}  # fmt: skip
    assert means(tables, "rubric:r") == {who: fmean(max(0, value) for value in values) for who, values in met.items()}


def test_weights_of_flaws_are_learned_with_their_sign():
    import numpy as np
    from scipy.optimize import lsq_linear

    from fullbench.core.rubric import Criterion
    from fullbench.studies.rubrics.learned_rubric_weights import MarkedResponses, is_held_out, learn_weights

    rng = np.random.default_rng(7)
    criteria = [Criterion("good", weight=1), Criterion("useless", weight=1), Criterion("bad", weight=-1)]
    met = rng.integers(0, 2, (400, 3)).astype(float)
    people = 3 + 1.0 * met[:, 0] - 1.5 * met[:, 2] + rng.normal(0, 0.2, 400)
    items = [f"i{number // 2}" for number in range(400)]
    data = MarkedResponses(met * [1, 1, -1], rng.normal(size=400), people, items, 0)
    learned = learn_weights(data, criteria)
    weights = {line.name: line.weight for line in learned.criteria}
    train = np.array([not is_held_out(item, 0.5, 0) for item in items])
    design = met[train] - met[train].mean(axis=0)
    fit = lsq_linear(design, people[train] - people[train].mean(), bounds=([0, 0, -np.inf], [np.inf, np.inf, 0])).x
    assert weights["bad"] < 0 < weights["good"]
    for name, value in zip(("good", "useless", "bad"), fit / np.abs(fit).sum(), strict=True):
        assert weights.get(name, 0.0) == pytest.approx(value, abs=2e-3)


def test_flaws_that_are_worded_as_merits_are_counted_in_a_warning(tmp_path):
    rubric = [{"title": "T", "description": "Essential Criteria: States A.", "weight": 5},
              {"title": "U", "description": "Pitfall Criteria: Avoids B.", "weight": -2},
              {"title": "V", "description": "Pitfall Criteria: Does not mention C.", "weight": -1}]  # fmt: skip
    rows = [{"question": f"Q{number}?", "rubric": rubric} for number in range(2)]
    answers = [{"item": f"row-{number}", "contestant": "a", "text": "answer"} for number in (1, 2)]
    with pytest.warns(DataWarning, match="2 of 4 criteria with negative points are worded as merits"):
        fullbench.judge(rows, answers, str(tmp_path / "l.ledger"), judge="chance?seed=1", rubric=True)


def shared_and_own_rows(count):
    """HealthBench rows: each with two criteria of its own, and one long text that some rows share."""
    long_text = "The answer is safe, which means that nobody is harmed. " * 9
    rows = [health_bench(number) for number in range(count)]
    for row in rows[1:]:
        row["rubrics"] = [*row["rubrics"][:1], *row["rubrics"][2:3], {"criterion": long_text, "points": 4, "tags": []}]
    return rows


def test_a_ledger_takes_more_items_and_more_judges_of_the_items_own_rubrics(tmp_path):
    rows = shared_and_own_rows(ITEMS)
    answers = [{"item": f"hb{number}", "contestant": who, "text": f"answer-{number}-{who}"}
               for number in range(ITEMS) for who in CONTESTANTS]  # fmt: skip
    per_item = len(CONTESTANTS)
    with ScriptedServer({"m": reasoned_sheet, "n": reasoned_sheet}) as server:
        first, second = (f"vllm:{name}@{server.url}" for name in "mn")

        def judged(items, *judges):
            write(tmp_path / "items.jsonl", rows[:items])
            write(tmp_path / "answers.jsonl", answers[: items * per_item])
            words = [word for judge in judges for word in ("--judge", judge)]
            return cli("judge", "--items", tmp_path / "items.jsonl", "--responses", tmp_path / "answers.jsonl",
                       *words, "--rubric", "items", "--ledger", tmp_path / "l.ledger", "--json", "--quiet")  # fmt: skip

        for items, judges, calls in (
            (2, [first], 2), (ITEMS, [first], ITEMS), (2, [first], ITEMS), (ITEMS, [second], 2 * ITEMS),
            (ITEMS, [first, second], 2 * ITEMS),
        ):  # fmt: skip
            tables = json.loads(judged(items, *judges))
            assert len(server.asked) == calls * per_item
        record = fullbench.judge(
            str(tmp_path / "items.jsonl"), str(tmp_path / "answers.jsonl"), str(tmp_path / "l.ledger"),
            judge=first, rubric=True,
        )  # fmt: skip
        assert len(server.asked) == 2 * ITEMS * per_item
    totals = defaultdict(list)
    for number, row in enumerate(rows):
        for who in CONTESTANTS:
            met = [one["points"] for one in row["rubrics"]
                   if drawn(f"answer-{number}-{who}", one["criterion"].strip()) == "yes"]  # fmt: skip
            best = sum(one["points"] for one in row["rubrics"] if one["points"] > 0)
            totals[who].append(min(1, max(0, sum(met) / best)))
    expected = {who: round(fmean(values), 9) for who, values in totals.items()}
    assert means(tables, "rubric:items") == means(tables, "rubric:items by n") == expected
    assert {verdict.judge for verdict in record if verdict.judge.startswith("rubric:")} == {"rubric:items"}
    boards = {table["source"]["judge"] for table in tables if table["name"].startswith("leaderboard")}
    assert boards == {"rubric:items", "rubric:items by n"}, "no criterion of some items has a board"
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        of_all = {view.name: len(view.criteria_for_item("hb3")) for view in book.views()}
    assert of_all == {"rubric:items": 3, "rubric:items by n": 3}
    rows[2]["rubrics"][0]["points"] = 9
    with pytest.raises(
        InputError, match=r"rubric:items is in this ledger already, and its criterion 'Names thing 2\.'"
    ):
        judged(ITEMS, first)
    screen = cli("report", "--ledger", tmp_path / "l.ledger")
    assert "nobody is harmed" not in screen


def test_the_total_comes_first_and_a_changed_rubric_is_refused_in_one_sentence(tmp_path):
    write(tmp_path / "items.jsonl", [{"id": f"i{number}", "question": "What?"} for number in range(3)])
    write(tmp_path / "answers.jsonl", [{"item": f"i{number}", "contestant": who, "text": f"answer-{number}-{who}"}
                                       for number in range(3) for who in CONTESTANTS])  # fmt: skip
    text = RUBRIC.format(total="clipped").replace("It gives", "As a rule, " + "and by what is known, " * 9 + "it gives")
    (tmp_path / "r.toml").write_text(text.replace('name = "danger"\n', ""), encoding="utf-8")
    words = ("judge", "--items", tmp_path / "items.jsonl", "--responses", tmp_path / "answers.jsonl", "--judge",
             "chance?seed=1", "--rubric", tmp_path / "r.toml", "--ledger", tmp_path / "l.ledger")  # fmt: skip
    screen = cli(*words)
    assert len(screen.splitlines()) <= 40
    first_row = next(line for line in screen.splitlines() if line.startswith("overall"))
    assert screen.index("based on judge rubric:r") < screen.index(" on "), "the total is named before any criterion"
    assert screen.index(first_row) < screen.index("As a rule, and", screen.index("criterion  "))
    (tmp_path / "r.toml").write_text(text.replace('name = "danger"\n', "").replace("-6", "-7"), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        cli(*words)
    assert "rubric:r is in this ledger already, and its criterion 'As a rule, and by what is known" in str(
        refused.value
    )
    assert "Give the rubric another name" in str(refused.value)
    assert len(str(refused.value)) < 400
