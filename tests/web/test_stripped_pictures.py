"""Pictures that name their generator: nobody finds the name where people look, and leads get the originals."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Picture, Response, Verdict
from fullbench.cli.all_commands import app as command
from fullbench.reports import notebook_html
from fullbench.reports.html_page import Exhibit, Section, render_page
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec
from fullbench.web.app import create_app
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import write_transaction
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.results.site.static_site import SiteOptions, export_site
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.api_script import Script
from tests.support.campaign_tasks import add_tasks
from tests.support.fake_chat_server import FakeServer
from tests.support.pictures_with_metadata import all_marked, drawn, holds_mark, jpeg, png, seen_of
from tests.web.conftest import Visitor

KINDS = ("png", "apng", "jpeg, orientation 6, profile", "mpo", "webp with profile", "gif, animated")
FILES = {one.name: one.data for one in all_marked() if one.name in KINDS}
PLAIN = Picture.from_bytes(FILES["png"])
# A marker that belongs nowhere: our parser refuses the file, Pillow decodes it.
BROKEN = Picture.from_bytes(jpeg(drawn(size=(40, 30))).replace(b"\xff\xdb", b"\xff\x01\xff\xdb", 1))
ITEM = Item.ask("q", "Which cat is better?", Picture.from_bytes(png(drawn(seed=3))))
RESPONSES = tuple(Response("q", f"model-{at}", (Picture.from_bytes(data),)) for at, data in enumerate(FILES.values()))
BROKEN_RESPONSE = Response("q", "model-broken", (BROKEN,))


@pytest.fixture
def database(one_sqlite, tmp_path):
    shutil.copy(one_sqlite, tmp_path / "web.sqlite")
    return f"sqlite:///{tmp_path / 'web.sqlite'}"


@pytest.fixture
def settings(database, tmp_path):
    with Ledger(tmp_path / "study.ledger") as ledger:
        pairs = [*pairwise(RESPONSES), (RESPONSES[0], BROKEN_RESPONSE)]
        for pair in pairs:
            case = Case(ITEM, pair, Choice())
            ledger.add(case, Verdict.from_case(case, "steady", (1.0, 0.0)))
    return Settings(database, str(tmp_path / "study.ledger"), tmp_path)


def addresses(text: str) -> set[str]:
    """Every address of this site in a page."""
    found = {html.unescape(one) for one in re.findall(r'(?:href|src|content|data-[\w-]+)="(/[^"]*)"', text)}
    # Leaderboards draw charts, which takes long and shows no picture of the ledger.
    return {one for one in found if not one.startswith(("//", "/static/", "/boards/", "/judges/", "/preview"))}


def fetched_pictures(visitor: Visitor, *texts: str) -> int:
    """Fetch all that pages name, and return the number of pictures; none may hold the mark."""
    count = 0
    for address in sorted(set().union(*map(addresses, texts))):
        answer = visitor.get(address)
        assert not holds_mark(answer.content), address
        count += address.startswith("/pictures/") and answer.status_code == 200
    return count


def test_the_annotation_page_names_no_generator(app, annotator):
    with write_transaction(app.state.engine) as connection:
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan(name="all", kind="rank"))
        add_tasks(connection, made, [Content(ITEM, (*RESPONSES, BROKEN_RESPONSE))])
    text = annotator.get(f"/work/{made.id}").text
    assert not holds_mark(text.encode())
    assert fetched_pictures(annotator, text) == 16, "seven answers and the item, small and whole"


def test_the_task_of_the_api_names_no_generator(app):
    with write_transaction(app.state.engine) as connection:
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan(name="all", kind="pair"))
        add_tasks(connection, made, [Content(ITEM, RESPONSES[:2])])
    with Script(app, "ann", "annotator") as script:
        task = script.post(f"/api/v1/studies/{made.id}/next", json={}).json()
        text = json.dumps(task)
        named = re.findall(r"/pictures/[0-9a-f]{64}[^\"]*", text)
        assert len(named) == 3, text
        for address in named:
            answer = script.get(f"/api/v1{address}")
            assert answer.status_code == 200
            assert not holds_mark(answer.content)


def test_public_pages_name_no_generator(settings):
    app = create_app(replace(settings, public=True))
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    with Visitor(app) as visitor:
        cases = [one for one in addresses(visitor.get("/verdicts").text) if one.startswith("/cases/")]
        assert len(cases) >= len(RESPONSES)
        assert fetched_pictures(visitor, *(visitor.get(one).text for one in cases[:3])) >= 8
        assert visitor.get(f"/pictures/{PLAIN.digest}/original").headers["location"].startswith("/login")
    app.state.engine.dispose()


def test_a_whole_picture_has_its_version_in_the_address_and_an_etag(app, viewer):
    from fullbench.web.picture_checks_storage_and_serving import VERSION, picture_url
    from fullbench.web.rich_text import render_guideline

    assert picture_url(PLAIN.digest) == f"/pictures/{PLAIN.digest}?v={VERSION}"
    for address in (f"/pictures/{PLAIN.digest}", picture_url(PLAIN.digest)):
        got = viewer.get(address)
        assert (got.status_code, got.headers["content-type"]) == (200, "image/png")
        assert not holds_mark(got.content)
        assert viewer.get(address, headers={"If-None-Match": got.headers["etag"]}).status_code == 304
    assert f'src="{picture_url(PLAIN.digest)}"' in render_guideline(f"![a cat](/pictures/{PLAIN.digest})")


def test_a_file_that_cannot_be_parsed_is_drawn_again(viewer):
    got = viewer.get(f"/pictures/{BROKEN.digest}")
    assert (got.status_code, got.headers["content-type"]) == (200, "image/webp")
    assert seen_of(got.content)[0][1] == (40, 30)
    assert not holds_mark(got.content)


def test_originals_are_for_leads_alone(app, organiser, annotator, viewer, client):
    address = f"/pictures/{PLAIN.digest}/original"
    got = organiser.get(address)
    assert (got.content, got.headers["content-type"]) == (PLAIN.data(), "image/png")
    assert got.headers["cache-control"] == "private, no-store"
    assert "etag" not in got.headers
    assert (annotator.get(address).status_code, viewer.get(address).status_code) == (403, 403)
    assert client.get(address).headers["location"].startswith("/login")
    assert organiser.get(f"/pictures/{'0' * 64}/original").status_code == 404
    with Script(app, "boss", "organiser") as lead, Script(app, "ann", "annotator") as other:
        assert lead.get(f"/api/v1{address}").content == PLAIN.data()
        assert other.get(f"/api/v1{address}").status_code == 403
    assert client.get(f"/api/v1{address}").status_code == 401


def test_the_static_copy_names_no_generator(settings, tmp_path):
    with Ledger(settings.ledger, read_only=True) as ledger:
        made = export_site(ledger, tmp_path / "site", SiteOptions(charts=False))
    files = [path for path in made.folder.rglob("*") if path.is_file()]
    assert not [path.name for path in files if holds_mark(path.read_bytes())]
    whole = {path.stem: path for path in (made.folder / "pictures").iterdir() if "-" not in path.stem}
    for response in RESPONSES:
        (picture,) = response.pictures
        assert seen_of(whole[picture.digest].read_bytes()) == seen_of(picture.data())
    assert BROKEN.digest not in whole
    assert (made.folder / "pictures" / f"{BROKEN.digest}-1920.webp").read_bytes()[8:12] == b"WEBP"
    for name in re.findall(
        r'"\.\./pictures/([^"]+)"', "".join(one.read_text() for one in files if one.suffix == ".html")
    ):
        assert (made.folder / "pictures" / name).exists()


def embedded(text: str) -> list[bytes]:
    return [base64.b64decode(one) for one in re.findall(r"data:image/[\w+.-]+;base64,([A-Za-z0-9+/=]+)", text)]


def test_reports_and_notebooks_name_no_generator(settings, tmp_path):
    exhibit = Exhibit(ITEM, (*RESPONSES, BROKEN_RESPONSE))
    shown = render_page("Cats", "Which one?", [Section("Cases", exhibits=[exhibit])])
    shown += "".join(map(notebook_html.render_html, (ITEM, *RESPONSES, PLAIN)))
    out = tmp_path / "report.html"
    done = CliRunner().invoke(command, ["report", "--ledger", settings.ledger, "--out", str(out)])
    assert done.exit_code == 0, done.output
    shown += out.read_text(encoding="utf-8")
    assert len(embedded(shown)) >= 2 * len(RESPONSES)
    assert not any(map(holds_mark, [shown.encode(), *embedded(shown)]))


def test_judges_get_the_original_bytes():
    with FakeServer(says="no verdict") as server:
        spec = f"openai:golden@{server.host}/v1?mode=direct&resample=0"
        list(judge_from_spec(spec).judge([Case(ITEM, RESPONSES[:2], Choice())]))
        _, body = server.last()
    sent = json.dumps(body)
    for picture in (*ITEM.pictures, *RESPONSES[0].pictures, *RESPONSES[1].pictures):
        assert base64.b64encode(picture.data()).decode() in sent
