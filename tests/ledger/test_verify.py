"""Every kind of damage is found and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullbench.core.picture import Picture
from fullbench.errors import LedgerError
from fullbench.ledger.ledger import Ledger
from tests.ledger.making import case, png, verdict
from tests.ledger.tampering import intruder


def filled(place, tmp_path):
    with Ledger(place, pictures=tmp_path / "kept") as ledger:
        for number in range(300):
            ledger.add(case(number), verdict(number))
        ledger.add(case(300, Picture.from_bytes(png(1))))
        assert ledger.verify() == []
    return place


@pytest.fixture
def path(place, tmp_path):
    return filled(place, tmp_path)


@pytest.fixture
def file(tmp_path):
    return Path(filled(str(tmp_path / "x.ledger"), tmp_path))


def read_all(ledger):
    ledger.record()
    ledger.digest()
    list(ledger.responses())


def tamper(path, *statements):
    with intruder(path) as connection:
        for statement in statements:
            connection.execute(statement)
    with Ledger(path, read_only=True) as ledger:
        return ledger.verify()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE verdicts SET marks = '[5.0]' WHERE rowid = 7", "checksum"),
        ("UPDATE texts SET body = replace(body, 'because 6', 'bribed')", "checksum"),
        ("DELETE FROM texts", "checksum"),
        ("UPDATE verdicts SET judge = 'k' WHERE rowid = 7", "checksum"),
        ("UPDATE verdicts SET marks = '[9.0]' WHERE rowid = 7", "does not allow"),
        ("UPDATE verdicts SET marks = 'junk' WHERE rowid = 7", "cannot be read"),
        ("UPDATE verdicts SET marks = '[1.0, 2.0]' WHERE rowid = 7", "cannot be read"),
        ("UPDATE items SET body = replace(body, '7', '8') WHERE rowid = 8", "its key promises"),
        ("UPDATE items SET body = 'junk' WHERE rowid = 8", "its key promises"),
        ("UPDATE cases SET responses = '[]' WHERE rowid = 8", "its key promises"),
        ("UPDATE responses SET body = '[\"other\"]' WHERE rowid = 8", "its key promises"),
        ("UPDATE cases SET criterion = 'other' WHERE rowid = 8", "its key promises"),
        ("UPDATE verdicts SET ballot = 'score:1-9' WHERE rowid = 8", "on another ballot"),
        ("DELETE FROM items WHERE rowid = 8", "not in the ledger"),
        ("DELETE FROM responses WHERE rowid = 8", "not in the ledger"),
        ("DELETE FROM pictures", "is not known"),
    ],
)
def test_tampering_is_found(path, statement, said):
    found = tamper(path, statement)
    assert any(said in problem for problem in found), found


def test_a_row_that_cannot_be_read_is_one_sentence(path):
    tamper(path, "UPDATE verdicts SET contestants = 'junk' WHERE rowid = 7")
    with Ledger(path, read_only=True) as ledger, pytest.raises(LedgerError, match="a row is damaged"):
        ledger.record()


def test_damaged_pages_are_found(file):
    data = bytearray(file.read_bytes())
    half = len(data) // 2 // 4096 * 4096  # the first pages say what tables there are
    data[half:] = b"\xa5" * (len(data) - half)
    file.write_bytes(data)
    with Ledger(file, read_only=True) as ledger:
        assert any("damaged" in problem for problem in ledger.verify())
        with pytest.raises(LedgerError, match="damaged"):
            read_all(ledger)


def test_a_ledger_cut_short_is_said_on_opening(file):
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(LedgerError, match="cut short"):
        Ledger(file)
    assert file.read_bytes() == data[: len(data) // 2]
