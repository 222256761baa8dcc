"""What every special kind of study says of where its tables come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from fullbench.core.record import Record
from fullbench.core.table import Table
from fullbench.studies.engines import Tally
from fullbench.studies.run.missing_pictures import counted
from fullbench.studies.run.study_run import Conducted
from fullbench.studies.study_file import Study


def looked_at(
    study: Study, record: Record, tables: Sequence[Table], judges: Sequence[str], tallies: Sequence[Tally] = ()
) -> Conducted:
    """What came of a study, each of its tables with what made it."""
    source: dict[str, Any] = {
        "study": study.name,
        "kind": study.kind,
        "judges": list(judges),
        "contestants": record.contestants,
        "seed": study.seed,
        "verdicts": record.digest(),
        "fullbench": version("fullbench"),
    }
    plain = counted(tables, record.items.values())
    shown = [replace(table, source={**source, **table.source}) for table in plain]
    return Conducted(study, record, shown, source, list(tallies), plain=plain)
