"""One page for a whole record: its tables, their charts, and the cases behind them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fullbench.core.call import Usage
from fullbench.core.note import Note, sentences
from fullbench.core.record import Record
from fullbench.core.table import Table
from fullbench.core.verdict import Verdict
from fullbench.reports.atomic_write import write_file
from fullbench.reports.display_names import ShownNames
from fullbench.reports.html_page import Exhibit, Section
from fullbench.reports.html_page import page as render
from fullbench.reports.site_info import Imprint
from fullbench.reports.words import Language


def page(
    title: str,
    record: Record,
    tables: Sequence[Table],
    path: str | Path,
    *,
    lead: str = "",
    source: Mapping[str, Any] | None = None,
    unveiled: bool = False,
    names: ShownNames | None = None,
    imprint: Imprint | None = None,
    language: Language = "en",
) -> Path:
    """A page with all tables, their charts, and some of the cases behind them, as one HTML file.

    Sensitive pictures are veiled unless `unveiled`; judges and contestants are shown by `names`. The
    `imprint` says whose page it is; its title takes the place of `title`. All that is ours is said in the `language`.
    """
    names = names or ShownNames()
    sections = [Section("Results", tables=[names.table(table) for table in tables])]
    withheld = sum(item.is_withheld for item in record.items.values())
    shown = [replace(exhibit, names=names) for exhibit in exhibits(record, unveiled=unveiled)]
    words: list[str] = []
    if shown:
        words.append(Note("page.cases", "Cases on which the judges differ most, with all that was said."))
    if withheld:
        words.append(
            Note(
                "page.withheld", "{n:,} of {all:,} items are a withheld test set; their cases are not shown.",
                n=withheld, all=len(record.items),
            )
        )  # fmt: skip
    if words:
        sections.append(Section("Cases", sentences(words), exhibits=shown))
    used = sum((verdict.usage for verdict in record), Usage())
    lead = lead or Note(
        "page.lead", "{verdicts:,} verdicts of {judges} judges on {contestants} contestants. "
        "Every figure has its interval and its n; what was not ruled is counted, never guessed.",
        verdicts=len(record), judges=len(record.judges), contestants=len(record.contestants),
    )  # fmt: skip
    made_by = {"fullbench": version("fullbench"), **(source or {})}
    return write_file(
        path, render(title, lead, sections, usage=used, source=made_by, imprint=imprint, language=language)
    )


def exhibits(record: Record, limit: int = 6, *, unveiled: bool = False) -> list[Exhibit]:
    """For each ballot in turn the panels on which rulings differ most, no item twice, with all that was said.

    Items of a test set that is withheld are not among them: a page may be published.
    """
    heard: dict[tuple[Any, ...], list[Verdict]] = defaultdict(list)
    for verdict in record:
        known = any((verdict.item, *place) in record.responses for place in verdict.shown)
        if known and verdict.item in record.items and not record.items[verdict.item].is_withheld:
            heard[verdict.ballot, verdict.item, verdict.criterion, frozenset(verdict.shown)].append(verdict)
    queues: dict[str, deque[tuple[str, list[Verdict]]]] = defaultdict(deque)
    for (form, item, *_), verdicts in sorted(heard.items(), key=lambda entry: _telling(*entry)):
        queues[form].append((item, verdicts))
    chosen: dict[str, Exhibit] = {}
    while len(chosen) < limit and any(queues.values()):
        for queue in filter(None, queues.values()):
            item, verdicts = queue.popleft()
            if item not in chosen and len(chosen) < limit:
                places = [(item, *place) for place in sorted(set(verdicts[0].shown))]
                shown = [record.responses[place] for place in places if place in record.responses]
                chosen[item] = Exhibit(record.items[item], shown, verdicts, unveiled=unveiled)
    return list(chosen.values())


def _telling(place: tuple[Any, ...], verdicts: Sequence[Verdict]) -> tuple[Any, ...]:
    """Sorts what is worth looking at to the front: many different rulings on few responses."""
    form, item, criterion, names = place
    return form, len(names), -_spread(verdicts), item, criterion, sorted(names)


def _spread(verdicts: Sequence[Verdict]) -> int:
    """How many different rulings there are on one panel, whatever the order shown; faults are one more."""
    return len({
        "" if verdict.marks is None else tuple(sorted(zip(verdict.contestants, verdict.marks, strict=True)))
        for verdict in verdicts
    })  # fmt: skip
