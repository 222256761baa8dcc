"""Names that a site's people chose for judges and contestants, as its pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup, escape

from fullbench.ledger.contents_and_cost import everybody
from fullbench.ledger.ledger import Ledger
from fullbench.reports.display_names import ShownNames
from fullbench.web.results.boards import Linked
from fullbench.web.results.matrix import Matrix
from fullbench.web.results.naming import short_names


@dataclass(frozen=True)
class Names(ShownNames):
    """The same for a site's pages, where a name is also markup and stands in links and matrices."""

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
        return [self._linked(linked) for linked in some] if self.chosen else list(some)

    def _linked(self, linked: Linked) -> Linked:
        charts = [self.hint(linked.table, hint) for hint in linked.charts]
        return replace(linked, table=self.table(linked.table), charts=charts)


def for_ledger(path: Path, ledger: Ledger | None) -> tuple[Names, str]:
    """The names in a file, and a sentence about those that nobody in the ledger has; empty where all are there."""
    names = Names.read(path)
    known: set[str] = set()
    if ledger is not None:
        with ledger.reader() as reader:
            known = everybody(reader)
        known |= {view.name for view in ledger.views()}
    names.refuse_taken(known, path)
    return names, names.absent(known, path)
