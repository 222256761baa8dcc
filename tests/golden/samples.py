"""The sample that ships with each benchmark, run as a user runs it, and the demo."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench import Ledger
from tests.golden.command import fullbench, unversioned
from tests.golden.layout import written_tables

PLAIN = ("length", "reference", "chance?seed=7")
ASKED = (*PLAIN, "offline:first?mode=direct", "offline:canned?text=[[3]]")
"""With two models that answer offline, so that the benchmark's own wording is part of their names."""

LOOKING = (*ASKED, "picture:sharpness", "picture:noise")

STUDIES: Mapping[str, tuple[str, ...]] = {
    "alignmmbench": (*ASKED, 'critic:offline:canned?text={"Rating": 7}'),
    "synthetic-wide": ("length",),
    "genai_bench": LOOKING,
    "mjbench": LOOKING,
    "mjbench-scales": LOOKING,
    "mllm-as-a-judge": ASKED,
    "pico_peer_review": ASKED,
    "prd_peer_review": ASKED,
    "upme": ASKED,
    "upme_tables": ASKED,
    "visitbench": ASKED,
}
"""Which judges hear the sample of each benchmark. The synthetic benchmark itself is what the demo runs;
its wide form is heard by its own judges among the slow files."""


def study(folder: Path, benchmark: str, judges: tuple[str, ...], ledger: str, name: str = "golden") -> Path:
    """A study file, as a user would write it."""
    path = folder / "study.toml"
    lines = {"name": name, "benchmark": benchmark, "ledger": ledger, **({"judges": list(judges)} if judges else {})}
    # A JSON string or list of strings is one in TOML as well.
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items()), encoding="utf-8")
    return path


def sample(folder: Path, benchmark: str) -> str:
    """The tables of a benchmark's sample, heard by offline judges."""
    ran = fullbench("run", str(study(folder, benchmark, STUDIES[benchmark], "run.ledger")), "--json", "--quiet")
    return _frozen(json.loads(ran), folder / "run.ledger")


def own_bench(folder: Path, benchmark: str) -> str:
    """The tables of a benchmark that brings judges and contestants of its own, heard by these."""
    ran = fullbench("run", str(study(folder, benchmark, (), "run.ledger")), "--json", "--quiet")
    return _frozen(json.loads(ran), folder / "run.ledger")


def demo(folder: Path) -> str:
    """The tables of `fullbench demo`, which are those of the synthetic benchmark: `replay` gives them as JSON from its
    ledger."""
    fullbench("demo", "--out", str(folder / "demo"), "--quiet")
    replayed = fullbench("replay", str(study(folder, "synthetic", (), "demo/demo.ledger", "demo")), "--json")
    return _frozen(json.loads(replayed), folder / "demo" / "demo.ledger")


def _frozen(tables: list[dict[str, Any]], path: Path) -> str:
    with Ledger(path, read_only=True) as ledger:
        record = ledger.record()
        digests = {"ledger": ledger.digest(), "record": record.digest(), "verdicts": len(record)}
    tables = unversioned(tables)
    common = tables[0].pop("source")
    for table in tables[1:]:
        if table["source"] == common:
            del table["source"]
    return written_tables({"digests": digests, "source": common}, tables)
