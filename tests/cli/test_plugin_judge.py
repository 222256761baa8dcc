"""A judge from a package of one's own: what it does not say of itself is unknown, and never nothing."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from fullbench.core import plugin_entry_points

PLUGIN = '''
from fullbench import Usage, Verdict


class Asked:
    """Wraps a model that takes a dollar for each case, and says nothing of itself but what every judge must."""

    name = "dear"
    settings = {"model": "dear-1"}

    def judge(self, cases):
        for case in cases:
            yield Verdict.from_case(case, self.name, (1.0, 0.0), usage=Usage(calls=1, dollars=1.0))


class Candid(Asked):
    """The same, and it says what it is: it asks nobody."""

    name, kind, models = "candid", "metric", ()


class Model:
    name, settings, price = "dear-1", {}, (10.0, 100.0)

    def answer(self, prompts):
        return iter(())


class Open(Asked):
    """It names its model, and not what it sends."""

    name, kind, models = "open", "model", (Model(),)


def dear(name, options):
    return Asked()


def candid(name, options):
    return Candid()


def unspoken(name, options):
    return Open()
'''
ENTRIES = "[fullbench.judges]\ndear = plugged:dear\ncandid = plugged:candid\nopen = plugged:unspoken\n"


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    """A package that is installed as any other is, for the time of a test."""
    site = tmp_path / "site"
    about = site / "plugged-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "plugged.py").write_text(PLUGIN, encoding="utf-8")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(ENTRIES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    plugin_entry_points._all_entry_points.cache_clear()
    plugin_entry_points.installed_plugins.cache_clear()
    yield site
    plugin_entry_points._all_entry_points.cache_clear()
    plugin_entry_points.installed_plugins.cache_clear()
    sys.modules.pop("plugged", None)


FILES = ("judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "choice+tie")


def row(out: str, who: str) -> dict[str, object]:
    (table,) = json.loads(out)
    return next(dict(zip(table["columns"], one, strict=True)) for one in table["rows"] if who in one)


def test_the_price_of_a_judge_that_says_nothing_is_unknown(cli, data: Path, plugged):
    code, out, err = cli(*FILES, "--judge", "dear", "--judge", "length", "--dry-run", "--json")
    assert code == 0, err
    dear, length, everything = row(out, "dear"), row(out, "length"), row(out, "all")
    assert (dear["due"], dear["calls"], dear["tokens in"], dear["dollars"]) == (72, None, None, None)
    assert (length["due"], length["calls"], length["dollars"]) == (72, 0, 0.0)
    assert (everything["due"], everything["calls"], everything["dollars"]) == (144, None, None)
    assert any("dear" in note and "unknown" in note for note in json.loads(out)[0]["notes"])
    code, out, err = cli(*FILES, "--judge", "dear", "--dry-run")
    assert "0.00" not in out


def test_what_it_says_is_believed(cli, data: Path, plugged):
    _, out, _ = cli(*FILES, "--judge", "candid", "--dry-run", "--json")
    assert (row(out, "candid")["calls"], row(out, "candid")["dollars"]) == (0, 0.0)
    _, out, _ = cli(*FILES, "--judge", "open", "--dry-run", "--json")
    assert (row(out, "open")["calls"], row(out, "open")["dollars"]) == (None, None)


def test_a_budget_stops_it_all_the_same_and_what_is_known_is_not_unknown(cli, data: Path, plugged):
    code, _, err = cli(*FILES, "--judge", "dear", "--budget", "5", "--quiet")
    assert code != 0, "stopped by the budget"
    assert "5" in err
    code, out, err = cli(*FILES, "--judge", "dear", "--quiet")
    assert code == 0, err
    _, out, _ = cli(*FILES, "--judge", "dear", "--dry-run", "--json")
    assert (row(out, "dear")["due"], row(out, "dear")["dollars"]) == (0, 0.0)
