"""Videos and recordings on pages: served in ranges without metadata, voted on in a browser, copied to a folder."""

from __future__ import annotations

import json
from hashlib import sha256

import httpx2
import pytest
from PIL import Image
from sqlalchemy import select

from fullbench.ledger.ledger import Ledger
from fullbench.media_metadata_blanking import metadata_patches, patched_range
from fullbench.web.accounts import api_tokens
from fullbench.web.campaigns.campaign_tables import studies, votes
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results.site.static_site import SiteOptions, export_site
from tests.support.annotation_pages import leases, moved_on
from tests.support.media_files import GENERATOR, pdf_bytes, tone, video
from tests.support.wait_until import until
from tests.web.conftest import add_person, axe_violations, start_live


def write_files(folder, *, with_video: bool) -> None:
    for name, hertz in (("low", 220), ("high", 880), ("question", 440)):
        (folder / f"{name}.wav").write_bytes(tone(hertz, 1.5, generator=GENERATOR))
    items = [{"id": "sound", "question": "Play a high tone.", "audio": ["question.wav"]}]
    answers = [
        {
            "item": "sound",
            "contestant": name,
            "audio": [f"{name}.wav"],
            "text": "It begins at [0.5 s] and ends at 0:01.",
        }
        for name in ("low", "high")
    ]
    if with_video:
        video(folder / "right.webm")
        video(folder / "left.webm", to_right=False)
        items.append({"id": "clip", "question": "Film a ball that moves to the right."})
        answers += [{"item": "clip", "contestant": name, "videos": [f"{file}.webm"]}
                    for name, file in (("low", "left"), ("high", "right"))]  # fmt: skip
        (folder / "two.pdf").write_bytes(pdf_bytes(2))
        items.append({"id": "paper", "question": "How many pages?", "documents": ["two.pdf"]})
        answers += [{"item": "paper", "contestant": name, "text": text} for name, text in (("low", "1"), ("high", "2"))]
    for name, rows in (("items", items), ("answers", answers)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def judge_files(cli, folder) -> None:
    code, _, err = cli("judge", "--items", folder / "items.jsonl", "--responses", folder / "answers.jsonl", "--judge",
                       "chance", "--ballot", "choice", "--ledger", folder / "site.ledger")  # fmt: skip
    assert code == 0, err


@pytest.fixture
def site(tmp_path, cli):
    """A running site with a ledger and a campaign, both made from the same files by the commands."""
    write_files(tmp_path, with_video=True)
    judge_files(cli, tmp_path)
    live = start_live(tmp_path, "--ledger", str(tmp_path / "site.ledger"), "--public")
    with write_transaction(live.engine) as connection:
        add_person(connection, "Olga", "organiser")
    code, out, err = cli("people", "add", "clips", "--kind", "pair", "--items", tmp_path / "items.jsonl", "--responses",
                         tmp_path / "answers.jsonl", "--data", tmp_path, "--votes", "1")  # fmt: skip
    assert code == 0, out + err
    yield live
    live.process.terminate()
    live.process.wait(timeout=120)
    live.engine.dispose()


def test_any_range_of_a_file_is_served_without_its_metadata(site, tmp_path):
    original = (tmp_path / "low.wav").read_bytes()
    patches = metadata_patches(lambda offset, count: original[offset : offset + count], len(original), "audio/wav")
    clean = patched_range(lambda offset, count: original[offset : offset + count], patches, 0, len(original))
    with Ledger(tmp_path / "site.ledger", read_only=True) as ledger:
        found = {media.digest for response in ledger.record().responses.values() for media in response.media}
    digest = sha256(original).hexdigest()
    assert digest in found
    with httpx2.Client(base_url=site.url) as client:
        whole = client.get(f"/media/{digest}")
        assert (whole.status_code, whole.content) == (200, clean)
        assert whole.headers["content-type"] == "audio/wav"
        assert whole.headers["accept-ranges"] == "bytes"
        size = len(original)
        for asked, start, end in (("0-0", 0, 1), ("10-99", 10, 100), ("100-", 100, size), ("-30", size - 30, size),
                                  (f"0-{size + 50}", 0, size)):  # fmt: skip
            part = client.get(f"/media/{digest}", headers={"Range": f"bytes={asked}"})
            assert (part.status_code, part.content) == (206, clean[start:end])
            assert part.headers["content-range"] == f"bytes {start}-{end - 1}/{size}"
        past = client.get(f"/media/{digest}", headers={"Range": f"bytes={size}-"})
        assert (past.status_code, past.headers["content-range"]) == (416, f"bytes */{size}")
        stale = client.get(f"/media/{digest}", headers={"Range": "bytes=5-9", "If-Range": '"other"'})
        assert (stale.status_code, len(stale.content)) == (200, size)
        assert client.get(f"/media/{digest}", headers={"If-None-Match": whole.headers["etag"]}).status_code == 304
        assert client.get(f"/media/{'0' * 64}").status_code == 404
        assert client.get(f"/media/{digest}/original").status_code in {303, 401, 403}
        cookie = site.cookie("Lea", "organiser")
        kept = client.get(f"/media/{digest}/original", headers={"Cookie": f"{cookie['name']}={cookie['value']}"})
        assert (kept.status_code, kept.content) == (200, original)
        assert kept.headers["cache-control"] == "private, no-store"


def test_the_api_names_every_file_of_a_case_where_it_can_be_had(site, tmp_path):
    with write_transaction(site.engine) as connection:
        _, secret = api_tokens.create_token(connection, add_person(connection, "Vi", "organiser"), "test", "read", 1)
    with httpx2.Client(base_url=site.url, headers={"Authorization": f"Bearer {secret}"}) as client:
        until(lambda: client.get("/api/v1/verdicts").json()["count"] == 6, seconds=60)
        rows = client.get("/api/v1/verdicts").json()["rows"]
        cases = {row["item"]: client.get(f"/api/v1/cases/{row['case']}").json() for row in rows}
        kinds = {name: [one["kind"] for one in case["media"]] for name, case in cases.items()}
        assert kinds == {"sound": ["audio"], "clip": [], "paper": ["document"]}
        answers = {
            name: {who: one[0]["kind"] for who, one in case["answer_media"].items()} for name, case in cases.items()
        }
        assert answers == {
            "sound": {"low": "audio", "high": "audio"}, "clip": {"low": "video", "high": "video"}, "paper": {},
        }  # fmt: skip
        assert all(case["pictures"] == [] for case in cases.values())
        for shown in (*cases["sound"]["media"], *cases["clip"]["answer_media"]["low"], *cases["paper"]["media"]):
            answer = client.get(shown["url"])
            expected = "image/webp" if shown["kind"] == "document" else shown["media_type"]
            assert (answer.status_code, answer.headers["content-type"]) == (200, expected)
            assert shown["kind"] == "document" or len(answer.content) == shown["bytes"]
            assert GENERATOR.encode() not in answer.content


def test_people_watch_and_hear_both_answers_in_sync_and_vote(site, browser):
    context = browser.new_context(base_url=site.url, viewport={"width": 1366, "height": 800})
    context.add_cookies([site.cookie("Kim", "annotator")])
    page = context.new_page()
    page.goto("/")
    with read_transaction(site.engine) as connection:
        place = f"/work/{connection.execute(select(studies.c.id)).scalar_one()}"
    kinds = []
    for _ in range(3):
        page.goto(place)
        page.wait_for_selector(".player")
        assert axe_violations(page) == []
        if page.locator(".of-document").count():
            pages = page.locator(".of-document img")
            page.wait_for_function("() => document.querySelector('.of-document img').naturalWidth > 0")
            width, height = pages.evaluate("image => [image.naturalWidth, image.naturalHeight]")
            assert height > 2 * width, "both pages are there, under each other"
            kinds.append("document")
            cast_first(page)
            continue
        players = page.locator(".candidates video, .candidates audio")
        assert players.count() == 2
        kinds.append(players.first.evaluate("player => player.localName"))
        assert players.evaluate_all("all => all.every(one => one.paused && !one.autoplay)"), "nothing plays by itself"
        page.wait_for_function(
            "() => [...document.querySelectorAll('.candidates .player > *')].every(one => one.readyState >= 1)"
        )
        if kinds[-1] == "audio":
            page.locator(".candidate").first.get_by_role("button", name="[0.5 s]").click()
            page.wait_for_function("""() => [...document.querySelectorAll('.candidates audio')]
                .every(one => Math.abs(one.currentTime - 0.5) < 0.05)""")
            assert page.locator(".candidate button.seek").count() == 4
        page.locator("body").press("p")
        page.wait_for_function("""() => [...document.querySelectorAll('.candidates .player > *')]
            .every(one => one.currentTime > 0.2)""")
        times = players.evaluate_all("all => all.map(one => one.currentTime)")
        assert abs(times[0] - times[1]) < 0.3
        assert players.evaluate_all("all => all.filter(one => !one.muted).length") == 1, "one of them sounds"
        cast_first(page)
    assert sorted(kinds) == ["audio", "document", "video"]
    with read_transaction(site.engine) as connection:
        assert len(connection.execute(select(votes)).all()) == 3
    context.close()


def picture_extent(file) -> tuple[int, int]:
    with Image.open(file) as picture:
        return picture.size


def cast_first(page) -> None:
    lease = leases(page)
    page.locator("body").press("1")
    moved_on(page, lease)
    page.wait_for_load_state("networkidle")


def test_a_case_page_and_a_copy_on_disk_play(site, browser, tmp_path, cli):
    assert cli("people", "close", "clips", "--data", tmp_path)[0] == 0, "cases of an open campaign are withheld"
    with Ledger(tmp_path / "site.ledger", read_only=True) as ledger:
        copy = export_site(ledger, tmp_path / "copy", SiteOptions(charts=False))
        cases = {verdict.item: verdict.case for verdict in ledger.record().verdicts}
    files = list((copy.folder / "media").iterdir())
    previews = {file.name: picture_extent(file) for file in (copy.folder / "pictures").iterdir()}
    assert len([name for name in previews if name.endswith("-preview-240.webp")]) == 2, "a video and a document"
    assert any(height > 2 * width for width, height in previews.values()), "the pages of the document"
    assert len(files) == 5
    assert all(GENERATOR.encode() not in file.read_bytes() for file in files)
    context = browser.new_context()
    page = context.new_page()
    for item, tag in (("clip", "video"), ("sound", "audio")):
        for address in (f"{site.url}/cases/{cases[item]}", (copy.folder / "cases" / f"{cases[item]}.html").as_uri()):
            page.goto(address)
            page.wait_for_function(
                """tag => {
                    const players = [...document.querySelectorAll(`.answers ${tag}`)];
                    return players.length === 2 && players.every(one => one.readyState >= 1);
                }""",
                arg=tag,
            )
            assert axe_violations(page) == []
            page.locator("body").press("p")
            page.wait_for_function(
                "tag => [...document.querySelectorAll(`.answers ${tag}`)].every(one => one.currentTime > 0.1)", arg=tag
            )
    context.close()


def test_a_report_page_has_small_files_within_it_and_names_the_others(tmp_path, cli, browser, monkeypatch):
    from fullbench.reports import html_page

    write_files(tmp_path, with_video=True)
    monkeypatch.setattr(html_page, "LARGEST_EMBEDDED", 20_000)
    code, _, err = cli("judge", "--items", tmp_path / "items.jsonl", "--responses", tmp_path / "answers.jsonl",
                       "--judge", "chance", "--ballot", "choice", "--out", tmp_path / "page.html")  # fmt: skip
    assert code == 0, err
    context = browser.new_context()
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_function(
        "() => [...document.querySelectorAll('video')].filter(one => one.readyState >= 1).length >= 2"
    )
    text = page.locator("main, body").first.inner_text()
    assert "Recording of 24 kB: not part of this page" in text
    assert "Document of" in text
    assert page.locator("audio").count() == 0
    context.close()
