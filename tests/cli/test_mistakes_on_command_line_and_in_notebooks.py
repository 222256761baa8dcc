"""Mistakes on the command line and in notebooks: one sentence each, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

import fullbench
from fullbench.errors import FullbenchError
from tests.cli.test_mistakes_in_panels_rubrics_and_exchange import ITEMS, SAID, folder
from tests.support.commands import call

__all__ = ["folder"]

JUDGE = "judge --items items.jsonl --responses responses.jsonl --ballot choice"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("judge --items responses.jsonl --responses items.jsonl --judge length --ballot choice",
         "responses.jsonl:1: this row is a response to an item, and no item; were items and responses exchanged?"),
        (f"{JUDGE} --judge gpt-4o", "there is no judge or model 'gpt-4o' (in 'gpt-4o'); did you mean 'openai:gpt-4o'?"),
        (f"{JUDGE} --judge claude-opus-4-7", "did you mean 'anthropic:claude-opus-4-7'?"),
        (f"{JUDGE} --judge length,chance", "name each by itself, not with commas between."),
        (f"{JUDGE} --judge openai:gpt-4o?temprature=0", "has no option 'temprature'; did you mean 'temperature'?"),
        (f"{JUDGE} --judge length --report page.pdf", "page.pdf: a page is HTML: give it a name that ends in .html"),
        (f"{JUDGE} --judge length --report full/", "full: a page is HTML: give it a name that ends in .html"),
        (f"{JUDGE} --judge length --ledger .", ".: this is a folder, not a ledger; give a file"),
        (f"{JUDGE} --judge length --ledger /", "/: this is a folder, not a ledger; give a file"),
        ("judge --items https://host/i.jsonl --responses responses.jsonl --judge length --ballot choice",
         "i.jsonl: there is no such file; files are read from this machine: download it first"),
        ("answer --items items.jsonl --contestant offline:echo --out items.jsonl",
         "items.jsonl: this input file would be overwritten; choose another name"),
        ("answer --items items.jsonl --contestant offline:echo --out x.xlsx", "x.xlsx: unknown file type"),
        ("answer --items items.jsonl --contestant gemini-3-pro --out x.csv", "did you mean 'gemini:gemini-3-pro'?"),
        ("report --ledger own.ledger --against nobody", "own.ledger: there is no judge 'nobody'. Judges: length."),
        ("check localhost:8000", "'localhost:8000' looks like an address. Write http://localhost:8000, with /v1"),
        ("check gpu.lab.org:8000/v1", "looks like an address. Write http://gpu.lab.org:8000/v1"),
        ("check gpt-4.1", "did you mean 'openai:gpt-4.1'?"),
        ("demo --out items.jsonl", "items.jsonl: This is a file, but the demo needs a folder"),
        ("peer-review --limit 2 --report page", "page: a page is HTML: give it a name that ends in .html"),
    ],
)  # fmt: skip
def test_at_the_command_line(folder, words, told):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, done = call(*words.split())
    assert code == 2, done.output
    assert told in done.output
    assert {path: path.read_bytes() for path in before} == before, "what was there is as it was"
    assert {path for path in folder.rglob("*") if path.is_file()} == set(before), "nothing was asked or written"


def test_a_criterion_without_a_name(folder):
    code, done = call(*JUDGE.split(), "--judge", "length", "--criterion", "", "--ledger", "new.ledger")
    assert code == 2
    assert "a criterion has a name, such as 'overall' or 'accuracy'; found ''" in done.output


def test_a_page_of_a_study_that_is_no_page(folder):
    Path("study.toml").write_text(
        'name = "s"\nitems = "items.jsonl"\nresponses = "responses.jsonl"\njudges = ["length"]\n'
        'ballots = ["choice"]\nreport = "report.docx"\n'
    )
    code, done = call("run", "study.toml")
    assert code == 2
    assert "report.docx: a page is HTML: give it a name that ends in .html" in done.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"judge": []}, "judge must be a spec such as 'openai:gpt-4o'.* found \\[\\]"),
        ({"judge": 5}, "judge must be a spec .* found 5"),
        ({"ballot": []}, "No ballot given. Add ballot="),
        ({"criterion": None}, "a criterion has a name.* found None"),
        ({"criterion": 5}, "a criterion has a name.* found 5"),
        ({"trials": 0}, "the number of trials is at least 1; found 0"),
    ],
)
def test_in_a_notebook(folder, words, told):
    with pytest.raises(FullbenchError, match=told):
        fullbench.judge(ITEMS, SAID, "new.ledger", **{"judge": "length", "ballot": "choice", **words})


@pytest.mark.parametrize(("who", "samples"), [("offline:echo", 0), ([], 1)])
def test_nobody_answers_in_a_notebook(folder, who, samples):
    with pytest.raises(FullbenchError, match=f"at least one contestant and one sample.* samples={samples}"):
        fullbench.answer(ITEMS, contestant=who, ledger="new.ledger", samples=samples)
