"""Marks by turn count what is missing."""

from __future__ import annotations

from fullbench.analysis.marks_by_dialogue_turn import dialogue_turn_tables
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.reports.tables_as_terminal_text import render_text


def test_unusable_verdicts_on_turns_are_counted_by_contestant():
    verdicts = [
        Verdict(f"{item}{name}{turn}", "j", f"i{item}", (name,), "score:1-5", f"turn {turn}",
                **({"fault": "refused"} if name == "a" and item < 2 and turn == 2 else {"marks": (3.0,)}))
        for item in range(4) for name in "ab" for turn in (1, 2)
    ]  # fmt: skip
    (table,) = dialogue_turn_tables(columns_from_verdicts(Record(tuple(verdicts))))
    assert dict(zip(table.column("contestant"), table.column("unusable"), strict=True)) == {"a": 2, "b": 0}
    last_cells = [line.split()[-1] for line in render_text(table, width=200).splitlines() if line.startswith("j ")]
    assert last_cells == ["2", "0"]
    complete = [one for one in verdicts if one.fault is None]
    (table,) = dialogue_turn_tables(columns_from_verdicts(Record(tuple(complete))))
    assert table.place("unusable") is None
