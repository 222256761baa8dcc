"""Judges of one model with several options, on two servers, are shown by short names in every output."""

from __future__ import annotations

import contextlib
import json
import os
import re

import pytest

import fullbench as fb
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.app import create_app
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.commands import call
from tests.support.scripted_server import ScriptedServer
from tests.web.conftest import Visitor

LONG_NAME = re.compile(r"[#@][0-9a-f]{6,8}\b|\+t0|\+analyze|/v1")
SOURCES = re.compile(r'title="[^"]*"|<details.*?</details>|<style.*?</style>|#[0-9a-f]{6}\b', re.DOTALL)
"""Parts of a page that have full names or colours: tooltips, and where a table comes from."""
CONTESTANTS = ("gpt-4o", "llava+rag", "model@lab")
REPLIES = {"gpt-4o": lambda _: "[[A]]", "gpt-4o-mini": lambda _: "[[B]]", "glm": lambda _: "[[A]]"}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with a study that was run; the addresses of its two servers."""
    folder = tmp_path_factory.mktemp("names")
    items = [{"id": f"q{number}", "question": "?"} for number in range(3)]
    responses = [{"item": item["id"], "contestant": who, "text": who} for item in items for who in CONTESTANTS]
    for name, rows in (("items", items), ("answers", responses)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with ScriptedServer(REPLIES) as one, ScriptedServer(REPLIES) as two, contextlib.chdir(folder):
        judges = [
            f"openai:gpt-4o@{one.url}", f"openai:gpt-4o@{one.url}?mode=direct", f"openai:gpt-4o-mini@{one.url}",
            f"openai:glm@{one.url}", f"openai:glm@{two.url}", f"openai:glm@{two.url}?label=mine", "length",
        ]  # fmt: skip
        (folder / "study.toml").write_text(
            f'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\nballots = ["choice"]\n'
            f'judges = {json.dumps(judges)}\nledger = "s.ledger"\nreport = "page.html"\ntables = "tables.json"\n'
            f'[names."{judges[2]}"]\nname = "Mini"\n[names."llava+rag"]\nname = "LLaVA with RAG"\n',
            encoding="utf-8",
        )
        code, done = call("run", "study.toml", "--quiet", "--all")
        assert code == 0, done.stderr
        (folder / "run.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
        hosts = [server.url.removeprefix("http://").removesuffix("/v1") for server in (one, two)]
    return folder, hosts


def shown_names(hosts):
    return {"gpt-4o (judge)", "gpt-4o (judge, direct)", "Mini", *(f"glm@{host}" for host in hosts), "mine", "length"}


@pytest.fixture
def in_folder(study):
    with contextlib.chdir(study[0]):
        os.environ.pop("FULLBENCH_LEDGER", None)
        yield study


def test_the_terminal_and_the_page_have_no_digest(in_folder):
    folder, hosts = in_folder
    run = (folder / "run.txt").read_text(encoding="utf-8")
    report = call("report", "--ledger", "s.ledger", "--all")[1].output
    first_screen = call("report", "--ledger", "s.ledger")[1].output
    assert not LONG_NAME.search(first_screen)
    assert "Mini" in first_screen
    for text in (run, report):
        tables, _, legend = text.rpartition("Display names and full names")
        assert not LONG_NAME.search(tables)
        assert LONG_NAME.search(legend)
        assert all(f"Leaderboard by {name}" in text for name in shown_names(hosts))
        assert "LLaVA with RAG" in text
        assert "model@lab" in text
    page = SOURCES.sub("", (folder / "page.html").read_text(encoding="utf-8"))
    legend = page.index("Display names and full names")
    assert not LONG_NAME.search(page[:legend])
    assert LONG_NAME.search(page[legend:])
    assert "Leaderboard by Mini" in page


def test_full_names_are_shown_on_request_and_in_data(in_folder):
    folder, hosts = in_folder
    full = call("report", "--ledger", "s.ledger", "--all", "--full-names")[1].output
    assert len(set(re.findall(r"Leaderboard by (\S+#[0-9a-f]{8})", full))) == 6
    for text in ((folder / "tables.json").read_text(), call("report", "--ledger", "s.ledger", "--json")[1].stdout):
        tables = json.loads(text)
        assert all(re.search(r"#[0-9a-f]{8}|length", table["title"]) for table in tables if "leaderb" in table["name"])
        names = {full: shown for table in tables for full, shown in table.get("names", {}).items()}
        assert shown_names(hosts) - {"length"} | {"LLaVA with RAG"} == set(names.values())
    call("ledger", "export", "s.ledger", "--to", "verdicts.jsonl")
    rows = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    assert {row["judge_name"] for row in rows} == shown_names(hosts)
    assert len({(row["judge"], row["judge_name"]) for row in rows}) == 7


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("report --judge gpt-4o-m --all", "Leaderboard by Mini"),
        ("report --judge mine --judge Mini --against Mini --all", "Leaderboard by mine"),
        ("report --replace Mini mine --all", "mine on the scale of Mini"),
        ("card mine", "mine"),
        ("leaderboard show --judge mine --reference LLaVA --all", "Leaderboard by mine"),
        ("power --judge Mini --between gpt-4o,LLaVA", "How many votes"),
        ("people next --judge Mini --to next.jsonl", "Written: next.jsonl"),
        ("people add a --kind agree --judge Mini --contestant LLaVA", "The campaign 'a' is open"),
        ("export dpo --judge mine --out pairs.jsonl", "pairs that mine decided"),
        ("ledger export --to mine.jsonl --judge mine", "(18 verdicts)"),
    ],
)
def test_options_take_display_names_and_beginnings(in_folder, words, told):
    code, done = call(*words.split(), "--ledger", "s.ledger")
    assert code == 0, done.stderr
    assert told in done.output


def test_a_leaderboard_without_a_judge_is_about_all_and_begins_as_the_report(in_folder):
    code, shown = call("leaderboard", "show", "--ledger", "s.ledger")
    assert code == 0, shown.stderr
    report = call("report", "--ledger", "s.ledger")[1].stdout.splitlines()
    lines = shown.stdout.splitlines()
    assert len(lines) <= 40
    assert lines[:20] == report[:20]
    code, history = call("leaderboard", "show", "--history", "--ledger", "s.ledger")
    assert code == 2
    assert "This shows one judge, but there are 7: " in history.output


def test_an_unknown_name_lists_the_names(in_folder):
    _, hosts = in_folder
    for words in ("card gpt5", "report --judge gpt5", "power --judge gpt5", "people next --to n.jsonl --judge gpt5"):
        code, done = call(*words.split(), "--ledger", "s.ledger")
        assert code == 2
        assert "s.ledger: there is no judge 'gpt5'. Did you mean 'gpt-4o (judge)'" in done.output
        assert all(name in done.output for name in shown_names(hosts))
    code, done = call("card", "glm", "--ledger", "s.ledger")
    assert code == 2
    assert f"'glm' may be several judges: {', '.join(sorted(f'glm@{host}' for host in hosts))}." in done.output


def test_a_gate_takes_display_names(in_folder):
    folder, _ = in_folder
    (folder / "gate.toml").write_text(
        '[[regression]]\nledger = "s.ledger"\ncontestant = "LLaVA with RAG"\nbase = "s.ledger"\njudge = "Mini"\n',
        encoding="utf-8",
    )
    code, done = call("gate", "gate.toml")
    assert code == 0, done.stderr
    assert "LLaVA with RAG: rating by Mini" in done.output


def test_a_notebook_shows_them_and_data_has_the_full_names(in_folder):
    _, hosts = in_folder
    tables = fb.report("s.ledger")
    page = tables._repr_html_()
    assert all(f"Leaderboard by {name}" in page for name in shown_names(hosts))
    judges = {row[0] for table in tables for row in table.rows if table.columns[0] == "judge"}
    assert any("#" in judge for judge in judges)
    card = fb.card("s.ledger", "Mini")
    assert card.judge.startswith("gpt-4o-mini@")
    assert "<h3>Mini</h3>" in card._repr_html_()
    assert not LONG_NAME.search(SOURCES.sub("", card._repr_html_()))
    with pytest.raises(InputError, match=r"there is no judge 'Mina'\. Did you mean 'Mini'\?"):
        fb.card("s.ledger", "Mina")


def test_the_site_and_the_api_have_them(in_folder, tmp_path):
    _, hosts = in_folder
    app = create_app(Settings(f"sqlite:///{tmp_path / 'web.sqlite'}", "s.ledger", data=tmp_path, public=True))
    try:
        catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
        with Visitor(app) as visitor:
            for path in ("/", "/judges", "/verdicts"):
                page = re.sub(r'(?:title|value|href)="[^"]*"', "", visitor.get(path).text)
                assert not LONG_NAME.search(re.sub(r"#[0-9a-f]{6}\b", "", page)), path
                assert all(name in page for name in shown_names(hosts)), path
        with Ledger("s.ledger", study="s") as ledger:
            assert set(app.state.names.load().names.values()) >= shown_names(hosts) - {"length"}
            assert ledger.has_judged("length")
    finally:
        app.state.drawer.close()
        app.state.ledger.close()
        app.state.engine.dispose()


def test_watching_a_judge_by_its_display_name_asks_for_its_spec(in_folder):
    code, done = call("audit", "watch", "Mini", "--ledger", "s.ledger")
    assert code == 2
    assert "'Mini' is a judge of this ledger" in done.output
    assert "give its spec, such as openai:gpt-4o" in done.output
    code, done = call("audit", "watch", "Mina", "--ledger", "s.ledger")
    assert code == 2
    assert "of this ledger" not in done.output
