"""Connections, roles, tables and rows of a PostgreSQL ledger that are lost while a run judges."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from fullbench import Ledger
from tests.cli.test_interrupt import calls
from tests.support.fake_chat_server import FakeServer
from tests.support.forked_command import ForkedCommand
from tests.support.postgres import Postgres
from tests.support.wait_until import LONG, until

CASES, IN_FLIGHT, ROLE = 60, 4, "judge_writer"
LOSE_CONNECTIONS = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'"
FORGET_TRIGGERS = "DROP TRIGGER verdicts_forbid ON fullbench_ledger.verdicts; "
LOSSES = {
    "connections": (LOSE_CONNECTIONS, ""),
    "role": (f"ALTER ROLE {ROLE} NOLOGIN; {LOSE_CONNECTIONS}", f"ALTER ROLE {ROLE} LOGIN"),
    "right to insert": (
        f"REVOKE INSERT ON ALL TABLES IN SCHEMA fullbench_ledger FROM {ROLE}",
        f"GRANT INSERT ON ALL TABLES IN SCHEMA fullbench_ledger TO {ROLE}",
    ),
    "table": (
        "ALTER TABLE fullbench_ledger.verdicts RENAME TO lost", "ALTER TABLE fullbench_ledger.lost RENAME TO verdicts"
    ),
    "schema": (
        "ALTER SCHEMA fullbench_ledger RENAME TO lost", "ALTER SCHEMA lost RENAME TO fullbench_ledger"
    ),
    "rows": (FORGET_TRIGGERS + "DELETE FROM fullbench_ledger.verdicts", None),
    "table with its rows": (
        "CREATE TABLE fullbench_ledger.fresh (LIKE fullbench_ledger.verdicts INCLUDING ALL); "
        "DROP TABLE fullbench_ledger.verdicts; ALTER TABLE fullbench_ledger.fresh RENAME TO verdicts; "
        f"GRANT ALL ON fullbench_ledger.verdicts TO {ROLE}", None,
    ),
}  # fmt: skip
"""What takes something away, and what gives it back; None if it is lost for good."""


@pytest.fixture
def url(postgres: Postgres):
    """An empty database in which a role of its own may create a ledger."""
    place = postgres.database()
    with psycopg.connect(place, autocommit=True) as server:
        server.execute(f"CREATE ROLE {ROLE} LOGIN")
        server.execute(f"GRANT {ROLE} TO fullbench")
        name = server.info.dbname
        server.execute(f'GRANT ALL ON DATABASE "{name}" TO {ROLE}')
        yield place
        server.execute(LOSE_CONNECTIONS)
        server.execute(f"DROP OWNED BY {ROLE} CASCADE")
        server.execute(f"DROP ROLE {ROLE}")


def start_run(folder: Path, ledger: str, server: FakeServer) -> ForkedCommand:
    items = [{"id": f"i{number}", "question": f"How many in #{number}?"} for number in range(CASES)]
    answers = [{"item": item["id"], "contestant": "a", "text": f"{item['id']} has two."} for item in items]
    for name, rows in (("items", items), ("answers", answers)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    files = ["--items", f"{folder}/items.jsonl", "--responses", f"{folder}/answers.jsonl"]
    spec = f"openai:judge@{server.url}?mode=direct&concurrency={IN_FLIGHT}"
    words = ["judge", *files, "--ballot", "score:1-5", "--ledger", ledger, "--judge", spec]
    return ForkedCommand(words, folder / "log.txt")


@pytest.mark.parametrize("loss", [pytest.param(loss, marks=[pytest.mark.slow] * (loss == "role")) for loss in LOSSES])
def test_a_run_survives_the_loss_or_stops_and_the_next_one_continues(loss, url, tmp_path):
    take, give_back = LOSSES[loss]
    own = url.replace("//fullbench@", f"//{ROLE}@")
    log = tmp_path / "log.txt"
    with FakeServer(says="[[4]]", answers=20) as server, psycopg.connect(url, autocommit=True) as other:
        run = start_run(tmp_path, own, server)

        def count() -> int:
            with Ledger(url, read_only=True) as ledger:
                return len(list(ledger.verdicts()))

        until(lambda: calls(server) >= 10 and count() >= 10)
        other.execute(take)
        server.more()
        code = run.wait(LONG)
        said = log.read_text(encoding="utf-8")
        assert "Traceback" not in said, said
        if loss == "connections":
            assert code == 0, said
        else:
            assert code == 2, said
            assert "fullbench: postgresql://" in said
        if give_back is None:
            assert "rows of this run were lost or changed" in said
            return
        if give_back:
            other.execute(give_back)
            paid, stored = calls(server), count()
            log.unlink()
            again = start_run(tmp_path, own, server)
            assert again.wait(LONG) == 0, log.read_text(encoding="utf-8")
            assert calls(server) - paid <= CASES - stored
        assert count() == CASES
        with Ledger(url, read_only=True) as ledger:
            assert ledger.verify() == []
