"""Signed digests: a chain that was rewritten as a whole, cut off or robbed of a writer does not verify."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.cli.all_commands import app
from fullbench.errors import InputError
from fullbench.ledger import row_conversion, schema
from fullbench.ledger.database_from_path import is_url
from fullbench.ledger.integrity.row_chain import link_of
from tests.ledger.making import case, verdict
from tests.ledger.tampering import intruder


def run(*args: object):
    return CliRunner().invoke(app, list(map(str, args)), catch_exceptions=False)


@pytest.fixture
def signed(place, tmp_path) -> str:
    """Two writers, then a signature."""
    for number in range(2):
        with Ledger(place) as ledger:
            ledger.add(case(number), verdict(number, mark=2.0))
    done = run("ledger", "sign", place, "--key", tmp_path / "mine.key", "--new", "--to", tmp_path / "sent.jsonl")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "mine.key").stat().st_mode & 0o077 == 0
    return place


def checked(place: str, folder: Path, *more: object):
    return run(
        "ledger", "verify", place, "--key", folder / "mine.key.pub", "--signatures", folder / "sent.jsonl", *more
    )


def forge(place: str) -> None:
    """All marks become 5, with checksums and a chain as sound as before: what anybody who can write can do."""
    mark = "%s" if is_url(place) else "?"
    with Ledger(place, read_only=True) as ledger:
        sums = {sum_: v for v in ledger.verdicts() for sum_ in ledger.sums(v.case)}
    with intruder(place) as connection:
        everything = []
        for table in schema.TABLES:
            sql = f"SELECT rowid, {', '.join(schema.table_columns(table))}, writer, number FROM {table}"
            for rowid, *row, writer, number in connection.execute(sql).fetchall():
                everything.append((writer, number, table, rowid, row))
        links: dict[str, str] = {}
        names = schema.table_columns("verdicts")
        for writer, number, table, rowid, row in sorted(everything, key=lambda entry: entry[:2]):
            if table == "verdicts":
                forged = replace(sums[row[names.index("sum")]], marks=(5.0,))
                row[names.index("marks")], row[names.index("sum")] = "[5.0]", row_conversion.verdict_checksum(forged)
            links[writer] = link_of(links.get(writer, ""), table, writer, number, row)
            changed = ", ".join(f"{name} = {mark}" for name in (*schema.table_columns(table), "link"))
            connection.execute(f"UPDATE {table} SET {changed} WHERE rowid = {mark}", (*row, links[writer], rowid))


def test_what_was_signed_verifies_however_much_is_added(signed, tmp_path):
    with Ledger(signed) as ledger:
        ledger.add(case(7), verdict(7))
    done = checked(signed, tmp_path)
    assert done.exit_code == 0, done.output
    assert "nothing was rewritten since a digest was signed" in done.stdout


def test_a_chain_that_was_rewritten_as_a_whole_is_sound_and_does_not_verify(signed, tmp_path):
    forge(signed)
    with Ledger(signed, read_only=True) as ledger:
        assert {v.marks for v in ledger.verdicts()} == {(5.0,)}
    beside = Path(f"{signed}.digests")
    beside.unlink(missing_ok=True)
    assert run("ledger", "verify", signed).exit_code == 0, "without a signature nobody can tell"
    done = checked(signed, tmp_path)
    assert done.exit_code == 1
    assert "something was rewritten, put in or taken out since" in done.stdout


def test_a_lost_tail_and_a_whole_missing_writer_show(signed, tmp_path):
    with Ledger(signed, read_only=True) as ledger, ledger.reader() as reader:
        writers = [writer for (writer,) in reader.execute("SELECT writer FROM commits ORDER BY rowid")]
    for writer in (writers[-1], writers[1]):  # the signature's own writer, so that it is gone too; then another
        with intruder(signed, disarmed=writer == writers[-1]) as connection:
            for table in schema.TABLES:
                connection.execute(f"DELETE FROM {table} WHERE writer = '{writer}'")
        Path(f"{signed}.digests").unlink(missing_ok=True)
        if writer == writers[-1]:
            assert checked(signed, tmp_path).exit_code == 0, "all that was signed is there"
    done = checked(signed, tmp_path)
    assert done.exit_code == 1
    assert "the end of the ledger, or a whole writer, is missing" in done.stdout


def test_another_key_a_made_up_signature_and_another_ledger_prove_nothing(signed, tmp_path, fresh):
    other = fresh()
    with Ledger(other) as ledger:
        ledger.add(case(1), verdict(1))
    run("ledger", "sign", other, "--key", tmp_path / "theirs.key", "--new", "--to", tmp_path / "theirs.jsonl")
    done = run("ledger", "verify", signed, "--key", tmp_path / "theirs.key.pub")
    assert (done.exit_code, "nothing is proven" in done.stdout) == (1, True)
    told = json.loads((tmp_path / "sent.jsonl").read_text())
    (tmp_path / "sent.jsonl").write_text(json.dumps({**told, "digest": "1-00"}) + "\n")
    assert "it was made up" in checked(signed, tmp_path).stdout
    (tmp_path / "sent.jsonl").write_text(json.dumps(told) + "\n")
    moved = run("ledger", "verify", other, "--key", tmp_path / "mine.key.pub", "--signatures", tmp_path / "sent.jsonl")
    assert "was signed for another ledger" in moved.stdout


@pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)
def test_keys_of_openssh_are_taken_and_others_refused_in_a_sentence(place, tmp_path):
    with Ledger(place) as ledger:
        ledger.add(case(1), verdict(1))
    made = subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "ssh")], capture_output=True
    )
    if made.returncode:
        pytest.skip("no ssh-keygen here")
    assert run("ledger", "sign", place, "--key", tmp_path / "ssh").exit_code == 0
    done = run("ledger", "verify", place, "--key", tmp_path / "ssh.pub")
    assert done.exit_code == 0, done.output
    (tmp_path / "text").write_text("hello")
    for half, command in (("private", "sign"), ("public", "verify")):
        with pytest.raises(InputError, match=f"not a {half} Ed25519 key"):
            run("ledger", command, place, "--key", tmp_path / "text")
    with pytest.raises(InputError, match="no key can be written here"):
        run("ledger", "sign", place, "--key", tmp_path / "ssh", "--new")


@pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)
def test_what_is_not_sound_is_not_signed(place, tmp_path):
    with Ledger(place) as ledger:
        ledger.add(case(1), verdict(1))
    with intruder(place) as connection:
        connection.execute("UPDATE verdicts SET marks = '[5.0]'")
    with pytest.raises(InputError, match="has problems and was not signed"):
        run("ledger", "sign", place, "--key", tmp_path / "mine.key", "--new")
