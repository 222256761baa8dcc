"""Names of judges and contestants on pages: chosen by the site's owners, else as short as is unambiguous.

A full name contains everything that can change a judge's verdicts (`gpt-4o@lab?t=0.2+analyze#1f3a9c20`). On a page the
model's name is often enough. URLs, exports and the API use full names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup, escape

from fullbench.ledger.contents_and_cost import judge_and_contestant_names
from fullbench.ledger.ledger import Ledger
from fullbench.reports.display_names import DisplayNames
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.boards.contestants_by_judges_matrix import Matrix
from fullbench.web.results.catalogue.disagreement_flags import is_panel, is_person


def short_names(names: Iterable[str], chosen_names: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a distinct display name for each name, as short as possible. Names in `chosen_names` are used as they are.

    >>> short_names(["gpt-4o+direct#1f3a9c20", "glm@lab+analyze#2b", "glm@lab+direct#3c", "human"]).values()
    dict_values(['gpt-4o', 'glm@lab+analyze', 'glm@lab+direct', 'human'])
    """
    name_forms = {
        name: [chosen_names[name]] if chosen_names and name in chosen_names else _name_forms(name) for name in names
    }
    form_places = dict.fromkeys(name_forms, 0)
    while True:
        display_names = {name: name_forms[name][place] for name, place in form_places.items()}
        name_counts = Counter(display_names.values())
        ambiguous_names = [
            name
            for name in form_places
            if name_counts[display_names[name]] > 1 and form_places[name] < len(name_forms[name]) - 1
        ]
        if not ambiguous_names:
            return display_names
        for name in ambiguous_names:
            form_places[name] += 1


def _name_forms(name: str) -> list[str]:
    """From short to long: the model, all but the digest, everything."""
    if is_person(name) or is_panel(name):
        return [name]
    model = re.split(r"[?+#@]", name, maxsplit=1)[0].strip()
    name_without_digest = re.sub(r"#[0-9a-f]+$", "", name).strip()
    return list(dict.fromkeys(form for form in (model, name_without_digest, name) if form)) or [name]


@dataclass(frozen=True)
class Names(DisplayNames):
    """Display names with HTML, short forms, and methods for matrices and linked tables."""

    def html(self, name: str) -> Markup:
        """Return a name as HTML with the full name as tooltip."""
        full = self.full(name)
        return Markup('<span title="{}">{}</span>').format(full, self.shown_name(name)) if full else escape(name)

    def short(self, names: Iterable[str]) -> dict[str, str]:
        """Return distinct names for a list: chosen names, else names as short as possible."""
        return short_names(names, {full: display.name for full, display in self.displays.items()})

    def matrices(self, full_matrices: Sequence[Matrix]) -> list[Matrix]:
        """Return the matrices with display names of contestants, for sentences and pictures."""
        return [
            replace(matrix, rows=[(self.shown_name(name), cells) for name, cells in matrix.rows])
            for matrix in full_matrices
        ]

    def tables(self, linked_tables: Sequence[LinkedTable]) -> list[LinkedTable]:
        """Return the tables with display names in cells, heads, notes and charts. Links stay."""
        return (
            [self._display_table(linked_table) for linked_table in linked_tables]
            if self.displays
            else list(linked_tables)
        )

    def _display_table(self, linked_table: LinkedTable) -> LinkedTable:
        charts = [self.hint(linked_table.table, hint) for hint in linked_table.charts]
        return replace(linked_table, table=self.table(linked_table.table), charts=charts)


def names_for_ledger(path: Path, ledger: Ledger | None) -> tuple[Names, str]:
    """Read names from a file. Also return a sentence about names that are not in the ledger, or an empty string."""
    names = Names.read(path)
    ledger_names: set[str] = set()
    if ledger is not None:
        with ledger.reader() as reader:
            ledger_names = set().union(*judge_and_contestant_names(reader))
        ledger_names |= {view.name for view in ledger.views()}
    names.refuse_taken(ledger_names, path)
    return names, names.absent_names_sentence(ledger_names, path)
