"""What an installation is made of: pinned with hashes, listed with licences; nothing unpublished is named."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scripts.sbom import LICENCES, bill, parts, pins

ROOT = Path(__file__).parents[2]
STALE = "run `make sbom`"


def test_every_pin_has_hashes():
    found = pins()
    assert len(found) > 100
    assert [name for name, _, _, hashes in found if not hashes] == []
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for *_, hashes in found for digest in hashes)


def test_the_bill_of_materials_is_that_of_the_lock():
    made = json.loads(json.dumps(bill(parts())))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    listed = {
        (one["name"], one["version"]): {entry["content"] for entry in one["externalReferences"][0]["hashes"]}
        for one in made["components"]
    }
    assert listed == {(name, version): set(hashes) for name, version, _, hashes in pins()}
    references = [one["bom-ref"] for one in made["components"]]
    assert len(references) == len(set(references))


def test_every_package_has_its_licence_and_none_of_the_core_asks_for_sources():
    rows = [line.strip("|").split(" | ") for line in LICENCES.read_text(encoding="utf-8").splitlines()[9:]]
    assert {(row[0].strip(), row[1]) for row in rows} == {(name, version) for name, version, *_ in pins()}, STALE
    core = [row for row in rows if row[2] == "core"]
    assert len(core) > 20
    assert not [row for row in core if re.search(r"GPL|SSPL|BUSL", row[3])]


def test_nothing_is_to_be_installed_that_is_not_published():
    """No package of our name is on the index: whoever took the name would be installed instead."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), *ROOT.glob("src/**/*.md")]
    named = [
        path.name for path in texts if re.search(r"pip install +['\"]?fullbench", path.read_text(encoding="utf-8"))
    ]
    assert named == []
