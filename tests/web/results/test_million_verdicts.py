"""Goals for a site of a million verdicts, held by a smaller ledger and by CPU time: the machine may be busy.

`FULLBENCH_TEST_VERDICTS` takes another number of verdicts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter

import pytest
from scripts.bench import web_ledger
from scripts.bench.web_public import Client, cpu_seconds, pages, quiet
from sqlalchemy import func, select

from fullbench.ledger.ledger import Ledger
from fullbench.web.database import engine_for, read_transaction, upgrade_schema
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import get_state
from fullbench.web.results.lists import case_list, verdict_list
from fullbench.web.results.lists import case_list as case_rows
from fullbench.web.results.lists.verdict_filters import Filter
from tests.web.conftest import start_live

VERDICTS = int(os.environ.get("FULLBENCH_TEST_VERDICTS", "60000"))
MOST = 0.2
"""Seconds of CPU that a page may take of the server, its updater included, on a machine where others work too."""
FILL = """
import sys
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import engine_for
from fullbench.web.results.catalogue.fill_catalogue import fill_from_ledger
fill_from_ledger(engine_for(sys.argv[2]), Ledger(sys.argv[1], read_only=True), batch=1000)
"""


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A ledger, and the CPU time of writing it."""
    path = tmp_path_factory.mktemp("million") / "many.ledger"
    begun = time.process_time()
    web_ledger.write(path, VERDICTS)
    return path, time.process_time() - begun


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request, tmp_path_factory):
    if request.param == "postgresql":
        return request.getfixturevalue("postgres").database()
    return f"sqlite:///{tmp_path_factory.mktemp('million') / 'web.sqlite'}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_catalogue_whose_filler_was_killed_holds_the_ledger_once(ledger, database):
    path, written = ledger
    engine = engine_for(database)
    upgrade_schema(engine)
    for share in (0.2, 0.5):
        filler = subprocess.Popen([sys.executable, "-c", FILL, str(path), database])
        place = 0
        while place < share * VERDICTS:
            assert filler.poll() is None, "it is at work"
            time.sleep(0.05)
            with read_transaction(engine) as connection:
                place = int(get_state(connection, "place") or 0)
        filler.kill()
        filler.wait(timeout=60)
    with Ledger(path, read_only=True) as book:
        begun = time.process_time()
        added = fill_catalogue.fill_from_ledger(engine, book).verdicts
        spent = time.process_time() - begun
        expected = Counter(
            (study, verdict.judge, verdict.fault is None)
            for study in (web_ledger.PAIRED, web_ledger.SCORED, web_ledger.RANKED)
            for verdict in book.record(study=study, texts=False).verdicts
        )
    v, study, judge = catalogue_tables.verdicts.c, catalogue_tables.names.alias(), catalogue_tables.names.alias()
    asked = select(study.c.name, judge.c.name, v.fault, func.count()).join(study, study.c.id == v.study_id)
    asked = asked.join(judge, judge.c.id == v.judge_id).group_by(study.c.name, judge.c.name, v.fault)
    with read_transaction(engine) as connection:
        found: Counter[tuple[str, str, bool]] = Counter()
        for where, who, fault, n in connection.execute(asked):
            found[where, who, not fault] += n
        assert found == expected
        assert fill_catalogue.fill_progress(connection, Ledger(path, read_only=True)).percent == 100
        counted = sum(
            verdict_list.count_verdicts(connection, Filter(study=name)).n for name in {name for name, _, _ in expected}
        )
        assert counted == expected.total()
    assert 0 < added < expected.total()
    assert spent / added < 6 * written / expected.total(), "filling costs a few times what writing costs"
    engine.dispose()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_page_takes_little_of_the_server(ledger, database, tmp_path):
    path, _ = ledger
    live = start_live(tmp_path, "--ledger", str(path), database=database, forked=False)
    client = Client(live)
    try:
        while not ready(live):
            time.sleep(1)
        quiet(live.process.pid)
        with read_transaction(live.engine) as connection:
            newest = case_list.find_cases(
                connection, Filter(), verdict_list.count_verdicts(connection, Filter())
            ).response_sets[0]
            case = case_rows.case_rows(connection, [newest])[0].case
        every = {what: path for what, path in pages(case, newest // 2).items() if "panel" not in what}
        costs = {what: least(live.process.pid, client, path) for what, path in every.items()}
    finally:
        client.close()
        live.process.terminate()
        live.process.wait(timeout=120)
        live.engine.dispose()
    assert {what: cost for what, cost in costs.items() if cost > MOST} == {}


def ready(live) -> bool:
    with read_transaction(live.engine) as connection:
        return get_state(connection, "whole") is not None


def least(process: int, client: Client, path: str) -> float:
    """The least CPU time of some visits after the first."""
    client.get(path)
    found = []
    for _ in range(8):
        begun = cpu_seconds(process)
        client.get(path)
        found.append(cpu_seconds(process) - begun)
    return min(found)
