"""Campaigns with tasks of each kind, votes by their forms, and one annotator's browser."""

from __future__ import annotations

import json
import re
from io import BytesIO

from sqlalchemy import delete, select

from fullbench import Item, Picture, Response
from fullbench.ledger.ledger import Ledger
from fullbench.web.accounts import sessions
from fullbench.web.accounts.account_and_shared_site_tables import sessions as sessions_table
from fullbench.web.accounts.account_and_shared_site_tables import users as users_table
from fullbench.web.accounts.users import COLUMNS, user_from_row
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import votes
from fullbench.web.campaigns.tasks.task_content import Content, parts_json
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.route_access_connection_and_csrf_checks import SESSION
from tests.support.browser_pages import PATIENCE
from tests.support.campaign_tasks import add_tasks
from tests.support.data_builders import png
from tests.web.campaigns.conftest import pair
from tests.web.conftest import start_live

PICTURE = Picture.from_bytes(png())


def lines(rows):
    return BytesIO("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode())


def say(item, name, *parts):
    return Response(item.id, name, parts)


def content(kind):
    item = Item.ask("item-number", "What is this? 这是什么？", PICTURE)
    one, two = (
        say(item, "secret-contestant", "a cat"),
        say(item, "another-contestant", "a 狗 <script>alert(1)</script>"),
    )
    if kind in {"pair", "rank"}:
        return Content(item, (one, two))
    if kind == "rate":
        return Content(item, (say(item, "secret-contestant", PICTURE), say(item, "another-contestant", PICTURE)))
    if kind == "write":
        return Content(item, about={"family": "counting"})
    if kind == "agree":
        about = {"judged": [parts_json(one.parts), parts_json(two.parts)], "verdict": "A"}
        return Content(item, (say(item, "hidden-judge", "A is better: it is a cat"),), about)
    return Content(item, (one,))


def study(app, kind="pair", contents=None, **plan):
    with write_transaction(app.state.engine) as connection:
        made = campaigns.create_campaign(
            connection, campaigns.CampaignPlan(**{"name": f"a {kind} study", "kind": kind, **plan})
        )
        add_tasks(connection, made, contents or [content(kind)])
        return made


def field(page, name):
    return re.search(rf'name="{name}" value="([^"]*)"', page.text)[1]


def vote(visitor, made, answer, **rest):
    page = visitor.get(f"/work/{made.id}")
    sent = {name: field(page, name) for name in ("lease", "key", "replaces", "started")}
    return visitor.submit(f"/work/{made.id}/vote", {**sent, **answer, **rest})


def moved_on(page, lease):
    """Wait until the page has another task than that one in view, or says that there is none left.

    Between two pages there is no task either; keys pressed then would go nowhere.
    """
    page.wait_for_function(
        """lease => {
            const task = document.querySelector(".task");
            const other = task ? task.dataset.lease !== lease : document.getElementById("nothing") !== null;
            return document.readyState === "complete" && other;
        }""",
        arg=lease,
    )


def open_step(page, number):
    """Show one of the four steps of a new campaign."""
    page.locator(".steps a").nth(number - 1).click()
    page.wait_for_selector(f"#step-{number}.now")


def leases(page):
    return page.locator(".task").get_attribute("data-lease")


class Desk:
    """One person's browser on a real server that can be restarted."""

    def __init__(self, folder, browser) -> None:
        self.folder, self.browser = folder, browser
        with Ledger(folder / "site.ledger"):
            pass
        self.live = start_live(folder, "--ledger", str(folder / "site.ledger"))
        self.context = browser.new_context(base_url=self.live.url)
        self.context.set_default_timeout(PATIENCE)
        self.context.add_cookies([self.live.cookie("Kim", "annotator")])

    def study(self, kind: str = "pair", count: int = 12, **plan) -> str:
        with write_transaction(self.live.engine) as connection:
            made = campaigns.create_campaign(connection, campaigns.CampaignPlan(kind, kind, **plan))
            contents = [pair(f"item-{n}") for n in range(count)] if kind == "pair" else [content(kind)] * count
            add_tasks(connection, made, contents)
        return f"/work/{made.id}"

    def user(self):
        with read_transaction(self.live.engine) as connection:
            return user_from_row(connection.execute(select(*COLUMNS).where(users_table.c.name == "Kim")).one())

    def sign_out(self) -> None:
        with write_transaction(self.live.engine) as connection:
            connection.execute(delete(sessions_table))

    def sign_in(self) -> None:
        user = self.user()
        with write_transaction(self.live.engine) as connection:
            secret = sessions.start_session(connection, user)
        self.context.add_cookies([{"name": SESSION, "value": secret, "url": self.live.url}])

    def cast(self) -> list:
        with read_transaction(self.live.engine) as connection:
            return connection.execute(select(votes).order_by(votes.c.id)).all()

    def open(self, path: str):
        page = self.context.new_page()
        page.goto(path)
        page.wait_for_selector(".task")
        return page

    def loaded_ahead(self, page) -> None:
        """Until the two next tasks are at hand."""
        page.wait_for_function(
            "() => performance.getEntriesByType('resource').filter(e => e.name.includes('/next')).length >= 2"
        )
        page.wait_for_load_state("networkidle")

    def close(self) -> None:
        self.context.close()
        self.live.process.terminate()
        self.live.process.wait(timeout=120)
        self.live.engine.dispose()
