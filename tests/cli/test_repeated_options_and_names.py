"""An option or contestant given twice and a study without a name are refused.

One of the two would be dropped, and what has no name be mixed with other data, in silence.
"""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def desk(tmp_path):
    items = [{"id": f"q{number}", "question": "?"} for number in range(2)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    for who in "xyz":
        rows = [{"item": item["id"], "contestant": who, "text": who} for item in items]
        (tmp_path / f"{who}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


BASE = "judge --items items.jsonl --judge length --ballot choice"


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (f"{BASE} --responses x.jsonl --responses y.jsonl", "--responses"),
        (f"{BASE} --responses=x.jsonl --responses y.jsonl", "--responses"),
        (f"{BASE} --items items.jsonl --responses x.jsonl", "--items"),
        ("report --ledger a.ledger --study one --study two", "--study"),
        ("ledger export --to a.csv --to b.csv", "--to"),
        ("run --budget 1 study.toml --budget 2", "--budget"),
        ("serve --port 8000 --port 8001", "--port"),
    ],
)
def test_one_value_counts(cli, desk, words, option):
    code, out, err = cli(*words.split())
    assert (code, out) == (2, "")
    join = ", or join the files into one" if option in {"--items", "--responses"} else ""
    assert err == f"fullbench: {option} was given twice. Give it once{join}.\n"
    assert not list(desk.glob("*.ledger")), "nothing is begun"


def test_several_judges_flags_and_values_that_look_like_options_are_no_mistake(cli, desk):
    rows = (desk / "x.jsonl").read_text() + (desk / "y.jsonl").read_text()
    (desk / "all.jsonl").write_text(rows)
    words = f"{BASE} --judge chance --responses all.jsonl --ballot score:1-5 --quiet --quiet --study --study"
    code, _, err = cli(*words.split())
    assert code == 0, err
    code, out, _ = cli("report", "--study", "--study", "--json", "--json")
    assert code == 0
    assert json.loads(out)


def test_a_contestant_named_twice_is_not_taken_for_another_process(cli, desk):
    words = "answer --items items.jsonl --contestant offline:echo --contestant offline:echo --out o.jsonl"
    code, _, err = cli(*words.split())
    assert (code, err) == (2, "fullbench: two of the contestants are the same: echo; leave one out\n")
    assert not list(desk.glob("fullbench.ledger*"))


@pytest.mark.parametrize("name", ["", "  ", "a\\nb"])
def test_a_study_without_a_name_is_not_mixed_with_others(cli, desk, name):
    (desk / "both.jsonl").write_text((desk / "x.jsonl").read_text() + (desk / "y.jsonl").read_text())
    (desk / "s.toml").write_text(
        f'items = "items.jsonl"\nresponses = "both.jsonl"\njudges = ["length"]\nballots = ["choice"]\nname = "{name}"\n'
    )
    code, _, err = cli("run", "s.toml")
    assert (code, "s.toml:5: a study has a name in one line" in err) == (2, True), err
    if not name.strip():
        code, _, err = cli(*f"{BASE} --responses both.jsonl --study".split(), name)
        assert (code, "The name after --study is blank" in err) == (2, True), err
    assert not list(desk.glob("*.ledger"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (f"{BASE} --responses x.jsonl --ballot choice", "two of the ballots are the same: choice; leave one out"),
        (f"{BASE} --responses x.jsonl --ballot score:1-5 --ballot score:01-5", "the same: score:1-5; leave one out"),
        (
            f"{BASE} --responses x.jsonl --criterion a --criterion b --criterion a",
            "two of the criteria are the same: a",
        ),
    ],
)
def test_a_ballot_or_criterion_named_twice_is_not_counted_twice(cli, desk, words, told):
    code, out, err = cli(*words.split())
    assert (code, out) == (2, "")
    assert told in err
    assert not list(desk.glob("*.ledger")), "nothing is begun"
