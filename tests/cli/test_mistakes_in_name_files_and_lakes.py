"""Files of names and locations of lakes that do not fit: one sentence, exit code 2, nothing half-written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_mistakes_in_panels_rubrics_and_exchange import folder
from tests.support.commands import call

__all__ = ["folder"]

NAMES: dict[str, tuple[bytes, str]] = {
    "invalid.toml": (b"a = = b", "invalid.toml:1: not valid TOML"),
    "rows.json": (b'{"a": {"name": "X"}}', "rows.json:1: not valid TOML"),
    "twice.toml": (
        b'[a]\nname = "X"\n[b]\nname = "X"',
        "'a' and 'b' would both be shown as 'X'; give each its own name",
    ),
    "key.toml": (b'[a]\nnom = "X"', "'a' has an unknown field 'nom'; known: name, organisation, date"),
    "type.toml": (b"[a]\nname = 5", "'a' has the name 5, which is not a text of one line; write name = "),
    "flat.toml": (b'a = "X"', "'a' is not a table; write [\"a\"] and below it name = "),
    "binary.toml": (bytes(range(256)), "binary.toml: the file of names is not UTF-8"),
    "empty.toml": (b"", 'empty.toml: the file has no name; write ["FULL NAME"] and below it name = '),
    "study.toml": (b'name = "s"\nitems = "items.jsonl"', "study.toml: this study has no names; write [names."),
    "taken.toml": (b'[a]\nname = "b"', "'a' would be shown as 'b', which is the full name of another; choose another"),
    "full": (b"", "full: the file of names cannot be read (Is a directory)"),
    "missing.toml": (b"", "missing.toml: the file of names cannot be read (No such file or directory)"),
}
COMMANDS = {
    "report": "report --out new/page.html",
    "site": "export site --out new",
    "serve": "serve --data new --port 1",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_names_that_does_not_fit(folder, name, command):
    content, told = NAMES[name]
    if not Path(name).is_dir() and name != "missing.toml":
        Path(name).write_bytes(content)
    code, done = call(*COMMANDS[command].split(), "--ledger", "own.ledger", "--names", name)
    assert code == 2
    assert told in done.output
    assert not Path("new").exists(), "nothing is half-written"


def test_names_of_a_file_are_shown_in_the_terminal(folder):
    Path("names.toml").write_text('[length]\nname = "By length"')
    code, done = call("report", "--ledger", "own.ledger", "--names", "names.toml")
    assert code == 0
    assert "based on baseline By length only" in done.output


def test_a_report_says_which_names_are_of_nobody(folder):
    Path("names.toml").write_text('[a]\nname = "A"\n[zed]\nname = "Z"')
    code, done = call("report", "--ledger", "own.ledger", "--names", "names.toml", "--out", "page.html")
    assert code == 0
    assert "1 of the 2 names in names.toml are of nobody in the ledger so far: zed." in done.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("lake write none.ledger --out new", "none.ledger: no ledger at this path"),
        ("lake write items.jsonl --out new", "items.jsonl: this is a file of another kind, not a ledger"),
        ("lake write full --out new", "full: this is a folder, not a ledger; give a file"),
        ("lake write own.ledger --out items.jsonl", "items.jsonl: This is a file, but a lake is a folder"),
        (
            "lake write own.ledger --out full",
            "full: This folder contains other files (x) and no lake. Choose a new folder",
        ),
        ("lake write own.ledger --out ftp://host/lake", "a lake is a folder or s3://bucket/prefix"),
        ("lake write own.ledger --out s3://", "a place for a lake in a bucket looks like s3://bucket/prefix"),
        ("lake write own.ledger --out new --key items.jsonl", "(Unable to load PEM file); `fullbench ledger sign"),
        ("lake write own.ledger --out new --key none.pem", "none.pem: the file cannot be read (No such file"),
        ("lake verify none", "none: No such folder. Name a lake"),
        ("lake verify items.jsonl", "items.jsonl: No such folder. Name a lake"),
        (
            "lake verify full --digest zzz",
            "a digest looks like 12-3f5a..., as `fullbench ledger show` prints it; found 'z",
        ),
        ("lake verify full --key full", "full: the file cannot be read (Is a directory)"),
        ("ledger show full", "full: this is a folder, not a ledger; give a file"),
        ("report --ledger full", "full: this is a folder, not a ledger; give a file"),
    ],
)
def test_places_that_are_no_lake_and_keys_that_are_none(folder, words, told):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, done = call(*words.split())
    assert code == 2
    assert told in " ".join(done.output.split())
    assert {path: path.read_bytes() for path in before} == before
    assert not Path("new").exists(), "nothing is half-written"
    assert [path.name for path in Path("full").iterdir()] == ["x"]


def test_a_damaged_lake_is_named_by_what_is_damaged(folder):
    assert call("lake", "write", "own.ledger", "--out", "lake", "--quiet")[0] == 0
    segment = next(Path("lake/segments/verdicts").iterdir())
    segment.write_bytes(b"torn")
    code, done = call("report", "--ledger", "lake")
    assert code == 2
    assert "`fullbench lake verify` lists what is damaged" in done.output
    assert call("lake", "verify", "lake")[0] == 1
    (entry,) = Path("lake/manifest").iterdir()
    entry.write_text("{oops")
    for words in ("report --ledger lake", "ledger show lake", "lake write own.ledger --out lake"):
        code, done = call(*words.split())
        assert code == 2
        assert "lake: the lake's manifest is damaged: manifest/00000001.json is no entry of a manifest" in done.output
