"""Nobody is locked out by what others try: over HTTP, from several addresses behind a proxy that is believed."""

from __future__ import annotations

import re

import httpx2 as httpx
import pytest

from fullbench.web.accounts import failed_sign_in_limits
from fullbench.web.database import write_transaction
from tests.web.conftest import PASSWORD, add_person, start_live

HOME, ELSEWHERE, ATTACKER = "192.0.2.10", "198.51.100.7", "203.0.113.5"


class Browser(httpx.Client):
    """A browser at an address; cookies stay with it."""

    def __init__(self, url: str, address: str) -> None:
        super().__init__(base_url=url, headers={"X-Forwarded-For": address}, timeout=60)

    def sign_in(self, name: str, password: str = PASSWORD) -> int:
        page = self.get("/login", follow_redirects=True)
        token = re.search(r'name="csrf" content="(\w{64})"', page.text)[1]
        return self.post("/login", data={"csrf": token, "name": name, "password": password}).status_code

    def sign_out(self) -> None:
        token = re.search(r'name="csrf" content="(\w{64})"', self.get("/account").text)[1]
        assert self.post("/logout", data={"csrf": token}).status_code == 303


@pytest.fixture
def site(tmp_path):
    served = start_live(tmp_path)
    with write_transaction(served.engine) as connection:
        for name in ("ann", "bob", "eve"):
            add_person(connection, name, "annotator")
    yield served
    served.process.terminate()
    served.process.wait(timeout=120)
    served.engine.dispose()


def test_failures_elsewhere_lock_nobody_out(site):
    with (
        Browser(site.url, HOME) as known,
        Browser(site.url, ATTACKER) as attacker,
        Browser(site.url, ELSEWHERE) as other,
    ):
        assert known.sign_in("ann") == 303
        known.sign_out()
        answers = [attacker.sign_in("ann", "a guess") for _ in range(failed_sign_in_limits.PAIR_LIMIT + 2)]
        assert answers == [401] * failed_sign_in_limits.PAIR_LIMIT + [429] * 2
        assert attacker.sign_in("ann") == 429, "not even with the right password, from there"
        assert other.sign_in("ann") == 303, "a new browser at another address"
        assert known.sign_in("ann") == 303
        known.sign_out()

        # The attacker shares ann's address now: her browser is known there, and another's cookie is not hers.
        attacker.headers["X-Forwarded-For"] = HOME
        answers = [attacker.sign_in("ann", "a guess") for _ in range(failed_sign_in_limits.PAIR_LIMIT + 1)]
        assert answers[-1] == 429
        assert attacker.sign_in("bob") == 303
        attacker.sign_out()
        assert attacker.sign_in("ann") == 429, "a browser that is known for bob is not known for ann"
        forged = known.cookies[failed_sign_in_limits.COOKIE][:-4] + "0000"
        attacker.cookies.set(failed_sign_in_limits.COOKIE, forged, domain="127.0.0.1")
        assert attacker.sign_in("ann") == 429
        assert known.sign_in("ann") == 303
        known.sign_out()

        # A known browser has a count of its own, and it ends as well.
        answers = [known.sign_in("ann", "a guess") for _ in range(failed_sign_in_limits.PAIR_LIMIT + 1)]
        assert answers == [401] * failed_sign_in_limits.PAIR_LIMIT + [429]


@pytest.mark.slow
def test_an_address_that_is_used_up_stays_open_to_those_who_are_known_there(site):
    with Browser(site.url, HOME) as known, Browser(site.url, HOME) as sprayer, Browser(site.url, HOME) as new:
        assert known.sign_in("ann") == 303
        known.sign_out()
        answers = [
            sprayer.sign_in(f"name{number}", "a guess") for number in range(failed_sign_in_limits.ADDRESS_LIMIT + 1)
        ]
        assert answers == [401] * failed_sign_in_limits.ADDRESS_LIMIT + [429]
        assert new.sign_in("eve") == 429
        assert known.sign_in("ann") == 303
