"""A plan equals the calls and costs of the run that follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fullbench import Case, Ledger, Usage, Verdict
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.studies.run.answer_items import collect_answers
from fullbench.studies.run.judging_study_kind import StudyRun
from fullbench.studies.study_file import Study

ITEMS = 12


@pytest.fixture
def folder(tmp_path) -> Path:
    rows = [{"id": f"i{i}", "question": f"How many in #{i}?"} for i in range(ITEMS)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def conductor(folder: Path, **rest: Any) -> StudyRun:
    given = {"name": "s", "items": "items.jsonl", "ballots": ["score:1-5", "choice"], "ledger": "l.ledger", **rest}
    words = "\n".join(f"{key} = {json.dumps(value)}" for key, value in given.items() if value is not None)
    (folder / "study.toml").write_text(words, encoding="utf-8")
    return StudyRun(Study.read(folder / "study.toml"))


def planned(conductor: StudyRun) -> Table:
    with Ledger(conductor.study.ledger) as ledger:
        return conductor.plan(ledger)


def column(table: Table, name: str) -> dict[str, Any]:
    who = [cell or "all" for cell in table.column("who")]
    return dict(zip(who, table.column(name), strict=True))


def test_what_is_planned_before_anybody_answered_is_what_is_then_asked(folder):
    study = conductor(
        folder, contestants=["offline:echo", "offline:canned?text=six"], judges=["offline:first?mode=direct", "length"]
    )
    before = column(planned(study), "due")
    with Ledger(study.study.ledger) as ledger:
        done = study.execute(ledger, quiet=True)
    asked = {tally.name: tally.started_count for tally in done.job_counts}
    assert asked == {who: count for who, count in before.items() if who != "all"}
    assert before["all"] == sum(asked.values()) == 2 * ITEMS + 2 * (2 * ITEMS + 2 * ITEMS)
    after = planned(study)
    assert set(column(after, "due").values()) == {0}
    assert column(after, "reused") == before
    assert after.notes == []


def test_a_benchmark_that_draws_its_own_cases_is_foreseen_as_well(folder):
    study = conductor(folder, benchmark="synthetic", items=None, ballots=None, judges=["length"])
    before = column(planned(study), "due")
    with Ledger(study.study.ledger) as ledger:
        collect_answers(study.contestants, study.items, ledger)
    after = column(planned(study), "due")
    assert after["length"] == before["length"] > 0
    assert sum(after.values()) == 2 * after["length"], "nobody else has anything left to do"


def test_where_cases_cannot_be_foreseen_it_says_so(folder):
    study = conductor(folder, contestants=["offline:echo"], judges=["length"])
    drawn = study.cases

    def cases(responses):
        if any(response.text.startswith("one one") for response in responses):
            raise InputError("the cases hang on the answers")
        return drawn(responses)

    study.cases = cases
    table = planned(study)
    assert column(table, "due") == {"echo": ITEMS, "length": 0, "all": ITEMS}
    assert table.notes[-1].endswith("Verdicts on them are not counted: the cases hang on the answers")


def test_dollars_tokens_and_turns(folder):
    (folder / "answers.jsonl").write_text(
        "\n".join(json.dumps({"item": f"i{i}", "contestant": "a", "text": "six"}) for i in range(ITEMS))
    )
    price = "price_in=2&price_out=10"
    judges = [
        f"openai:one@http://localhost:1/v1?mode=direct&{price}",
        f"openai:many@http://localhost:1/v1?mode=steps&steps=picture,question&{price}",
        f"anthropic:other?{price}",
        f"gemini:third?{price}",
        "offline:first",
    ]
    table = planned(conductor(folder, responses="answers.jsonl", judges=judges, ballots=["score:1-5"]))
    calls, into, out = (list(column(table, name).values()) for name in ("calls", "tokens in", "tokens out"))
    assert calls == [ITEMS, 3 * ITEMS, ITEMS, ITEMS, ITEMS, 7 * ITEMS]
    assert out[:4] == [8 * ITEMS, 3 * 300 * ITEMS, 300 * ITEMS, 300 * ITEMS]
    dollars, batch = (list(column(table, name).values()) for name in ("dollars", "in batches"))
    assert dollars[:4] == pytest.approx([(i * 2 + o * 10) / 1e6 for i, o in zip(into[:4], out[:4], strict=True)])
    assert batch == [*(one / 2 for one in dollars[:4]), None, pytest.approx(sum(dollars[:4]) / 2)]
    assert "The batch price counts calls that cannot run in batches at their live price." in table.notes


def test_time_comes_from_limits_shared_by_a_server_and_from_what_was_seen(folder):
    (folder / "answers.jsonl").write_text(
        "\n".join(json.dumps({"item": f"i{i}", "contestant": "a", "text": "six"}) for i in range(ITEMS))
    )

    def seconds(*options: str) -> tuple[StudyRun, float]:
        judges = [f"vllm:{chr(97 + i)}?mode=direct&{words}" for i, words in enumerate(options)]
        made = conductor(folder, responses="answers.jsonl", judges=judges, ballots=["score:1-5"])
        return made, planned(made).source["seconds"]

    assert seconds("concurrency=4")[1] == ITEMS / 4 * 2.0
    assert seconds("concurrency=100")[1] == 2.0
    assert seconds("rpm=6")[1] == ITEMS / 6 * 60
    assert seconds("rpm=6", "rpm=6")[1] == 2 * ITEMS / 6 * 60
    study, _ = seconds("concurrency=1")
    case: Case = next(iter(study.cases(study.input_responses)))
    with Ledger(study.study.ledger) as ledger:
        usage = Usage(calls=1, tokens_out=50, seconds=7.0)
        ledger.add(case, Verdict.from_case(case, study.judges[0].name, (4.0,), usage=usage))
    table = planned(study)
    assert table.source["seconds"] == (ITEMS - 1) * 7.0
    assert (table.column("reused"), table.column("tokens out")) == ([1], [(ITEMS - 1) * 50])
    assert table.column("time") == ["1 min 17 s"]


def test_a_rubric_in_one_call_is_planned_call_by_call(tmp_path):
    """Items with two points and with three: a share of the first cases would miss the number of calls."""
    asks = ["The number is right.", {"asks": "It says where.", "weight": 2}, {"asks": "Clear.", "ballot": "score:1-5"}]
    items = [{"id": f"i{n}", "question": f"How many in #{n}?", "rubric": asks[n % 2 :]} for n in range(90)]
    answers = [{"item": row["id"], "contestant": who, "text": who} for row in items for who in ("ann", "bob", "丙")]
    for name, rows in (("items", items), ("answers", answers)):
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "study.toml").write_text(
        'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\njudges = ["rubric:r"]\nledger = "l.ledger"\n'
        '[rubrics.r]\njudge = "offline:canned?text=no"\n',
        encoding="utf-8",
    )
    study = StudyRun(Study.read(tmp_path / "study.toml"))
    table = planned(study)
    assert [*column(table, "due").values(), *column(table, "calls").values()] == [45 * 3 * (3 + 2), 270]
    with Ledger(study.study.ledger) as ledger:
        done = study.execute(ledger, quiet=True)
    assert sum(tally.usage.calls for tally in done.job_counts) == 2 * 270, "each reply is unreadable and sampled again"
