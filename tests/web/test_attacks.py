"""Attacks that must fail, each as an attacker would try it, on both databases."""

import io
import re
import struct
import zlib

import pytest
from PIL import Image
from sqlalchemy import func, select

from fullbench.errors import InputError
from fullbench.web import picture_checks_storage_and_serving
from fullbench.web.accounts import account_and_shared_site_tables, audit_log
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from fullbench.web.site_settings_and_worker_transfer import Settings
from tests.support.api_script import Script, png
from tests.web.conftest import PASSWORD, Visitor, person

SCRIPT = "<script>window.owned=1</script>"
HOSTILE = (
    "<img src=x onerror=owned=1>",
    '"><script>owned=1</script>',
    "{{7*7}}",
    "javascript:alert(1)",
    "</title><b>x",
)


# Scripts in names and texts


def harmless(page: str) -> bool:
    """Whether nothing of `HOSTILE` stands in a page as anything but text."""
    marked_up = any(text in page for text in HOSTILE if set(text) & set("<>\"'"))
    return not marked_up and not re.search(r">\s*49\s*<", page)


def test_stored_script_is_shown_as_text(app, organiser):
    for text in HOSTILE:
        person(app, text[:60], "viewer")
        organiser.submit("/people/invite", {"role": "viewer", "note": text})
        organiser.submit("/account/tokens", {"name": text[:60]})
        with write_transaction(app.state.engine) as connection:
            audit_log.write_entry(connection, None, text[:40], text, address=text, why=text)
    for page in ("/people", "/account", "/audit"):
        assert harmless(organiser.get(page).text), page


def test_reflected_script_is_shown_as_text(client, organiser):
    for text in HOSTILE:
        pages = [
            client.submit("/login", {"name": text, "password": "x" * 12, "next": text}),
            client.get("/login", params={"next": text}),
            organiser.get("/audit", params={"name": text, "action": text[:40]}),
            organiser.get("/people", params={"after": text}),
            organiser.get("/" + text.replace("/", "%2F")),
            organiser.get("/audit", params={"before": text}),
        ]
        for page in pages:
            assert harmless(page.text)
            assert page.headers["content-security-policy"].startswith("default-src 'self'")


def test_no_page_has_inline_script_style_or_handler(client, organiser):
    for visitor, path in [(client, "/login"), (client, "/api"), *((organiser, p) for p in ("/", "/work", "/people"))]:
        page = visitor.get(path).text
        # A page's own address is no place from which anything is loaded.
        page = page.replace(f'<link rel="canonical" href="{visitor.base_url}', '<link rel="canonical" href="')
        assert not re.search(r"<script(?![^>]*\bsrc=)", page)
        assert not re.search(r"<style|\sstyle=|\son\w+=", page)
        assert not re.search(r'(?:src|href)="https?://', page)


# Paths


PATHS = [
    "/static/../settings.py",
    "/static/..%2f..%2fsettings.py",
    "/static/%2e%2e/%2e%2e/settings.py",
    "/static/....//settings.py",
    "/static//etc/passwd",
    "/static/%00",
    "/pictures/..%2f..%2fweb.sqlite",
    "/pictures/" + "a" * 63,
    "/pictures/" + "A" * 64,
    "/pictures/../../etc/passwd",
    "/api/v1/pictures/..%2fweb.sqlite",
    "/join/..%2f..%2fetc",
]


def test_no_path_leads_out(organiser):
    for path in PATHS:
        answer = organiser.get(path)
        assert answer.status_code in {400, 401, 404, 422}, path
        assert b"SQLite format" not in answer.content
        assert "root:" not in answer.text
        assert "class Settings" not in answer.text


# Pictures

HTML = b"<!doctype html><script>owned=1</script>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>owned=1</script></svg>'


def bomb(width=60_000, height=60_000) -> bytes:
    """A small PNG that claims billions of pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = zlib.compress(b"\0" * 1_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "data",
    [HTML, SVG, b"", b"GIF89a" + HTML, b"\x89PNG\r\n\x1a\n" + HTML, b"\xff\xd8\xff" + SVG, bomb(), png()[:40],
     b"BM" + b"\0" * 60, b"PK\x03\x04" + b"\0" * 60, b"%PDF-1.7"],
    ids=["html", "svg", "empty", "gif-html", "png-html", "jpeg-svg", "bomb", "cut", "bmp", "zip", "pdf"],
)  # fmt: skip
def test_what_is_no_picture_is_refused_whatever_it_says_it_is(app, data):
    with Script(app, "up", "annotator") as script:
        answer = script.post("/api/v1/pictures", files={"file": ("x.png", data, "image/png")})
        assert answer.status_code == 400
    with read_transaction(app.state.engine) as connection:
        assert (
            connection.execute(select(func.count()).select_from(account_and_shared_site_tables.uploads)).scalar_one()
            == 0
        )
    assert not picture_checks_storage_and_serving.uploads_folder(app.state.settings).folder.exists()


def test_a_picture_with_a_page_behind_it_leaves_as_a_picture_only(app):
    with Script(app, "up", "annotator") as script:
        made = script.post("/api/v1/pictures", files={"file": ("x.html", png() + HTML, "text/html")}).json()
        got = script.get(f"/api/v1/pictures/{made['digest']}")
    assert got.headers["content-type"] == "image/png"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_an_animation_cannot_be_endless(tmp_path):
    frames = [Image.new("RGB", (2, 2), (number % 256, number // 256, 7)) for number in range(400)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    with pytest.raises(InputError, match="pixels"):
        picture_checks_storage_and_serving.check_picture(out.getvalue(), Settings("sqlite://", data=tmp_path))


def test_a_huge_body_is_cut_off(database, tmp_path):
    from fullbench.web.app import create_app

    app = create_app(Settings(database, data=tmp_path, body_limit=100_000))
    with Visitor(app) as visitor:
        assert visitor.post("/login", content=b"x" * 100_001).status_code == 413

        def stream():
            for _ in range(50):
                yield b"x" * 10_000

        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = visitor.post("/login", content=stream(), headers=kind)
        assert answer.status_code == 413
        assert answer.headers["x-content-type-options"] == "nosniff"
    app.state.engine.dispose()


def test_a_form_with_many_fields_is_no_defect(client):
    flood = "&".join(f"f{number}=x" for number in range(5000))
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/login", content=flood, headers=kind).status_code in {400, 403, 422}


# Forged requests

CHANGES = [
    ("/logout", {}),
    ("/language", {"to": "zh"}),
    ("/account/password", {"old": PASSWORD, "new": "of the attacker", "again": "of the attacker"}),
    ("/account/tokens", {"name": "stolen", "scope": "write"}),
    ("/people/invite", {"role": "organiser"}),
]


@pytest.mark.parametrize(("path", "data"), CHANGES, ids=lambda value: value if isinstance(value, str) else "")
def test_another_site_cannot_act_for_a_user(app, organiser, annotator, path, data):
    assert organiser.post(path, data=data).status_code == 403, "no token"
    assert organiser.post(path, data=data | {"csrf": "0" * 64}).status_code == 403, "a made-up token"
    assert organiser.post(path, data=data | {"csrf": annotator.token("/")}).status_code == 403, "another's token"
    token = organiser.token("/")
    for header in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert organiser.post(path, data=data | {"csrf": token}, headers=header).status_code == 403
    assert organiser.post(path, json=data).status_code in {403, 422}
    assert organiser.get("/people").status_code == 200
    with read_transaction(app.state.engine) as connection:
        assert (
            connection.execute(select(func.count()).select_from(account_and_shared_site_tables.tokens)).scalar_one()
            == 0
        )
        assert (
            connection.execute(
                select(func.count()).select_from(account_and_shared_site_tables.invitations)
            ).scalar_one()
            == 0
        )
    good = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin", "X-CSRF-Token": token}
    assert organiser.post(path, data=data, headers=good).status_code in {200, 303}


def leaves(routes):
    """All routes, those of included routers too."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        yield from [route] if inner is None else leaves(inner.routes)


def test_every_page_that_changes_something_asks_for_the_token(app, organiser):
    """No route was forgotten: whatever the app offers beside the API refuses a bare request."""
    changing = [
        (method, re.sub(r"\{\w+(:path)?\}", "0123456789abcdef", route.path))
        for route in leaves(app.routes)
        for method in sorted(getattr(route, "methods", None) or ())
        if method not in {"GET", "HEAD", "OPTIONS"} and not route.path.startswith("/api/")
    ]
    assert len(changing) > 8
    for method, path in changing:
        assert organiser.request(method, path).status_code in {403, 422}, path
        assert organiser.request(method, path, headers={"X-CSRF-Token": "0" * 64}).status_code in {403, 422}, path


def test_signing_in_needs_a_token_too(client, annotator):
    form = {"name": "安娜", "password": PASSWORD}
    assert client.post("/login", data=form).status_code == 403
    with Visitor(client.app) as other:
        assert client.post("/login", data=form | {"csrf": other.token()}).status_code == 403


# Sessions


def test_a_planted_session_is_not_taken_over(app, annotator):
    with Visitor(app) as visitor:
        visitor.cookies.set(SESSION, "planted-by-the-attacker")
        visitor.submit("/login", {"name": "安娜", "password": PASSWORD})
        got = [cookie.value for cookie in visitor.cookies.jar if cookie.name == SESSION and cookie.value]
        assert "planted-by-the-attacker" not in got[-1:]
        with Visitor(app) as attacker:
            attacker.cookies.set(SESSION, "planted-by-the-attacker")
            assert attacker.get("/work").status_code == 303


def test_the_session_changes_at_each_sign_in_and_the_old_one_ends(app, annotator):
    old = annotator.cookies[SESSION]
    token = annotator.token("/")
    form = {"name": "安娜", "password": PASSWORD, "csrf": token}
    answer = annotator.post("/login", data=form)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert f"{SESSION}=" in cookie
    assert old not in cookie
    for flag in ("HttpOnly", "SameSite=lax", "Path=/"):
        assert flag in cookie
    with Visitor(app) as thief:
        thief.cookies.set(SESSION, old)
        assert thief.get("/work").status_code == 303


def test_cookies_stay_on_https(database, tmp_path):
    from fullbench.web.app import create_app

    app = create_app(Settings(database, data=tmp_path, https=True))
    with Visitor(app) as visitor:
        answer = visitor.get("/login")
        assert "Secure" in answer.headers["set-cookie"]
        assert answer.headers["strict-transport-security"].startswith("max-age=")
    app.state.engine.dispose()


# Guessing and wandering


def test_nothing_tells_which_of_name_and_password_was_wrong(client, annotator):
    wrong = client.submit("/login", {"name": "安娜", "password": "not the right one"})
    unknown = client.submit("/login", {"name": "安妮", "password": "not the right one"})
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.text.replace("安娜", "X") == unknown.text.replace("安妮", "X")


def test_unknown_names_cost_the_same_work(monkeypatch):
    """Both ways run argon2 once: counted, not timed."""
    from fullbench.web.accounts import passwords

    kept = passwords.hash_password(PASSWORD)
    passwords.verify_password("warm", None)
    hasher, calls = passwords._password_hasher(), []

    class Counting:
        def verify(self, *arguments):
            calls.append(arguments)
            return hasher.verify(*arguments)

    monkeypatch.setattr(passwords, "_password_hasher", Counting)
    assert not passwords.verify_password("wrong", kept)
    assert not passwords.verify_password("wrong", None)
    assert len(calls) == 2


ELSEWHERE = [
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil",
    "http:evil",
    "/\t/evil.example",
    " //evil.example",
    "javascript:alert(1)",
    "/%0d%0aSet-Cookie:x=1\r\nX: y",
    "///evil.example",
]


def test_signing_in_leads_nowhere_else(client, annotator):
    first = client.submit("/login", {"name": "安娜", "password": PASSWORD, "next": ELSEWHERE[0]})
    assert (first.status_code, first.headers["location"]) == (303, "/")
    for to in ELSEWHERE:
        for answer in (
            annotator.get("/login", params={"next": to}),
            annotator.submit("/language", {"to": "en", "next": to}),
        ):
            assert (answer.status_code, answer.headers["location"]) == (303, "/"), to
            assert "x" not in answer.cookies


def test_headers_cannot_be_injected(organiser, client):
    answer = client.get("/login", params={"next": "/x\r\nSet-Cookie: owned=1"}, headers={"Accept-Language": "zh\tx"})
    assert "owned" not in answer.headers.get("set-cookie", "")
    changed = organiser.submit("/language", {"to": "zh\r\nSet-Cookie: owned=1"})
    assert changed.status_code == 400
    sent = organiser.get("/events", params={"topic": "user/x\r\ndata: owned"})
    assert sent.status_code == 403


def test_others_ids_lead_nowhere(app, organiser, annotator, viewer):
    with Script(app, "other", "annotator") as other:
        made = other.post("/api/v1/tokens", json={"name": "mine"}).json()
        annotator.submit(f"/account/tokens/{made['id']}/revoke")
        assert other.get("/api/v1/me", headers={"Authorization": f"Bearer {made['token']}"}).status_code == 200
    for visitor in (annotator, viewer):
        for path in ("/people", "/audit"):
            assert visitor.get(path).status_code == 403
        assert visitor.submit(f"/people/{visitor.user.id}", {"change": "organiser"}).status_code == 403
        assert visitor.submit("/people/invite", {"role": "organiser"}).status_code == 403
        assert visitor.get("/events", params={"topic": f"user/{organiser.user.id}"}).status_code == 403
        assert visitor.get("/events", params={"topic": "organiser/x"}).status_code == 403


def test_odd_characters_are_no_defect(client, organiser):
    for text in ("\x00", "\ud800".encode("utf-16", "surrogatepass").decode("latin-1"), "\uffff", "𠮷", "a" * 5000):
        for answer in (
            client.submit("/login", {"name": text, "password": text}),
            organiser.submit("/people/invite", {"role": "viewer", "note": text[:200]}),
            organiser.get("/audit", params={"name": text[:80]}),
            organiser.get("/people", params={"after": text[:200]}),
        ):
            assert answer.status_code < 500
