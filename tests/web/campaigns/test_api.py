"""The API of people's work."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from fullbench.web.accounts import api_tokens
from fullbench.web.campaigns.votes.task_queue import LEASE_GONE_MESSAGE
from fullbench.web.database import write_transaction
from tests.web.conftest import Visitor, person

STUDY = {
    "name": "by script",
    "kind": "pair",
    "votes": 1,
    "items": [{"id": f"q{n}", "question": f"What is {n}? 几"} for n in range(3)],
    "responses": [
        {"item": f"q{n}", "contestant": name, "text": f"by {word}"}
        for n in range(3)
        for name, word in (("hidden-one", "the first"), ("hidden-two", "the second"))
    ],
}

OFF_THE_BALLOT = (
    ({"best": "7"}, "'7' is not on the ballot; choose one of those shown"),
    ({"best": "-1"}, "'-1' is not on the ballot; choose one of those shown"),
    ({}, "choose the better one"),
)


def caller(app, name, role, scope="write"):
    visitor = Visitor(app)
    visitor.user = person(app, name, role)
    with write_transaction(app.state.engine) as connection:
        _, secret = api_tokens.create_token(connection, visitor.user, "test", scope, 1)
    visitor.headers["Authorization"] = f"Bearer {secret}"
    return visitor


@pytest.fixture
def boss(app):
    return caller(app, "boss", "organiser")


@pytest.fixture
def hand(app):
    return caller(app, "hand", "annotator")


def test_a_study_from_beginning_to_end(boss, hand):
    made = boss.post("/api/v1/studies", json=STUDY)
    assert made.status_code == 201, made.text
    path = f"/api/v1/studies/{made.json()['id']}"
    task = hand.post(f"{path}/next", json={}).json()["task"]
    count = 0
    while task:
        assert "hidden" not in str(task)
        first = [one["parts"][0]["text"] for one in task["responses"]].index("by the first")
        sent = {"lease": task["lease"], "key": task["lease"], "fields": {"best": str(first)}, "next": True}
        kept = hand.post(f"{path}/votes", json=sent)
        assert kept.status_code == 201
        assert hand.post(f"{path}/votes", json={**sent, "next": False}).json()["again"] is True
        count += 1
        given = kept.json()["next"]
        task = given["task"]
    assert (count, given["why"]) == (3, "done")
    assert boss.get(path).json()["voted"] == 3
    first = boss.get(f"{path}/votes", params={"limit": 2}).json()
    rest = boss.get(f"{path}/votes", params={"after": first["next"]}).json()
    rows = first["rows"] + rest["rows"]
    assert [row["marks"] for row in rows] == [[1.0, 0.0]] * 3
    assert rest["next"] is None
    assert boss.patch(path, json={"state": "closed"}).json()["state"] == "closed"
    assert hand.post(f"{path}/next", json={}).json() == {"task": None, "why": "closed"}


def test_what_is_refused(app, boss, hand):
    made = boss.post("/api/v1/studies", json=STUDY).json()
    path = f"/api/v1/studies/{made['id']}"
    task = hand.post(f"{path}/next", json={}).json()["task"]
    other = caller(app, "other", "annotator")
    sent = {"lease": task["lease"], "key": "k" * 10, "fields": {"best": "0"}}
    assert other.post(f"{path}/votes", json=sent).status_code == 404
    assert hand.post(f"{path}/votes", json={**sent, "fields": {"best": "7"}}).status_code == 400
    assert hand.post(f"{path}/votes", json=sent).status_code == 201
    assert hand.post(f"{path}/votes", json={**sent, "key": "another-key"}).json()["revision"] == 2
    assert hand.post(f"{path}/votes", json={**sent, "key": "a-third-key", "replaces": 9}).status_code == 409
    assert hand.get(f"{path}/votes").status_code == 403
    assert hand.post("/api/v1/studies", json=STUDY).status_code == 403
    assert boss.post("/api/v1/studies", json=STUDY).status_code == 400
    assert boss.post("/api/v1/studies", json={**STUDY, "name": "b", "responses": []}).status_code == 400
    assert hand.get("/api/v1/studies/0123456789abcdef").status_code == 404
    # Each says in a sentence what is wrong; the vote that was taken stays as it is.
    second = hand.post(f"{path}/next", json={}).json()["task"]
    fresh = {"lease": second["lease"], "key": "fourth-key", "fields": {"best": "1"}}
    boss.patch(path, json={"state": "closed"})
    refused = (
        (hand, fresh, 409, "the study 'by script' is closed; your vote was not counted"),
        (other, sent, 404, LEASE_GONE_MESSAGE),
        (hand, {**fresh, "lease": "foreign"}, 404, LEASE_GONE_MESSAGE),
    )
    for who, vote, status, said in refused:
        answer = who.post(f"{path}/votes", json=vote)
        assert (answer.status_code, answer.json()["detail"]) == (status, said)
    boss.patch(path, json={"state": "open"})
    for fields, said in OFF_THE_BALLOT:
        answer = hand.post(f"{path}/votes", json={**fresh, "fields": fields})
        assert (answer.status_code, answer.json()["detail"]) == (400, said)
    assert hand.post(f"{path}/votes", json=fresh).status_code == 201, "what was refused can be sent again"
    assert [row["revision"] for row in boss.get(f"{path}/votes").json()["rows"]] == [1, 2, 1]
    assert caller(app, "reader", "annotator", "read").post(f"{path}/next", json={}).status_code == 403


def test_a_link_for_many_people_by_script(app, boss, hand):
    """Made, looked at, ended; who came, and an id that is let in from another browser."""
    path = f"/api/v1/studies/{boss.post('/api/v1/studies', json=STUDY).json()['id']}"
    assert boss.get(f"{path}/link").status_code == 404
    assert boss.delete(f"{path}/link").status_code == 404
    assert hand.post(f"{path}/link", json={}).status_code == 403
    assert boss.post(f"{path}/link", json={"code": "http://plain.example"}).status_code == 400
    made = boss.post(f"{path}/link", json={"max_people": 3, "days": 2, "each": 2, "code": "C0DE"})
    assert made.status_code == 201
    link = made.json().pop("link")
    shown = boss.get(f"{path}/link").json()
    assert {**shown, "until": 0} == {
        "until": 0, "open": True, "max_people": 3, "taken": 0, "each": 2, "code": "C0DE", "any_browser": False,
    }  # fmt: skip
    where = urlsplit(link).path
    for name in ("ann", "bob"):
        with Visitor(app) as visitor:
            assert visitor.submit(where, {"external_id": name}).status_code == 303
    first = boss.get(f"{path}/arrivals", params={"limit": 1}).json()
    rest = boss.get(f"{path}/arrivals", params={"start": first["next"]}).json()
    assert [(row["external_id"], row["done"], row["complete"]) for row in first["rows"] + rest["rows"]] == [
        ("ann", 0, False), ("bob", 0, False),
    ]  # fmt: skip
    assert rest["next"] is None
    with Visitor(app) as visitor:
        assert visitor.submit(where, {"external_id": "ann"}).status_code == 422
        assert boss.post(f"{path}/arrivals/release", json={"external_id": "ann"}).status_code == 200
        assert visitor.submit(where, {"external_id": "ann"}).status_code == 303
    assert boss.post(f"{path}/arrivals/release", json={"external_id": "eve"}).status_code == 400
    assert hand.get(f"{path}/arrivals").status_code == 403
    assert boss.delete(f"{path}/link").json()["open"] is False
    with Visitor(app) as visitor:
        assert visitor.submit(where, {"external_id": "cem"}).status_code == 422
