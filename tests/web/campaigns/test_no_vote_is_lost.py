"""Votes that wait in a browser reach the server, whatever happens in between: each once, and none is lost."""

from __future__ import annotations

import pytest

from fullbench.web.campaigns import campaigns
from fullbench.web.database import write_transaction
from tests.support.annotation_pages import leases, moved_on
from tests.support.wait_until import until
from tests.web.conftest import start_live


def vote(page, key: str = "1") -> None:
    lease = leases(page)
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_function("lease => document.querySelector('.task')?.dataset.lease !== lease", arg=lease)


def waiting(page) -> int:
    return page.evaluate("() => Object.keys(localStorage).filter(k => k.includes('.vote.')).length")


@pytest.mark.parametrize("where", [pytest.param("desk", marks=pytest.mark.slow), "results"])
def test_a_session_that_ends_while_votes_wait(desk, where):
    """Signed out at night, three votes at the desk, signed in again in another tab: all three are there."""
    path = desk.study()
    page = desk.open(path)
    desk.loaded_ahead(page)
    desk.sign_out()
    for _ in range(3):
        vote(page)
    page.wait_for_function("() => document.getElementById('status').textContent.includes('session ended')")
    assert waiting(page) == 3
    assert desk.cast() == []
    if where == "results":
        page.close()
    desk.sign_in()
    if where == "results":
        # Any page of theirs sends what waits, not the desk alone.
        other = desk.context.new_page()
        other.goto("/account")
        other.wait_for_selector("#unsent:not([hidden])")
        assert "sent" in other.inner_text("#unsent")
    until(lambda: len(desk.cast()) == 3)
    assert len({row.task for row in desk.cast()}) == 3


@pytest.mark.slow
def test_two_tabs_on_one_task_make_a_revision(desk):
    path = desk.study(count=1)
    one, two = desk.open(path), desk.open(path)
    assert leases(one) == leases(two)
    vote(one, "1")
    until(lambda: len(desk.cast()) == 1)
    vote(two, "2")
    first, second = until(lambda: rows if len(rows := desk.cast()) == 2 else None)
    assert (first.revision, second.revision, first.slot) == (1, 2, second.slot)
    assert first.answer != second.answer


@pytest.mark.slow
def test_a_server_that_restarts_and_a_lease_that_ran_out(desk):
    """The server is killed under votes; it comes back when the leases are over and others hold the tasks."""
    path = desk.study(count=3, lease_seconds=10)
    page = desk.open(path)
    desk.loaded_ahead(page)
    desk.live.process.kill()
    desk.live.process.wait(timeout=60)
    for _ in range(3):
        vote(page)
    assert waiting(page) == 3
    with write_transaction(desk.live.engine) as connection:
        from fullbench.web.campaigns.campaign_tables import slots

        connection.execute(slots.update().values(person="somebody else", lease=slots.c.task, revision=1))
    port = desk.live.url.rpartition(":")[2]
    desk.live.engine.dispose()
    again = start_live(desk.folder, "--ledger", str(desk.folder / "site.ledger"), port=int(port))
    desk.live = again
    until(lambda: len(desk.cast()) == 3)
    assert len({row.task for row in desk.cast()}) == 3
    page.wait_for_function("() => !Object.keys(localStorage).some(k => k.includes('.vote.'))")


@pytest.mark.slow
def test_what_is_refused_stays_with_its_reason(desk):
    path = desk.study(count=2)
    page = desk.open(path)
    desk.loaded_ahead(page)
    with write_transaction(desk.live.engine) as connection:
        campaigns.set_state(connection, path.rpartition("/")[2], "closed")
    vote(page)
    page.wait_for_function("() => document.getElementById('unsent').innerText.includes('closed')")
    assert desk.cast() == []
    with write_transaction(desk.live.engine) as connection:
        campaigns.set_state(connection, path.rpartition("/")[2], "open")
    page.goto("/account")
    page.click("[data-again]")
    until(lambda: len(desk.cast()) == 1)


@pytest.mark.slow
def test_the_back_button_changes_a_vote(desk):
    path = desk.study(count=3)
    page = desk.open(path)
    first = leases(page)
    vote(page)
    until(lambda: len(desk.cast()) == 1)
    page.keyboard.press("u")
    page.wait_for_url(f"**/votes/{first}")
    page.wait_for_selector("input[name=best]:checked", state="attached")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{path}")
    page.wait_for_selector(".task")
    page.go_back()
    page.wait_for_selector(".task")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    revisions = until(lambda: rows if len(rows := desk.cast()) == 3 else None)
    assert [row.revision for row in revisions] == [1, 2, 3]
    assert len({row.slot for row in revisions}) == 1


KEYS = {
    "pair": ["ArrowRight"], "score": ["4"], "rank": ["2", "1"], "agree": ["y", "5", "j"], "rate": ["7", "0"],
    "verify": ["y"], "rewrite": ["y"], "write": [],
}  # fmt: skip


def by_mouse(page, kind: str) -> None:
    if kind == "rank":
        page.locator("ol.rank li").last.locator("[data-move=up]").click()
    for name in page.evaluate(
        "() => [...new Set([...document.querySelectorAll('.task input[type=radio]:enabled')].map((one) => one.name))]"
    ):
        page.locator(f".task input[name={name}]:not(:disabled)").first.click()
    if kind != "pair":  # there the click itself is the vote
        page.click("button[type=submit]:not([name])")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["keys", "mouse"])
@pytest.mark.parametrize("kind", list(KEYS))
def test_fifty_tasks_of_every_kind_in_a_row(desk, kind, way):
    fifty(desk, kind, way, 50)


def test_rankings_in_a_row(desk):
    fifty(desk, "rank", "keys", 4)


def fifty(desk, kind: str, way: str, count: int, before: int = 0) -> None:
    path = desk.study(kind, count)
    page = desk.open(path)
    for _ in range(count):
        lease = leases(page)
        for area in page.locator(".task textarea[required]").all():
            area.fill("words of mine 我写的")
        if way == "mouse":
            by_mouse(page, kind)
        else:
            page.locator(".asked").focus()
            for key in KEYS[kind]:
                page.keyboard.press(key)
            page.keyboard.press("Enter")
        moved_on(page, lease)
    page.wait_for_selector("#nothing")
    assert len(desk.cast()) == before + count


@pytest.mark.slow
def test_an_untouched_order_is_sent_by_a_second_enter(desk):
    path = desk.study("rank", 2)
    page = desk.open(path)
    lease = leases(page)
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('again')")
    assert (leases(page), page.inner_text("#done")) == (lease, "0")
    page.keyboard.press("Enter")
    moved_on(page, lease)
    until(lambda: len(desk.cast()) == 1)
