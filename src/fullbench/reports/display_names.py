"""Names that people chose for judges and contestants: how each is shown, from whom it is and since when.

Only what is read on pages changes: addresses, data and the API have the full names, by which all is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from fullbench.core.digests import digest
from fullbench.core.note import Note
from fullbench.core.table import Cell, Column, Table
from fullbench.errors import InputError
from fullbench.files.toml_files import read_toml
from fullbench.reports.logos import Logo

WHO = frozenset({"judge", "contestant", "other judge", "other", "against", "reviewer", "newcomer", "model", "who"})
"""The columns whose cells are judges or contestants."""
LISTED = 5
"""So many names that nobody has are listed, of others the number alone."""


@dataclass(frozen=True)
class Display:
    """How one judge or contestant is shown."""

    name: str
    organisation: str = ""
    date: str = ""
    logo: Logo | None = None

    @property
    def origin(self) -> str:
        """From whom it is and since when.

        >>> Display("GPT-4o", "OpenAI", "2024-05").origin
        'OpenAI · 2024-05'
        """
        return " · ".join(filter(None, (self.organisation, self.date)))


class Named(str):
    """A name in a table as it is shown; it knows the full name where that is another, where its bearer is from, and
    its logo."""

    full: str
    origin: str
    logo: Logo | None

    def __new__(cls, full: str, display: Display) -> Named:
        named = super().__new__(cls, display.name)
        named.full, named.origin = "" if full == display.name else full, display.origin
        named.logo = display.logo
        return named


@dataclass(frozen=True)
class ShownNames:
    """The displays that were chosen, by full names; whoever has none is shown by the full name."""

    chosen: Mapping[str, Display] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The names in a TOML file: a table for each full name; or those under `[names]` in a study's own file.

        `[site]` is no name: it says what the results are (see `site_info`).
        """
        entries, _ = read_toml(path, "the file of names")
        inner = entries.get("names")
        described = "site" in entries
        entries = {full: entry for full, entry in entries.items() if full != "site"}
        study = {"items", "judges", "benchmark", "kind"} & entries.keys() or isinstance(entries.get("name"), str)
        if isinstance(inner, dict) and not (inner and inner.keys() <= set(_FIELDS)):  # or somebody is called so
            names = cls.of(inner, path)
        elif "names" not in entries and study:
            if not described:
                raise InputError(f"this is a study without names; {_HOW.format(of_study='names.')}", path=path)
            names = cls()
        else:
            names = cls.of(entries, path, of_study="")
        if not (names.chosen or described):
            raise InputError(f"no name is in it; {_HOW.format(of_study='')}", path=path)
        return names

    @classmethod
    def of(cls, entries: Mapping[str, Any], path: Path, of_study: str = "names.") -> Self:
        """The names in a table of tables, which stands in the file `path`: a study's below `[names]`."""
        chosen = {full: _display(full, entry, path, of_study) for full, entry in entries.items()}
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

    def absent(self, known: Collection[str], path: Path) -> str:
        """A sentence about the names that nobody here has; empty where all are there."""
        absent = [full for full in self.chosen if full not in known]
        if not absent:
            return ""
        more = f" and {len(absent) - LISTED:,} more" if len(absent) > LISTED else ""
        return (
            f"{len(absent):,} of the {len(self.chosen):,} names in {path} are of nobody in the ledger so far: "
            f"{', '.join(absent[:LISTED])}{more}."
        )

    @property
    def stamp(self) -> str:
        """Changes with the names; empty where there are none."""
        entries = [
            [full, shown.name, shown.organisation, shown.date, shown.logo.digest if shown.logo else ""]
            for full, shown in self.chosen.items()
        ]
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

    def logo(self, name: str) -> Logo | None:
        """The small picture beside a name."""
        return self.chosen[name].logo if name in self.chosen else None

    @property
    def logos(self) -> list[Logo]:
        """All logos, each once."""
        return list(dict.fromkeys(display.logo for display in self.chosen.values() if display.logo))

    def several(self, names: Iterable[str]) -> list[str]:
        """Names as pages show them."""
        return [self.shown(name) for name in names]

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

    def table(self, table: Table) -> Table:
        """A table with the names that are shown in cells, heads, sentences and its chart."""
        if not self.chosen:
            return table
        columns = table.typed
        rows = [[self._cell(column, cell) for column, cell in zip(columns, row, strict=True)] for row in table.rows]
        if "tag" not in table.source:  # heads by tag are values of the tag
            columns = [
                column.labelled(self.shown(str(column))) if column.named and str(column) in self.chosen else column
                for column in columns
            ]
        notes = tuple(self.said(note) for note in table.notes)
        chart = None if table.chart is None else self.hint(table, table.chart)
        return replace(table, title=self.said(table.title), columns=tuple(columns), rows=rows, notes=notes, chart=chart)

    def hint(self, table: Table, hint: Mapping[str, Any]) -> Mapping[str, Any]:
        """The hint of a chart of this table, with the names that are shown."""
        if "tag" in table.source or hint.get("kind") != "matrix":
            return hint
        return {**hint, "columns": self.several(map(str, hint["columns"]))}

    def _cell(self, column: Column, cell: Cell) -> Cell:
        whose = isinstance(cell, str) and column.key in WHO and cell in self.chosen
        return Named(str(cell), self.chosen[str(cell)]) if whose else cell

    def _parted(self, name: str) -> tuple[str, str]:
        """The full name, and which of several answers is meant."""
        contestant, mark, number = name.rpartition(" #")
        if name not in self.chosen and mark and number.isdigit():
            return contestant, mark + number
        return name, ""


_FIELDS = tuple(each.name for each in fields(Display))
_HOW = 'write [{of_study}"FULL NAME"] and below it name = "..."'


def _display(full: str, entry: Any, path: Path, of_study: str) -> Display:
    if not isinstance(entry, dict):
        raise InputError(f'{full!r} is no table; write [{of_study}"{full}"] and below it name = "..."', path=path)
    for key, value in entry.items():
        if key not in _FIELDS:
            raise InputError(f"{full!r} has an unknown field {key!r}; known: {', '.join(_FIELDS)}", path=path)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise InputError(
                f'{full!r} has the {key} {value!r}, which is no text of one line; write {key} = "..."', path=path
            )
    values = {key: value.strip() for key, value in entry.items()}
    logo = Logo.read(values["logo"], path) if "logo" in values else None
    return Display(**{"name": full, **values, "logo": logo})
