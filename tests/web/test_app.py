"""The app starts, on both databases."""

from tests.web.conftest import PASSWORD


def test_a_visitor_is_sent_to_the_login_page_and_back(app, client, annotator):
    assert client.get("/work?x=1").headers["location"] == "/login?next=%2Fwork%3Fx%3D1"
    done = client.submit("/login", {"name": "安娜", "password": PASSWORD, "next": "/work?x=1"})
    assert (done.status_code, done.headers["location"]) == (303, "/work?x=1")
    assert client.get("/work?x=1").status_code == 200
    assert client.submit("/logout").status_code == 303
    assert client.get("/work").headers["location"] == "/login?next=%2Fwork"
    assert annotator.get("/work").status_code == 200


def test_health(client):
    assert client.get("/health").json()["status"] == "ok"
