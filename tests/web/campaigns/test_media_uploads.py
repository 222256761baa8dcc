"""Videos, recordings and documents of a new campaign: by the form, in a zip file, and by the API."""

from __future__ import annotations

import html
import re

import pytest

from tests.support.data_builders import png
from tests.support.media_files import GENERATOR, colour_frames, pdf_bytes, tone, video, write_video
from tests.web.campaigns.test_api import caller
from tests.web.campaigns.test_uploads import database, lines, make, send, zipped  # noqa: F401

pytest.importorskip("av")


@pytest.fixture
def media(tmp_path) -> dict[str, bytes]:
    video(tmp_path / "left.webm")
    write_video(tmp_path / "right.mp4", colour_frames(4))
    return {
        "clips/left.webm": (tmp_path / "left.webm").read_bytes(),
        "clips/right.mp4": (tmp_path / "right.mp4").read_bytes(),
        "question.wav": tone(440, 0.5, generator=GENERATOR), "sheet.pdf": pdf_bytes(2),
    }  # fmt: skip


ITEMS = [{"id": "film", "question": "A ball that moves", "audio": ["question.wav"], "documents": ["sheet.pdf"]}]
ANSWERS = [
    {"item": "film", "contestant": "a", "video": "clips/left.webm"},
    {"item": "film", "contestant": "b", "videos": ["clips/right.mp4"], "text": "Mine."},
]


def shown_addresses(page: str) -> list[str]:
    """Return the addresses of players and of pages of documents, each once."""
    return list(dict.fromkeys(re.findall(r'src="(/media/[^"]+)"', html.unescape(page))))


@pytest.mark.parametrize("way", ["zip", "form"])
def test_people_get_the_files_that_a_lead_uploads(organiser, annotator, media, way):
    if way == "zip":
        send(organiser, "s.zip", zipped({"items.jsonl": lines(ITEMS), "responses.jsonl": lines(ANSWERS), **media}))
        made = make(organiser)
    else:
        rows = [("items", ("items.jsonl", lines(ITEMS))), ("responses", ("responses.jsonl", lines(ANSWERS)))]
        sent = [("pictures", (name.rpartition("/")[2], data)) for name, data in media.items()]
        data = {"csrf": organiser.token("/account"), "name": "big", "kind": "pair"}
        made = organiser.post("/organise/new", data=data, files=rows + sent)
    assert made.status_code == 303, made.text
    addresses = shown_addresses(annotator.get(made.headers["location"].replace("organise", "work")).text)
    served = [annotator.get(address) for address in addresses]
    assert {answer.headers["content-type"] for answer in served} == {
        "audio/wav",
        "image/webp",
        "video/webm",
        "video/mp4",
    }
    sizes = {
        answer.headers["content-type"]: len(answer.content) for answer in served if "/preview" not in str(answer.url)
    }
    assert sizes == {
        "audio/wav": len(media["question.wav"]), "video/webm": len(media["clips/left.webm"]),
        "video/mp4": len(media["clips/right.mp4"]),
    }  # fmt: skip
    assert all(GENERATOR.encode() not in answer.content for answer in served)


def test_the_content_of_an_upload_decides_and_what_nobody_can_be_shown_is_refused(organiser, media, tmp_path):
    bad = {
        "a page, not a clip": {"clips/right.mp4": b"<html>no video</html>"},
        "a picture, not a recording": {"question.wav": png()},
        "cut off": {"clips/right.mp4": media["clips/right.mp4"][:-40]},
        "no pages": {"sheet.pdf": b"%PDF-1.7\nnothing\n%%EOF"},
    }
    said = {}
    for place, (what, changed) in enumerate(bad.items()):
        upload = f"{place}" * 16
        content = {"items.jsonl": lines(ITEMS), "responses.jsonl": lines(ANSWERS), **media, **changed}
        send(organiser, "s.zip", zipped(content), upload=upload)
        made = make(organiser, upload=upload)
        assert made.status_code == 422, what
        said[what] = made.text.split('role="alert">')[1].split("</p>")[0]
    assert "This is not a picture that we take" in said["a page, not a clip"]
    assert "not a recording" in said["a picture, not a recording"]
    assert "is cut off" in said["cut off"]
    assert "the pages of the document cannot be drawn" in said["no pages"]
    assert all(str(tmp_path) not in sentence and "/uploads/" not in sentence for sentence in said.values())


def test_a_script_uploads_files_makes_a_campaign_of_them_and_reads_them_back(app, media):
    boss, hand = caller(app, "boss", "organiser"), caller(app, "hand", "annotator")
    shown = {name: boss.post("/api/v1/media", files={"file": (name, data)}).json() for name, data in media.items()}
    assert [one["kind"] for one in shown.values()] == ["video", "video", "audio", "document"]
    refused = boss.post("/api/v1/media", files={"file": ("a.png", png())})
    assert (refused.status_code, refused.json()["detail"]) == (400, "this is a picture: send it to /api/v1/pictures")
    digests = {name: one["digest"] for name, one in shown.items()}
    study = {
        "name": "by script", "kind": "rate",
        "items": [{"id": "q", "question": "A ball", "media": [digests["question.wav"], digests["sheet.pdf"]]}],
        "responses": [
            {"item": "q", "contestant": side, "media": [digests[name]]}
            for side, name in (("a", "clips/left.webm"), ("b", "clips/right.mp4"))
        ],
    }  # fmt: skip
    made = boss.post("/api/v1/studies", json=study)
    assert made.status_code == 201, made.text
    task = hand.post(f"/api/v1/studies/{made.json()['id']}/next", json={}).json()["task"]
    assert digests["question.wav"] in str(task)
    assert digests["clips/left.webm"] in str(task)
    clip = hand.get(shown["clips/left.webm"]["url"])
    assert (clip.status_code, clip.headers["content-type"]) == (200, "video/webm")
    assert GENERATOR.encode() not in clip.content
    pages = hand.get(shown["sheet.pdf"]["url"])
    assert (pages.status_code, pages.headers["content-type"]) == (200, "image/webp")
    assert hand.get(f"/api/v1/media/{digests['sheet.pdf']}/original").status_code == 403
    assert boss.get(f"/api/v1/media/{digests['sheet.pdf']}/original").content == media["sheet.pdf"]
