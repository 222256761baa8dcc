"""The first page tells a study's story: its tasks, its preview, the prompt of a case, citations."""

from __future__ import annotations

import html
import io
import re
from statistics import fmean

import pytest
from PIL import Image

from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted_judge import SLOTS, PromptedJudge
from fullbench.ledger.ledger import Ledger
from fullbench.web.app import create_app
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.results.pages import social_card
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.data_builders import Talker, png
from tests.web.conftest import Visitor
from tests.web.results import making
from tests.web.results.making import HOSTILE, TASKS, WORTH

COUNT = 6


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("story")
    path = making.fill(folder / "small.ledger", count=COUNT)
    app = create_app(Settings(f"sqlite:///{folder / 'web.sqlite'}", str(path), folder, public=True, title="Our bench"))
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    yield Visitor(app)
    app.state.engine.dispose()


def words(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_first_page_tells_what_was_judged_by_whom_and_what_came_out(site):
    page = words(site.get("/").text)
    votes = sum(verdict.judge.startswith("human") for _, ruled in making.verdicts(count=COUNT) for verdict in ruled)
    total = sum(len(ruled) for _, ruled in making.verdicts(count=COUNT))
    assert f"{COUNT} items, answers of {len(WORTH)} contestants" in page
    assert f"{len(making.JUDGES)} judges, {len(making.PEOPLE)} people with {votes:,} votes" in page
    assert f"{total:,} verdicts" in page
    assert "Limits: " in page
    assert "alpha leads" in page or "alpha and beta share the first place" in page


def test_every_leaderboard_is_a_row_with_those_who_may_be_first_on_it(site):
    page = site.get("/").text
    section = re.search(r'<section class="boards">.*?</section>', page, re.DOTALL)[0]
    rows = re.findall(r"<tr><th scope=\"row\".*?</tr>", section, re.DOTALL)
    assert words(rows[0]).startswith("People's votes"), "people come first"
    every = [verdict for _, ruled in making.verdicts(count=COUNT) for verdict in ruled]
    listed = 0
    of_boards = [
        (html.unescape(re.search(r'title="([^"]*)"', row)[1]), html.unescape(criterion), cell)
        for row in rows
        for criterion, cell in re.findall(r'<td class="words" data-label="([^"]*)">(.*?)</td>', row, re.DOTALL)
        if "/boards/" in cell
    ]
    assert {criterion for _, criterion, _ in of_boards} == {"overall", "style"}
    for judge, criterion, row in of_boards:
        board = re.search(r'href="(/boards/[^"]+)"', row)[1]
        given = sum(
            (verdict.judge == judge or (judge == "human" and verdict.judge.startswith("human:")))
            and verdict.criterion == criterion
            for verdict in every
        )
        assert f">{given:,} verdicts</a>" in row
        leaders = re.search(r'<table class="figures leaders">.*?</table>', site.get(board).text, re.DOTALL)[0]
        body = leaders.partition("<tbody>")[2]
        ranked = [
            (words(rank), words(name))
            for rank, name in re.findall(r"<tr[^>]*>\s*<th[^>]*>(.*?)</th>\s*<td[^>]*>(.*?)</td>", body, re.DOTALL)
        ]
        first = [name for rank, name in ranked if rank.split("-")[0] == "1"]
        if len(first) == len(ranked):
            assert "no contestants distinguished" in row
        else:
            assert [words(name) for name in re.findall(r'class="whose">(.*?)</span>', row)] == first[:3]
            listed += 1
    assert listed > 1
    assert len(of_boards) == 4 + 3, "overall by everybody, style by judges"


def share(judge: str, name: str, task: str) -> float:
    """What a contestant won in pairs on one task's items, computed from the verdicts: both orders of a pair are one
    match, and rulings on the same item and pair count together."""
    matches: dict[tuple[str, frozenset[str]], list[float]] = {}
    for case, ruled in making.verdicts(count=COUNT):
        if len(case.contestants) != 2 or name not in case.contestants or case.item.tags["task"] != task:
            continue
        for verdict in ruled:
            if verdict.judge == judge and verdict.marks is not None:
                pair = (case.item.id, frozenset(case.contestants))
                matches.setdefault(pair, []).append(verdict.marks[case.contestants.index(name)])
    return fmean(fmean(marks) for marks in matches.values())


def test_a_task_has_its_own_figures(site):
    for task in TASKS:
        answer = site.get("/", params={"task": f"task:{task}"})
        assert answer.status_code == 200
        section = re.search(r'<table class="figures grid judged-by".*?</table>', answer.text, re.DOTALL)[0]
        columns = [words(head) for head in re.findall(r'<th scope="col"(.*?)</th>', section, re.DOTALL)]
        place = next(index for index, head in enumerate(columns) if "steady" in head)
        rows = re.findall(r"<tr><th scope=\"row\".*?</tr>", section, re.DOTALL)
        assert len(rows) == len(WORTH)
        for row in rows:
            name = words(re.search(r"<th.*?</th>", row, re.DOTALL)[0])
            cells = re.findall(r"<td.*?</td>", row, re.DOTALL)
            (name,) = [known for known in WORTH if words(html.escape(known)) == name]
            sort = float(re.search(r'data-sort="([^"]+)"', cells[place - 1])[1])
            assert sort == pytest.approx(share("steady", name, task)), (task, name)
            link = html.unescape(re.search(r'href="([^"]+)"', cells[place - 1])[1])
            assert site.get(link).status_code == 200
    assert site.get("/", params={"task": "task:nothing of it"}).status_code == 404
    assert site.get("/", params={"task": "nonsense"}).status_code == 404


def test_other_sites_find_a_preview(site):
    page = site.get("/").text
    address = re.search(r'<meta property="og:image" content="([^"]+)">', page)[1]
    assert address.startswith("http")
    answer = site.get(address)
    assert answer.headers["content-type"] == "image/png"
    with Image.open(io.BytesIO(answer.content)) as image:
        assert image.size == (1200, 630)
        assert len(image.convert("RGB").getcolors(10**6)) > 8, "something is drawn"
    assert len(answer.content) < 100_000
    assert 'property="og:description"' in page
    assert HOSTILE not in page
    assert "og:image" not in site.get("/login").text
    chinese = site.get("/preview.png", headers={"Accept-Language": "zh-CN"}).content
    assert chinese != answer.content


def test_a_case_can_be_cited_and_linked(site):
    listed = site.get("/verdicts?split=1").text
    link = html.unescape(re.search(r'class="case-link" href="([^"]+)"', listed)[1])
    page = site.get(link).text
    case = link.rpartition("/")[2]
    cited = html.unescape(re.search(r'<details class="cite">.*?<pre[^>]*>(.*?)</pre>', page, re.DOTALL)[1])
    assert cited.startswith(f"@misc{{case_{case[:12]},")
    assert f"case {case}" in cited
    assert f"url = {{{site.base_url}{link}}}" in cited
    assert cited.count("{") == cited.count("}")
    assert f'rel="bookmark" href="{link}"' in page


def test_the_list_offers_what_there_is_with_counts(site):
    page = site.get("/verdicts").text
    facets = re.search(r'<nav class="facets".*?</nav>', page, re.DOTALL)[0]
    offered = {
        words(text): (html.unescape(link), int(n.replace(",", "")))
        for link, text, n in re.findall(
            r'<a rel="nofollow" href="([^"]+)"><span>(.*?)</span> <span class="tally">([\d,]+)</span></a>', facets
        )
    }
    every = [verdict for _, ruled in making.verdicts(count=COUNT) for verdict in ruled]
    assert offered["refused"][1] == [verdict.fault for verdict in every].count("refused")
    assert offered["judges disagree"][1] > 0
    assert offered["People's votes"][1] == sum(verdict.judge.startswith("human") for verdict in every)
    assert offered["alpha"][1] == sum("alpha" in verdict.contestants for verdict in every)
    assert offered["style"][1] == sum(verdict.criterion == "style" for verdict in every)
    for link, n in offered.values():
        narrowed = site.get(link).text
        assert f'id="count">{n:,}<' in narrowed, link
        back = re.search(r'<a rel="nofollow" href="([^"]+)" aria-current="true"><span>', narrowed)[1]
        assert html.unescape(back) == "/verdicts", "what was chosen leads back"


def talking(**options) -> PromptedJudge:
    return PromptedJudge(Talker(lambda _prompt: "A is right.\n[[A]] Ruling: A 她更好"), **options)


def test_what_was_sent_is_rendered_again_only_where_its_digest_proves_it(tmp_path):
    item = Item.ask("q1", "How many 方块?", Picture.from_bytes(png((9, 80, 120), (64, 48))))
    case = Case(item, (Response.say("q1", "a", "three <b>"), Response.say("q1", "b", "四个")), Choice())
    template = Template.parse(OWN, SLOTS, path="own.txt")
    known, stepping, own = talking(), talking(mode="steps", label="stepping"), talking(template=template, label="own")
    path = tmp_path / "asked.ledger"
    with Ledger(path) as ledger:
        for judge in (known, stepping, own):
            ledger.declare("judge", judge.name, judge.settings)
            ledger.add(case, *judge.judge([case]))
    app = create_app(Settings(f"sqlite:///{tmp_path / 'web.sqlite'}", str(path), tmp_path, public=True))
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    page = Visitor(app).get(f"/cases/{case.key}").text
    app.state.engine.dispose()
    parts = {
        name: re.search(rf'title="{re.escape(html.escape(name))}">[^<]*</a></h3>(.*?)</section>', page, re.DOTALL)[1]
        for name in (known.name, stepping.name, own.name)
    }
    (prompt,) = known.prompts(case)
    shown = html.unescape(parts[known.name])
    for turn in prompt.turns:
        for part in turn.parts:
            assert (part.strip() if isinstance(part, str) else part.digest) in shown
    assert "她更好" in shown
    assert "three &lt;b&gt;" in parts[known.name]
    (verdict,) = stepping.judge([case])
    assert parts[stepping.name].count("Call ") == len(verdict.exchanges) > 1
    assert "cannot be rebuilt from stored data" not in parts[stepping.name]
    assert f"Its digest is {next(iter(own.judge([case]))).prompt[:16]}" in parts[own.name]


OWN = """=== user
Asked: {question}
--- case
{responses}
{verdict}
--- analyze
{text}
"""


def test_the_preview_has_whole_sentences():
    short, long = (
        "People put b first.",
        "For 5 of 5 judges each of " + ", ".join(f"model-{n}" for n in range(12)) + " is.",
    )
    assert social_card.fit_sentences([short], 1060) == [short]
    assert social_card.fit_sentences([short, long], 1060) == [short], "a sentence that would be cut is left out"
    first, second = social_card.fit_sentences([long * 2], 1060)
    assert long.startswith(first)
    assert second.endswith("…"), "one that has nothing before it says that it goes on"
    assert social_card.fit_sentences([], 1060) == []


def test_judges_whom_nobody_met_are_in_no_order_and_that_is_said_once(tmp_path):
    path = tmp_path / "unmet.ledger"
    with Ledger(path) as ledger:
        for case, ruled in making.verdicts(count=COUNT):
            ledger.add(case, *(verdict for verdict in ruled if not verdict.judge.startswith("human")))
    app = create_app(Settings(f"sqlite:///{tmp_path / 'web.sqlite'}", str(path), tmp_path, public=True))
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    page = Visitor(app).get("/judges").text
    app.state.engine.dispose()
    assert words(page).count("voted on") == 1, "one sentence for all of them"
    assert "agreement with people" not in words(page)
    listed = re.findall(r'<(ol|ul) class="judged">(.*?)</\1>', page, re.DOTALL)
    assert {tag for tag, _ in listed} == {"ul"}
    sentences = re.findall(r'<span class="sentence">(.*?)</span>', page)
    assert len(sentences) >= len(making.JUDGES)
    assert all(sentences)
