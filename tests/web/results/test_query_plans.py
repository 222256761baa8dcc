"""No result page scans all verdicts of a ledger with several studies.

SQLite's plans depend on the tables alone, so that a small catalogue tells what happens in one of a million.
"""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from scripts.bench import web_ledger
from scripts.bench.web_public import pages
from sqlalchemy import event, select

from fullbench.ledger.ledger import Ledger
from fullbench.web.database import engine_for, read_transaction, upgrade_schema
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue
from fullbench.web.results.lists import case_facets, case_list, verdict_list
from fullbench.web.results.lists import case_list as case_rows
from fullbench.web.results.lists.verdict_filters import Filter

LISTS = {
    what: {name: value for name, (value,) in parse_qs(path.partition("?")[2].removesuffix("#zh")).items()}
    for what, path in pages("", 50).items()
    if path.startswith("/verdicts")
}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "three.ledger"
    web_ledger.write(path, 6_000)
    with Ledger(path, read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def engine(tmp_path_factory, ledger):
    made = engine_for(f"sqlite:///{tmp_path_factory.mktemp('plans') / 'web.sqlite'}")
    upgrade_schema(made)
    fill_catalogue.fill_from_ledger(made, ledger)
    yield made
    made.dispose()


def plans(connection, work) -> list[str]:
    """How SQLite goes about each statement of some work."""
    statements = []

    def note(_connection, _cursor, statement, parameters, *_more) -> None:
        statements.append((statement, parameters))

    event.listen(connection.engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(connection.engine, "before_cursor_execute", note)
    return [
        "\n".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters))
        for statement, parameters in statements
        if statement.startswith("SELECT")
    ]


@pytest.mark.parametrize("what", LISTS)
def test_a_list_never_goes_through_all_verdicts(engine, what):
    asked = dict(LISTS[what])
    order, before, after = (asked.pop(name, None) for name in ("order", "before", "after"))
    wanted = Filter.from_query(asked)
    cursors = {name: int(value) for name, value in (("before", before), ("after", after)) if value is not None}
    with read_transaction(engine) as connection:

        def work() -> None:
            count = verdict_list.count_verdicts(connection, wanted)
            page = case_list.find_cases(connection, wanted, count, order=order or "newest", **cursors)
            case_rows.case_rows(connection, page.response_sets, page.verdicts_by_response_set)
            case_facets.build_facets(
                connection, wanted, lambda asked: verdict_list.count_verdicts(connection, asked), counting=not wanted.q
            )

        found = plans(connection, work)
    assert len(found) > 4
    for plan in found:
        assert "SCAN public_verdicts" not in plan, plan
        assert "SCAN public_shown" not in plan, plan
        if wanted.q and "public_search" in plan:  # words are looked up, and then the verdicts that have them
            assert "SEARCH public_verdicts USING INDEX public_verdicts_study" not in plan, plan
        if asked.keys() & {"judge", "item", "fault", "tag"} and asked.get("fault") != "none":
            assert "USING INDEX public_verdicts_study" not in plan, plan


@pytest.fixture(params=[verdict_list.MAX_COUNTED_HITS, 30])
def most(request, monkeypatch) -> int:
    monkeypatch.setattr(verdict_list, "MAX_COUNTED_HITS", request.param)
    return request.param


@pytest.mark.parametrize("judge", ["", "judge-0", f"judge-{web_ledger.JUDGES - 1}"])
@pytest.mark.parametrize("study", [web_ledger.PAIRED, web_ledger.SCORED, web_ledger.RANKED])
def test_a_search_finds_what_older_studies_and_judges_have(engine, ledger, study, judge, most):
    """However many newer verdicts of others have the words too."""
    wanted = Filter(q="更准确", study=study, judge=judge)
    expected = sum(not judge or verdict.judge == judge for verdict in ledger.record(study=study).verdicts)
    with read_transaction(engine) as connection:
        count = verdict_list.count_verdicts(connection, wanted)
        if count.exact:
            assert count.n == expected
        else:
            assert 0 < count.n <= min(most, expected)
        page = case_list.find_cases(connection, wanted, count)
        m, n = catalogue_tables.response_sets.c, catalogue_tables.names.c
        theirs = (
            select(n.name)
            .join(catalogue_tables.response_sets, m.study_id == n.id)
            .where(m.id.in_(page.response_sets))
            .distinct()
        )
        assert list(connection.execute(theirs).scalars()) == [study]
