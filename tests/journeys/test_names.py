"""Names of a study's own file: its report, one of its ledger and a copy of the site show them; no figure changes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import call, cli, write_rows

NAMES = """
[names."a/one"]
name = "第一 <One>"
organisation = "House & Sons"
[names."chance?seed=7"]
name = "A coin"
"""


@pytest.fixture
def studied(tmp_path) -> Path:
    """A study of three contestants and two judges, run with names and without."""
    write_rows(tmp_path / "items.jsonl", [{"id": f"q{n}", "question": f"What of {n}?"} for n in range(4)])
    answers = [
        {"item": f"q{n}", "contestant": name, "text": "word " * (1 + n + 2 * at)}
        for n in range(4)
        for at, name in enumerate(("a/one", "b", "c"))
    ]
    write_rows(tmp_path / "answers.jsonl", answers)
    for name, more in (("plain", ""), ("named", NAMES)):
        text = (
            'name = "words"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\nballots = ["choice+tie"]\n'
            f'judges = ["length", "chance?seed=7"]\nledger = "words.ledger"\nreport = "{name}.html"\n'
            f'tables = "{name}.json"\n{more}'
        )
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        cli("run", tmp_path / f"{name}.toml", "--quiet")
    return tmp_path


def figures(page: Path) -> list[str]:
    return re.findall(r'data-sort="([^"]*)"', page.read_text(encoding="utf-8"))


def test_a_studys_names_are_on_its_report_and_its_site_and_change_no_figure(studied):
    plain, named = studied / "plain.html", studied / "named.html"
    text = named.read_text(encoding="utf-8")
    assert 'title="a/one">第一 &lt;One&gt; <span class="origin">House &amp; Sons</span><' in text
    assert "第一 &lt;One&gt;: " in text, "its mark says its name"
    assert "Leaderboard by A coin" in text
    before, legend = text.split("<caption>Display names and full names</caption>")
    full_name = re.compile(r">\s*a/one\s*<")
    assert not full_name.search(before), "the full name is seen by whoever points at the other"
    assert len(full_name.findall(legend)) == 1, "and once in the table of names"
    assert figures(named) == figures(plain)
    assert len(figures(named)) > 10
    tables, named_tables = (json.loads((studied / f"{name}.json").read_text()) for name in ("plain", "named"))
    shown = [table.pop("names", {}) for table in named_tables]
    assert {"a/one": "第一 <One>", "chance?seed=7": "A coin"} in shown
    assert not any("A coin" in table.pop("names", {}).values() for table in tables)
    assert tables == named_tables, "names are next to the figures and change none"
    cli("report", "--ledger", studied / "words.ledger", "--names", studied / "named.toml", "--out", studied / "r.html")
    assert "Leaderboard by A coin" in (studied / "r.html").read_text(encoding="utf-8")
    cli("export", "site", "--ledger", studied / "words.ledger", "--out", studied / "site", "--no-charts",
        "--names", studied / "named.toml")  # fmt: skip
    first = (studied / "site" / "index.html").read_text(encoding="utf-8")
    assert "第一 &lt;One&gt;" in first
    assert ">A coin<" in first


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('names = "x"', "names is a table, [names]; found 'x'"),
        ('[names."b"]\ncolour = "x"', "'b' has an unknown field 'colour'; known: name, organisation, date, logo"),
        ('[names."b"]\nname = "c"\n[names."c"]\ndate = "2024"', "'b' and 'c' would both be shown as 'c'"),
    ],
)
def test_names_that_do_not_fit_are_refused_before_anything_is_asked(tmp_path, wrong, said):
    (tmp_path / "s.toml").write_text(
        'name = "s"\nitems = "i.jsonl"\nresponses = "r.jsonl"\nballots = ["choice"]\njudges = ["length"]\n'
        f'ledger = "s.ledger"\n{wrong}\n',
        encoding="utf-8",
    )
    code, done = call("run", tmp_path / "s.toml")
    assert code == 2
    assert said in done.output
    assert not (tmp_path / "s.ledger").exists()
