"""The schema: steps and tables agree on both databases, older ones keep what they hold, starts at once take turns, and
errors are one sentence."""

import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import DBAPIError

import fullbench.web.app  # noqa: F401  (brings all tables)
from fullbench.errors import InputError
from fullbench.web.accounts import tables
from fullbench.web.database import engine_for, metadata, reading, shown, upgrade, writing
from tests.journeys.commands import call
from tests.web.older import described, older


@pytest.fixture
def engine(request, tmp_path):
    made = engine_for(
        request.getfixturevalue("postgres").database()
        if request.param == "postgresql"
        else f"sqlite:///{tmp_path / '数据 %.sqlite'}"
    )
    yield made
    made.dispose()


both = pytest.mark.parametrize("engine", ["sqlite", "postgresql"], indirect=True)


@both
def test_a_new_database_has_the_tables_that_the_code_names(engine):
    starts = [threading.Thread(target=upgrade, args=(engine,)) for _ in range(4)]
    for start in starts:
        start.start()
    for start in starts:
        start.join()
    upgrade(engine)
    with reading(engine) as connection:
        context = MigrationContext.configure(connection, opts={"include_object": _is_ours})
        differences = compare_metadata(context, metadata)
        assert differences == []
        assert set(metadata.tables) < set(inspect(connection).get_table_names())


@both
def test_a_database_of_the_first_days_becomes_what_a_new_one_is_and_loses_nothing(engine, tmp_path, request):
    older(engine.url.render_as_string(hide_password=False).replace("+psycopg", ""))
    upgrade(engine)
    url = f"sqlite:///{tmp_path / 'new.sqlite'}"
    new = engine_for(request.getfixturevalue("postgres").database() if engine.dialect.name == "postgresql" else url)
    try:
        upgrade(new)
        assert described(engine) == described(new)
    finally:
        new.dispose()
    with reading(engine) as connection:
        context = MigrationContext.configure(connection, opts={"include_object": _is_ours})
        assert compare_metadata(context, metadata) == []
        rows = {name: connection.execute(select(table)).mappings().all() for name, table in metadata.tables.items()}
    counts = {name: len(found) for name, found in rows.items() if found}
    assert counts == {
        "site": 1, "users": 3, "sessions": 1, "invitations": 1, "tokens": 1, "audit": 2, "events": 1, "uploads": 1,
        "studies": 2, "tasks": 3, "slots": 4, "votes": 4, "members": 2, "drafts": 1, "conflicts": 1, "kept": 3,
        "guidelines": 1, "campaign_items": 3, "public_panels": 2, "public_requests": 1,
    }  # fmt: skip
    assert {user["name"] for user in rows["users"]} == {"Ann", "波布", "Cem"}
    assert len({user["rater"] for user in rows["users"]}) == 3
    assert {(kept["case_key"], kept["task"]) for kept in rows["kept"]} == {(f"case-{task}", task) for task in (1, 2, 3)}
    assert [row["answer"] for row in rows["votes"]] == [{"marks": [1.0, 0.0]}] * 4
    assert rows["guidelines"][0]["text"] == "Look at the 颜色 first."
    assert {(row["study"], row["item"]) for row in rows["campaign_items"]} == {
        ("s1", "cat"),
        ("s1", "狗"),
        ("s2", "cat"),
    }
    assert {(row["name"], row["judges"], row["ledger"]) for row in rows["public_panels"]} == {
        ("jury", '["a", "b"]', ""),
        ("陪审", '["a", "c"]', ""),
    }
    with pytest.raises(DBAPIError, match="append-only"), writing(engine) as connection:
        connection.execute(tables.audit.delete())


@both
def test_nobody_changes_the_audit_trail_of_a_new_database(engine):
    upgrade(engine)
    with writing(engine) as connection:
        connection.execute(tables.audit.insert().values(at=1, name="a", action="b", target="", detail="", address=""))
    with pytest.raises(DBAPIError, match="append-only"), writing(engine) as connection:
        connection.execute(tables.audit.update().values(name="c"))


@pytest.mark.parametrize("version", ["0010", "9999"])
def test_a_schema_that_this_version_does_not_know_is_one_sentence_and_nothing_is_changed(tmp_path, version):
    engine = engine_for(f"sqlite:///{tmp_path / 'other.sqlite'}")
    with writing(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{version}')")
    with pytest.raises(InputError, match=f"has the schema {version}, and this version knows 0021, 0022, "):
        upgrade(engine)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()


def test_serve_brings_a_data_folder_of_the_first_days_up_to_date_and_refuses_what_it_does_not_know(tmp_path):
    url = f"sqlite:///{tmp_path / '旧.sqlite'}"
    older(url)
    words = ("serve", "--check", "--data", tmp_path, "--database", url)
    code, done = call(*words)
    assert (code, "is up to date" in done.output) == (0, True)
    engine = engine_for(url)
    with writing(engine) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM votes").scalar_one() == 4
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    code, done = call(*words)
    assert code == 2
    assert "has the schema 9999, and this version knows 0021, " in done.output


def _is_ours(_thing, name, *_rest) -> bool:
    """The search index is the database's own kind of thing, made by SQL alone."""
    return not name.startswith("public_search")


@both
def test_a_write_that_fails_leaves_nothing_and_a_read_changes_nothing(engine):
    upgrade(engine)
    with pytest.raises(ZeroDivisionError), writing(engine) as connection:
        _fail(connection)
    with reading(engine) as connection:
        connection.execute(tables.site.insert().values(name="b", value="x"))
    with reading(engine) as connection:
        assert connection.execute(select(tables.site)).all() == []


def _fail(connection):
    connection.execute(tables.site.insert().values(name="a", value="x"))
    raise ZeroDivisionError


@both
def test_reading_first_and_writing_then_loses_nothing_among_threads(engine):
    """The way every counter and queue works: two who read the same number must not both write its successor."""
    upgrade(engine)
    with writing(engine) as connection:
        connection.execute(tables.site.insert().values(name="n", value="0"))
    lock = "" if engine.dialect.name == "sqlite" else " FOR UPDATE"

    def count():
        for _ in range(20):
            with writing(engine) as connection:
                number = connection.execute(text(f"SELECT value FROM site WHERE name = 'n'{lock}")).scalar_one()
                connection.execute(tables.site.update().values(value=str(int(number) + 1)))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reading(engine) as connection:
        assert connection.execute(select(tables.site.c.value)).scalar_one() == "80"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://x", "'mysql' is not known"),
        ("no url", "no database URL"),
        ("sqlite:////nowhere/at/all/x.sqlite", "cannot be opened"),
        ("postgresql://u:geheim@127.0.0.1:1/x", "cannot be opened"),
    ],
)
def test_a_wrong_url_is_one_sentence_without_the_password(url, says):
    with pytest.raises(InputError, match=says) as caught:
        upgrade(engine_for(url))
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_password_of_a_url_is_never_shown():
    assert "geheim" not in shown(engine_for("postgresql://u:geheim@localhost/x"))
