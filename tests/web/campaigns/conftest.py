"""Campaigns on a real database: SQLite and PostgreSQL."""

from __future__ import annotations

import pytest

from fullbench import Item, Response
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import engine_for, upgrade_schema, write_transaction
from tests.support.campaign_tasks import add_known_tasks, add_tasks


@pytest.fixture
def engine(database):
    """An engine on an empty database that has all tables."""
    made = engine_for(database)
    upgrade_schema(made)
    yield made
    made.dispose()


def pair(name: str, first: str = "the first answer", second: str = "the second answer") -> Content:
    item = Item.ask(name, f"What is {name}?")
    return Content(item, (Response.say(name, "model-one", first), Response.say(name, "model-two", second)))


def study_of(engine, count: int = 3, *, gold: int = 0, qualify: int = 0, **plan) -> campaigns.Campaign:
    """A study of pairs whose known answers are the first response."""
    plan = {"name": "pairs", "kind": "pair", **plan}
    with write_transaction(engine) as connection:
        made = campaigns.create_campaign(connection, campaigns.CampaignPlan(**plan))
        add_tasks(connection, made, [pair(f"item-{number}") for number in range(count)])
        add_known_tasks(connection, made, [(pair(f"gold-{n}"), {"best": 0}) for n in range(gold)], "gold")
        add_known_tasks(connection, made, [(pair(f"test-{n}"), {"best": 0}) for n in range(qualify)], "qualify")
        return campaigns.get_campaign(connection, made.id)


@pytest.fixture
def desk(tmp_path, browser):
    from tests.support.annotation_pages import Desk

    made = Desk(tmp_path, browser)
    yield made
    made.close()
