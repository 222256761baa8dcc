"""A lead changes a draft, copies a campaign, and sees which campaign withholds results and what a copy would show."""

from __future__ import annotations

import html
import re
from collections import Counter

import pytest
from sqlalchemy import func, select

from fullbench.errors import InputError
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import conflicts, slots, tasks
from fullbench.web.campaigns.campaigns import CampaignPlan
from fullbench.web.campaigns.create import campaign_from_data
from fullbench.web.campaigns.create.campaign_from_data import Material
from fullbench.web.database import read_transaction, write_transaction
from tests.support.campaign_tasks import add_tasks, keep_apart
from tests.web.campaigns.conftest import pair
from tests.web.conftest import signed_in

COUNT = 7


def made(app, *, draft: bool, name: str = "first"):
    with write_transaction(app.state.engine) as connection:
        campaign = campaigns.create_campaign(
            connection, CampaignPlan(name, "pair", votes=2, most=3, options={"reason": True}), draft=draft
        )
        add_tasks(connection, campaign, [pair(f"item-{number}") for number in range(COUNT)])
        keep_apart(connection, campaign, [("item-0", "item-1")])
        return campaigns.get_campaign(connection, campaign.id)


def slots_by_task(app, campaign) -> Counter[int]:
    with read_transaction(app.state.engine) as connection:
        rows = connection.execute(select(slots.c.task).where(slots.c.study == campaign.id)).scalars()
        return Counter(rows)


def words(page) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.text)).split())


def test_a_draft_is_changed_until_it_is_opened(app):
    lead, draft = signed_in(app, "Olga", "organiser"), made(app, draft=True)
    assert "Change the draft" in words(lead.get(f"/organise/{draft.id}"))
    lead.submit(f"/organise/{draft.id}/draft", {"name": "renamed", "votes": "4", "most": "6", "pay": "12.5"})
    with read_transaction(app.state.engine) as connection:
        changed = campaigns.get_campaign(connection, draft.id)
        wanted = set(connection.execute(select(tasks.c.wanted).where(tasks.c.study == draft.id)).scalars())
    assert (changed.name, changed.votes, changed.most, changed.stage) == ("renamed", 4, 6, "draft")
    assert changed.rules.options["pay"] == 12.5
    assert set(slots_by_task(app, changed).values()) == wanted == {4}
    assert len(slots_by_task(app, changed)) == COUNT
    refused = lead.submit(f"/organise/{draft.id}/draft", {"votes": "9", "most": "3"})
    assert refused.status_code >= 400
    lead.submit(f"/organise/{draft.id}/state", {"to": "open"})
    assert "Change the draft" not in words(lead.get(f"/organise/{draft.id}"))
    assert lead.submit(f"/organise/{draft.id}/draft", {"votes": "1"}).status_code >= 400


def test_a_copy_has_the_same_tasks_and_what_must_stay_apart(app):
    lead, campaign = signed_in(app, "Olga", "organiser"), made(app, draft=False)
    answer = lead.submit(f"/organise/{campaign.id}/copy", {"name": "second"})
    copy_id = answer.headers["location"].rpartition("/")[2]
    with read_transaction(app.state.engine) as connection:
        copy = campaigns.get_campaign(connection, copy_id)
        contents = [
            list(
                connection.execute(
                    select(tasks.c.content).where(tasks.c.study == one).order_by(tasks.c.place)
                ).scalars()
            )
            for one in (campaign.id, copy_id)
        ]
        kept_apart = connection.execute(
            select(func.count())
            .select_from(conflicts)
            .join(tasks, tasks.c.id == conflicts.c.task)
            .where(tasks.c.study == copy_id)
        ).scalar_one()
    assert (copy.stage, copy.votes, copy.most, copy.rules.options["reason"]) == ("draft", 2, 3, True)
    assert contents[0] == contents[1]
    assert len(contents[0]) == COUNT
    assert kept_apart == 2, "each task knows the other"
    assert sorted(slots_by_task(app, copy).values()) == [2] * COUNT
    assert lead.submit(f"/organise/{campaign.id}/copy", {"name": "second"}).status_code >= 400, "the name is taken"


def test_rating_is_for_pictures(app, tmp_path):
    items, responses = tmp_path / "items.jsonl", tmp_path / "responses.jsonl"
    items.write_text('{"id": "q", "question": "A cat on a mat"}\n')
    responses.write_text(
        '{"item": "q", "contestant": "x", "text": "x"}\n{"item": "q", "contestant": "y", "text": "y"}\n'
    )
    material = Material(items=items, responses=(responses,))
    campaign = campaigns.Campaign.from_plan(CampaignPlan("s", "rate"))
    with pytest.raises(InputError, match="Choose score or pair for texts"):
        campaign_from_data.plan_tasks(campaign, material)
    of_scores = campaigns.Campaign.from_plan(CampaignPlan("s", "score"))
    assert len(campaign_from_data.plan_tasks(of_scores, material).contents) == 2
