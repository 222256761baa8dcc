"""The schema: steps and tables agree on both databases, starts at once take turns, and errors are one sentence."""

import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select, text

import fullbench.web.app  # noqa: F401  (brings all tables)
from fullbench.errors import InputError
from fullbench.web.accounts import tables
from fullbench.web.database import engine_for, metadata, reading, shown, upgrade, writing


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
def test_the_steps_lead_to_the_tables_that_the_code_names(engine):
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
