"""Names that a site's people chose for judges and contestants: how each is shown, from whom it is and since when.

Only what is read on pages changes: addresses, data and the API have the full names, by which all is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from fullbench.errors import InputError
from fullbench.files.toml import read_toml
from fullbench.ledger.accounts import everybody
from fullbench.ledger.store import Ledger
from fullbench.nouns.digests import digest
from fullbench.nouns.note import Note
from fullbench.nouns.table import Cell, Column
from fullbench.web.results.boards import Linked
from fullbench.web.results.matrix import Matrix
from fullbench.web.results.naming import Display, Named, short_names

WHO = frozenset({"judge", "contestant", "other judge", "other", "against", "reviewer", "newcomer", "model", "who"})
"""The columns whose cells are judges or contestants."""
LISTED = 5
"""So many names stand in a sentence about names that nobody has."""


@dataclass(frozen=True)
class Names:
    """The displays that were chosen, by full names; whoever has none is shown by the full name."""

    chosen: Mapping[str, Display] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Names:
        """The names in a TOML file: a table for each full name."""
        entries, _ = read_toml(path, "the file of names")
        chosen = {full: _display(full, entry, path) for full, entry in entries.items()}
        owners: dict[str, str] = {}
        for full, display in chosen.items():
            if (other := owners.setdefault(display.name, full)) != full:
                raise InputError(
                    f"{other!r} and {full!r} would both be shown as {display.name!r}; give each a name of its own",
                    path=path,
                )
        names = cls(chosen)
        names.refuse_taken(chosen, path)
        return names

    def refuse_taken(self, known: Collection[str], path: Path) -> None:
        """Refuse a name under which one of these is known already, unless it is the bearer's own."""
        for full, display in self.chosen.items():
            if display.name != full and display.name in known:
                raise InputError(
                    f"{full!r} would be shown as {display.name!r}, which is the full name of another; choose another "
                    "name for it",
                    path=path,
                )

    @property
    def stamp(self) -> str:
        """Changes with the names; empty where there are none."""
        entries = [[full, *vars(display).values()] for full, display in self.chosen.items()]
        return digest(entries)[:8] if entries else ""

    def shown(self, name: str) -> str:
        """A name as pages show it, of an answer too (`alpha #2`)."""
        full, number = self._parted(name)
        return self.chosen[full].name + number if full in self.chosen else name

    def full(self, name: str) -> str:
        """The full name where another is shown, else nothing."""
        return "" if self.shown(name) == name else name

    def origin(self, name: str) -> str:
        """From whom somebody is and since when; nothing where nobody said so."""
        return self.chosen[name].origin if name in self.chosen else ""

    def several(self, names: Iterable[str]) -> list[str]:
        """Names as pages show them."""
        return [self.shown(name) for name in names]

    def html(self, name: str) -> Markup:
        """A name for a page; whoever points at it sees the full one."""
        full = self.full(name)
        return Markup('<span title="{}">{}</span>').format(full, self.shown(name)) if full else escape(name)

    def short(self, names: Iterable[str]) -> dict[str, str]:
        """Names beside each other: those that were chosen, of others as much as tells them apart."""
        return short_names(names, {full: display.name for full, display in self.chosen.items()})

    def matrices(self, some: Sequence[Matrix]) -> list[Matrix]:
        """Matrices whose contestants have the names that are shown, for sentences and pictures."""
        return [replace(one, rows=[(self.shown(name), cells) for name, cells in one.rows]) for one in some]

    def tables(self, some: Sequence[Linked]) -> list[Linked]:
        """Tables with the names that are shown in cells, heads, sentences and charts; links stay."""
        return [self._table(linked) for linked in some] if self.chosen else list(some)

    def said(self, text: str) -> str:
        """A sentence with the names that are shown, as far as it says where it has them."""
        if not isinstance(text, Note):
            return text
        sentence, values = str(text), dict(text.values)
        for key, value in text.values.items():
            if not isinstance(value, str):
                continue
            values[key] = changed = self.said(value) if isinstance(value, Note) else self.shown(value)
            # Where a name stands in the sentence more than once, it may be one of our own words.
            if str(changed) != str(value) and sentence.count(value) == 1:
                sentence = sentence.replace(value, changed)
        return Note.again(text.id, sentence, values)

    def _table(self, linked: Linked) -> Linked:
        table = linked.table
        columns = table.typed
        rows = [[self._cell(column, cell) for column, cell in zip(columns, row, strict=True)] for row in table.rows]
        charts = linked.charts
        if "tag" not in table.source:  # heads by tag are values of the tag
            columns = [
                column.labelled(self.shown(str(column))) if column.named and str(column) in self.chosen else column
                for column in columns
            ]
            charts = [
                {**hint, "columns": self.several(map(str, hint["columns"]))} if hint.get("kind") == "matrix" else hint
                for hint in charts
            ]
        notes = tuple(self.said(note) for note in table.notes)
        renamed = replace(table, title=self.said(table.title), columns=tuple(columns), rows=rows, notes=notes)
        return replace(linked, table=renamed, charts=charts)

    def _cell(self, column: Column, cell: Cell) -> Cell:
        whose = isinstance(cell, str) and column.key in WHO and cell in self.chosen
        return Named(str(cell), self.chosen[str(cell)]) if whose else cell

    def _parted(self, name: str) -> tuple[str, str]:
        """The full name, and which of several answers is meant."""
        contestant, mark, number = name.rpartition(" #")
        if name not in self.chosen and mark and number.isdigit():
            return contestant, mark + number
        return name, ""


def for_ledger(path: Path, ledger: Ledger | None) -> tuple[Names, str]:
    """The names in a file, and a sentence about those that nobody in the ledger has; empty where all are there."""
    names = Names.read(path)
    known: set[str] = set()
    if ledger is not None:
        with ledger.reader() as reader:
            known = everybody(reader)
        known |= {view.name for view in ledger.views()}
    names.refuse_taken(known, path)
    absent = [full for full in names.chosen if full not in known]
    if not absent:
        return names, ""
    more = f" and {len(absent) - LISTED:,} more" if len(absent) > LISTED else ""
    return names, (
        f"{len(absent):,} of the {len(names.chosen):,} names in {path} are of nobody in the ledger so far: "
        f"{', '.join(absent[:LISTED])}{more}."
    )


def _display(full: str, entry: Any, path: Path) -> Display:
    if not isinstance(entry, dict):
        raise InputError(f'{full!r} is no table; write ["{full}"] and below it name = "..."', path=path)
    known = [one.name for one in fields(Display)]
    for key, value in entry.items():
        if key not in known:
            raise InputError(f"{full!r} has an unknown field {key!r}; known: {', '.join(known)}", path=path)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise InputError(
                f'{full!r} has the {key} {value!r}, which is no text of one line; write {key} = "..."', path=path
            )
    return Display(**{"name": full, **{key: value.strip() for key, value in entry.items()}})
