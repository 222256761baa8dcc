"""A real model as a judge: it rules or it does not, and either way the truth of it is kept."""

from __future__ import annotations

from fullbench import Case, Choice, Item, Ledger, Response, Score
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.run.judge_cases import judge_cases

QUESTIONS = {"q1": "How many legs has a spider?", "q2": "Which is larger, the moon or the earth?"}


def docket(_: object) -> list[Case]:
    cases = []
    for name, question in QUESTIONS.items():
        item = Item.ask(name, question)
        good, bad = Response.say(name, "good", "Eight; the earth."), Response.say(name, "bad", "I like turtles.")
        cases += [
            Case(item, (good,), Score(1, 5)),
            Case(item, (good, bad), Choice()),
            Case(item, (bad, good), Choice()),
        ]
    return cases


def test_a_small_model_judges_for_real(local_model, tmp_path):
    judge = judge_contestant_and_benchmark_specs.judge_from_spec(
        f"vllm:smollm2@{local_model}?mode=direct&max_tokens=24&temperature=0&resample=1"
    )
    with Ledger(tmp_path / "real.ledger") as ledger:
        (tally,) = judge_cases([judge], docket, ledger)
        (again,) = judge_cases([judge], docket, ledger)
        record = ledger.record()
        problems = ledger.verify()
    assert (tally.finished_count, tally.failure_count, again.started_count) == (6, 0, 0)
    assert not problems
    for verdict in record:
        assert verdict.text
        assert verdict.usage.calls == 1 + len(verdict.earlier)
        assert verdict.usage.tokens_in > 100
        assert verdict.usage.dollars == 0.0
        form = {case.key: case for case in docket(None)}[verdict.case].ballot
        assert (verdict.marks is None) == (verdict.fault is not None)
        assert verdict.marks is None or form.allows(verdict.marks)
