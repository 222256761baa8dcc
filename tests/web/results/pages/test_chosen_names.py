"""Names that people chose are shown on pages; numbers and data files stay as they are."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from fullbench.core.translatable_note import Note, join_sentences
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.reports.display_names_of_judges_and_contestants import Display
from fullbench.web.app import create_app
from fullbench.web.results.boards import board_store
from fullbench.web.results.boards.contestants_by_judges_matrix import Matrix, MatrixCell, MatrixColumn
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.results.pages.judge_and_contestant_names_on_pages import Names, read_names
from fullbench.web.results.pages.study_summary import outcome_sentences
from fullbench.web.results.pages.tables_and_charts_for_templates import FEW
from fullbench.web.results.site.page_urls import ServedPageUrls, judge_name
from fullbench.web.results.site.static_site import SiteOptions, export_site
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.api_script import Script
from tests.web.conftest import Visitor
from tests.web.results import making

FILE = """
["steady"]
name = "稳健评审 <S>"
organisation = "实验室"
date = "2024-05"
["first-lover"]
name = "First & Foremost"
["alpha"]
name = "Alpha 1.5 (13B)"
organisation = "A & Sons"
date = "2023-10"
["beta"]
name = "贝塔"
["gamma"]
organisation = "Third House"
"""
CHOSEN = {"steady": "稳健评审 <S>", "first-lover": "First & Foremost", "alpha": "Alpha 1.5 (13B)", "beta": "贝塔"}


@pytest.fixture(scope="module")
def ledger_path(tmp_path_factory):
    return making.fill(tmp_path_factory.mktemp("display") / "small.ledger", count=2)


@pytest.fixture(scope="module")
def names_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "names.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def sites(ledger_path, names_path, tmp_path_factory):
    """A reader of the site as it is, and one of the same site with names."""
    folder = tmp_path_factory.mktemp("sites")
    settings = Settings(f"sqlite:///{folder / 'web.sqlite'}", str(ledger_path), data=folder / "data", public=True)
    plain = create_app(settings)
    catalogue_board_and_page_updater.update_catalogue(plain.state.engine, plain.state.ledger)
    named = create_app(Settings(**{**vars(settings), "names": str(names_path)}))
    # Nothing reads the ledger meanwhile: the apps are asked without being started.
    yield Visitor(plain), Visitor(named)
    for app in (plain, named):
        app.state.drawer.close()
        app.state.ledger.close()
        app.state.engine.dispose()


def board_of(judge: str, criterion: str = "overall") -> str:
    return ServedPageUrls().board(board_store.board_name("default", judge, criterion))


def test_figures_stay_and_only_words_change(sites):
    plain, named = sites
    pages = ["/", "/judges", "/?task=task:counting", *(board_of(judge) for judge in (*making.JUDGES, "human"))]
    pages += [ServedPageUrls().judge(judge) for judge in making.JUDGES]
    for path in pages:
        before, after = plain.get(path), named.get(path)
        assert before.status_code == after.status_code == 200, path
        numbers = r"data-sort=\"[^\"]*\"|n=\d+|\[-?[\d.]+, -?[\d.]+\]"
        assert re.findall(numbers, before.text) == re.findall(numbers, after.text), path
        links = r'href="(/(?:verdicts|boards|judges|cases)[^"?]*(?:\?(?!v=)[^"]*)?)"'
        assert re.findall(links, before.text) == re.findall(links, after.text), path


def test_every_page_shows_the_names_and_says_the_full_ones(sites):
    _, named = sites
    home = named.get("/").text
    assert '<th scope="row" class="words"><span title="alpha">Alpha 1.5 (13B)</span></th>' in home
    assert f'<a href="{board_of("steady")}" title="steady">稳健评审 &lt;S&gt;</a>' in home

    board = named.get(board_of("steady")).text
    assert '<h1 title="steady">Leaderboard by 稳健评审 &lt;S&gt;</h1>' in board
    leaders = re.search(r'<table class="figures leaders">.*?</table>', board, re.DOTALL)[0]
    assert re.search(
        r'title="alpha"[^>]*><a [^>]*>Alpha 1.5 \(13B\)</a> <span class="origin">A &amp; Sons · 2023-10<', leaders
    )
    assert re.search(r'<a [^>]*>gamma</a> <span class="origin">Third House</span>', leaders)
    wins = re.search(r'<table class="figures grid square">.*?</table>', board, re.DOTALL)[0]
    assert "<span>Alpha 1.5 (13B)</span></th>" in wins
    assert 'class="origin"' not in wins
    # Its colours find their columns: there are some if any cell has enough matches.
    enough = [n for n in map(int, re.findall(r"n=(\d+)", wins)) if n >= FEW]
    assert bool(re.search(r"(more|less)-\d", wins)) == bool(enough)

    listed = named.get("/judges").text
    assert re.search(
        r'<a href="[^"]+" title="steady">稳健评审 &lt;S&gt;</a> <span class="origin">实验室 · 2024-05', listed
    )
    judges = re.search(r'id="judges">.*?</table>', listed, re.DOTALL)[0]
    link = rf'<a href="{ServedPageUrls().judge("steady")}">稳健评审 &lt;S&gt;</a>'
    assert re.search(rf'title="steady"[^>]*>{link} <span class="origin">实验室 · 2024-05</span>', judges)

    card = named.get(ServedPageUrls().judge("steady")).text
    assert "<h1>Judge card: 稳健评审 &lt;S&gt;</h1>" in card
    assert '<p class="muted">实验室 · 2024-05 · <code>steady</code></p>' in card

    verdicts = named.get("/verdicts").text
    assert '<option value="alpha">Alpha 1.5 (13B)</option>' in verdicts
    assert '<option value="steady">稳健评审 &lt;S&gt;</option>' in verdicts
    assert (
        'aria-current="true"><span><span title="first-lover">First &amp; Foremost</span></span>'
        in named.get("/verdicts?judge=first-lover").text
    )

    pair = named.get("/verdicts?contestant=alpha&other=beta&shown=choice").text
    assert re.search(r'class="dot[^"]*" href="[^"]+" aria-label="稳健评审 &lt;S&gt;: (Alpha 1.5 \(13B\)|贝塔)', pair)
    case = named.get(unescape(re.search(r'class="case-link" href="([^"]+)"', pair)[1])).text
    assert re.search(r'class="seat seat-\d"><span title="alpha">Alpha 1.5 \(13B\)</span>', case)
    assert re.search(r'<h3><a [^>]* title="steady">稳健评审 &lt;S&gt;</a></h3>', case)
    orders = re.search(r'<ol class="orders">.*?</ol>', case, re.DOTALL)[0]
    assert "Alpha 1.5 (13B) → 贝塔" in orders


def test_without_the_file_no_page_has_the_names(sites):
    plain, _ = sites
    for path in ("/", "/judges", "/verdicts", board_of("steady"), ServedPageUrls().judge("steady")):
        page = plain.get(path).text
        assert 'class="origin"' not in page
        assert not any(name in unescape(page) for name in CHOSEN.values())


@pytest.mark.slow
def test_charts_have_the_names_under_an_address_of_their_own(sites):
    plain, named = sites
    charts = [re.findall(r'<img class="chart" src="([^"]+)"', site.get(board_of("steady")).text) for site in sites]
    if not charts[0]:
        pytest.skip("charts cannot be drawn here")
    assert len(charts[0]) == len(charts[1])
    assert not set(charts[0]) & set(charts[1])  # browsers keep charts for ever
    before, after = (site.get(unescape(some[0])).text for site, some in zip((plain, named), charts, strict=True))
    assert "贝塔" in unescape(after)
    assert "贝塔" not in before
    assert re.findall(r"contestant=[^&\"]+", before) == re.findall(r"contestant=[^&\"]+", after)


def test_the_api_has_the_full_names(sites):
    answers = []
    for site in sites:
        script = Script(site.app, f"Sam {len(answers)}", "viewer")
        name = board_store.board_name("default", "steady", "overall")
        paths = ["boards", f"boards/{name}", "judges", f"judges/{judge_name('steady')}", "verdicts?judge=steady"]
        answers.append([script.get(f"/api/v1/{path}") for path in paths])
    for before, after in zip(*answers, strict=True):
        assert before.status_code == after.status_code == 200
        plain, named = map(without_display_names, (before.json(), after.json()))
        assert plain == named
        assert not any(name in json.dumps(named, ensure_ascii=False) for name in CHOSEN.values())
        assert all(name not in before.text for name in CHOSEN.values())
        assert CHOSEN["steady"] in after.text
    script = Script(sites[1].app, "Sam by name", "viewer")
    by_name, by_full_name = (
        script.get("/api/v1/verdicts", params={"judge": judge}).json() for judge in (CHOSEN["steady"], "steady")
    )
    assert by_name == by_full_name
    assert by_name["count"] > 0


def without_display_names(value):
    """Return an answer of the API without display names, which are next to the full names."""
    if isinstance(value, list):
        return [without_display_names(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {key: without_display_names(entry) for key, entry in value.items() if key not in {"display_name", "names"}}


@pytest.mark.slow
def test_the_static_copy_has_them_too(ledger_path, names_path, tmp_path):
    with Ledger(ledger_path, read_only=True) as ledger:
        names, absent = read_names(names_path, ledger)
        assert absent == ""
        copy = export_site(ledger, tmp_path / "site", SiteOptions(language="zh", charts=False, cases=4, names=names))
    pages = {path: path.read_text(encoding="utf-8") for path in copy.folder.rglob("*.html")}
    assert '<span title="alpha">Alpha 1.5 (13B)</span>' in pages[copy.folder / "index.html"]
    assert '<option value="beta">贝塔</option>' in pages[copy.folder / "verdicts.html"]
    assert any('<span title="beta">贝塔</span>' in page for path, page in pages.items() if path.parent.name == "cases")
    head = (copy.folder / "data" / "names.js").read_text(encoding="utf-8")
    data = json.loads(head.removeprefix("window.fullbench = ").removesuffix(";\n"))
    assert {data["names"][int(place)]: shown for place, shown in data["called"].items()} == CHOSEN
    assert set(CHOSEN) <= set(data["names"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[a]\nname = "X"\n[b]\nname = "X"', "'a' and 'b' would both be shown as 'X'"),
        ('[a]\nname = "b"\n[b]\nname = "c"', "'a' would be shown as 'b', which is the full name of another"),
        ('[a]\ncolour = "red"', "'a' has an unknown field 'colour'; known: name, organisation, date, logo"),
        ("[a]\nname = 3", "'a' has the name 3, which is not a text of one line"),
        ("[a]\ndate = 2024-05-13", "'a' has the date datetime.date"),
        ('[a]\nname = " "', "'a' has the name ' ', which is not a text of one line"),
        ('a = "X"', "'a' is not a table"),
        ("[a\n", "not valid TOML"),
        ("", 'the file has no name; write ["FULL NAME"] and below it name = "..."'),
        ('[names]\na = "X"', "'a' is not a table; write [names.\"a\"] and below it name"),
        ('name = "s"\nitems = "i.jsonl"', 'this study has no names; write [names."FULL NAME"] and below it name'),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(text, said, tmp_path):
    path = tmp_path / "names.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(said)) as refused:
        Names.read(path)
    assert str(refused.value).startswith(str(path))


def test_a_name_that_another_in_the_ledger_has_is_refused(ledger_path, tmp_path):
    path = tmp_path / "names.toml"
    path.write_text('[steady]\nname = "gamma"', encoding="utf-8")
    with Ledger(ledger_path, read_only=True) as ledger, pytest.raises(InputError, match="the full name of another"):
        read_names(path, ledger)


def test_names_of_nobody_are_counted(ledger_path, tmp_path):
    path = tmp_path / "names.toml"
    path.write_text(FILE + "".join(f'["gone-{n}"]\nname = "Gone {n}"\n' for n in range(7)), encoding="utf-8")
    with Ledger(ledger_path, read_only=True) as ledger:
        names, absent = read_names(path, ledger)
    assert len(names.displays) == 12
    assert absent == (
        f"7 of the 12 names in {path} are of nobody in the ledger so far: "
        "gone-0, gone-1, gone-2, gone-3, gone-4 and 2 more."
    )


def test_answers_sentences_and_neighbours():
    names = Names({"m@lab": Display("glm"), "a": Display("乙", "Lab")})
    assert names.shown_names(["a", "a #2", "b #2", "a #x"]) == ["乙", "乙 #2", "b #2", "a #x"]
    one = Note.from_sentence("x.one", "m@lab is ahead by 1,200.", {"judge": "m@lab", "n": 1200})
    two = Note.from_sentence("x.two", "What a says of all.", {"judge": "a"})
    assert names.with_shown_names(join_sentences([one, two])) == "glm is ahead by 1,200. What a says of all."
    assert names.with_shown_names(join_sentences([one, two])).translate_with(
        {"x.two": "{judge}说", "list.sentences": "{first}{second}"}
    ) == ("glm is ahead by 1,200.乙说")
    assert Names().stamp == ""
    assert names.stamp != Names({"a": Display("乙")}).stamp


def test_what_came_out_is_said_by_the_names():
    first, second = (MatrixCell(rank, float(rank), int(rank), "0.5", "", 9, None, 0.5, 0, None) for rank in ("1", "2"))
    matrix = Matrix(
        "m", "overall", "", [MatrixColumn("human", "b", "won", True, False)], [("a", [first]), ("b", [second])], True
    )
    names = Names({"a": Display("乙"), "human": Display("Everybody")})
    (sentence,) = outcome_sentences(names.matrices([matrix]))
    assert sentence.words.format(**sentence.values) == "People put 乙 first."
