"""Accounts from the first start to the last sign-out, on both databases."""

import re
import time

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.exc import DBAPIError

from fullbench.errors import InputError
from fullbench.web.accounts import (
    account_and_shared_site_tables,
    audit_log,
    failed_sign_in_limits,
    invitations,
    passwords,
    sessions,
    users,
)
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from tests.web.conftest import PASSWORD, Visitor, person, signed_in


def test_the_first_link_makes_the_organiser_and_works_once(app, client):
    with write_transaction(app.state.engine) as connection:
        lost = invitations.create_first_invitation(connection)
        secret = invitations.create_first_invitation(connection)
    form = {"name": " 李  雷 ", "password": "my garden is green", "again": "my garden is green"}
    assert client.get(f"/join/{lost}").status_code == 404
    done = client.submit(f"/join/{secret}", form)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert "李 雷" in client.get("/people").text
    again = client.submit(f"/join/{secret}", form)
    assert (again.status_code, again.headers["location"]) == (303, "/"), "a double click is as good as one"
    assert client.submit(f"/join/{secret}", form | {"name": "other"}).status_code == 404
    assert client.submit(f"/join/{secret}", form | {"password": "not this at all"}).status_code == 404
    with write_transaction(app.state.engine) as connection:
        assert invitations.create_first_invitation(connection) is None


def test_an_invitation_carries_the_role_and_can_be_taken_back(app, organiser, client):
    page = organiser.submit("/people/invite", {"role": "viewer", "note": "for 韩梅梅"}).text
    link = re.search(r'<code id="link">http://testserver(/join/[\w-]+)</code>', page)[1]
    assert link not in organiser.get("/people").text
    new = {"name": "韩梅梅", "password": "a walk at the lake", "again": "a walk at the lake"}
    assert client.submit(link, new | {"again": "other"}).status_code == 400
    assert client.submit(link, new | {"name": "olga"}).status_code == 400, "names are compared without case"
    assert client.submit(link, new).status_code == 303
    assert client.get("/work").status_code == 403
    assert client.get("/people").status_code == 403
    page = organiser.submit("/people/invite", {"role": "annotator"}).text
    link = re.search(r'<code id="link">http://testserver(/join/[\w-]+)</code>', page)[1]
    with read_transaction(app.state.engine) as connection:
        open_one = next(one for one in invitations.list_invitations(connection) if one.open)
    organiser.submit(f"/people/invitations/{open_one.id}/revoke")
    assert client.get(link).status_code == 404
    assert organiser.submit("/people/invite", {"role": "emperor"}).status_code == 400


def test_an_invitation_ends_by_itself(app, client):
    with write_transaction(app.state.engine) as connection:
        _, secret = invitations.create_invitation(connection, "annotator", None, lasting=-1)
    assert client.get(f"/join/{secret}").status_code == 404


@pytest.mark.parametrize("password", ["short", "x" * 300, "annannannann", "abababababab"])
def test_weak_passwords_are_refused(password):
    with pytest.raises(InputError):
        passwords.check_password(password, "ann")


@pytest.mark.parametrize("password", ["correct horse battery", "我家门前有小河很美丽", "Ann likes long walks"])
def test_sensible_passwords_are_taken(password, usual_hasher, monkeypatch):
    monkeypatch.setattr(passwords, "_password_hasher", lambda: usual_hasher)
    passwords.check_password(password, "ann")
    kept = passwords.hash_password(password)
    assert "$m=65536,t=3,p=4$" in kept
    assert kept.startswith("$argon2id$")
    assert passwords.verify_password(password, kept)
    assert not passwords.verify_password(password + "!", kept)
    assert not passwords.verify_password(password, None)


def test_the_database_holds_no_secret(app, organiser):
    page = organiser.submit("/account/tokens", {"name": "ci", "scope": "write"}).text
    token = re.search(r"fb_[\w-]{43}", page)[0]
    link = re.search(r"/join/([\w-]{43})", organiser.submit("/people/invite", {"role": "viewer"}).text)[1]
    with read_transaction(app.state.engine) as connection:
        rows = [
            row
            for table in account_and_shared_site_tables.metadata.sorted_tables
            for row in connection.execute(select(table))
        ]
    text = repr(rows)
    for secret in (token, link, organiser.cookies[SESSION], PASSWORD):
        assert secret not in text


def test_sessions_end_when_idle_and_when_old(app, settings, annotator):
    table = account_and_shared_site_tables.sessions
    assert annotator.get("/work").status_code == 200
    with write_transaction(app.state.engine) as connection:
        connection.execute(update(table).values(seen=time.time() - settings.idle - 1))
    assert annotator.get("/work").status_code == 303
    with write_transaction(app.state.engine) as connection:
        connection.execute(update(table).values(seen=time.time(), at=time.time() - settings.lasting - 1))
    assert annotator.get("/work").status_code == 303
    with write_transaction(app.state.engine) as connection:
        sessions.delete_expired_sessions(connection, settings)
        assert connection.execute(select(table)).all() == []


def test_a_session_in_use_goes_on(app, settings, annotator):
    table = account_and_shared_site_tables.sessions
    with write_transaction(app.state.engine) as connection:
        connection.execute(update(table).values(seen=time.time() - settings.idle / 2))
    assert annotator.get("/work").status_code == 200
    with read_transaction(app.state.engine) as connection:
        assert connection.execute(select(table.c.seen)).scalar_one() > time.time() - 60


def test_signing_out_everywhere_and_changing_the_password_end_other_sessions(app, annotator):
    other = Visitor(app)
    with other:
        other.submit("/login", {"name": "安娜", "password": PASSWORD})
        assert other.get("/work").status_code == 200
        new = {"old": PASSWORD, "new": "the river is wide", "again": "the river is wide"}
        assert annotator.submit("/account/password", new | {"old": "no"}).status_code == 400
        assert annotator.submit("/account/password", new).status_code == 303
        assert annotator.get("/work").status_code == 200
        assert other.get("/work").status_code == 303
        other.submit("/login", {"name": "安娜", "password": "the river is wide"})
        annotator.submit("/logout", {"everywhere": "yes"})
        assert other.get("/work").status_code == 303


def test_a_closed_account_is_out_at_once_and_the_last_organiser_stays(app, organiser, annotator):
    assert annotator.get("/work").status_code == 200
    assert organiser.submit(f"/people/{annotator.user.id}", {"change": "close"}).status_code == 303
    assert annotator.get("/work").status_code == 303
    with Visitor(app) as visitor:
        assert visitor.submit("/login", {"name": "安娜", "password": PASSWORD}).status_code == 401
    assert organiser.submit(f"/people/{annotator.user.id}", {"change": "open"}).status_code == 303
    for change in ("close", "viewer"):
        answer = organiser.submit(f"/people/{organiser.user.id}", {"change": change})
        assert answer.status_code == 400
        assert "last organiser" in answer.text
    assert organiser.submit("/people/0123456789abcdef", {"change": "viewer"}).status_code == 404


def test_people_are_paged(app, organiser):
    for number in range(60):
        person(app, f"p{number:02}", "viewer")
    first = organiser.get("/people").text
    assert "p40" in first
    after = re.search(r'href="(/people\?after=[^"]+)"', first)[1]
    second = organiser.get(after).text
    assert "p59" in second
    assert "p00" not in second
    with write_transaction(app.state.engine) as connection:
        for number in range(60):
            invitations.create_invitation(connection, "viewer", organiser.user, note=f"note {number:02}")
    first = organiser.get("/people").text
    assert "note 59" in first
    assert "note 00" not in first
    assert "note 00" in organiser.get(re.search(r'href="(/people\?before=[^"]+)"', first)[1]).text


def test_the_audit_trail_says_who_did_what(app, organiser, annotator, client):
    client.submit("/login", {"name": "安娜", "password": "not it at all"})
    client.submit("/login", {"name": "安娜", "password": PASSWORD})
    organiser.submit(f"/people/{annotator.user.id}", {"change": "viewer"})
    page = organiser.get("/audit").text
    for words in ("sign-in refused", "signed in", "account changed"):
        assert words in page
    assert "not it at all" not in page
    only = organiser.get("/audit", params={"action": "account changed", "name": "Olga"}).text
    assert only.count("<tr><td") == 1
    assert annotator.get("/audit").status_code == 403
    with write_transaction(app.state.engine) as connection:
        for number in range(60):
            audit_log.write_entry(connection, organiser.user, "invited", str(number))
    for change in (
        delete(account_and_shared_site_tables.audit),
        update(account_and_shared_site_tables.audit).values(name="somebody else"),
    ):
        with pytest.raises(DBAPIError, match="append-only"), write_transaction(app.state.engine) as connection:
            connection.execute(change)
    assert re.search(r"/audit\?before=\d+", organiser.get("/audit").text)


def test_signing_in_is_limited_by_name_and_by_address(app, client, monkeypatch):
    with signed_in(app, "victim", "annotator"):
        monkeypatch.setattr(failed_sign_in_limits, "PAIR_LIMIT", 3)
        for _ in range(3):
            assert client.submit("/login", {"name": "Victim", "password": "guess guess"}).status_code == 401
        locked = client.submit("/login", {"name": "victim ", "password": PASSWORD})
        assert locked.status_code == 429
        assert locked.headers["retry-after"] == "900"
        assert client.submit("/login", {"name": "nobody", "password": "guess guess"}).status_code == 401
        monkeypatch.setattr(failed_sign_in_limits, "ADDRESS_LIMIT", 5)
        assert client.submit("/login", {"name": "somebody", "password": "guess guess"}).status_code == 429
        with write_transaction(app.state.engine) as connection:
            connection.execute(
                update(account_and_shared_site_tables.attempts).values(
                    at=time.time() - failed_sign_in_limits.WINDOW - 1
                )
            )
        assert client.submit("/login", {"name": "victim", "password": PASSWORD}).status_code == 303


def test_success_forgets_the_failures_of_a_name(app, client, annotator, monkeypatch):
    monkeypatch.setattr(failed_sign_in_limits, "PAIR_LIMIT", 2)
    for _ in range(2):
        assert client.submit("/login", {"name": "安娜", "password": "guess guess"}).status_code == 401
        assert client.submit("/login", {"name": "安娜", "password": PASSWORD}).status_code == 303
        client.submit("/logout")


def test_names_cannot_hide_anything(app):
    with write_transaction(app.state.engine) as connection:
        for name in ("", "   ", "a\u200bb", "a\x00b", "x" * 61, "\u202eevil"):
            with pytest.raises(InputError):
                users.create_user(connection, name, "viewer", PASSWORD)
        users.create_user(connection, "Ｎａｍｅ", "viewer", PASSWORD)
        with pytest.raises(InputError, match="taken"):
            users.create_user(connection, "name", "viewer", PASSWORD)
