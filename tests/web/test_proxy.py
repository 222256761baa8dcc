"""The app behind a real proxy that speaks https: cookies, links, redirects, addresses and open streams."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
from dataclasses import dataclass
from functools import partial
from http.client import HTTPSConnection
from urllib.parse import urlencode

import pytest

from fullbench.web import live_events
from fullbench.web.accounts import audit_log
from fullbench.web.database import read_transaction, write_transaction
from tests.support import tls_proxy
from tests.support.browser_pages import PATIENCE, follow
from tests.support.ports import free_port
from tests.support.wait_until import until
from tests.web.conftest import PASSWORD, Live, add_person, start_live

FROM = "127.0.0.9"
"""The address from which the client comes; the proxy is at another one."""


@dataclass
class Site:
    """A server behind a proxy, and what a client needs to trust it."""

    live: Live
    port: int
    trusted: ssl.SSLContext

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    def ask(self, method, path, data=None, cookies=None, **headers):
        """One request by https; answer and text."""
        connection = HTTPSConnection("localhost", self.port, context=self.trusted, source_address=(FROM, 0), timeout=60)
        body = None if data is None else urlencode(data)
        sent = dict(headers)
        if cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        if body is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text


@pytest.fixture(scope="module", params=["python", "nginx"])
def site(request, tmp_path_factory):
    program = shutil.which("nginx")
    if request.param == "nginx" and program is None:
        pytest.skip("nginx is not installed")
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    trusted = tls_proxy.certificate(folder)
    live = start_live(folder, "--url", f"https://localhost:{port}")
    made = tls_proxy.python if request.param == "python" else partial(tls_proxy.nginx, program)
    proxy = made(folder, port, live.settings.port)
    until(lambda: listens(port))
    with write_transaction(live.engine) as connection:
        add_person(connection, "Olga", "organiser")
    yield Site(live, port, trusted)
    live.process.terminate()
    live.process.wait(timeout=120)
    proxy.terminate()
    proxy.wait(timeout=120)
    live.engine.dispose()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def cookies_of(answer) -> dict[str, tuple[str, str]]:
    """The cookies that an answer sets: value, and the rest of the line."""
    lines = answer.headers.get_all("set-cookie") or []
    return {line.split("=", 1)[0]: tuple(line.split("=", 1)[1].split(";", 1)) for line in lines}


def sign_in(site) -> dict[str, str]:
    answer, page = site.ask("GET", "/login")
    jar = {name: value for name, (value, _) in cookies_of(answer).items()}
    csrf = re.search(r'<meta name="csrf" content="(\w+)">', page)[1]
    data = {"csrf": csrf, "name": "Olga", "password": PASSWORD}
    answer, _ = site.ask("POST", "/login", data, jar, Origin=site.url, **{"Sec-Fetch-Site": "same-origin"})
    assert answer.status == 303
    found = cookies_of(answer)
    kept = {name: (value, rest.lower()) for name, (value, rest) in found.items() if "max-age=0" not in rest.lower()}
    assert all("secure" in rest and "httponly" in rest and "samesite=lax" in rest for _, rest in kept.values())
    return {name: value for name, (value, _) in kept.items()}


def test_signing_in_keeps_cookies_to_https_and_knows_the_client(site):
    answer, _ = site.ask("GET", "/")
    assert answer.headers["location"] == "/login?next=%2F"
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    jar = sign_in(site)
    assert site.ask("GET", "/people", cookies=jar)[0].status == 200
    with read_transaction(site.live.engine) as connection:
        seen = {act.address for act in audit_log.list_entries(connection) if act.action == "signed in"}
    assert seen == {FROM}


def test_links_and_redirects_name_the_address_that_people_know(site):
    jar = sign_in(site)
    _, page = site.ask("GET", "/people", cookies=jar)
    csrf = re.search(r'<meta name="csrf" content="(\w+)">', page)[1]
    answer, page = site.ask("POST", "/people/invite", {"csrf": csrf, "role": "viewer"}, jar, Origin=site.url)
    assert answer.status == 200
    assert re.search(rf"{site.url}/join/[\w-]+", page)
    answer, _ = site.ask("GET", "/people/", cookies=jar)
    assert answer.status == 307
    assert answer.headers["location"] == f"{site.url}/people"


def test_a_form_from_another_site_is_refused(site):
    jar = sign_in(site)
    _, page = site.ask("GET", "/people", cookies=jar)
    csrf = re.search(r'<meta name="csrf" content="(\w+)">', page)[1]
    form = {"csrf": csrf, "role": "viewer"}
    answer, _ = site.ask("POST", "/people/invite", form, jar, Origin="https://elsewhere.example")
    assert answer.status == 403


def test_news_come_through_at_once(site):
    jar = sign_in(site)
    connection = HTTPSConnection("localhost", site.port, context=site.trusted, timeout=60)
    cookie = "; ".join(f"{name}={value}" for name, value in jar.items())
    connection.request("GET", "/events?topic=public/boards", headers={"Cookie": cookie})
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.readline() == b"retry: 2000\n"
    for number in range(3):
        with write_transaction(site.live.engine) as writer:
            live_events.publish_event(writer, "public/boards", {"新": number})
        while not (line := answer.readline()).startswith(b"data:"):
            pass
        assert f'"新": {number}' in line.decode()
    connection.close()


def test_a_browser_behind_the_proxy(site, browser):
    context = browser.new_context(ignore_https_errors=True, base_url=site.url)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    heard = []
    page.on("console", lambda message: heard.append(message.text))
    page.goto("/people")
    page.get_by_label("Name").fill("Olga")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/people")
    follow(page, page.get_by_role("button", name="中文"))
    page.get_by_role("link", name="成员").wait_for()
    assert all(cookie["secure"] for cookie in context.cookies())
    assert {cookie["name"] for cookie in context.cookies()} >= {"fullbench_session", "fullbench_language"}
    assert heard == []
    context.close()
