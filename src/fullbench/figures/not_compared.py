"""Rulings on responses that people marked too, but on another ballot: no agreement counts them, so a table does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection

import numpy as np

from fullbench.columns.table import Columns, grouped
from fullbench.figures.narrow import responses_shown
from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note
from fullbench.nouns.table import Cell, Table
from fullbench.nouns.verdict import PEOPLE


def table(columns: Columns, other: str = PEOPLE, judges: Collection[str] = ()) -> Table:
    """Of each judge (or of `judges` alone), the rulings on what `other` marked on other ballots only, and on which.

    A choice that may tie and one that may not are two questions; so are two scales. Scores, choices and rankings are
    not even alike, and are not listed beside each other.
    """
    counted = columns.latest()
    counted = counted.rows(~counted.meeting_themselves() & (counted.fault < 0))
    rows: Counter[tuple[str, str, str, str]] = Counter()
    theirs: dict[tuple[str, str, str, str], set[str]] = defaultdict(set)
    names = {name: counted.names[name] for name in ("study", "judge", "criterion", "ballot")}
    wanted = np.array([name == other for name in names["judge"]] or [False])
    for size in np.unique(counted.shown).tolist():
        chosen = np.flatnonzero(counted.shown == size)
        part = counted.rows(chosen)
        panel, _ = grouped(part.study, part.criterion, part.item, part.family, *responses_shown(part, size).T)
        is_other = wanted[part.judge.astype(np.int64)]
        on_ballot, _ = grouped(panel, part.ballot)
        marked = np.zeros(int(panel.max()) + 1, dtype=np.bool_)
        marked[panel[is_other]] = True
        alike = np.zeros(int(on_ballot.max()) + 1, dtype=np.bool_)
        alike[on_ballot[is_other]] = True
        apart = np.flatnonzero(marked[panel] & ~alike[on_ballot] & ~is_other)
        code, first = grouped(part.judge, part.study, part.criterion, part.ballot)
        keys = [
            (
                names["judge"][int(part.judge[row])], names["study"][int(part.study[row])],
                names["criterion"][int(part.criterion[row])], names["ballot"][int(part.ballot[row])],
            )
            for row in first.tolist()
        ]  # fmt: skip
        for place, count in enumerate(np.bincount(code[apart], minlength=len(keys)).tolist()):
            if count and (not judges or keys[place][0] in judges):
                rows[keys[place]] += count
        for ballot in np.unique(part.ballot[is_other]).tolist():
            on_it = np.zeros(len(marked), dtype=np.bool_)
            on_it[panel[is_other & (part.ballot == ballot)]] = True
            for place in np.unique(code[apart[on_it[panel[apart]]]]).tolist():
                theirs[keys[place]].add(names["ballot"][ballot])
    several = [len({key[place] for key in rows}) > 1 for place in (1, 2)]
    cells: list[list[Cell]] = [
        [
            key[0],
            *(name for name, shown in zip(key[1:3], several, strict=True) if shown),
            key[3], ", ".join(sorted(theirs[key])), count,
        ]
        for key, count in sorted(rows.items())
    ]  # fmt: skip
    more = [name for name, shown in zip(("study", "criterion"), several, strict=True) if shown]
    note = Note(
        "not-compared.why",
        "{n:,} rulings are on responses that {other} marked on another ballot only: no figure of agreement has them. "
        "Ask both on the same ballot to compare them.",
        n=rows.total(), other=other,
    )  # fmt: skip
    title = Note("not-compared.title", "Not compared with {other}: another ballot", other=other)
    return Table("not compared", title, headings("judge", *more, "ballot", "other's ballots", "rulings"), cells, [note])
