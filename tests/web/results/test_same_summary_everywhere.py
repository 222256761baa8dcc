"""Random ledgers: terminal, page, site, API and notebook begin with one summary."""

from __future__ import annotations

import json
import random
import re
from html import unescape
from pathlib import Path

import pytest

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.summary.study_summary import CONTESTANTS, JUDGES, sentences_of
from fullbench.core.registered_display_and_frame_functions import NotebookDisplay
from fullbench.reports.table_formats import render_table
from fullbench.studies.notebook_api import report
from fullbench.web.app import create_app
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.analysis.summary.made_ledgers import Made, MadeJudge
from tests.support.api_script import Script
from tests.support.commands import cli
from tests.web.conftest import signed_in


def random_ledger(seed: int) -> Made:
    draw = random.Random(seed)
    judges = {
        f"judge-{number}": MadeJudge(
            draw.choice((0.1, 0.6, 2.0)), draw.choice((0.0, 1.0)), draw.choice((0.0, 0.1, 0.4)), draw.random() < 0.2
        )
        for number in range(draw.randint(1, 4))
    }
    worth = {f"contestant-{number}": draw.gauss(0, 1) for number in range(draw.randint(2, 4))}
    criteria = draw.choice((("overall",), ("accuracy", "style")))
    return Made(
        judges, worth, items=32, raters=draw.choice((1, 2)), voted=draw.choice((0, 12, 32)), criteria=criteria,
        scores=draw.random() < 0.4, seed=seed,
    )  # fmt: skip


def numbers_of(html: str) -> str:
    html = re.sub(r'<span class="nb">(.*?)</span>', r"\1", html)  # names that are not broken at their hyphens
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


@pytest.mark.parametrize("seed", range(3))
def test_summary_is_the_same_at_every_door(seed: int, database: str, tmp_path: Path) -> None:
    path = random_ledger(seed).write(tmp_path / "made.ledger")
    notebook = report(path)
    summary = notebook[:2]
    assert [table.name for table in summary] == [CONTESTANTS, JUDGES]
    sentences = [str(sentence) for sentence in sentences_of(notebook)]
    assert len(sentences) == 3

    printed = json.loads(cli("report", "--ledger", path, "--json").stdout)
    assert printed[:2] == [json.loads(render_table(table, "json")) for table in summary]

    screen = " ".join(cli("report", "--ledger", path).stdout.split())
    assert screen.startswith(" ".join(" ".join(sentences).split()))

    page_path = tmp_path / "page.html"
    cli("report", "--ledger", path, "--out", page_path)
    page = numbers_of(page_path.read_text(encoding="utf-8"))
    html = numbers_of(notebook._repr_html_())
    app = create_app(Settings(database, str(path), data=tmp_path / "data"))
    with Script(app, "Sam", "viewer") as script:
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        answer = script.get("/api/v1/summary").json()
        site = numbers_of(signed_in(app, "ann", "viewer").get("/").text)
    assert answer["sentences"] == sentences
    for shown, table in zip(answer["tables"], printed[:2], strict=True):
        assert shown["rows"] == table["rows"]
        assert shown["columns"] == table["columns"]
    for text in (page, site, html):
        for sentence in sentences:
            assert sentence in text


def test_summary_from_a_record_is_that_of_its_ledger(tmp_path: Path) -> None:
    made = Made({"sharp": MadeJudge(0.1), "first": MadeJudge(0.1, first=1.0)}, voted=35)
    assert issubclass(type(report(made.record())), NotebookDisplay)
    of_record = standard_verdict_tables.verdict_tables(made.record())[:2]
    of_ledger = report(made.write(tmp_path / "made.ledger"))[:2]
    assert [table.rows for table in of_record] == [table.rows for table in of_ledger]
    assert [str(note) for note in of_record[0].notes] == [str(note) for note in of_ledger[0].notes]


def test_sentences_answer_who_leads_whom_to_trust_and_what_is_missing() -> None:
    judges = {"sharp": MadeJudge(0.1), "fixed": MadeJudge(is_constant=True)}
    tables = standard_verdict_tables.verdict_tables(Made(judges).record())
    assert [str(sentence) for sentence in sentences_of(tables)] == [
        "ann leads (by people's votes); cid is last.",
        "Trust in judges: reliable - sharp; not usable - fixed (no better than a fixed verdict).",
        "Limits: 40 items; all cases are judged; intervals assume that items were drawn at random.",
    ]
    assert tables[0].column("tier") == ["1", "2", "3"]
    alone = standard_verdict_tables.verdict_tables(Made(judges, {"ann": 0.0, "bob": 0.0}, items=3, voted=0).record())
    assert next(str(sentence) for sentence in sentences_of(alone)) == (
        "2 contestants cannot be distinguished (based on judge fixed only)."
    )
    assert alone[0].column("tier") == ["1", "1"]
