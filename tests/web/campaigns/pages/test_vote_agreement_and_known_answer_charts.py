"""A study in pictures: what the charts draw, counted by hand, and as an organiser sees them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fullbench.stats.intervals.share_intervals import wilson_interval
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.pages.vote_agreement_and_known_answer_charts import DAY, HOUR, WEEK, build_dashboard
from fullbench.web.campaigns.votes import task_queue, vote_storage
from fullbench.web.campaigns.votes.task_queue import AnnotatorContext
from fullbench.web.database import write_transaction
from tests.support.browser_pages import PATIENCE
from tests.support.campaign_tasks import add_known_tasks, add_tasks
from tests.web.campaigns.conftest import pair
from tests.web.campaigns.votes.test_progress_annotator_agreement_and_joined_votes import votes
from tests.web.conftest import add_person
from tests.web.results.test_accessibility_and_speed import looked_at


def at(times, given):
    return [replace(vote, at=float(when)) for vote, when in zip(given, times, strict=True)]


def test_votes_are_counted_by_day_and_days_without_votes_are_there():
    given = at([0, DAY, DAY + 5, 3 * DAY], votes(ann="AABB"))
    steps = build_dashboard(given, [], {}).steps
    assert [(step.name, step.votes) for step in steps] == [
        ("1970-01-01", 1), ("1970-01-02", 2), ("1970-01-03", 0), ("1970-01-04", 1),
    ]  # fmt: skip
    assert build_dashboard([], [], {}).steps == ()


@pytest.mark.parametrize(("span", "count"), [(5 * HOUR, 6), (5 * DAY, 6), (40 * WEEK, 41), (200 * WEEK, 201)])
def test_the_steps_of_time_fit_the_span(span, count):
    assert len(build_dashboard(at([0, span], votes(ann="AB")), [], {}).steps) == count


def test_a_pair_of_votes_counts_when_its_second_vote_is_given():
    ann, bob, eve = (votes(**{who: said}) for who, said in (("ann", "AAB"), ("bob", "ABB"), ("eve", "AAA")))
    given = at([0, 0, 0], ann) + at([DAY] * 3, bob) + at([3 * DAY] * 3, eve)
    steps = build_dashboard(given, [], {}).steps
    assert steps[0].agreement is None
    assert (steps[1].agreement.value, steps[1].agreement.n) == (pytest.approx(2 / 3), 3)  # ann and bob: A=A, A≠B, B=B
    assert steps[2].agreement is None
    assert (steps[3].agreement.value, steps[3].agreement.n) == (pytest.approx(3 / 6), 6)  # eve with each of the two


def test_each_two_people_are_compared_on_the_tasks_of_both():
    square = build_dashboard(votes(ann="AAB ", bob="ABB.", eve="   A"), [], {"ann": "Ann", "bob": "Bob"}).square
    assert square.names == ("Ann", "Bob", "eve")
    assert square.rows[0][1] == square.rows[1][0] == wilson_interval(2, 3)
    assert [square.rows[place][place] for place in range(3)] == [None] * 3
    assert square.rows[0][2] is None
    assert build_dashboard(votes(ann="AAB"), [], {}).square is None


def test_whoever_misses_most_known_answers_stands_first():
    known = [replace(vote, right=vote.label == "0", role="gold") for vote in votes(ann="AAAA", bob="ABBB", eve="AABA")]
    assert build_dashboard([], known, {"bob": "Bob"}).known_answer_shares == (
        ("Bob", wilson_interval(1, 4)),
        ("eve", wilson_interval(3, 4)),
        ("ann", wilson_interval(4, 4)),
    )


@pytest.fixture
def voted(live):
    """A study in which two people voted on six pairs and one known one; on two of them they disagree."""
    with write_transaction(live.engine) as connection:
        study = campaigns.create_campaign(connection, campaigns.CampaignPlan("charts", "pair", votes=2, gold_every=1))
        add_tasks(connection, study, [pair(f"q{number}") for number in range(6)])
        add_known_tasks(connection, study, [(pair("gold"), {"best": 0})], "gold")
        study = campaigns.get_campaign(connection, study.id)
        for name, wrong in (("Ann", ()), ("Bob", ("q1", "q4"))):
            person = add_person(connection, name, "annotator")
            for turn in range(7):
                desk = AnnotatorContext(connection, study, person.id, 1_700_000_000.0 + turn * DAY)
                lease = task_queue.take_next_task(desk)
                best = lease.display_order.index(1 if lease.content.item.id in wrong else 0)
                vote_storage.store_vote(
                    desk,
                    lease.token,
                    key=f"{name} vote {turn}",
                    fields={"best": str(best)},
                    replaces=0,
                    seconds=5.0,
                    guideline="",
                )
    return live, study


def test_an_organiser_sees_the_charts_of_a_study(browser, voted, axe):
    live, study = voted
    cookie = live.cookie("Olga", "organiser")
    context = browser.new_context(base_url=live.url, viewport={"width": 1440, "height": 900})
    context.add_cookies([cookie])
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"/organise/{study.id}")
    bars = page.locator("#chart-votes rect title").all_text_contents()
    assert len(bars) == 7
    assert sum(int(bar.rpartition(": ")[2]) for bar in bars) == 14
    heights = page.locator("#chart-votes rect").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert max(heights) == pytest.approx(page.locator("#chart-votes svg").bounding_box()["height"], abs=1)
    assert page.locator("#chart-agreement .dot").count() >= 1
    square = page.locator("#chart-people tbody tr").first.locator("td").all_inner_texts()
    assert sorted(square) == ["0.67", "–"]
    assert page.locator("#chart-known tbody tr").count() == 2
    assert page.locator("a[href$='?show=split']:text-is('2')").count() == 1  # one vote against one, twice
    context.close()
    for width, scheme in ((390, "dark"), (1366, "light")):
        looked_at(browser, live, axe, [f"/organise/{study.id}"], width=width, scheme=scheme, cookie=cookie)
