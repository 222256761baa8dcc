"""Graded comparisons of other tools: Arena-Hard, WildVision-Bench, HelpSteer and MMRB2, in and out."""

from __future__ import annotations

import csv
import gzip
import json
from itertools import combinations, product
from pathlib import Path

import pytest

from fullbench import GradedChoice, InputError, Item, Ledger, Picture, Record, Response, Verdict, ballot
from fullbench.benchmarks.pairwise_releases.released_and_printed_number_readers import printed_numbers
from fullbench.core.case import Case
from fullbench.core.item import WITHOUT_PICTURES
from fullbench.files.exchange.arena_and_mt_bench import import_arena, write_alpaca, write_arena
from fullbench.files.exchange.arena_hard_and_wildvision_bench import import_judged_games, write_judged_games
from fullbench.files.exchange.helpsteer_and_mmrb2 import import_helpsteer, import_mmrb2, write_helpsteer
from fullbench.files.item_response_verdict_files import read_verdicts
from tests.support.commands import call, read_jsonl, write_rows
from tests.support.data_builders import png

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "wildvision_bench"
PROMPT = (
    "<|User Prompt|>\n{q}\n\n<|The Start of Assistant A's Answer|>\n{a}\n<|The End of Assistant A's Answer|>\n\n"
    "<|The Start of Assistant B's Answer|>\n{b}\n<|The End of Assistant B's Answer|>"
)


def steps(record: Record) -> dict[tuple[str, ...], int | None]:
    """The signed strength of each verdict, above 0 for the first shown."""
    found = {}
    for verdict in record:
        form = ballot(verdict.ballot)
        assert isinstance(form, GradedChoice)
        key = (verdict.item, *verdict.contestants, verdict.judge, verdict.rater)
        found[key] = None if verdict.marks is None else form.step_of(verdict.marks)
    return found


def left_out(data) -> dict[str, int]:
    return {row[0]: row[1] for table in data.tables for row in table.rows}


def test_arena_hard_of_both_versions(tmp_path):
    first = write_rows(tmp_path / "old.jsonl", [
        {"question_id": "q1", "model": "new", "judge": "gpt-4", "games": [
            {"user_prompt": PROMPT.format(q="Why?", a="base says", b="new says"), "judgment": "so", "score": "A>>B"},
            {"user_prompt": PROMPT.format(q="Why?", a="new says", b="base says"), "judgment": "so", "score": "A>B"},
        ]},
        {"question_id": "q2", "model": "base", "judge": "gpt-4", "games": [{"score": "A=B"}]},
    ])  # fmt: skip
    with pytest.raises(InputError, match="add --option baseline=NAME"):
        import_judged_games(first, {})
    data = import_judged_games(first, {"baseline": "base"})
    assert steps(data.record) == {("q1", "base", "new", "gpt-4", ""): 2, ("q1", "new", "base", "gpt-4", ""): 1}
    assert data.record.responses["q1", "new", 0].text == "new says"
    assert data.record.items["q1"].question == "Why?"
    assert left_out(data) == {"judgments of the baseline with itself": 1}
    asked = PROMPT.format(q="Two\nlines?", a="x", b="y")
    message = [{"role": "system", "content": "s"}, {"role": "user", "content": asked}]
    second = write_rows(tmp_path / "new.jsonl", [
        {"uid": "u1", "category": "hard_prompt", "model": "m", "judge": "j", "baseline": "b", "games": [
            {"prompt": message, "judgment": {"answer": "because"}, "score": "B>>A"}, None,
        ]},
        {"uid": "u2", "model": "m", "judge": "j", "baseline": "b", "games": [
            {"prompt": message, "judgment": {"answer": "?"}, "score": None},
        ]},
    ])  # fmt: skip
    data = import_judged_games(second, {})
    assert steps(data.record) == {("u1", "b", "m", "j", ""): -2, ("u2", "b", "m", "j", ""): None}
    assert next(iter(data.record)).text == "because"
    assert data.record.items["u1"].question == "Two\nlines?"
    assert data.record.items["u1"].tags["category"] == "hard_prompt"
    assert left_out(data) == {"games without a judgment": 1}


def test_arena_hard_scores_are_its_own(tmp_path, monkeypatch):
    """Its score is the chance to beat the baseline, from Bradley-Terry in which `>>` counts three times.

    All models meet the baseline only, so that the chance is the weighted share of games won.
    """
    monkeypatch.chdir(tmp_path)
    outcome = {"A>>B": (1, 3), "A>B": (1, 1), "A=B": (0.5, 1), "B>A": (0, 1), "B>>A": (0, 3), "A<B": (0, 1)}
    levels, rows, scores = tuple(outcome), [], {}
    for place, model in enumerate(("m1", "m2", "m3")):
        won = total = 0.0
        for n in range(12):
            games = []
            for order, (a, b) in enumerate((("base", model), (model, "base"))):
                level = levels[(n * (place + 1) + 2 * order + place) % 6]
                games.append({"user_prompt": PROMPT.format(q=f"Q{n}", a=a, b=b), "judgment": "so", "score": level})
                for_first, weight = outcome[level]
                won, total = won + weight * (for_first if order else 1 - for_first), total + weight
            rows.append({"question_id": f"q{n}", "model": model, "judge": "gpt-4", "baseline": "base", "games": games})
        scores[model] = won / total
    write_rows(tmp_path / "games.jsonl", rows)
    assert call("import", "games.jsonl", "--ledger", "x.ledger")[0] == 0
    tables = call("report", "--ledger", "x.ledger", "--strong", "3", "--json")[1].tables
    board = tables["leaderboard gpt-4"]
    labels = [entry["label"] if isinstance(entry, dict) else entry for entry in board["columns"]]
    ours = {row[labels.index("contestant")]: row[labels.index("rating")]["value"] for row in board["rows"]}
    chances = {model: 1 / (1 + 10 ** ((ours["base"] - ours[model]) / 400)) for model in scores}
    assert chances == pytest.approx(scores, abs=1e-6)


def test_wildvision_bench_as_its_repository_has_it(tmp_path):
    folder = tmp_path / "data" / "judge_gpt-4o_reference_claude-3-sonnet"
    folder.mkdir(parents=True)
    write_rows(tmp_path / "data" / "answers.jsonl", [{"question_id": "q", "output": "an answer"}])
    for model, score in (("one", "B>A"), ("two", "A=B"), ("three", "INVALID")):
        prompt = [{"type": "text", "text": PROMPT.format(q="What is it?", a="base", b=f"{model} says")},
                  {"type": "image", "image": "3b2c4da1"}]  # fmt: skip
        game = {"user_prompt": prompt, "judgement": f"[[{score}]]", "score": score}
        row = {"question_id": "q", "model": model, "judge": "gpt-4o", "games": [game]}
        write_rows(folder / f"{model}.jsonl", [row])
    data = import_judged_games(tmp_path / "data", {})
    base = "claude-3-sonnet"
    assert steps(data.record) == {
        ("q", base, "one", "gpt-4o", ""): -1, ("q", base, "two", "gpt-4o", ""): 0,
        ("q", base, "three", "gpt-4o", ""): None,
    }  # fmt: skip
    assert data.record.items["q"].tags[WITHOUT_PICTURES] == "3b2c4da1"
    assert left_out(data) == {
        "files without games, questions or answers": 1, "questions with pictures that the games only name": 1,
    }  # fmt: skip


def test_a_score_that_is_no_level(tmp_path):
    """Real files have whole judgments in place of a level, which the tools themselves leave out."""
    games = [{"user_prompt": PROMPT.format(q="Why?", a=a, b=b), "score": score} for a, b, score in (
        ("base", "m", "A>>>B"), ("m", "base", "A<<B"))]  # fmt: skip
    rows = [{"question_id": "q1", "model": "m", "judge": "j", "baseline": "b", "games": games}]
    data = import_judged_games(write_rows(tmp_path / "odd.jsonl", rows), {})
    assert steps(data.record) == {("q1", "b", "m", "j", ""): None, ("q1", "m", "b", "j", ""): -2}
    assert left_out(data) == {"scores that are no level from A>>B to B>>A: taken as unreadable": 1}


def test_games_without_prompts_take_texts_from_questions_and_answers(tmp_path):
    """Older files name no baseline and leave prompts out; both layouts of questions and answers are joined."""
    bench = tmp_path / "data" / "arena-hard-v0.1"
    (bench / "model_answer").mkdir(parents=True)
    (bench / "model_judgment" / "judge").mkdir(parents=True)
    write_rows(bench / "question.jsonl", [
        {"question_id": "q1", "category": "arena-hard-v0.1", "turns": [{"content": "Old?"}]},
        {"uid": "q2", "category": "arena-hard-v0.1", "prompt": "New?"},
    ])  # fmt: skip
    answers = {
        "gpt-4-0314": [{"question_id": "q1", "model_id": "gpt-4-0314", "choices": [{"turns": [{"content": "old"}]}]}],
        "m": [{"uid": "q1", "model": "m", "messages": [{"role": "user", "content": "Old?"},
                                                     {"role": "assistant", "content": {"answer": "new"}}]},
              {"uid": "q3", "model": "m", "messages": [{"role": "assistant", "content": {"answer": "unused"}}]}],
    }  # fmt: skip
    for model, rows in answers.items():
        write_rows(bench / "model_answer" / f"{model}.jsonl", rows)
    games = [{"score": "A>B"}, {"score": "B>A"}]
    write_rows(bench / "model_judgment" / "judge" / "m.jsonl", [
        {"question_id": name, "model": "m", "judge": "j", "games": games} for name in ("q1", "q2")
    ])  # fmt: skip
    data = import_judged_games(tmp_path, {})
    base = "gpt-4-0314"
    assert steps(data.record) == {("q1", base, "m", "j", ""): 1, ("q1", "m", base, "j", ""): -1}
    assert data.record.items["q1"].question == "Old?"
    assert {key: answer.text for key, answer in data.record.responses.items()} == {
        ("q1", base, 0): "old", ("q1", "m", 0): "new",
    }  # fmt: skip
    assert left_out(data) == {
        "judgments that do not name the baseline: gpt-4-0314, that of the benchmark, is taken": 2,
        "games without the question and both answers: taken from the files of questions and answers": 2,
        "games without the question and both answers: left out": 2,
        "answers without a judgment": 1,
    }
    for file in bench.rglob("m.jsonl"):
        if file.parent.name == "judge":
            file.unlink()
    data = import_judged_games(tmp_path, {})
    assert (len(data.record.items), len(data.record.responses), len(data.record)) == (2, 2, 0)
    assert left_out(data) == {"answers to questions that are not here": 1}


def test_helpsteer(tmp_path):
    rows = [
        {"domain": "code", "context": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"},
         {"role": "user", "content": "Sum?"}], "response1": "one", "response2": "two", "overall_preference": -2,
         "individual_preference": [{"score": -3, "reasoning": "clear"}, {"score": 0, "reasoning": ""}]},
        {"prompt": "Older", "response_1": "p", "response_2": "q", "preference_strength": 1},
    ]  # fmt: skip
    data = import_helpsteer(write_rows(tmp_path / "rows.jsonl", rows), {})
    found = {(rater, step) for (_, *_, rater), step in steps(data.record).items()}
    assert found == {("annotator 1", 3), ("annotator 2", 0), ("annotators together", -1)}
    assert {verdict.ballot for verdict in data.record} == {"choice:7"}
    assert left_out(data) == {"overall preferences, which are joined from those of the annotators": 1}
    assert [len(item.turns) for item in data.record.items.values()] == [3, 1]
    for odd in (4, "much", None):
        path = write_rows(tmp_path / "odd.jsonl", [{**rows[1], "preference_strength": odd}])
        with pytest.raises(InputError, match="runs from -3 to 3"):
            import_helpsteer(path, {})


def test_mmrb2(tmp_path):
    for name in ("in.png", "a.png", "b.png"):
        (tmp_path / name).write_bytes(png((ord(name[0]), 3, 3)))
    base = {"prompt_source": "wise", "prompt_metadata": {"id": 7, "category": "Biology"},
            "prompt_content": [["image", "in.png"], ["text", "Make it blue"]]}  # fmt: skip

    def pair(name: str, a: str, b: str, **rest) -> dict:
        sides = {"response_a": {"model_name": a, "response_content": [["image", "a.png"]]},
                 "response_b": {"model_name": b, "response_content": [["text", "b:"], ["image", "b.png"]]}}  # fmt: skip
        return {"id": name, **base, **sides, **rest}

    pairs = [
        pair("p1", "flux", "imagen4", chosen="A", human_annotations=[6, 4, 3]),
        pair("p2", "flux", "flux", chosen="B", human_annotations=[1, 2, 1]),
        pair("p3", "flux", "imagen4", chosen="B", human_annotations=[]),
        {**pair("p4", "flux", "imagen4", chosen="A"), "prompt_content": None},
        {**pair("p5", "x", "y", chosen="A"), "prompt_content": [["image", "gone.png"]]},
        pair("p6", "x", "y", chosen="A", human_annotations={"response_a_ratings": ["A"], "response_b_ratings": ["C"]}),
        pair("p7", "x", "y", chosen="A", human_annotations="[5]"),
    ]
    (tmp_path / "t2i.json").write_text(json.dumps({"pairs": pairs}), encoding="utf-8")
    data = import_mmrb2(tmp_path / "t2i.json", {})
    graded = Record(tuple(v for v in data.record if v.ballot == "choice:6"), data.record.items, data.record.responses)
    assert {(item, rater): step for (item, *_, rater), step in steps(graded).items()} == {
        ("p1", "annotator 1"): 3, ("p1", "annotator 2"): 1, ("p1", "annotator 3"): -1,
        ("p2", "annotator 1"): -3, ("p2", "annotator 2"): -2, ("p2", "annotator 3"): -3, ("p7", "annotator 1"): 2,
    }  # fmt: skip
    plain = {verdict.item: verdict.marks for verdict in data.record if verdict.ballot == "choice"}
    assert plain == {"p3": (0.0, 1.0), "p6": (1.0, 0.0)}
    assert [part if isinstance(part, str) else "picture" for part in data.record.items["p1"].turns[0].parts] == [
        "picture", "Make it blue",
    ]  # fmt: skip
    assert data.record.responses["p1", "imagen4", 0].pictures == (Picture.from_bytes(png((ord("b"), 3, 3))),)
    assert left_out(data) == {
        "chosen responses, which are joined from the annotations": 3,
        "ratings of one response by a letter, as the task `reasoning` has them": 2,
        "pairs without their prompt, which MMRB2's build adds": 1,
        "pairs whose pictures are not next to the file, or without a response": 1,
    }


def several(spec: str) -> Record:
    """Two judges and two people on every level of a ballot: two items, three contestants, two trials, both orders."""
    form = ballot(spec)
    assert isinstance(form, GradedChoice)
    items = {f"q{n}": Item.ask(f"q{n}", f"What is {n}?") for n in range(2)}
    answers = {(q, name, 0): Response.say(q, name, f"{name} on {q}") for q in items for name in ("base", "x", "y")}
    verdicts = []
    for place, (q, (a, b), order, (judge, rater), trial, criterion) in enumerate(product(
        items, combinations(("base", "x", "y"), 2), (1, -1),
        (("gpt", ""), ("qwen", ""), ("human", "ann"), ("human", "bo")), (0, 1), ("overall", "detail"),
    )):  # fmt: skip
        shown = tuple(answers[q, name, 0] for name in (a, b)[::order])
        marks = form.marks_of(form.steps[place % len(form.steps)])
        verdicts.append(Verdict.from_case(
            Case(items[q], shown, form, criterion, trial), judge, marks, rater=rater, text=f"reason {place}"
        ))  # fmt: skip
    return Record(tuple(verdicts), items, answers)


def content(record: Record, *, raters_only: bool = False) -> list[tuple]:
    return sorted(
        (verdict.item, verdict.contestants, verdict.rater or verdict.judge if raters_only else verdict.judge,
         "" if raters_only else verdict.rater, verdict.criterion, verdict.trial, verdict.text,
         ballot(verdict.ballot).write(verdict.marks))
        for verdict in record
    )  # fmt: skip


def test_arena_hard_round_trip(tmp_path):
    record = several("choice:5")
    counts = write_judged_games(record, tmp_path / "out.jsonl", {"baseline": "base"})
    rows = read_jsonl(tmp_path / "out.jsonl")
    with_base = [verdict for verdict in record if "base" in verdict.contestants]
    assert sum(len(row["games"]) for row in rows) == len(with_base)
    assert counts == {
        "judgments": len(rows),
        "verdicts without the baseline left out": len(record.verdicts) - len(with_base),
    }
    back = import_judged_games(tmp_path / "out.jsonl", {}).record
    assert content(back) == content(Record(tuple(with_base), record.items, record.responses))
    with pytest.raises(InputError, match="one of base, x, y; add --option baseline=NAME"):
        write_judged_games(record, tmp_path / "no.jsonl", {})
    with pytest.raises(InputError, match="no usable verdict on choice:4 or choice:5"):
        write_judged_games(several("choice:7"), tmp_path / "no.jsonl", {"baseline": "base"})
    assert not (tmp_path / "no.jsonl").exists()


def test_helpsteer_round_trip(tmp_path):
    record = several("choice:7")
    counts = write_helpsteer(record, tmp_path / "out.jsonl", {})
    assert counts == {"rows": 2 * 3 * 2, "preferences": len(record.verdicts)}
    rows = read_jsonl(tmp_path / "out.jsonl")
    assert all(-3 <= vote["score"] <= 3 for row in rows for vote in row["individual_preference"])
    back = import_helpsteer(tmp_path / "out.jsonl", {}).record
    assert len(back.verdicts) == len(record.verdicts)

    def shares(some: Record, *, people: bool) -> list[tuple]:
        """Who said what, whichever response came first."""
        form = ballot("choice:7")
        return sorted(
            (v.item, v.criterion, v.rater if people else v.rater or v.judge, v.text,
             form.step_of([mark for _, mark in sorted(zip(v.contestants, v.marks, strict=True))]))
            for v in some
        )  # fmt: skip

    assert shares(back, people=True) == shares(record, people=False)


def test_arena_and_alpaca(tmp_path):
    record = several("choice:5")
    write_arena(record, tmp_path / "arena.jsonl", {})
    assert {row["level"] for row in read_jsonl(tmp_path / "arena.jsonl")} == {"A>>B", "A>B", "A=B", "B>A", "B>>A"}
    back = import_arena(tmp_path / "arena.jsonl", {}).record
    told = sorted((v.item, v.contestants, v.judge, v.marks) for v in back)
    assert told == sorted((v.item, v.contestants, v.judge, v.marks) for v in record)
    write_alpaca(record, tmp_path / "alpaca.jsonl", {})
    for row, verdict in zip(read_jsonl(tmp_path / "alpaca.jsonl"), record, strict=True):
        assert row["preference"] == pytest.approx(1 + verdict.marks[1])


@pytest.mark.parametrize("tool", ["label_studio", "argilla"])
def test_label_tools_keep_the_level(tmp_path, tool):
    record = several("choice:6")
    with Ledger(tmp_path / "some.ledger") as ledger:
        ledger.add(*record.items.values())
        for answer in record.responses.values():
            ledger.add_response(record.items[answer.item], answer)
        ledger.add(*record.verdicts)
    out = tmp_path / "out.json"
    assert call("export", tool, "--ledger", tmp_path / "some.ledger", "--judge", "human", "--out", out)[0] == 0
    people = [v for v in record if v.judge == "human"]
    written = {(v.item, v.contestants, v.rater, v.criterion, v.marks) for v in read_verdicts(out) if v.judge == "human"}
    assert written == {(v.item, v.contestants, v.rater, v.criterion, v.marks) for v in people}


def test_rounded_sixths_are_levels(tmp_path):
    rows = [{"item": "q", "contestants": ["a", "b"], "marks": [0.83, 0.17], "ballot": "choice:7"}]
    (verdict,) = read_verdicts(write_rows(tmp_path / "labels.jsonl", rows))
    assert verdict.marks == GradedChoice(7).marks_of(2)


@pytest.mark.skipif(not DATA.is_dir(), reason="the published verdicts are not at hand (shared/data)")
def test_wildvision_bench_in_its_printed_order(tmp_path):
    """Of 210 pairs of 21 models, 204 are as printed if verdicts count once, 210 if 'much better' counts three times."""
    with gzip.open(DATA / "verdicts.csv.gz", "rt", encoding="utf-8") as lines:
        rows = [
            {"item": row["question"], "model_a": row["model_a"], "model_b": row["model_b"], "judge": "gpt-4o",
             "ballot": "choice:5",
             **({"winner": row["score"]} if row["score"] != "INVALID" else {"fault": "unreadable"})}
            for row in csv.DictReader(lines) if row["model_a"] != row["model_b"]
        ]  # fmt: skip
    with Ledger(tmp_path / "wild.ledger") as ledger:
        ledger.add(*read_verdicts(write_rows(tmp_path / "verdicts.jsonl", rows)))
    with gzip.open(DATA / "bootstrap_ratings.csv.gz", "rt", encoding="utf-8") as lines:
        released = {name: float(told) for name, told in next(csv.DictReader(lines)).items() if name != "row"}
    assert len(released) == 21
    scores = {cell.removesuffix("/score"): told for cell, told in printed_numbers("wildvision_bench").items()
              if cell.endswith("/score")}  # fmt: skip
    for strong, same in (("1", 204), ("3", 210)):
        done = call("report", "--ledger", tmp_path / "wild.ledger", "--strong", strong, "--json")[1]
        board = done.tables["leaderboard gpt-4o"]
        labels = [entry["label"] if isinstance(entry, dict) else entry for entry in board["columns"]]
        ours = {row[labels.index("contestant")]: row[labels.index("rating")]["value"] for row in board["rows"]}
        as_printed = [(ours[a] - ours[b]) * (released[a] - released[b]) > 0 for a, b in combinations(released, 2)]
        assert (sum(as_printed), len(as_printed)) == (same, 210)
    base = ours["claude-3-sonnet-20240229"]
    told = {name: round(100 / (1 + 10 ** ((base - ours[name]) / 400)), 2) for name in scores}
    assert told == scores
