"""The benchmark on its sample: cases, wording, reviews, and the way from export to a run."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fullbench import Item, Picture, Prompt, Response, Usage
from fullbench.analysis.agreement.judges_with_people import compare_with_people
from fullbench.analysis.bias.judge_biases_compared_with_people import LENGTHENS
from fullbench.benchmarks.mllm_judge import own_prompt_wording_and_criteria, reviews_of_verdicts
from fullbench.benchmarks.mllm_judge.benchmark_definition import mllm_judge
from fullbench.benchmarks.mllm_judge.item_and_verdict_loader import SAMPLE
from fullbench.benchmarks.mllm_judge.release.release_row import Review
from fullbench.benchmarks.mllm_judge.tables import family_members, score_gap_table
from fullbench.core.model import Reply
from fullbench.core.verdict_record import Record
from fullbench.judges.model_written_texts_for_experiments import Describing, Lengthening
from fullbench.judges.prompted_judge import Example
from fullbench.testing import check_benchmark
from tests.support.data_builders import Talker, png, words


def test_the_benchmark_keeps_its_promises(tmp_path: Path):
    check_benchmark(mllm_judge, tmp_path)


def test_each_item_is_heard_in_its_own_way():
    record = mllm_judge.record()
    cases = list(
        mllm_judge.cases(
            list(record.items.values()), record.responses.values(), trials=own_prompt_wording_and_criteria.TRIALS
        )
    )
    heard = Counter((case.item.tags["task"], case.ballot.spec, len(case.responses)) for case in cases)
    assert heard == {
        ("score", "score:1-5", 1): 4 * 4 * 6,
        ("pair", "choice+tie", 2): 4 * 6 * 2 * 6,
        ("batch", "ranking", 4): 4 * 2 * 6,
    }


def test_an_item_without_a_task_is_heard_in_all_ways():
    item = Item.ask("x", "?")
    said = [Response.say("x", name, name) for name in "abc"]
    assert {case.ballot.spec for case in mllm_judge.cases([item], said)} == {"score:1-5", "choice+tie", "ranking"}


def test_every_sample_file_is_whole():
    record = mllm_judge.record()
    assert {verdict.item for verdict in record} == set(record.items)
    assert all(item.pictures and item.reference for item in record.items.values())
    assert not list(SAMPLE.rglob("*.part"))


def ruling(prompt: Prompt) -> str:
    asked = words(prompt)
    return "[[4]]" if "[[score]]" in asked or "1 to 5" in asked or "between 1 and 5" in asked else "[[B]]"


def prompts(**manner: object) -> list[Prompt]:
    record = mllm_judge.record()
    talker = Talker(ruling)
    cases = list(mllm_judge.cases(list(record.items.values()), record.responses.values()))
    scores = [case for case in cases if case.ballot.spec == "score:1-5"][:2]
    list(own_prompt_wording_and_criteria.build_judge(talker, **manner).judge(scores))
    return talker.asked


def test_the_wording_has_every_part():
    said = words(prompts(mode="analyze")[0])
    for level, _ in own_prompt_wording_and_criteria.LEVELS:
        assert level in said
    for criterion in ("relevance", "accuracy", "comprehensiveness", "creativity", "granularity"):
        assert criterion in said
    assert "Your analysis first" in said
    assert "[[" in said
    assert not any(name in said for name in ("terse", "careful", "chatty", "mistaken"))


def test_modes_and_sights_change_what_is_asked():
    direct, steps = prompts(mode="direct"), prompts(mode="steps", steps=("both", "picture", "question"))
    assert "nothing else" in words(direct[0])
    assert len(steps) == 4 * len(direct)
    assert "Before you see any answer" in words(steps[0])
    assert prompts()[0].turns[-1].pictures
    blind = prompts(picture_mode="none")[0]
    assert not any(turn.pictures for turn in blind.turns)
    assert "not shown" in words(blind)


def test_several_pictures_keep_their_order_and_examples_are_shown():
    pictures = [Picture.from_bytes(png((10 * i, 0, 0))) for i in range(4)]
    item = Item.ask("sequence", "What happens?", *pictures)
    case = next(iter(mllm_judge.cases([item], [Response.say("sequence", "x", "It gets redder.")])))
    talker = Talker(lambda prompt: "[[3]]")
    judge = own_prompt_wording_and_criteria.build_judge(
        talker, examples=(Example("A cat was called a dog.", (1.0,)), Example("All right.", (5.0,)))
    )
    (verdict,) = judge.judge([case])
    assert verdict.marks == (3.0,)
    (prompt,) = talker.asked
    assert [picture.digest for turn in prompt.turns for picture in turn.pictures] == [p.digest for p in pictures]
    assert "A cat was called a dog." in words(prompt)


def test_lengthening_makes_a_contestant_of_its_own():
    record = mllm_judge.record()
    answers = [response for response in record.responses.values() if response.contestant in {"terse", "chatty"}]

    def wordy(prompt: Prompt) -> str | Reply:
        old = prompt.tag
        if old.item.startswith("pair"):
            return Reply(prompt, error="no server", usage=Usage())
        return f"{old.text} {old.text} indeed." if old.contestant == "terse" else "short"

    task = Lengthening(list(record.items.values()), answers)
    made = task.apply_replies(Talker(wordy).answer(task.prompts()))
    assert {response.contestant for response in made.responses} == {"terse+longer"}
    assert all(response.tags[LENGTHENS] == "terse" for response in made.responses)
    assert len(made.responses) == 8
    assert sum("no server" in why for why in made.failures) == 8
    assert sum("no longer than" in why for why in made.failures) == 8


def test_pictures_are_described_once_and_stand_in_for_themselves():
    record = mllm_judge.record()
    items = list(record.items.values())
    seer = Talker(lambda prompt: f"Seen: {prompt.turns[-1].pictures[0].digest[:6]}.")
    made = Describing(items).apply_replies(seer.answer(Describing(items).prompts()))
    assert len(seer.asked) == len({picture.digest for item in items for picture in item.pictures}) == 6
    assert all(item.captions == (f"Seen: {item.pictures[0].digest[:6]}.",) for item in made.items)
    talker = Talker(lambda prompt: "[[4]]")
    case = next(iter(mllm_judge.cases(made.items, record.responses.values())))
    (verdict,) = own_prompt_wording_and_criteria.build_judge(talker, picture_mode="described").judge([case])
    assert verdict.marks == (4.0,)
    assert not any(turn.pictures for turn in talker.asked[0].turns)
    assert case.item.captions[0] in words(talker.asked[0])


def test_a_picture_that_could_not_be_described_is_said():
    items = list(mllm_judge.record().items.values())
    mute = Talker(lambda prompt: Reply(prompt, error="no server"))
    made = Describing(items).apply_replies(mute.answer(Describing(items).prompts()))
    assert len(made.failures) == 6
    assert not any(item.captions for item in made.items)


def test_reviews_go_through_appeals():
    record = mllm_judge.record()
    judge = own_prompt_wording_and_criteria.build_judge(Talker(lambda prompt: "It is right. [[4]]"))
    scores = [
        c for c in mllm_judge.cases(list(record.items.values()), record.responses.values()) if len(c.responses) == 1
    ]
    heard = list(judge.judge(scores))
    mine = Record(tuple(heard), record.items, record.responses)
    appealed = list(reviews_of_verdicts.review_cases(mine))
    assert len(appealed) == 3 * len(heard)
    assert {case.contestants for case in appealed} == {(judge.name,)}
    grades = [3, 5, 4, 4]
    told = [
        review
        for place, verdict in enumerate(heard)
        for review in reviews_of_verdicts.review_verdicts(
            verdict, Review(place % 4 != 0, grades[place % 4], place == 0)
        )
    ]
    table = reviews_of_verdicts.review_tables(Record((*heard, *told), record.items, record.responses))[0]
    ((name, ballot, agrees, reasons, hallucinates, deviation),) = table.rows
    assert (name, ballot) == (judge.name, "score:1-5")
    assert (agrees.value, reasons.value, hallucinates.value) == (12 / 16, 4.0, 1 / 16)
    assert deviation.value == pytest.approx(0.5)


def test_the_change_of_a_rate_between_two_ways_of_judging():
    record = mllm_judge.record()
    heard = [verdict for verdict in record if verdict.judge in {"length", "chance"} and verdict.trial == 0]
    first = {verdict.case: place for place, verdict in enumerate(v for v in heard if v.judge == "length")}
    told = [
        review
        for verdict in heard
        for review in reviews_of_verdicts.review_verdicts(
            verdict, Review(None, None, verdict.judge == "chance" and first[verdict.case] % 4 == 0)
        )
    ]
    table = next(one for one in reviews_of_verdicts.review_tables(Record(tuple(told))) if one.name == "review changes")
    ((judge, other, criterion, ballot, moved),) = table.rows
    assert (judge, other, criterion, ballot) == ("length", "chance", "hallucinates", ""), "the rulings are not there"
    assert moved.value == pytest.approx(-0.25)
    assert moved.high < 0
    by_ballot = reviews_of_verdicts.review_tables(Record((*heard, *told), record.items, record.responses))
    moves = {row[3]: row[4] for row in next(one for one in by_ballot if one.name == "review changes").rows}
    assert set(moves) == {"score:1-5", "choice+tie", "ranking"}
    assert sum(move.value * move.n for move in moves.values()) == pytest.approx(moved.value * moved.n)


def test_a_review_that_was_not_made_is_no_verdict():
    record = mllm_judge.record()
    verdict = next(verdict for verdict in record if verdict.judge == "length")
    assert not list(reviews_of_verdicts.review_verdicts(verdict, Review(None, None, None)))


def test_tables_of_the_sample():
    record = mllm_judge.record()
    names = {table.name for table in mllm_judge.tables(record)}
    assert {
        "scores by dataset",
        "pairs by abilities",
        "rankings by dataset",
        "biases",
        "steadiness",
        "unusable",
    } <= names
    assert compare_with_people(record).judges == ["chance", "length", "reference"]


def test_bias_by_contestant_counts_unusable_scores():
    record = mllm_judge.record()
    verdicts = [
        replace(verdict, marks=None, fault="abstained") if verdict.judge == "length" and place % 2 else verdict
        for place, verdict in enumerate(record)
    ]
    found = score_gap_table(compare_with_people(Record(tuple(verdicts), record.items, record.responses)))
    lost = Counter((v.judge, v.contestants[0]) for v in verdicts if v.fault and len(v.contestants) == 1)
    for judge, contestant, unusable in zip(*map(found.column, ("judge", "contestant", "unusable")), strict=True):
        assert unusable == lost[judge, contestant]
    assert sum(found.column("unusable")) > 0


def test_a_family_is_the_model_itself_or_a_known_relative():
    assert family_members("CogVLM", ["cogvlm", "llava"]) == {"cogvlm"}
    assert family_members("openai:gpt-4o+analyze#1234", ["openai:gpt-4o", "llava"]) == {"openai:gpt-4o"}


def test_an_exported_sample_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    import sys

    from fullbench.cli import main

    def run(*given: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["fullbench", *given])
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0), capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    assert run("export", "mllm-as-a-judge", "--out", "sample")[0] == 0
    code, out = run("run", "sample/study.toml", "--quiet", "--json")
    assert code == 0
    assert {"scores by dataset", "biases"} <= {table["name"] for table in json.loads(out)}
    assert run("export", "mllm-as-a-judge", "--out", "sample")[0] == 2
    assert run("export", "mllm-as-a-judge", "--subset", "hard", "--judge", "length", "--out", "hard")[0] == 0
    code, out = run("run", "hard/study.toml", "--quiet", "--json")
    assert code == 0
    again = mllm_judge.record(Path("hard"))
    assert again.judges == ["human", "length"]
    assert run("export", "mllm-as-a-judge", "--subset", "hard", "--out", "x")[0] == 2
    code, out = run("card", "length", "--benchmark", "mllm-as-a-judge", "--json")
    assert code == 0
    assert json.loads(out)["judge"] == "length"
    assert run("card", "length", "--benchmark", "mllm-as-a-judge", "--out", "card.html")[0] == 0
    assert "Judge card: length" in Path("card.html").read_text()
    assert run("card", "chance", "--ledger", "sample/study.ledger", "--labels", "sample/labels.jsonl")[0] == 0
    assert run("reproduce", "synthetic", "--data", ".")[0] == 2
    assert run("card", "x", "--benchmark", "synthetic")[0] == 2
