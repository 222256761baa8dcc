"""Cases that a judge leaves in doubt go to people and come back under a name of their own."""

from __future__ import annotations

import json

from tests.support.commands import write_rows


def test_doubts_go_out_and_come_back(cli, data):
    judge = "offline:canned?text=hm&mode=direct"
    words = ("judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-5", "--quiet")
    code, out, _ = cli(*words, "--judge", judge, "--json")
    assert code == 1, "none of its verdicts can be used"
    (faults,) = (table for table in json.loads(out) if table["name"] == "unusable")
    name, unreadable = faults["rows"][0][0], faults["rows"][0][4]
    assert unreadable == 36
    code, out, _ = cli("ledger", "export", "--what", "doubtful", "--to", "queue.jsonl")
    assert code == 0
    assert "36 doubtful cases" in out
    rows = [json.loads(line) for line in (data / "queue.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows[0]["question"] == "几种颜色？"
    assert all(row["answers"] and row["marks"] is None for row in rows)
    write_rows(data / "labels.jsonl", [row | {"marks": [4]} for row in rows[:30]])
    code, out, err = cli("report", "--labels", "labels.jsonl", "--settle", "--json")
    assert code == 0, err
    (faults,) = (table for table in json.loads(out) if table["name"] == "unusable")
    counts = {row[0]: row[4] for row in faults["rows"]}
    assert counts == {name: 36, f"{name}, settled by human": 6, "human": 0}


def test_nobody_there_to_settle_is_said(cli, data):
    cli("judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-5", "--judge", "length")
    code, _, err = cli("report", "--settle")
    assert code == 2
    assert "no marks of 'human'" in err
