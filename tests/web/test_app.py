"""The app starts, on both databases."""

import pytest
from sqlalchemy import event

from fullbench.web.accounts import account_and_shared_site_tables
from fullbench.web.app import create_app
from fullbench.web.database import engine_for
from fullbench.web.route_access_connection_and_csrf_checks import Database
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.postgres import Postgres, programs
from tests.web.conftest import PASSWORD, Visitor, signed_in


def test_a_visitor_is_sent_to_the_login_page_and_back(app, client, annotator):
    assert client.get("/work?x=1").headers["location"] == "/login?next=%2Fwork%3Fx%3D1"
    done = client.submit("/login", {"name": "安娜", "password": PASSWORD, "next": "/work?x=1"})
    assert (done.status_code, done.headers["location"]) == (303, "/work?x=1")
    assert client.get("/work?x=1").status_code == 200
    assert client.submit("/logout").status_code == 303
    assert client.get("/work").headers["location"] == "/login?next=%2Fwork"
    assert annotator.get("/work").status_code == 200


def test_health_follows_the_database(app, client):
    assert client.get("/health").json()["status"] == "ok"
    engine, app.state.engine = app.state.engine, engine_for("postgresql://nobody@127.0.0.1:1/nothing")
    assert client.get("/health").status_code == 503
    app.state.engine = engine


def test_a_wrong_address_is_one_sentence_in_both_languages(client):
    assert "There is nothing at this address." in client.get("/nowhere").text
    assert "这个地址没有内容。" in client.get("/nowhere", headers={"Accept-Language": "zh"}).text
    assert client.get("/api/v1/nowhere").json()["detail"] == "There is nothing at this address."
    assert client.put("/login").status_code == 405


def test_a_defect_is_one_sentence_with_all_headers_and_no_trace(app, annotator, caplog):
    @app.get("/broken")
    @app.get("/api/v1/broken")
    def broken():
        raise RuntimeError("the secret is zebra")

    with Visitor(app, raise_server_exceptions=False) as visitor:
        for path in ("/broken", "/api/v1/broken"):
            answer = visitor.get(path)
            assert answer.status_code == 500
            assert "zebra" not in answer.text
            assert "Traceback" not in answer.text
            assert answer.headers["content-security-policy"].startswith("default-src 'self'")
    assert "/broken failed (RuntimeError)" in caplog.text, "the trace follows in the server's own log"
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_transaction_ends_before_the_answer_leaves(app):
    """An answer that says "kept" is never followed by a rollback."""
    done = []

    @app.post("/api/v1/kept")
    def kept(connection: Database):
        connection.execute(account_and_shared_site_tables.site.insert().values(name="kept", value="x"))
        event.listen(connection, "commit", lambda _: done.append("commit"))
        return {}

    async def listening(scope, receive, send):
        async def sending(message):
            if message["type"] == "http.response.start":
                done.append("answer")
            await send(message)

        await app(scope, receive, sending)

    with Visitor(listening) as visitor:
        assert visitor.post("/api/v1/kept").status_code == 200
    assert done == ["commit", "answer"]


def test_a_database_that_dies_and_comes_back(tmp_path):
    """kill -9 of the real server: 503 while it is away, and what was committed is there afterwards."""
    if programs() is None:
        pytest.skip("no PostgreSQL server on this machine")
    with Postgres() as server:
        app = create_app(Settings(server.database(), data=tmp_path))
        with signed_in(app, "安娜", "annotator") as visitor:
            token = visitor.token("/work")
            server.kill()
            away = [visitor.get("/work"), visitor.post("/language", data={"csrf": token, "to": "zh"})]
            assert [answer.status_code for answer in away] == [503, 503]
            assert away[0].headers["retry-after"] == "2"
            assert visitor.get("/api/v1/me", headers={"Authorization": "Bearer x"}).json()["status"] == 503
            assert visitor.get("/health").status_code == 503
            server.start()
            assert visitor.get("/work").status_code == 200
        app.state.engine.dispose()
