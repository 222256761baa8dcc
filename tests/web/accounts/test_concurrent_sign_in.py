"""Many at once, on both databases: limits hold, a link makes one account, a name is taken once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from fullbench.errors import InputError
from fullbench.web.accounts import failed_sign_in_limits, invitations, users
from fullbench.web.database import engine_for, read_transaction, upgrade_schema, write_transaction
from tests.web.conftest import PASSWORD, add_person

MANY = 12


@pytest.fixture
def engine(database):
    made = engine_for(database)
    upgrade_schema(made)
    yield made
    made.dispose()


def at_once(do) -> list:
    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(do, range(MANY)))


def test_guessing_in_parallel_does_not_slip_through(engine, monkeypatch):
    monkeypatch.setattr(failed_sign_in_limits, "PAIR_LIMIT", 4)

    def guess(_number):
        with write_transaction(engine) as connection:
            failed_sign_in_limits.record_attempt(connection, b"key", "ann", "192.0.2.1")
        with read_transaction(engine) as connection:
            return failed_sign_in_limits.is_attempt_allowed(connection, b"key", "ann", "192.0.2.1")

    assert sum(at_once(guess)) <= 4


def test_a_link_makes_one_account_whoever_is_first(engine, monkeypatch):
    monkeypatch.setattr(users.passwords, "hash_password", lambda password: "not the point here")
    with write_transaction(engine) as connection:
        _, secret = invitations.create_invitation(connection, "annotator", None)

    def join(number):
        try:
            with write_transaction(engine) as connection:
                return invitations.accept_invitation(connection, secret, f"name {number}", PASSWORD)
        except InputError:
            return None

    joined = [user for user in at_once(join) if user is not None]
    with read_transaction(engine) as connection:
        assert [user.id for user in users.list_users(connection)] == [user.id for user in joined]
    assert len(joined) == 1


def test_the_last_of_two_organisers_stays(engine):
    """Two organisers who close each other's account at the same moment must not both succeed."""
    with write_transaction(engine) as connection:
        pair = [add_person(connection, name, "organiser") for name in ("one", "two")]

    def close(number):
        try:
            with write_transaction(engine) as connection:
                users.change_user(connection, pair[number % 2].id, disabled=True)
        except InputError:
            return False
        return True

    at_once(close)
    with read_transaction(engine) as connection:
        assert users.count_organisers(connection) == 1
