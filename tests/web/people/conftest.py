"""Studies on a real database: SQLite and PostgreSQL."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from fullbench import Item, Response
from fullbench.web.database import engine_for, metadata, upgrade, writing
from fullbench.web.people import studies
from fullbench.web.people.content import Content


@pytest.fixture(scope="session")
def shared(postgres) -> str:
    """One database on PostgreSQL for all tests of this folder: making and dropping one for each takes a minute."""
    return postgres.database()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> str:
    """The URL of a database without rows."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'web.sqlite'}"
    url = request.getfixturevalue("shared")
    made = engine_for(url)
    upgrade(made)
    with writing(made) as connection:
        connection.execute(text(f"TRUNCATE {', '.join(metadata.tables)} CASCADE"))
    made.dispose()
    return url


@pytest.fixture
def engine(database):
    """An engine on an empty database that has all tables."""
    made = engine_for(database)
    upgrade(made)
    yield made
    made.dispose()


def pair(name: str, first: str = "the first answer", second: str = "the second answer") -> Content:
    item = Item.ask(name, f"What is {name}?")
    return Content(item, (Response.say(name, "model-one", first), Response.say(name, "model-two", second)))


def study_of(engine, count: int = 3, *, gold: int = 0, qualify: int = 0, **plan) -> studies.Study:
    """A study of pairs whose known answers are the first response."""
    plan = {"name": "pairs", "kind": "pair", **plan}
    with writing(engine) as connection:
        made = studies.create(connection, studies.Plan(**plan))
        studies.add(connection, made, [pair(f"item-{number}") for number in range(count)])
        studies.add_known(connection, made, [(pair(f"gold-{n}"), {"best": 0}) for n in range(gold)], "gold")
        studies.add_known(connection, made, [(pair(f"test-{n}"), {"best": 0}) for n in range(qualify)], "qualify")
        return studies.study(connection, made.id)
