"""Names that a site's people chose for judges and contestants, as its pages show them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup, escape

from fullbench.ledger.contents_and_cost import everybody
from fullbench.ledger.ledger import Ledger
from fullbench.reports.display_names import ShownNames
from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.boards.first_page_matrix import Matrix
from fullbench.web.results.catalogue.disagreement import is_panel, is_person

# What people see of a judge's name: as much as tells it from the others beside it.
#
# A name holds all that can change what a judge says (`gpt-4o@lab?t=0.2+analyze#1f3a9c20`); beside others the model is
# often enough. Addresses, exports and the API have the full names.


def short_names(names: Iterable[str], chosen: Mapping[str, str] | None = None) -> dict[str, str]:
    """A name to show for each of these, no two alike; where short ones are, they say more, in the end all.

    Those for whom somebody has `chosen` a name have that one.

    >>> short_names(["gpt-4o+direct#1f3a9c20", "glm@lab+analyze#2b", "glm@lab+direct#3c", "human"]).values()
    dict_values(['gpt-4o', 'glm@lab+analyze', 'glm@lab+direct', 'human'])
    """
    lengths = {name: [chosen[name]] if chosen and name in chosen else _lengths(name) for name in names}
    said = dict.fromkeys(lengths, 0)
    while True:
        shown = {name: lengths[name][place] for name, place in said.items()}
        taken = Counter(shown.values())
        unclear = [name for name in said if taken[shown[name]] > 1 and said[name] < len(lengths[name]) - 1]
        if not unclear:
            return shown
        for name in unclear:
            said[name] += 1


def _lengths(name: str) -> list[str]:
    """A name from its shortest form to the whole: the model, then all but the digest, then everything."""
    if is_person(name) or is_panel(name):
        return [name]
    model = re.split(r"[?+#@]", name, maxsplit=1)[0].strip()
    manner = re.sub(r"#[0-9a-f]+$", "", name).strip()
    return list(dict.fromkeys(form for form in (model, manner, name) if form)) or [name]


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
