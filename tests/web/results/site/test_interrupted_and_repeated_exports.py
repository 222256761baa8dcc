"""An export reports how far it is, continues after an interruption, and renders only what changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.results.site import static_site
from fullbench.web.results.site.static_site import SiteOptions, export_site
from tests.web.results import making

OPTIONS = SiteOptions(charts=False, rater_key=b"k" * 32)


def export(path: Path, out: Path, options: SiteOptions = OPTIONS) -> list[str]:
    told: list[str] = []
    with Ledger(path, read_only=True) as ledger:
        export_site(ledger, out, options, told.append)
    return told


def due(told: list[str]) -> tuple[int, int]:
    sentence = next(sentence for sentence in told if "case pages are due" in sentence)
    numbers = [int(word.replace(",", "")) for word in sentence.split() if word[0].isdigit()]
    return numbers[0], numbers[1]


def pages(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "cases").iterdir()}


def test_a_second_copy_renders_what_changed(tmp_path):
    path, out = making.fill(tmp_path / "small.ledger", count=3), tmp_path / "site"
    first = due(export(path, out))
    before = pages(out)
    assert first == (len(before), 0)
    assert due(export(path, out)) == (0, len(before))
    assert pages(out) == before
    case, _ = next(iter(making.verdicts(count=3)))
    with Ledger(path) as ledger:
        ledger.add(case, Verdict.from_case(case, "newcomer", (1.0, 0.0), text="the first is better"))
    changed, reused = due(export(path, out))
    after = pages(out)
    differing = {name for name in before if before[name] != after[name]}
    assert f"{case.key}.html" in differing
    assert len(differing) <= changed <= 2, "both orders of one pair"
    assert changed + reused == len(after) == len(before)
    fresh = tmp_path / "fresh"
    export(path, fresh)
    assert pages(fresh) == after, "reused pages are those of a new copy"
    assert {item.name for item in tmp_path.iterdir()} >= {"site", "fresh"}
    assert not list(tmp_path.glob(".*.part"))


def test_an_interrupted_export_continues_and_shows_nothing_withheld_since(tmp_path, monkeypatch):
    path, out = making.fill(tmp_path / "small.ledger", count=3), tmp_path / "site"
    write_cases, count = static_site._SiteWriter.write_cases, 0

    def interrupted(self, cases):
        nonlocal count
        count += 1
        if count > 7:
            raise KeyboardInterrupt
        return write_cases(self, cases)

    monkeypatch.setattr(static_site, "REPORT_SECONDS", -1.0)
    monkeypatch.setattr("fullbench.web.results.site.case_page_processes.CHUNK", 1)
    monkeypatch.setattr("fullbench.web.results.site.case_page_processes.workers_for", lambda _: 1)
    with monkeypatch.context() as patch:
        patch.setattr(static_site._SiteWriter, "write_cases", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export(path, out)
    assert not out.exists()
    told = export(path, out)
    assert told[0] == "The export continues where it was interrupted."
    _, reused = due(told)
    assert reused == 7
    assert any("about" in sentence or "are written" in sentence for sentence in told)
    complete = tmp_path / "complete"
    export(path, complete)
    assert pages(out) == pages(complete)
    # Another list of withheld items begins anew, and pages written before are not in the copy.
    with monkeypatch.context() as patch:
        patch.setattr(static_site._SiteWriter, "write_cases", interrupted)
        count = 0
        with pytest.raises(KeyboardInterrupt):
            export(path, tmp_path / "other")
    hidden = SiteOptions(charts=False, rater_key=OPTIONS.rater_key, judged_keys=frozenset({"q0"}))
    assert due(export(path, tmp_path / "other", hidden))[1] == 0
    assert all(b"picture 0?" not in page for page in pages(tmp_path / "other").values())


def test_a_mistake_leaves_nothing_behind(tmp_path):
    path, out = making.fill(tmp_path / "small.ledger", count=1), tmp_path / "site"
    out.write_text("a file")
    with pytest.raises(InputError, match="this is a file"):
        export(path, out)
    assert not list(tmp_path.glob(".*"))
