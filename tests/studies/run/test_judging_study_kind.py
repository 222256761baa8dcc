"""Tables of one's own data are the same whether verdicts are held with their texts or come by once."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.ledger.columns_from_rows import load_case_columns
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines.interrupt_handling import Stop
from fullbench.studies.run.judging_study_kind import StudyRun
from fullbench.studies.study_file import Study


def _study(folder):
    items = [{"id": f"第{number}", "prompt": f"question {number}"} for number in range(6)]
    answers = [
        {"item": item["id"], "contestant": name, "text": "word " * (size + number * size % 3)}
        for number, item in enumerate(items)
        for name, size in (("a", 3), ("b", 4), ("名", 2))
    ]
    labels = [
        {
            "item": item["id"],
            "contestants": ["a", "b"],
            "ballot": "choice+tie",
            "rater": rater,
            "marks": [1, 0] if number % 3 else [0, 1],
        }
        for number, item in enumerate(items)
        for rater in ("ann", "bob")
    ]
    for name, rows in (("items", items), ("answers", answers), ("labels", labels)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return Study(
        "x", items=folder / "items.jsonl", responses=folder / "answers.jsonl", judges=("length", "chance"),
        ballots=("choice+tie", "score:1-5"), criteria=("overall", "colour"), trials=2,
        labels=folder / "labels.jsonl", ledger=folder / "x.ledger",
    )  # fmt: skip


def test_a_run_that_is_stopped_before_its_first_case_ends_at_once_and_says_so(tmp_path):
    """More cases than could ever be counted: a signal that comes while a command starts must not wait for them."""
    study, stop = replace(_study(tmp_path), trials=1_000_000), Stop()
    stop.pull("terminated")
    with Ledger(study.ledger) as ledger:
        done = StudyRun(study).execute(ledger, quiet=True, with_texts=False, stop=stop)
    assert {tally.name: tally.stop_reason for tally in done.job_counts} == dict.fromkeys(study.judges, "terminated")
    assert not done.tables


def test_both_ways_give_the_same_tables_source_and_digest(tmp_path):
    study = _study(tmp_path)
    with Ledger(study.ledger) as ledger:
        whole = StudyRun(study).execute(ledger, quiet=True)
        narrow = StudyRun(study).execute(ledger, quiet=True, with_texts=False)
    assert len(whole.record) > 200
    assert not len(narrow.record)
    assert narrow.tables == whole.tables
    assert narrow.source == whole.source
    assert narrow.source["verdicts"] == whole.record.digest()
    assert (narrow.record.items, narrow.record.responses) == (whole.record.items, whole.record.responses)
    assert narrow.comparing
    assert whole.comparing


@pytest.mark.parametrize("named", [{"ballots": ("choice+tie", "choice+tie")}, {"criteria": ("overall", "overall")}])
def test_a_ballot_or_criterion_that_is_named_twice_is_refused(tmp_path, named):
    with pytest.raises(InputError, match=r"the same: .*leave one out"):
        StudyRun(replace(_study(tmp_path), **named))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_digest_is_that_of_a_record(tmp_path, count):
    study = _study(tmp_path)
    with Ledger(study.ledger) as ledger:
        StudyRun(study).execute(ledger, quiet=True)
        keys = [*dict.fromkeys(verdict.case for verdict in ledger.verdicts())][:count]
        verdicts = tuple(ledger.verdicts(cases=keys))
        with ledger.reader() as reader:
            columns, digest = load_case_columns(reader, [*study.judges, "human"], [keys], ())
    assert (len(verdicts) > 0) == (count > 0)
    assert digest == Record(verdicts).digest()
    assert columns.has_same_verdicts(columns_from_verdicts(verdicts))
