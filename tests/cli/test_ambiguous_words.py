"""Words that could be misread in commands, specs, files and studies: one sentence with what to write."""

from __future__ import annotations

import json
import re

import pytest

from tests.golden.surface import help_texts

BASE = "judge --items items.jsonl --responses said.jsonl --ballot choice --judge length"


@pytest.fixture
def desk(tmp_path):
    items = [{"id": f"q{number}", "question": "?"} for number in range(3)]
    said = [{"item": item["id"], "contestant": who, "text": who * 3} for item in items for who in "xyz"]
    for name, rows in (("items", items), ("said", said)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


TYPED = [
    (f"{BASE} --budget 5€", "--budget needs a number, such as 0.5, without a unit; found '5€'"),
    (f"{BASE} --budget=$5", "--budget needs a number, such as 0.5, without a unit; found '$5'"),
    (f"{BASE} --budget 0,5", "found '0,5'"),
    (f"{BASE} --limit 3k", "--limit needs an integer, such as 3, without a unit; found '3k'"),
    (f"{BASE} --trials 1.5", "--trials needs an integer, such as 3, without a unit; found '1.5'"),
    (f"{BASE} --trials 99999999999", "at most 1,000,000 trials are possible; found 99,999,999,999"),
    (f"--ledger x.ledger {BASE}", "--ledger is an option of 'judge' and must come after it"),
    ("judge -items items.jsonl", "-items has one hyphen. Write --items"),
    ("judge —items items.jsonl --responses said.jsonl", "Write it with two hyphens: --items"),
    ("judge –items items.jsonl --responses said.jsonl", "Write it with two hyphens: --items"),
    ("report said.jsonl", "'said.jsonl' has no option in front of it. Write --ledger said.jsonl to read this ledger"),
    ("report --json study.toml", "Write fullbench replay study.toml for the tables of a study"),
    ("check folder", "'folder' is a folder. Give a server address, a model spec or a study"),
]


@pytest.mark.parametrize(("words", "told"), TYPED)
def test_what_is_typed(cli, desk, words, told):
    (desk / "folder").mkdir()
    code, out, err = cli(*words.split())
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1, "one sentence"
    assert not list(desk.glob("*.ledger*")), "nothing is begun"


def test_values_that_look_like_dashes_or_options_are_values(cli, desk):
    code, _, err = cli(*BASE.split(), "--criterion", "—", "--criterion", "–items", "--study", "-items")
    assert code == 0, err
    code, _, err = cli(*BASE.split(), "--limit=2", "--budget", "1e-3", "--seed", "-3", "--ledger", "m.ledger")
    assert (code, "Only the first 2 of 3 items" in err) == (0, True), err


SPECS = [
    ("openai:m?label=x@http://localhost:1/v1", "write it before them: openai:m@http://localhost:1/v1?label=x"),
    ("openai:m?mode=direct&label=x@https://h/v1", "before them: openai:m@https://h/v1?mode=direct&label=x"),
    ("openai:m@http://localhost:1/v1?mode=direct?temperature=0", "has a second '?'; separate options with '&'"),
    ("openai:m@http://localhost:1/v1?timeout=30s", "'timeout' of 'openai:m' cannot be '30s'; it is a number, without"),
    ("openai:m@http://localhost:1/v1?max_tokens=2k", "cannot be '2k'; it is a whole number above 0, without a unit"),
    ("openai:m@http://localhost:1/v1?price_in=$1", "cannot be '$1'; it is a number of dollars, such as 2.5"),
]


@pytest.mark.parametrize(("spec", "told"), SPECS)
def test_specs(cli, desk, spec, told):
    """An address behind the options was none: pictures would have gone to the provider that the spec names."""
    code, out, err = cli(*BASE.split(), "--judge", spec, "--dry-run")
    assert (code, out) == (2, "")
    assert told in err


def test_a_spec_within_a_spec_has_an_address_of_its_own(cli, desk):
    inner = "openai:m?mode=direct&reader=openai:small@http://localhost:1/v1&price_in=1&price_out=1"
    code, out, err = cli(*BASE.split(), "--judge", inner, "--dry-run")
    assert (code, "m+t0+direct" in re.sub(r"\s", "", out)) == (0, True), err


FILES = {
    "page.jsonl": ("<!DOCTYPE html><html>", "the first bytes show that this is a web page, saved in the file's place"),
    "page.csv": ("<html>", "the first bytes show that this is a web page"),
    "lfs.csv": ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "fetch that by `git lfs pull`"),
    "comma.jsonl": ('{"id": "a", "question": "q"},\n', "leave out the comma behind it"),
    "bare.jsonl": ('{"id": "a", "picture": "a.png"}\n', "no 'question' and no 'turns'; found id, picture"),
    "twice.csv": ("id,question,question\na,b,c\n", "'question' occurs twice; rename one, or leave it out"),
    "long.jsonl": (json.dumps({"id": "x" * 5_000, "question": "?"}), f"there is one, '{'x' * 80}'\n"),
}


@pytest.mark.parametrize("name", FILES)
def test_files(cli, desk, name):
    text, told = FILES[name]
    (desk / name).write_text(text)
    code, out, err = cli(*BASE.replace("items.jsonl", name).split())
    assert (code, out) == (2, "")
    assert told in err
    assert len(err) < 400
    assert not list(desk.glob("*.ledger*"))


STUDY = """name = "s"
items = "items.jsonl"
responses = "said.jsonl"
judges = ["panel:p", "cascade:c"]
ballots = ["choice"]
[panels.p]
members = ["length", "chance"]
[cascades.c]
small = "length"
large = "chance"
threshold = 1.0
"""
STUDIES = [
    ('name = "s"', 'name = "s', "s.toml:1: not valid TOML: Illegal character", "is a quote missing"),
    ('name = "s"', 'name = "s"\nname = "t"', "s.toml:2: not valid TOML", "the key stands there twice: leave one out"),
    ('["length", "chance"]', '["length" "chance"]', "s.toml:7: not valid TOML", "is a comma missing"),
    ('name = "s"', "name = s", "s.toml:1: not valid TOML", "texts stand in quotes"),
    ('["length", "chance"]', '["length", "chance", "length"]', "s.toml:7:", "members names a judge twice"),
    ("threshold = 1.0", 'threshold = "high"', "s.toml:11:", "threshold is a number; found 'high'"),
]


@pytest.mark.parametrize("slip", STUDIES)
def test_studies(cli, desk, slip):
    said, instead, where, told = slip
    assert said in STUDY
    (desk / "s.toml").write_text(STUDY.replace(said, instead))
    code, out, err = cli("run", "s.toml")
    assert (code, out) == (2, "")
    assert where in err
    assert told in err


def test_help_has_no_type_words_of_python(tmp_path):
    text = help_texts(tmp_path)
    assert not re.findall(r"<(?:bool|str|int|float|list\[\w+\])[ >]", text)
    assert re.search(r"--items +<path>", text)
