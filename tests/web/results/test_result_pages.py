"""Result pages as a browser requests them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from sqlalchemy import select

from fullbench.core.model_call import Usage
from fullbench.ledger.ledger import Ledger
from fullbench.web.campaigns import campaigns
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results.boards import board_store
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, catalogue_tables, panels_created_on_site
from fullbench.web.results.site.page_urls import ServedPageUrls
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.annotation_pages import lines
from tests.support.campaign_tasks import add_tasks
from tests.web.campaigns.conftest import pair
from tests.web.conftest import signed_in
from tests.web.results import making
from tests.web.results.making import HOSTILE


@pytest.fixture
def settings(database, copied_site, tmp_path):
    if database.startswith("sqlite"):
        return copied_site(4)
    return Settings(database, str(making.fill(tmp_path / "small.ledger", count=4)), data=tmp_path / "data")


@pytest.fixture
def shown(app):
    """The app with an up-to-date catalogue."""
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    return app


def hrefs(text: str, start: str) -> list[str]:
    return [one.replace("&amp;", "&") for one in re.findall(r'href="([^"]+)"', text) if one.startswith(start)]


def count_of(text: str) -> int:
    return int(re.search(r'id="count">([\d,]+)<', text)[1].replace(",", ""))


def test_from_the_first_page_to_the_pixels(shown, viewer):
    home = viewer.get("/")
    assert home.status_code == 200
    steady = ServedPageUrls().board(board_store.board_name("default", "steady", "overall"))
    assert steady in hrefs(home.text, "/boards/")
    board = viewer.get(steady)
    assert board.status_code == 200
    cell = re.search(
        r'<a href="(/verdicts\?[^"]+)">[^<]*</a> <span class="interval">[^<]*</span> '
        r'<span class="n" data-n="(\d+)">([^<]*)<',
        board.text,
    )
    listed = viewer.get(cell[1].replace("&amp;", "&"))
    count = count_of(listed.text)
    assert count == 2 * int(cell[2])  # both orders of a pair are one match
    assert cell[3] == f"{cell[2]} matches, {count} verdicts"
    case = viewer.get(hrefs(listed.text, "/cases/")[0])
    assert case.status_code == 200
    assert "四个方块" in case.text
    picture = viewer.get(re.search(r'<img src="(/pictures/[^"]+)"', case.text)[1].replace("&amp;", "&"))
    assert picture.headers["content-type"] == "image/webp"
    for src in re.findall(r'class="chart" src="([^"]+)"', board.text):
        drawn = viewer.get(src)
        assert drawn.headers["content-type"] == "image/svg+xml"
        assert drawn.text.startswith("<svg")


def test_nothing_hostile_is_more_than_text(shown, viewer):
    """Names, questions, answers and reasons hold a script; it comes out as text on every page."""
    pages = ["/", "/judges", "/verdicts", "/verdicts?q=%3Cscript%3Ealert(1)%3C/script%3E&item=%22%3E%3Cscript%3E"]
    for page in list(pages):
        pages += [
            one for one in hrefs(viewer.get(page).text, "/") if one.startswith(("/boards", "/judges/", "/cases"))
        ][:12]
    for page in dict.fromkeys(pages):
        answer = viewer.get(page)
        assert answer.status_code == 200, page
        assert "<script>" not in answer.text, page
        assert "<img src=x" not in answer.text, page
        assert not re.search(r'\son\w+="|style="|javascript:', answer.text), page
        assert "script-src" not in answer.headers["content-security-policy"]


def test_an_address_that_leads_nowhere_says_so_and_leads_back(shown, viewer):
    for address in ("/nowhere", "/boards/0123456789abcdef", "/judges/0123456789abcdef", "/cases/none"):
        answer = viewer.get(address)
        assert answer.status_code == 404, address
        assert "<h1>Page not found</h1>" in answer.text
        assert "<title>Page not found · " in answer.text
        assert '<a href="/">To the first page</a>' in answer.text


def test_pages_turn_and_filters_stay(shown, viewer):
    first = viewer.get("/verdicts?judge=steady")
    older = re.search(r'rel="next" href="([^"]+)"', first.text)[1].replace("&amp;", "&")
    assert dict(parse_qsl(urlsplit(older).query))["judge"] == "steady"
    second = viewer.get(older)
    assert set(hrefs(first.text, "/cases/")).isdisjoint(hrefs(second.text, "/cases/"))
    assert "selected>steady" in second.text
    assert viewer.get("/verdicts?fault=strange").status_code == 400
    assert viewer.get("/verdicts?before=x").status_code == 422
    assert viewer.get("/boards/0123456789abcdef").status_code == 404
    assert viewer.get("/cases/nothing").status_code == 404
    assert viewer.get("/boards/..%2f..%2fetc").status_code in {404, 422}


def test_a_visitor_sees_results_only_where_they_are_public(shown, client):
    assert client.get("/").status_code == 303
    assert client.get("/verdicts").headers["location"].startswith("/login")
    object.__setattr__(shown.state.settings, "public", True)
    assert client.get("/").status_code == 200
    assert client.get("/requests").status_code == 303


def some_case(viewer, query="ballot=choice%2Btie") -> str:
    return hrefs(viewer.get(f"/verdicts?{query}").text, "/cases/")[0]


def test_the_form_of_a_campaign_says_how_many_verdicts_it_will_withhold(shown, organiser):
    with read_transaction(shown.state.engine) as connection:
        item = connection.execute(select(catalogue_tables.items.c.name)).scalars().first()
    answers = [{"item": item, "contestant": name, "text": name} for name in "xy"]
    files = {
        "items": ("items.jsonl", lines([{"id": item, "question": "?"}])),
        "responses": ("responses.jsonl", lines(answers)),
    }
    fields = {"csrf": organiser.token(), "kind": "pair", "source": "files", "votes": "1", "most": "1"}
    before = organiser.post("/organise/new/sketch", data=fields, files=files).text
    with write_transaction(shown.state.engine) as connection:
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan("now", "pair"))
        add_tasks(connection, made, [pair(item)])
    after = organiser.get(f"/organise/{made.id}").text
    counts = [
        re.search(r"(?:is open,|this campaign) (\d+) verdicts (?:on its items )?are withheld", page)
        for page in (before, after)
    ]
    assert all(counts)
    assert counts[0].group(1) == counts[1].group(1) != "0"


def test_cases_that_people_judge_now_are_withheld(shown, viewer, annotator, organiser):
    case = some_case(viewer)
    with write_transaction(shown.state.engine) as connection:
        query = select(catalogue_tables.items.c.name).join(
            catalogue_tables.cases, catalogue_tables.cases.c.item_id == catalogue_tables.items.c.id
        )
        item = connection.execute(query.where(catalogue_tables.cases.c.key == case.rsplit("/", 1)[1])).scalars().first()
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan("now", "pair"))
        add_tasks(connection, made, [pair(item)])
    page = viewer.get(case)
    assert (page.status_code, "thinks about" in page.text, "withheld" in page.text) == (403, False, True)
    listed = viewer.get("/verdicts?ballot=choice%2Btie").text
    assert (case in listed, "verdicts are withheld" in listed) == (False, True)
    for asked in ("fault=none", "decided=1", "split=1", "q=thinks", f"item={item}"):
        assert case not in viewer.get(f"/verdicts?ballot=choice%2Btie&{asked}").text
    assert annotator.get("/").headers["location"] == "/work"
    assert annotator.get("/verdicts").status_code == annotator.get("/judges").status_code == 403
    assert organiser.get(case).status_code == 200


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_figures_by_tag_are_gone_when_people_begin_to_judge(shown, viewer):
    """At once, not when boards are computed again: a tag may be one item, and its numbers would show its verdicts."""
    board = ServedPageUrls().board(board_store.board_name("default", "steady", "overall"))
    by_task, again = "Won, by task", "are computed again"
    before = viewer.get(board).text
    assert (by_task in before, again in before) == (True, False)
    assert viewer.get("/?task=task:counting").text.count("data-tip") > 0
    with write_transaction(shown.state.engine) as connection:
        items = (
            connection.execute(select(catalogue_tables.items.c.name).order_by(catalogue_tables.items.c.name).limit(1))
            .scalars()
            .all()
        )
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan("begun", "pair"))
        add_tasks(connection, made, [pair(item) for item in items])
    now = viewer.get(board).text
    assert (by_task in now, again in now) == (False, True)
    assert "Wins between contestants" in now
    assert "data-tip" not in viewer.get("/?task=task:counting").text
    catalogue_board_and_page_updater.update_catalogue(shown.state.engine, shown.state.ledger)
    later = viewer.get(board).text
    assert (by_task in later, again in later) == (True, False)
    with write_transaction(shown.state.engine) as connection:
        campaigns.set_state(connection, made.id, "closed")
    assert by_task in viewer.get(board).text, "what is over hides nothing"


def test_a_vote_is_a_verdict_of_a_person(shown, annotator, viewer, settings):
    case = some_case(annotator)
    key = case.rsplit("/", 1)[1]
    assert annotator.submit(f"{case}/vote", {"best": "7"}).status_code == 400
    assert viewer.submit(f"{case}/vote", {"best": "0"}).status_code == 403
    for best, text in (("1", "看错了"), ("0", "因为更清楚")):
        assert annotator.submit(f"{case}/vote", {"best": best, "text": text}).status_code == 303
    rater = annotator.user.rater
    with Ledger(settings.ledger, read_only=True) as ledger:
        every = [one for one in ledger.verdicts("human", revisions=True) if one.rater == rater]
        counted = [one for one in ledger.verdicts("human") if one.rater == rater]
        assert ledger.studies() == ["default"]
    told = [(one.case, one.marks, one.text, one.revision, one.circumstances.blind) for one in every]
    assert told == [(key, (0.0, 1.0), "看错了", 0, False), (key, (1.0, 0.0), "因为更清楚", 1, False)]
    assert counted == every[1:]
    assert b"\xe5\xae\x89\xe5\xa8\x9c" not in Path(settings.ledger).read_bytes(), "names stay out of the ledger"
    catalogue_board_and_page_updater.update_catalogue(shown.state.engine, shown.state.ledger)
    assert "因为更清楚" in annotator.get(case).text
    assert "You have voted on this case." in annotator.get(case).text


def test_a_vote_of_somebody_whom_a_file_of_labels_names_is_a_revision_of_the_label(app, settings):
    ann = signed_in(app, "ann", "annotator")
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    case = some_case(ann)
    assert ann.submit(f"{case}/vote", {"best": "0", "text": "mine"}).status_code == 303
    with Ledger(settings.ledger, read_only=True) as ledger:
        verdicts = ledger.verdicts("human", cases=[case.rsplit("/", 1)[1]], revisions=True)
        assert [one.revision for one in verdicts if one.rater == "ann"] == [0, 1]
        assert ann.user.rater not in {one.rater for one in verdicts}


def test_a_case_is_judged_again_when_the_organiser_says_so(shown, viewer, organiser, settings, tmp_path):
    from fullbench.judges.baselines import LengthJudge
    from fullbench.studies.run.judge_cases import judge_cases

    case = some_case(viewer)
    key = case.rsplit("/", 1)[1]
    with Ledger(settings.ledger) as ledger:
        judge_cases([LengthJudge()], lambda _: [ledger.case(key)], ledger)
    assert viewer.submit(f"{case}/requests", {"judge": "length", "reason": "看起来不对"}).status_code == 303
    assert viewer.submit(f"{case}/requests", {"judge": "length", "reason": "again"}).status_code == 303
    assert viewer.get("/requests").status_code == 403
    page = organiser.get("/requests").text
    assert page.count("<article") == 1
    assert "看起来不对" in page
    action = re.search(r'action="(/requests/\w+)"', page)[1]
    assert organiser.submit(action, {"act": "run", "spec": "chance"}).status_code == 400
    assert organiser.submit(action, {"act": "price", "spec": "length"}).status_code == 303
    assert "0 tokens, $0.0000" in organiser.get("/requests").text
    assert organiser.submit(action, {"act": "run", "spec": "length"}).status_code == 303
    assert organiser.submit(action, {"act": "run", "spec": "length"}).status_code == 303
    assert key in organiser.get("/requests?state=done").text
    with Ledger(settings.ledger, read_only=True) as ledger:
        trials = [one.trial for one in ledger.verdicts("length", cases=[key])]
    assert trials == [0, 1]


def test_the_chinese_interface(shown, viewer):
    viewer.headers["Accept-Language"] = "zh"
    page = viewer.get(ServedPageUrls().board(board_store.board_name("default", "steady", "overall"))).text
    assert "steady 的排行榜" in page
    assert "胜率" in page


def test_without_a_ledger_the_pages_say_so(database, tmp_path):
    from fullbench.web.app import create_app
    from tests.web.conftest import signed_in

    app = create_app(Settings(database, data=tmp_path))
    with signed_in(app, "Vic", "viewer") as visitor:
        assert "shows no ledger" in visitor.get("/").text
        assert visitor.get("/verdicts").status_code == 200
        assert visitor.get("/cases/x").status_code == 404
    app.state.engine.dispose()


def test_an_organiser_makes_a_panel_and_it_has_a_leaderboard(shown, organiser, viewer, monkeypatch):
    assert viewer.get("/panels").status_code == 403
    assert organiser.submit("/panels", {"name": "x", "rule": "mean", "judges": "steady"}).status_code == 400
    wish = {"name": HOSTILE[:60], "rule": "mean", "judges": ["steady", "first-lover"]}
    assert organiser.submit("/panels", wish).status_code == 303
    catalogue_board_and_page_updater.update_catalogue(shown.state.engine, shown.state.ledger)
    name = f"panel:{HOSTILE[:60]} (mean)"
    page = viewer.get(ServedPageUrls().board(board_store.board_name("default", name, "overall")))
    assert page.status_code == 200
    assert "<script>" not in page.text
    assert "panel:" in organiser.get("/panels").text
    assert viewer.get(ServedPageUrls().judge(name)).status_code == 200
    assert viewer.submit("/panels/close", {"name": wish["name"]}).status_code == 403
    assert organiser.submit("/panels/delete", {"name": wish["name"]}).status_code == 400
    assert organiser.submit("/panels/close", {"name": wish["name"]}).status_code == 303
    assert "Closed since" in organiser.get("/panels").text
    for page in (
        ServedPageUrls().board(board_store.board_name("default", name, "overall")),
        ServedPageUrls().judge(name),
    ):
        assert "This panel is closed since" in viewer.get(page).text
    monkeypatch.setattr(
        panels_created_on_site, "update_panel_verdicts", lambda *args, **options: 0
    )  # the new panel has not ruled yet
    assert organiser.submit("/panels", {**wish, "name": "空"}).status_code == 303
    assert organiser.submit("/panels/delete", {"name": "空"}).status_code == 303
    assert "空" not in organiser.get("/panels").text


def test_a_judges_card_says_what_came_from_its_servers_cache(app, settings, viewer):
    with Ledger(settings.ledger) as ledger:
        ruled = [verdict for verdict in ledger.verdicts() if verdict.judge == "steady"][:3]
        counts = [Usage(1, 0, 900, 40, 0.002, 0.5, cached, 0, 900) for cached in (700, 0, 61)]
        for verdict, used in zip(ruled, counts, strict=True):
            ledger.add(replace(verdict, judge="cacher", usage=used, exchanges=()))
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    for language, words in (("en", ("from cache", "from cache %")), ("zh", ("来自缓存的词元", "来自缓存 %"))):
        card = viewer.get(ServedPageUrls().judge("cacher"), headers={"Accept-Language": language}).text
        assert all(word in card for word in words)
        assert {">761<", ">28.2<"} <= set(re.findall(r">[\d.]+<", card))
        assert words[1] not in viewer.get(ServedPageUrls().judge("steady"), headers={"Accept-Language": language}).text
