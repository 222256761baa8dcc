"""Files that release 0.2.0 wrote, and a study and a plugin for it, still work and mean the same."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.compatibility.frozen_release import FOLDER, copy_release, run_in_release, verdicts_of


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    return copy_release(tmp_path_factory.mktemp("compatibility"))


def expected() -> list[list[object]]:
    return json.loads((FOLDER / "verdicts.json").read_text(encoding="utf-8"))


def test_the_ledger_has_the_same_verdicts_and_is_sound(release):
    assert len(expected()) > 100
    assert verdicts_of(release / "frozen.ledger") == expected()
    done = run_in_release(release, "ledger", "verify", "frozen.ledger")
    assert (done.returncode, "frozen.ledger: sound" in done.stdout) == (0, True), done.stderr


def test_the_lake_has_the_same_numbers_and_is_sound(release):
    assert run_in_release(release, "lake", "verify", "lake").returncode == 0
    tables = [
        json.loads(run_in_release(release, "report", "--ledger", place, "--study", "frozen", "--json", "--all").stdout)
        for place in ("lake", "frozen.ledger")
    ]
    rows = [[(table["name"], table["rows"]) for table in found if table["name"] != "cost"] for found in tables]
    assert len(rows[0]) > 5
    assert rows[0] == rows[1]


def test_the_study_finds_every_verdict_again_and_calls_nothing(release):
    """The keys of items, responses, cases and judges, the plugin's among them, did not change."""
    done = run_in_release(release, "run", "study.toml", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "Called 0, reused 96, failed 0" in done.stdout + done.stderr
    assert verdicts_of(release / "frozen.ledger") == expected()


def test_a_ledger_made_from_the_files_today_has_the_same_keys(tmp_path):
    work = copy_release(tmp_path, with_ledger=False)
    done = run_in_release(work, "run", "study.toml", "--quiet")
    assert "Called 96, reused 0, failed 0" in done.stdout + done.stderr, done.stderr
    assert verdicts_of(work / "frozen.ledger") == expected()


def test_the_http_api_has_every_path_field_and_type_of_the_release():
    """Fields may be added; none is removed or gets another type."""
    golden = FOLDER.parents[1] / "golden" / "files" / "openapi.json"
    now = json.loads(golden.read_text(encoding="utf-8"))
    frozen = json.loads(gzip.decompress((FOLDER / "openapi.json.gz").read_bytes()))
    operations = {(path, method) for path, methods in frozen["paths"].items() for method in methods}
    assert len(operations) > 30
    assert [(path, method) for path, method in operations if method not in now["paths"].get(path, {})] == []
    for name, schema in frozen["components"]["schemas"].items():
        for field, about in schema.get("properties", {}).items():
            today = now["components"]["schemas"][name]["properties"][field]
            assert [today.get(key) for key in ("type", "$ref", "anyOf")] == [
                about.get(key) for key in ("type", "$ref", "anyOf")
            ], f"{name}.{field}"
