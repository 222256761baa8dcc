"""The schema: steps and tables agree on both databases, a later step keeps the rows, starts at once take turns, and
errors are one sentence."""

import shutil
import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import DBAPIError

import fullbench.web.app  # noqa: F401  (brings all tables)
from fullbench.errors import InputError
from fullbench.web import database
from fullbench.web.accounts import account_and_shared_site_tables
from fullbench.web.database import (
    engine_for,
    metadata,
    read_transaction,
    upgrade_schema,
    url_without_password,
    write_transaction,
)
from tests.support.commands import call

LATER_STEP = """
from alembic import op
import sqlalchemy as sa

revision, down_revision = "0091", "0090"


def upgrade():
    op.add_column("site", sa.Column("note", sa.Text))
    op.execute("UPDATE site SET note = 'of ' || name")
    {more}
"""


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


def start_at_once(engine):
    """Upgrade from four threads at once."""
    starts = [threading.Thread(target=upgrade_schema, args=(engine,)) for _ in range(4)]
    for start in starts:
        start.start()
    for start in starts:
        start.join()


def differences_from_the_code(engine):
    with read_transaction(engine) as connection:
        context = MigrationContext.configure(connection, opts={"include_object": _is_ours})
        return compare_metadata(context, metadata)


def version_of(engine):
    with read_transaction(engine) as connection:
        return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()


@both
def test_a_new_database_has_the_tables_that_the_code_names(engine):
    start_at_once(engine)
    upgrade_schema(engine)
    assert differences_from_the_code(engine) == []
    assert set(metadata.tables) < set(inspect(engine).get_table_names())
    assert version_of(engine) == "0090"


@pytest.fixture
def add_step(tmp_path, monkeypatch):
    """Return a function that adds a made-up step after the first one."""

    def add(more=""):
        steps = tmp_path / "steps"
        shutil.copytree(database.MIGRATIONS, steps)
        (steps / "versions" / "v0091_later.py").write_text(LATER_STEP.format(more=more), encoding="utf-8")
        monkeypatch.setattr(database, "MIGRATIONS", steps)
        database._schema_revisions.cache_clear()

    yield add
    monkeypatch.undo()
    database._schema_revisions.cache_clear()


@both
def test_a_later_step_runs_once_keeps_the_rows_and_adds_lacking_tables(engine, add_step):
    upgrade_schema(engine)
    with write_transaction(engine) as connection:
        connection.execute(account_and_shared_site_tables.site.insert().values(name="颜色", value="x"))
        connection.exec_driver_sql("DROP TABLE ways_back")
    add_step()
    start_at_once(engine)
    assert version_of(engine) == "0091"
    with read_transaction(engine) as connection:
        assert connection.exec_driver_sql("SELECT name, value, note FROM site").all() == [("颜色", "x", "of 颜色")]
    assert inspect(engine).has_table("ways_back")
    differences = differences_from_the_code(engine)
    assert [(kind, table, column.name) for kind, _, table, column in differences] == [("remove_column", "site", "note")]


@both
def test_a_new_database_skips_the_later_steps(engine, add_step):
    add_step()
    upgrade_schema(engine)
    assert version_of(engine) == "0091"
    assert differences_from_the_code(engine) == []


@both
def test_a_step_that_fails_changes_nothing(engine, add_step):
    upgrade_schema(engine)
    add_step('op.execute("INSERT INTO nowhere VALUES (1)")')
    with pytest.raises(InputError, match=r"nowhere.*; check the URL$"):
        upgrade_schema(engine)
    assert version_of(engine) == "0090"
    assert differences_from_the_code(engine) == []


@both
def test_nobody_changes_the_audit_trail_of_a_new_database(engine):
    upgrade_schema(engine)
    with write_transaction(engine) as connection:
        connection.execute(
            account_and_shared_site_tables.audit.insert().values(
                at=1, name="a", action="b", target="", detail="", address=""
            )
        )
    with pytest.raises(DBAPIError, match="append-only"), write_transaction(engine) as connection:
        connection.execute(account_and_shared_site_tables.audit.update().values(name="c"))


OLDER = "Export its votes with the build that wrote it, then start with an empty database."
NEWER = "Open it with the version of fullbench that wrote it."


def set_version(engine, version):
    with write_transaction(engine) as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")


@both
@pytest.mark.parametrize(("version", "action"), [("0021", OLDER), ("0080", OLDER), ("9999", NEWER)])
def test_a_schema_of_another_version_is_refused_and_nothing_is_changed(engine, version, action):
    upgrade_schema(engine)
    with write_transaction(engine) as connection:
        connection.exec_driver_sql("DROP TABLE ways_back")
    set_version(engine, version)
    with pytest.raises(InputError) as refusal:
        upgrade_schema(engine)
    assert str(refusal.value) == (
        f"the database {url_without_password(engine)} has the schema {version}; this version reads 0090. {action}"
    )
    assert version_of(engine) == version
    assert not inspect(engine).has_table("ways_back")


@both
def test_tables_of_somebody_else_are_not_taken_for_ours(engine):
    with write_transaction(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE users (id integer PRIMARY KEY, shoe_size integer)")
    with pytest.raises(InputError, match=r"users.* already exists\); check the URL$"):
        upgrade_schema(engine)
    assert inspect(engine).get_table_names() == ["users"]


@pytest.mark.parametrize("command", [("serve", "--check"), ("people", "list")])
def test_commands_refuse_an_older_database_and_leave_the_file_as_it_is(tmp_path, command):
    file = tmp_path / "site.sqlite"
    words = (*command, "--data", tmp_path, "--database", f"sqlite:///{file}")
    assert call(*words)[0] == 0
    engine = engine_for(f"sqlite:///{file}")
    set_version(engine, "0080")
    engine.dispose()
    before = file.read_bytes()
    code, done = call(*words)
    assert code == 2
    assert f"site.sqlite has the schema 0080; this version reads 0090. {OLDER}" in " ".join(done.output.split())
    assert file.read_bytes() == before


def _is_ours(_thing, name, *_rest) -> bool:
    """The search index is the database's own kind of thing, made by SQL alone."""
    return not name.startswith("public_search")


@both
def test_a_write_that_fails_leaves_nothing_and_a_read_changes_nothing(engine):
    upgrade_schema(engine)
    with pytest.raises(ZeroDivisionError), write_transaction(engine) as connection:
        _fail(connection)
    with read_transaction(engine) as connection:
        connection.execute(account_and_shared_site_tables.site.insert().values(name="b", value="x"))
    with read_transaction(engine) as connection:
        assert connection.execute(select(account_and_shared_site_tables.site)).all() == []


def _fail(connection):
    connection.execute(account_and_shared_site_tables.site.insert().values(name="a", value="x"))
    raise ZeroDivisionError


@both
def test_reading_first_and_writing_then_loses_nothing_among_threads(engine):
    """The way every counter and queue works: two who read the same number must not both write its successor."""
    upgrade_schema(engine)
    with write_transaction(engine) as connection:
        connection.execute(account_and_shared_site_tables.site.insert().values(name="n", value="0"))
    lock = "" if engine.dialect.name == "sqlite" else " FOR UPDATE"

    def count():
        for _ in range(20):
            with write_transaction(engine) as connection:
                number = connection.execute(text(f"SELECT value FROM site WHERE name = 'n'{lock}")).scalar_one()
                connection.execute(account_and_shared_site_tables.site.update().values(value=str(int(number) + 1)))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with read_transaction(engine) as connection:
        assert connection.execute(select(account_and_shared_site_tables.site.c.value)).scalar_one() == "80"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://x", "unknown database 'mysql'"),
        ("no url", "not a database URL"),
        ("sqlite:////nowhere/at/all/x.sqlite", "cannot be opened"),
        ("postgresql://u:geheim@127.0.0.1:1/x", "cannot be opened"),
    ],
)
def test_a_wrong_url_is_one_sentence_without_the_password(url, says):
    with pytest.raises(InputError, match=says) as caught:
        upgrade_schema(engine_for(url))
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_password_of_a_url_is_never_shown():
    assert "geheim" not in url_without_password(engine_for("postgresql://u:geheim@localhost/x"))
