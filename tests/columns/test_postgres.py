"""A ledger on a PostgreSQL server gives the same columns and the same leaderboards as its copy in a file."""

from fullbench.analysis.boards.leaderboard import leaderboard_tables
from fullbench.ledger.copies.copy_between_databases import LedgerCopy
from fullbench.ledger.ledger import Ledger
from tests.analysis.test_same_numbers_in_all_outputs import ledger_of


def test_a_server_and_a_file_give_the_same_columns(postgres, tmp_path):
    ledger_of(tmp_path / "x.ledger", 3)
    with Ledger(tmp_path / "x.ledger") as file, Ledger(postgres.database(), pictures=tmp_path) as server:
        list(LedgerCopy(file, server).run())
        assert server.columns().has_same_verdicts(file.columns())
        assert len(file.columns())
        assert leaderboard_tables(server.columns()) == leaderboard_tables(file.columns())
