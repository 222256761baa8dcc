"""The API: tokens, scopes, roles, pages, problems; and a description that its answers keep to."""

import pytest

from tests.support.api_script import Script, png
from tests.web.conftest import person


@pytest.fixture
def boss(app):
    with Script(app, "boss", "organiser") as script:
        yield script


def test_no_token_no_entry_and_problems_have_one_form(client, organiser):
    for visitor in (client, organiser):
        answer = visitor.get("/api/v1/me")
        assert answer.status_code == 401, "a cookie opens nothing here"
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"] == "Bearer"
        assert set(answer.json()) == {"type", "title", "status", "detail"}
    assert client.get("/api/v1/nothing").json()["status"] == 404
    assert client.get("/api/v1/me", headers={"Authorization": "Bearer fb_wrong"}).status_code == 401


def test_a_token_acts_as_its_owner_within_its_scope(app, boss):
    assert boss.get("/api/v1/me").json() == {"id": boss.user.id, "name": "boss", "role": "organiser"}
    with Script(app, "looker", "organiser", "read") as looker:
        assert looker.get("/api/v1/users").status_code == 200
        assert looker.post("/api/v1/tokens", json={"name": "x"}).status_code == 403
    with Script(app, "worker", "annotator") as worker:
        assert worker.get("/api/v1/users").status_code == 403
        assert worker.get("/api/v1/audit").status_code == 403
        made = worker.post("/api/v1/tokens", json={"name": "second", "scope": "read"})
        assert made.status_code == 201
        other = boss.delete(f"/api/v1/tokens/{made.json()['id']}")
        assert other.status_code == 404, "a token is its owner's alone"
        assert worker.delete(f"/api/v1/tokens/{made.json()['id']}").status_code == 204
        used = {"Authorization": f"Bearer {made.json()['token']}"}
        assert worker.get("/api/v1/me", headers=used).status_code == 401
        boss.patch(f"/api/v1/users/{worker.user.id}", json={"disabled": True})
        assert worker.get("/api/v1/me").status_code == 401


def test_lists_are_paged_to_their_end(app, boss):
    for number in range(7):
        person(app, f"p{number}", "viewer")
    names, cursor = [], ""
    while cursor is not None:
        page = boss.get("/api/v1/users", params={"limit": 3, "after": cursor}).json()
        names += [row["name"] for row in page["rows"]]
        cursor = page["next"]
    assert names == ["boss", *(f"p{number}" for number in range(7))]
    for _ in range(5):
        boss.post("/api/v1/invitations", json={"role": "viewer"})
    seen, before = [], None
    while True:
        page = boss.get("/api/v1/invitations", params={"limit": 2} | ({"before": before} if before else {})).json()
        seen += [row["id"] for row in page["rows"]]
        if (before := page["next"]) is None:
            break
    assert len(seen) == len(set(seen)) == 5
    acts = boss.get("/api/v1/audit", params={"action": "invited"}).json()["rows"]
    assert len(acts) == 5


def test_an_invitation_made_by_a_script_lets_a_person_in(boss, client):
    made = boss.post("/api/v1/invitations", json={"role": "annotator", "note": "for 小明"}).json()
    form = {"name": "小明", "password": "rain on the roof", "again": "rain on the roof"}
    assert made["link"].startswith("http://testserver/join/")
    assert client.submit(made["link"], form).status_code == 303
    again = boss.post("/api/v1/invitations", json={}).json()
    assert boss.delete(f"/api/v1/invitations/{again['id']}").status_code == 204
    assert client.get(again["link"]).status_code == 404


def test_what_is_not_asked_for_is_refused(boss):
    answer = boss.patch(f"/api/v1/users/{boss.user.id}", json={"role": "viewer", "password": "x"})
    assert answer.status_code == 422
    assert "password" in answer.json()["detail"]
    assert boss.patch(f"/api/v1/users/{boss.user.id}", json={"role": "viewer"}).status_code == 400


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_picture_comes_back_as_it_was(boss, form):
    data = png(form=form)
    made = boss.post("/api/v1/pictures", files={"file": ("x.txt", data, "text/html")})
    assert made.status_code == 201
    assert (made.json()["media"], made.json()["width"]) == (f"image/{form.lower()}", 6)
    got = boss.get(f"/api/v1/pictures/{made.json()['digest']}")
    assert (got.content, got.headers["content-type"]) == (data, f"image/{form.lower()}")
    assert "immutable" in got.headers["cache-control"]
    assert boss.post("/api/v1/pictures", files={"file": ("y", data)}).json() == made.json(), "a second time is the same"
    etag = {"If-None-Match": got.headers["etag"]}
    assert boss.get(f"/api/v1/pictures/{made.json()['digest']}", headers=etag).status_code == 304


def test_an_upload_is_seen_by_its_owner_and_organisers_alone(app, boss, annotator, client):
    with Script(app, "one", "annotator") as one, Script(app, "two", "annotator") as two:
        digest = one.post("/api/v1/pictures", files={"file": ("x", png(color="blue"))}).json()["digest"]
        shared = boss.post("/api/v1/pictures", files={"file": ("x", png(color="green"))}).json()["digest"]
        assert one.get(f"/api/v1/pictures/{digest}").status_code == 200
        assert boss.get(f"/api/v1/pictures/{digest}").status_code == 200
        assert two.get(f"/api/v1/pictures/{digest}").status_code == 404
        assert two.get(f"/api/v1/pictures/{shared}").status_code == 200
    assert annotator.get(f"/pictures/{digest}").status_code == 404
    assert annotator.get(f"/pictures/{shared}").status_code == 200
    assert client.get(f"/pictures/{shared}").status_code == 303


def test_the_description_is_there_for_programs_and_for_people(client):
    described = client.get("/api/v1/openapi.json").json()
    assert {"/api/v1/me", "/api/v1/users", "/api/v1/pictures"} <= set(described["paths"])
    assert not any(path for path in described["paths"] if not path.startswith("/api/v1/"))
    page = client.get("/api").text
    for path in described["paths"]:
        assert path in page
