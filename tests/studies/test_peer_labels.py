"""A judge with a label of its own is the contestant that it asks, in every table that sets its own answers apart."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from fullbench.analysis.peer_review.peer_review_tables import build_peer_review_tables
from fullbench.analysis.peer_review.reviews_from_record import match_judges_to_contestants
from fullbench.benchmarks.mllm_judge.tables import tables as mllm_tables
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.ledger.ledger import Ledger
from fullbench.models.chat_model import ChatModel
from fullbench.studies import judge_contestant_and_benchmark_specs, ledger_verdicts_with_panels
from fullbench.studies.peer_review.peer_review_steps import PeerReview
from fullbench.studies.run.judge_cases import judge_cases
from fullbench.synthetic.item_generator import build_items
from fullbench.synthetic.pixel_reading_contestants import build_contestants

GIVEN = [known.item for known in build_items(7, 5)]


def reviewed(place, *, labels: bool):
    """The tables of a review of given questions by contestants, each of which judges under a label or its own name."""
    reviewing = PeerReview(build_contestants()[:4], given_questions=GIVEN)
    with Ledger(place) as ledger:
        done = reviewing.execute(ledger, quiet=True)
        if not labels:
            return build_peer_review_tables(done.record), done.record
    with Ledger(place.with_name("labelled.ledger")) as ledger:
        items, responses = list(done.record.items.values()), list(done.record.responses.values())
        owners = {}
        for number, model in enumerate(reviewing.contestants):
            judge = reviewing.judge(model)
            named = replace(judge, label=f"juror-{number}")
            owners[named.name] = list(reviewing.cases_to_judge(judge, items, responses)), model.name, named
        judge_cases([named for *_, named in owners.values()], lambda judge: owners[judge.name][0], ledger)
        record = ledger_verdicts_with_panels.load_record(ledger)
    assert match_judges_to_contestants(record) == {name: model for name, (_, model, _) in owners.items()}
    assert match_judges_to_contestants(
        record.where(criterion="correctness").in_canonical_order()
    ) == match_judges_to_contestants(record), "parts know it too"
    return build_peer_review_tables(record), record


def test_reviewers_with_labels_have_the_rows_that_they_have_without(tmp_path):
    plain, _ = reviewed(tmp_path / "plain.ledger", labels=False)
    labelled, record = reviewed(tmp_path / "plain.ledger", labels=True)
    assert {judge.partition("+")[0] for judge in record.judges} == {f"juror-{number}" for number in range(4)}
    by_name = {table.name: table for table in labelled}
    for name in ("ranking", "reviewers", "order"):
        for table in plain:
            if table.name == name:
                assert by_name[name].rows == table.rows, name
    assert by_name["reviewers"].rows, "all of them review"
    assert not [name for name in by_name if name.startswith("won by")], "nobody is an outsider"


@pytest.mark.parametrize("label", ["", "?label=lab"])
def test_a_label_is_known_whether_the_contestant_has_it_too(tmp_path, label):
    server = "openai:qwen@http://127.0.0.1:9/v1"
    contestant, judge = (
        judge_contestant_and_benchmark_specs.contestant_from_spec(server + label),
        judge_contestant_and_benchmark_specs.judge_from_spec(f"{server}?label=lab"),
    )
    assert isinstance(contestant, ChatModel)
    with Ledger(tmp_path / "a.ledger") as ledger:
        ledger.declare("judge", judge.name, judge.settings)
        record = ledger.record()
    (model,) = record.asks.values()
    assert any(f"{spelling}+".startswith(f"{contestant.name}+") for spelling in record.spellings(judge.name)), model


def test_a_judge_without_a_label_has_one_spelling(tmp_path):
    with Ledger(tmp_path / "a.ledger") as ledger:
        for judge in map(
            judge_contestant_and_benchmark_specs.judge_from_spec, ("openai:qwen@http://127.0.0.1:9/v1", "length")
        ):
            ledger.declare("judge", judge.name, judge.settings)
        assert ledger.record().asks == {}


def ruled(judge: str) -> list[Verdict]:
    """A judge that takes its own answer three times of four, beside people who toss a coin."""
    chance = random.Random(5)
    verdicts = []
    for number in range(80):
        pair = ("qwen@host:80/v1", "other") if number % 2 else ("other", "qwen@host:80/v1")
        own = float(chance.random() < 0.75)
        marks = (own, 1 - own) if number % 2 else (1 - own, own)
        coin = float(chance.random() < 0.5)
        for who, given in ((judge, marks), (PEOPLE, (coin, 1 - coin))):
            verdicts.append(Verdict(f"c{number}", who, f"i{number}", pair, "choice", marks=given))
    return verdicts


def test_a_label_does_not_hide_that_a_judge_prefers_its_own_answers():
    plain, labelled = "qwen@host:80/v1+direct#1", "lab+direct#1"
    shown = [
        next(table for table in mllm_tables(record) if table.name == "biases")
        for record in (
            Record(tuple(ruled(plain))),
            Record(tuple(ruled(labelled)), asks={labelled: "qwen@host:80/v1+t0"}),
            Record(tuple(ruled(labelled))),
        )
    ]
    ego = [[[*row[1:]] for row in table.rows if "own answers preferred" in row] for table in shown]
    assert ego[0], [row[:3] for row in shown[0].rows]
    assert ego[1] == ego[0]
    assert not ego[2]
