"""The tables of the reference have every key, column and ballot of the code, and no other."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from importlib.metadata import entry_points
from pathlib import Path

from fullbench.core.ballot import ballot
from fullbench.files import item_response_verdict_files as columns
from fullbench.studies.study_file import Study
from fullbench.studies.study_file_sections_for_kinds_and_panels import OPTIONS, VIEWS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
NOT_KEYS = {"path", "options", "keys_in_file"}
TABLES = {"protocol", "panels", "cascades", "rubrics", "names", "site"}


def rows(name: str) -> list[list[str]]:
    """Return the rows of all tables of a page, without their heads."""
    text = (REFERENCE / name).read_text(encoding="utf-8").replace("\\|", "\0")
    lines = re.findall(r"^\| (.*) \|$", text, flags=re.MULTILINE)
    return [[cell.strip().replace("\0", "|") for cell in line.split(" | ")] for line in lines]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_study_page_has_every_key_and_its_default():
    found = {row[0].strip("`"): row[2] for row in rows("study-file.md") if len(row) == 4 and row[0] != "key"}
    known = {entry.name: entry for entry in fields(Study) if entry.name not in NOT_KEYS | TABLES}
    assert set(found) == set(known)
    for name, entry in known.items():
        usual = entry.default
        if usual is not MISSING and usual not in {None, ()} and name != "orders":
            written = code(found[name])[0] if "`" in found[name] else found[name]
            assert written.strip('"[]').lower() == str(usual).strip("(),'").lower(), name


def test_the_study_page_has_every_table_and_its_keys():
    found = {
        row[0].strip("`").strip("[]").partition(".")[0]: code(row[1])
        for row in rows("study-file.md")
        if row[0].startswith("`[")
    }
    assert set(found) == TABLES | set(OPTIONS)
    for name, keys in {**OPTIONS, **VIEWS}.items():
        listed = [key for key in found[name] if key.isidentifier()]
        assert listed == list(keys), name


def test_the_page_of_columns_has_every_column_and_other_name():
    found: dict[str, dict[str, list[str]]] = {"items": {}, "responses": {}, "verdicts": {}}
    for kind, column, others, *_ in (row for row in rows("file-columns.md") if row[0] != "file"):
        for name in code(column):
            found["verdicts" if "labels" in kind else kind][name] = code(others)
    assert set(found["items"]) == set(columns.ITEM_COLUMNS)
    assert set(found["responses"]) == set(columns.RESPONSE_COLUMNS)
    text = (REFERENCE / "file-columns.md").read_text(encoding="utf-8")
    assert [name for name in columns.VERDICT_COLUMNS if f"`{name}`" not in text] == []
    for kind, names, fallbacks in (
        ("items", columns.ITEM, columns.ITEM_FALLBACKS),
        ("responses", columns.RESPONSE, columns.RESPONSE_FALLBACKS),
        ("verdicts", columns.VERDICT, columns.VERDICT_FALLBACKS),
    ):
        for name in {*names, *fallbacks}:
            assert set(found[kind][name]) >= {*names.get(name, ()), *fallbacks.get(name, ())}, (kind, name)


def test_the_page_of_ballots_has_every_ballot_and_each_can_be_used():
    specs = [spec for row in rows("ballots.md") if row[0] != "ballot" for spec in code(row[0])]
    assert {spec.partition(":")[0] for spec in specs} == {
        entry.name for entry in entry_points(group="fullbench.ballots")
    }
    for spec in specs:
        assert ballot(spec).spec == spec


def test_the_page_of_plugins_has_every_type():
    from fullbench.core.plugin_entry_points import PLUGIN_TYPES

    found = {code(row[0])[0].removeprefix("fullbench.") for row in rows("plugin-types.md") if "`fullbench." in row[0]}
    assert found == {plugin_type.kind for plugin_type in PLUGIN_TYPES}


def test_the_page_of_extras_has_every_extra():
    import tomllib

    project = tomllib.loads((REFERENCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = [name for row in rows("extras.md") if row[0] != "extra" for name in code(row[0])]
    assert set(found) == set(project["optional-dependencies"]) - {"dev"}
