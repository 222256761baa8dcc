"""Python functions take both spellings of names, explain wrong arguments, and print and save what they return."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fullbench as fb
from fullbench.core.table import Table
from fullbench.errors import DueWarning, InputError
from fullbench.reports.table_formats import render_table
from fullbench.studies.study_file import Study
from tests.support.commands import call

ITEMS = [{"id": name, "question": f"What is {name}?"} for name in ("a", "b")]
RESPONSES = [{"item": item, "contestant": who, "text": who * 2 + item} for item in ("a", "b") for who in ("x", "yy")]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    fb.judge(
        ITEMS, RESPONSES, judges=["length", "chance"], ballots="score:1-5", ledger=tmp_path / "l.ledger", quiet=True
    )
    return tmp_path / "l.ledger"


def test_both_spellings_mean_the_same_and_not_both_at_once(tmp_path: Path):
    places = [tmp_path / "one.ledger", tmp_path / "other.ledger"]
    one = fb.judge(ITEMS, RESPONSES, judge="length", ballot="choice", criterion="depth", ledger=places[0])
    other = fb.judge(ITEMS, RESPONSES, judges="length", ballots="choice", criteria="depth", ledger=places[1])
    assert one.digest() == other.digest()
    with pytest.raises(InputError, match="judge and judges mean the same; give one of them"):
        fb.judge(ITEMS, RESPONSES, judge="length", judges="chance", ballot="choice")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"jugde": "length"}, r"judge\(\): no argument is called 'jugde'; did you mean 'judge'"),
        ({"judge": "length", "ballot": "choice", "trials": "2"}, r"trials is a whole number; found '2'"),
        ({"judge": "length", "ballot": 5}, "a ballot is a text such as"),
        ({"judge": 5, "ballot": "choice"}, "judge must be a spec"),
        ({"ballot": "choice"}, "No judge given"),
        ({"judge": "length"}, "No ballot given"),
    ],
)
def test_wrong_arguments_are_explained(keywords: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        fb.judge(ITEMS, RESPONSES, **keywords)


def test_missing_arguments_and_odd_contestants_are_explained(tmp_path: Path):
    with pytest.raises(InputError, match="missing a required argument: 'responses'"):
        fb.judge(ITEMS, judge="length")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="contestant must be a spec"):
        fb.answer(ITEMS, contestants=5, ledger=tmp_path / "l.ledger")  # type: ignore[call-overload]


def test_a_judge_without_a_usable_verdict_is_warned_of(tmp_path: Path):
    with pytest.warns(DueWarning, match=r"length has no usable verdict \(4 abstained; the last: ") as caught:
        fb.judge(ITEMS, RESPONSES, judge="length", ballot="number", ledger=tmp_path / "l.ledger")
    assert caught[0].filename == __file__


def test_tables_cards_and_results_are_printed_as_tables(ledger: Path):
    tables = fb.report(ledger)
    board = tables.find("leaderboard length")
    text = str(board)
    assert text.startswith("Leaderboard by length\n")
    assert "yy" in text
    assert "Table(" not in str(tables)
    printed = str(tables)
    assert printed.startswith("2 contestants cannot be distinguished")
    assert "\n".join(text.splitlines()[1:5]) in printed
    assert printed.count("Ratings: Bradley-Terry") == text.count("Ratings: Bradley-Terry") == 1
    assert repr(board) == f"Table('leaderboard length', 2 x {len(board.columns)})"
    card = fb.card(ledger, "length")
    assert str(card).startswith("length\n")
    assert repr(card).startswith("Card('length', ")
    with pytest.raises(InputError, match="0 tables are called 'nothing'; there are 'summary"):
        tables.find("nothing")


def test_a_table_is_saved_in_the_form_of_its_suffix(ledger: Path, tmp_path: Path):
    board = fb.report(ledger).find("leaderboard length")
    beginnings = {
        ".csv": b"rank,", ".tex": b"\\begin{table}", ".md": b"**Leaderboard", ".html": b"<!", ".json": b"{",
        ".txt": b"Leaderboard",
    }  # fmt: skip
    for suffix, beginning in beginnings.items():
        (written,) = board.save(tmp_path / f"board{suffix}")
        assert written.read_bytes().startswith(beginning)
    pytest.importorskip("vl_convert")
    for suffix, beginning in {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}.items():
        (written,) = board.save(tmp_path / f"board{suffix}")
        assert written.read_bytes().startswith(beginning)
    with pytest.raises(InputError, match=r"the file type \.docx is not known; use one of \.txt"):
        board.save(tmp_path / "board.docx")
    with pytest.raises(InputError, match="a chart shows one table"):
        fb.report(ledger).save(tmp_path / "boards.svg")


def test_latex_escapes_what_would_be_a_command():
    table = Table("t", "50 % & more", ["model_a", "x"], [["[a]_b #1 \\ {c} ~ ^", "≤ 0.5"]])
    text = render_table(table, "latex")
    assert r"\caption{50 \% \& more}" in text
    assert r"{}[a]\_b \#1 \textbackslash{} \{c\} \textasciitilde{} \textasciicircum{} & $\le$ 0.5 \\" in text


def test_responses_of_a_study_may_be_a_list_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    rows = {"items": ITEMS, "x": RESPONSES[::2], "yy": RESPONSES[1::2]}
    for name, entries in rows.items():
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in entries), encoding="utf-8")
    lines = ['name = "s"', 'items = "items.jsonl"', 'judges = ["length"]', 'ballots = ["choice"]']
    Path("s.toml").write_text("\n".join([*lines, 'responses = ["x.jsonl", "yy.jsonl"]']), encoding="utf-8")
    assert [path.name for path in Study.read("s.toml").response_files] == ["x.jsonl", "yy.jsonl"]
    assert sorted(fb.run("s.toml", quiet=True).record.contestants) == ["x", "yy"]
    Path("copy.jsonl").write_text(Path("x.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    Path("s.toml").write_text("\n".join([*lines, 'responses = ["x.jsonl", "copy.jsonl"]']), encoding="utf-8")
    code, result = call("run", "s.toml", "--quiet")
    assert code == 2
    assert "copy.jsonl: 'x' answers item 'a' in" in result.output
