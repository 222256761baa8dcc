"""Display names of judges and contestants, with organisation, date and logo.

Display names are in all text for people: terminal, notebook, pages, charts, messages. URLs, data files and the API
have the full names, with the display names next to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge_and_contestant_short_names import StoredSettings, short_names
from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import Note, english_messages
from fullbench.errors import InputError
from fullbench.files.toml_reader import read_toml
from fullbench.reports.logos_from_local_files import Logo

NAME_COLUMNS = frozenset(
    {"judge", "contestant", "other judge", "other", "against", "reviewer", "newcomer", "model", "name", "who"}
)
"""Columns whose cells are judges or contestants."""
_MIXED_COLUMNS = frozenset({"threshold of"})
"""Columns whose cells are sentences with names."""
MOST_NAMES = 12
"""Number of names that an error about an unknown name lists."""
MOST_LISTED = 5
"""Number of unknown names that are listed; the others are only counted."""


@dataclass(frozen=True)
class Display:
    """Display name, organisation, date and logo of one judge or contestant."""

    name: str
    organisation: str = ""
    date: str = ""
    logo: Logo | None = None

    @property
    def origin(self) -> str:
        """Organisation and date.

        >>> Display("GPT-4o", "OpenAI", "2024-05").origin
        'OpenAI · 2024-05'
        """
        return " · ".join(filter(None, (self.organisation, self.date)))


_NO_DISPLAY = Display("")


class DisplayName(str):
    """A name as shown in a table, with the full name if it differs, the origin and the logo."""

    full: str
    origin: str
    logo: Logo | None

    def __new__(cls, full: str, display: Display) -> DisplayName:
        display_name = super().__new__(cls, display.name)
        display_name.full, display_name.origin = "" if full == display.name else full, display.origin
        display_name.logo = display.logo
        return display_name


@dataclass(frozen=True)
class DisplayNames:
    """Displays by full name. Judges and contestants without one are shown by their full name.

    `from_settings` gives every judge and contestant of a ledger a distinct display name.
    """

    displays: Mapping[str, Display] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a TOML file with a table per full name, or the tables under `[names]` in a study file.
        `[site]` is not a name; it describes the results (see `site_info`).
        """
        entries, _ = read_toml(path, "the file of names")
        inner = entries.get("names")
        has_site = "site" in entries
        entries = {full: entry for full, entry in entries.items() if full != "site"}
        study = {"items", "judges", "benchmark", "kind"} & entries.keys() or isinstance(entries.get("name"), str)
        if isinstance(inner, dict) and not (inner and inner.keys() <= set(_FIELDS)):  # else a judge named "names"
            names = cls.from_entries(inner, path)
        elif "names" not in entries and study:
            if not has_site:
                raise InputError(f"this study has no names; {_HOW.format(of_study='names.')}", path=path)
            names = cls()
        else:
            names = cls.from_entries(entries, path, of_study="")
        if not (names.displays or has_site):
            raise InputError(f"the file has no name; {_HOW.format(of_study='')}", path=path)
        return names

    @classmethod
    def from_entries(cls, entries: Mapping[str, Any], path: Path, of_study: str = "names.") -> Self:
        """Return the names in a table of tables from the file `path`; a study's are below `[names]`."""
        displays = {full: _read_display(full, entry, path, of_study) for full, entry in entries.items()}
        owners: dict[str, str] = {}
        for full, display in displays.items():
            if (owner := owners.setdefault(display.name, full)) != full:
                raise InputError(
                    f"{owner!r} and {full!r} would both be shown as {display.name!r}; give each its own name",
                    path=path,
                )
        names = cls(displays)
        names.refuse_taken(displays, path)
        return names

    @classmethod
    def from_settings(
        cls,
        judges: Mapping[str, StoredSettings],
        contestants: Mapping[str, StoredSettings] | None = None,
        chosen: DisplayNames | None = None,
    ) -> Self:
        """Return distinct names of all judges and contestants, as short as possible.

        Args:
            judges: Settings of all judges by full name; None for names without settings.
            contestants: The same for contestants.
            chosen: Names that users chose, by full name. They are used as they are.
        """
        chosen_displays = chosen.displays if chosen else {}
        chosen_names = {full: display.name for full, display in chosen_displays.items()}
        names = short_names(judges, contestants, chosen_names)
        displays = {
            full: replace(chosen_displays.get(full, _NO_DISPLAY), name=name)
            for full, name in names.items()
            if name != full or full in chosen_displays
        }
        return cls({**chosen_displays, **displays})

    @classmethod
    def from_names(cls, names: Mapping[str, str]) -> Self:
        """Return display names from a mapping of full names to them."""
        return cls({full: Display(name) for full, name in names.items()})

    @property
    def names(self) -> dict[str, str]:
        """Display names by full name."""
        return {full: display.name for full, display in self.displays.items()}

    def legend(self, tables: Iterable[Table] | None = None) -> Table | None:
        """Return a table of display names and full names, or None if all are equal.

        Args:
            tables: Only names in these tables, which have full names.
        """
        names = self.names
        if tables is not None:
            names = {full: name for table in tables for full, name in self.attach_to(table).names.items()}
        full_names = {name: full for full, name in names.items() if name != full}
        rows = [[name, full_names[name]] for name in sorted(full_names, key=str.lower)]
        return Table("names", Note("names.title"), table_columns("shown name", "full name"), rows) if rows else None

    def refuse_taken(self, known_names: Collection[str], path: Path) -> None:
        """Raise if a display name is the full name of another judge or contestant."""
        for full, display in self.displays.items():
            if display.name != full and display.name in known_names:
                raise InputError(
                    f"{full!r} would be shown as {display.name!r}, which is the full name of another; choose another "
                    "name for it",
                    path=path,
                )

    def absent_names_sentence(self, known_names: Collection[str], path: Path) -> str:
        """Return a sentence about full names that do not occur in the ledger, or an empty string."""
        absent_names = [full for full in self.displays if full not in known_names]
        if not absent_names:
            return ""
        more = f" and {len(absent_names) - MOST_LISTED:,} more" if len(absent_names) > MOST_LISTED else ""
        return (
            f"{len(absent_names):,} of the {len(self.displays):,} names in {path} are of nobody in the ledger so far: "
            f"{', '.join(absent_names[:MOST_LISTED])}{more}."
        )

    @cached_property
    def stamp(self) -> str:
        """Short digest that changes with the names; empty if there are none."""
        entries = [
            [full, display.name, display.organisation, display.date, display.logo.digest if display.logo else ""]
            for full, display in self.displays.items()
        ]
        return digest(entries)[:8] if entries else ""

    def shown_name(self, name: str) -> str:
        """Return a name as shown on pages, also for numbered answers (`alpha #2`)."""
        full, number = self._split_sample_number(name)
        return self.displays[full].name + number if full in self.displays else name

    def full_name(self, typed: str, full_names: Collection[str] = ()) -> str:
        """Return the full name of a display name. Names in `full_names`, and unknown ones, stay."""
        if typed in full_names or typed in self.displays:
            return typed
        return next((full for full, display in self.displays.items() if display.name == typed), typed)

    def find(self, typed: str, full_names: Sequence[str], role: str, *, place: str = "") -> str:
        """Return the full name of the judge or contestant that a user typed.

        An exact full name wins, then an exact display name, a name without its options, and a unique beginning of a
        full name or display name, with or without its owner (`org/`).

        Args:
            typed: What the user typed.
            full_names: Full names that are possible.
            role: What is named, such as `judge`, for the error.
            place: The ledger or file, for the error.
        """
        if typed in full_names:
            return typed
        marks = tuple(typed + mark for mark in (" (", "@", "+", "#", "?"))
        tests: Sequence[Callable[[str], bool]] = (
            lambda form: form == typed,
            lambda form: form.startswith(marks),
            lambda form: form.startswith(typed),
            lambda form: form.lower().startswith(typed.lower()),
            lambda form: form.rpartition("/")[2].lower().startswith(typed.lower()),  # without the owner, as in tables
        )
        for test in tests if typed else ():
            matching_names = [full for full in full_names if test(full) or test(self.shown_name(full))]
            if len(matching_names) == 1:
                return matching_names[0]
            if matching_names:
                listed = self._list_names(matching_names)
                raise InputError(f"{typed!r} may be several {role}s: {listed}. Give one of these names in full.")
        names_by_base: dict[str, list[str]] = {}
        for shown_name in self.shown_names(full_names):
            names_by_base.setdefault(shown_name.partition(" (")[0].partition("@")[0], []).append(shown_name)
        near_names = [
            shown_name for base in get_close_matches(typed, names_by_base) for shown_name in names_by_base[base]
        ][:3]
        hint = f" Did you mean {' or '.join(map(repr, near_names))}?" if near_names else ""
        where = f"{place}: " if place else ""
        listed = self._list_names(full_names)
        raise InputError(f"{where}there is no {role} {typed!r}.{hint} {role.capitalize()}s: {listed}.")

    def _list_names(self, full_names: Sequence[str]) -> str:
        """List display names in alphabetical order; the rest is counted."""
        shown_names = sorted(self.shown_names(full_names), key=str.lower)
        more = f" and {len(shown_names) - MOST_NAMES:,} more" if len(shown_names) > MOST_NAMES else ""
        return (", ".join(shown_names[:MOST_NAMES]) or "none") + more

    def differing(self, names: Iterable[str]) -> dict[str, str]:
        """Return display names by full name, for those that differ."""
        return {name: shown for name in dict.fromkeys(names) if (shown := self.shown_name(name)) != name}

    def full(self, name: str) -> str:
        """Return the full name if another one is shown, or an empty string."""
        return "" if self.shown_name(name) == name else name

    def origin(self, name: str) -> str:
        """Return organisation and date of a name, or an empty string."""
        return self.displays[name].origin if name in self.displays else ""

    def logo(self, name: str) -> Logo | None:
        """Return the logo of a name, or None."""
        return self.displays[name].logo if name in self.displays else None

    @property
    def logos(self) -> list[Logo]:
        """All logos without duplicates."""
        return list(dict.fromkeys(display.logo for display in self.displays.values() if display.logo))

    def shown_names(self, names: Iterable[str]) -> list[str]:
        """Return names as shown on pages."""
        return [self.shown_name(name) for name in names]

    def with_shown_names(self, text: str) -> str:
        """Replace full names in a text by the shown ones.

        In notes, values that are names are replaced too, even if they look like ordinary words.
        """
        if not isinstance(text, Note):
            return self._replace_marked_names(text)
        template, sentence, values = english_messages().get(text.id), str(text), dict(text.values)
        for key, value in text.values.items():
            if not isinstance(value, str):
                continue
            if isinstance(value, Note) or self.shown_name(value) == value:
                values[key] = shown_text = self.with_shown_names(value)
            else:
                values[key] = shown_text = self.shown_name(value)
            # A name that occurs more than once in the sentence may also be one of our own words.
            if template is None and str(shown_text) != str(value) and sentence.count(value) == 1:
                sentence = sentence.replace(value, shown_text)
        sentence = sentence if template is None or values == text.values else template.format(**values)
        return Note.from_sentence(text.id, self._replace_marked_names(sentence), values)

    def _replace_marked_names(self, text: str) -> str:
        pattern = self._marked_names
        return text if pattern is None else pattern.sub(lambda match: self.displays[match[0]].name, text)

    @cached_property
    def _marked_names(self) -> re.Pattern[str] | None:
        """Pattern of full names that cannot be ordinary words, longest first; None without such names."""
        names = [full for full, display in self.displays.items() if display.name != full and _MARKS.search(full)]
        if not names:
            return None
        alternatives = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        return re.compile(rf"(?<![\w@+#?/:.-])(?:{alternatives})(?![\w@+#?/=-]|:\S)")

    def table(self, table: Table) -> Table:
        """Return a table with shown names in cells, headings, notes and chart."""
        if not self.displays:
            return table
        columns = table.typed_columns
        rows = [[self._cell(column, cell) for column, cell in zip(columns, row, strict=True)] for row in table.rows]
        if "tag" not in table.source:  # with a tag, headings are tag values, not names
            columns = [
                column.with_label(self.shown_name(str(column)))
                if column.is_data_label and str(column) in self.displays
                else column
                for column in columns
            ]
        notes = tuple(self.with_shown_names(note) for note in table.notes)
        chart = None if table.chart is None else self.hint(table, table.chart)
        title = self.with_shown_names(table.title)
        return replace(table, title=title, columns=tuple(columns), rows=rows, notes=notes, chart=chart, names={})

    def attach_to(self, table: Table) -> Table:
        """Return a table with full names in its cells and the display names that text for people shows."""
        cells = {cell for row in table.rows for cell in row if isinstance(cell, str)}
        cells |= {self._split_sample_number(cell)[0] for cell in cells}
        texts = [cell for cell in cells if isinstance(cell, Note) or ": " in cell]
        text = "\n".join([table.title, *table.columns, *table.notes, *texts])
        names = {
            full: display.name
            for full, display in self.displays.items()
            if display.name != full and (full in cells or full in text)
        }
        return replace(table, names=names)

    def hint(self, table: Table, hint: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a chart hint of this table with the shown names."""
        if "tag" in table.source or hint.get("kind") != "matrix":
            return hint
        return {**hint, "columns": self.shown_names(map(str, hint["columns"]))}

    def _cell(self, column: Column, cell: Cell) -> Cell:
        if column.key == "full name":
            return cell
        if isinstance(cell, str) and (column.key in NAME_COLUMNS or (cell in self.displays and _MARKS.search(cell))):
            full, number = self._split_sample_number(cell)
            if full in self.displays:
                display = self.displays[full]
                return DisplayName(str(cell), replace(display, name=display.name + number))
        if isinstance(cell, Note) or (isinstance(cell, str) and column.key in {*NAME_COLUMNS, *_MIXED_COLUMNS}):
            return self.with_shown_names(cell)
        return cell

    def _split_sample_number(self, name: str) -> tuple[str, str]:
        contestant, mark, number = name.rpartition(" #")
        if name not in self.displays and mark and number.isdigit():
            return contestant, mark + number
        return name, ""


_MARKS = re.compile(r"[@+#?/:]")
_FIELDS = tuple(each.name for each in fields(Display))
_HOW = 'write [{of_study}"FULL NAME"] and below it name = "..."'


def _read_display(full: str, entry: Any, path: Path, of_study: str) -> Display:
    if not isinstance(entry, dict):
        raise InputError(f'{full!r} is not a table; write [{of_study}"{full}"] and below it name = "..."', path=path)
    for key, value in entry.items():
        if key not in _FIELDS:
            raise InputError(f"{full!r} has an unknown field {key!r}; known: {', '.join(_FIELDS)}", path=path)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise InputError(
                f'{full!r} has the {key} {value!r}, which is not a text of one line; write {key} = "..."', path=path
            )
    values = {key: value.strip() for key, value in entry.items()}
    logo = Logo.read(values["logo"], path) if "logo" in values else None
    return Display(**{"name": full, **values, "logo": logo})


def table_as_shown(table: Table) -> Table:
    """Return a table with the display names that are attached to it in place of full names."""
    return DisplayNames.from_names(table.names).table(table) if table.names else table
