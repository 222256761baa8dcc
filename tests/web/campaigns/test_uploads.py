"""Uploads in pieces: a zip file or a folder, lost pieces, a reloaded page, hostile files."""

from __future__ import annotations

import io
import json
import shutil
import stat
import zipfile

import pytest

from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.data_builders import png

PARCEL = "0123456789abcdef"
ITEMS = [{"id": f"q{n}", "question": f"What is {n}? 几？", "pictures": [f"pictures/{n}.png"]} for n in range(3)]
ANSWERS = [{"item": f"q{n}", "contestant": who, "text": f"{who} {n}"} for n in range(3) for who in ("a", "b")]


@pytest.fixture
def database(one_sqlite, tmp_path) -> str:
    """Nothing here depends on which database it is."""
    shutil.copy(one_sqlite, tmp_path / "web.sqlite")
    return f"sqlite:///{tmp_path / 'web.sqlite'}"


def lines(rows) -> bytes:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()


def files(top: str = "") -> dict[str, bytes]:
    shown = {f"{top}pictures/{n}.png": png((n, 2, 3)) for n in range(3)}
    return {f"{top}items.jsonl": lines(ITEMS), f"{top}responses.jsonl": lines(ANSWERS), **shown}


def zipped(content: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in content.items():
            packed.writestr(name, data)
    return out.getvalue()


def send(organiser, name: str, data: bytes, at: int = 0, size: int | None = None, *, upload: str = PARCEL):
    where = {"path": name, "at": at, "size": len(data) if size is None else size}
    headers = {"X-CSRF-Token": organiser.token("/account")}
    return organiser.post(f"/organise/uploads/{upload}", params=where, content=data, headers=headers)


def make(organiser, **fields):
    data = {"csrf": organiser.token("/account"), "name": "big", "kind": "pair", "upload": PARCEL, **fields}
    return organiser.post("/organise/new", data=data, files={"x": b""})


def test_a_zip_file_in_pieces_that_are_lost_and_sent_again(organiser, annotator):
    data = zipped(files("my study/"))
    cut = len(data) // 3
    assert send(organiser, "s.zip", data[:cut], 0, len(data)).json() == {"have": cut}
    # The answer was lost and the piece comes again; then one out of turn: both are told what is there.
    again = send(organiser, "s.zip", data[:cut], 0, len(data))
    assert (again.status_code, again.json()) == (409, {"have": cut})
    assert send(organiser, "s.zip", data[2 * cut :], 2 * cut, len(data)).status_code == 409
    assert organiser.get(f"/organise/uploads/{PARCEL}", params={"path": "s.zip"}).json() == {"have": cut}
    assert send(organiser, "s.zip", data[cut:], cut, len(data)).json() == {"have": len(data)}
    made = make(organiser)
    assert made.status_code == 303, made.text
    page = annotator.get(made.headers["location"].replace("organise", "work")).text
    digest = page.split("/pictures/")[1][:64]
    assert annotator.get(f"/pictures/{digest}").status_code == 200
    # The upload is used up.
    assert organiser.get(f"/organise/uploads/{PARCEL}", params={"path": "s.zip"}).json() == {"have": 0}


def test_a_folder(organiser, annotator):
    for name, data in files("folder/").items():
        assert send(organiser, name, data).status_code == 200
    made = make(organiser, stage="draft")
    assert made.status_code == 303, made.text
    assert "3 tasks" in organiser.get(made.headers["location"]).text


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a\\b", "x" * 300])
def test_names_stay_inside(organiser, name):
    assert send(organiser, name, b"x").status_code in {400, 422}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"../items.jsonl": b"{}"}, "plain name"),
        ({"a/items.jsonl": b"{}", "b/items.jsonl": b"{}"}, "found 2"),
        ({"readme": b"x", "other": b"y"}, "found 0"),
        ({"items.jsonl": lines([{"id": "q", "question": "?", "pictures": ["../../../etc/passwd"]}])}, "not uploaded"),
        ({"items.jsonl": b"{"}, "is not JSON"),
    ],
)
def test_what_a_zip_file_must_not_hold(organiser, content, said):
    data = zipped(content)
    send(organiser, "s.zip", data)
    made = make(organiser)
    assert made.status_code == 422
    assert said in made.text.replace("&#39;", "'")


def test_links_and_broken_zip_files_are_refused(organiser):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        link = zipfile.ZipInfo("items.jsonl")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
    send(organiser, "s.zip", out.getvalue())
    assert "contains a link" in make(organiser).text
    send(organiser, "t.zip", b"PK nothing", upload="feedfeedfeedfeed")
    assert "cannot be unpacked" in make(organiser, upload="feedfeedfeedfeed").text


def test_only_organisers_send_and_only_their_own(organiser, annotator):
    assert send(annotator, "a", b"x").status_code == 403
    assert make(organiser, upload="../../x").status_code == 422
    assert make(organiser, upload="aaaaaaaaaaaaaaaa").status_code == 422


class TestLimits:
    @pytest.fixture
    def settings(self, database, tmp_path):
        return Settings(database, data=tmp_path / "data", parcel_limit=100_000)

    def test_more_than_the_site_takes(self, organiser):
        assert send(organiser, "a.zip", b"x" * 90_000, size=200_000).status_code == 200
        assert send(organiser, "b.zip", b"x" * 90_000).status_code == 413
        bomb = zipped({"items.jsonl": b"0" * 5_000_000})
        assert len(bomb) < 10_000
        send(organiser, "s.zip", bomb, upload="feedfeedfeedfeed")
        assert "larger than this site takes" in make(organiser, upload="feedfeedfeedfeed").text
