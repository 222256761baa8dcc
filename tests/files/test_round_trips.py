"""What a ledger holds, with several of everything, goes out to a kind of file and comes back the same."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from fullbench import Ledger
from fullbench.files.item_response_verdict_folder import own_record
from tests.files.several import contents, rich
from tests.files.test_exchange import keep, taken


def test_a_hugging_face_folder_of_ours_comes_back_whole(cli, tmp_path):
    put_in = rich(tmp_path / "r.ledger")
    code, _, err = cli("export", "huggingface", "--ledger", "r.ledger", "--out", "set")
    assert (code, "4 items, 24 responses" in err) == (0, True), err
    code, _, err = cli("import", "huggingface", "set", "--out", "back")
    assert code == 0, err
    assert contents(own_record(tmp_path / "back")) == contents(put_in)
    code, _, err = cli("run", "back/study.toml", "--quiet")
    assert code == 0, err
    with Ledger(tmp_path / "back" / "study.ledger", read_only=True) as book:
        people = [verdict for verdict in book.record() if verdict.judge == "human"]
    assert Counter(people) == Counter(verdict for verdict in put_in if verdict.judge == "human")


def told(verdicts) -> Counter:
    """Who ruled what on which two answers, ties and winners alike."""
    return Counter(
        (v.judge, v.rater, v.item, v.contestants, v.criterion, v.trial, v.marks)
        for v in verdicts if v.ballot == "choice+tie" and v.marks
    )  # fmt: skip


def boards(cli, ledger) -> list[dict]:
    code, out, err = cli("report", "--ledger", ledger, "--json")
    assert code == 0, err
    tables = [table for table in json.loads(out) if table["name"].startswith("leaderboard")]
    return [table for table in tables if "choice+tie" in table["notes"][0]]


@pytest.mark.parametrize("kind", ["arena", "alpaca", "label_studio", "argilla"])
def test_choices_of_people_and_judges_come_back_with_the_same_leaderboards(cli, tmp_path, kind):
    put_in = rich(tmp_path / "r.ledger")
    code, _, err = cli("export", kind, "--ledger", "r.ledger", "--out", "there.json")
    assert code == 0, err
    items, said, ruled = taken(cli, kind, tmp_path / "there.json")
    choices = [verdict for verdict in ruled if len(verdict.contestants) == 2]
    back, before = told(choices), told(put_in)
    if kind in {"arena", "alpaca"}:  # the ranking of three went out as its three pairs
        assert back.total() == before.total() + 3 * sum(v.ballot == "ranking" for v in put_in)
        assert not before - back
    else:
        assert back == before
        keep(tmp_path / "back.ledger", items, said, ruled)
        one, two = boards(cli, "r.ledger"), boards(cli, "back.ledger")
        assert [table["rows"] for table in one] == [table["rows"] for table in two]
        assert len(one) == 2
