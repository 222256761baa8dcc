"""Page for a whole record: its tables, their charts, and example cases."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fullbench.analysis.summary.study_summary import sentences_of, split_first_tables
from fullbench.core.model_call import Usage
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note, join_sentences
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.reports.atomic_write import write_file
from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
from fullbench.reports.html_page import Exhibit, Section
from fullbench.reports.html_page import render_page as render
from fullbench.reports.site_info import Imprint
from fullbench.reports.words import Language


def write_page(
    title: str,
    record: Record,
    tables: Sequence[Table],
    path: str | Path,
    *,
    lead: str = "",
    source: Mapping[str, Any] | None = None,
    include_sensitive: bool = False,
    names: DisplayNames | None = None,
    imprint: Imprint | None = None,
    language: Language = "en",
) -> Path:
    """Write a page with all tables, their charts and example cases, as one HTML file. A table of full names ends it.

    Args:
        title: Title of the page, unless the imprint has one.
        record: Verdicts, from which the cases are taken.
        tables: The tables.
        path: The file.
        lead: First paragraph.
        source: How the page was made: versions, seeds, ledger digest.
        include_sensitive: Whether sensitive pictures are shown; otherwise they are veiled.
        names: Display names of judges and contestants; default: those of record and tables.
        imprint: Information about the owner of the page.
        language: Language of fullbench's own texts.
    """
    if names is None:
        table_names = {full: name for table in tables for full, name in table.names.items()}
        names = DisplayNames.from_names({**record.names, **table_names})
    sections = result_sections([names.table(table) for table in tables])
    withheld_count = sum(item.is_withheld for item in record.items.values())
    page_exhibits = [
        replace(exhibit, names=names) for exhibit in select_exhibits(record, include_sensitive=include_sensitive)
    ]
    words: list[str] = []
    if page_exhibits:
        words.append(Note("page.cases"))
    if withheld_count:
        words.append(Note("page.withheld", n=withheld_count, all=len(record.items)))
    if words:
        sections.append(Section("Cases", join_sentences(words), exhibits=page_exhibits))
    if legend := names.legend(tables):
        sections.append(Section("Names", tables=[legend]))
    total_usage = sum((verdict.usage for verdict in record), Usage())
    lead = lead or Note(
        "page.lead", verdicts=len(record), judges=len(record.judges), contestants=len(record.contestants)
    )
    page_source = {"fullbench": version("fullbench"), **(source or {})}
    for role in page_source.keys() & {"judges", "contestants"}:
        page_source[role] = names.shown_names(page_source[role])
    return write_file(
        path, render(title, lead, sections, usage=total_usage, source=page_source, imprint=imprint, language=language)
    )


def result_sections(tables: Sequence[Table]) -> list[Section]:
    """Return the sections of a page of results: the summary if there is one, then all other tables."""
    sentences = sentences_of(tables)
    if not sentences:
        return [Section("Results", tables=tables)]
    first, other_tables = split_first_tables(tables)
    return [Section("Summary", join_sentences(sentences), tables=first), Section("Results", tables=other_tables)]


def select_exhibits(record: Record, limit: int = 6, *, include_sensitive: bool = False) -> list[Exhibit]:
    """Return, taking ballots in turn, the cases with the most different verdicts, no item twice.
    Items of a withheld test set are left out, because a page may be published.
    """
    verdicts_by_case: dict[tuple[Any, ...], list[Verdict]] = defaultdict(list)
    for verdict in record:
        has_response = any((verdict.item, *place) in record.responses for place in verdict.shown_responses)
        if has_response and verdict.item in record.items and not record.items[verdict.item].is_withheld:
            verdicts_by_case[
                verdict.ballot, verdict.item, verdict.criterion, frozenset(verdict.shown_responses)
            ].append(verdict)
    queues: dict[str, deque[tuple[str, list[Verdict]]]] = defaultdict(deque)
    for (form, item, *_), verdicts in sorted(verdicts_by_case.items(), key=lambda entry: _interest_key(*entry)):
        queues[form].append((item, verdicts))
    exhibits_by_item: dict[str, Exhibit] = {}
    while len(exhibits_by_item) < limit and any(queues.values()):
        for queue in filter(None, queues.values()):
            item, verdicts = queue.popleft()
            if item not in exhibits_by_item and len(exhibits_by_item) < limit:
                places = [(item, *place) for place in sorted(set(verdicts[0].shown_responses))]
                responses = [record.responses[place] for place in places if place in record.responses]
                exhibits_by_item[item] = Exhibit(
                    record.items[item], responses, verdicts, include_sensitive=include_sensitive
                )
    return list(exhibits_by_item.values())


def _interest_key(place: tuple[Any, ...], verdicts: Sequence[Verdict]) -> tuple[Any, ...]:
    form, item, criterion, names = place
    return form, len(names), -_count_distinct_verdicts(verdicts), item, criterion, sorted(names)


def _count_distinct_verdicts(verdicts: Sequence[Verdict]) -> int:
    """Count different verdicts on one set of responses in any order; all unusable ones count as one."""
    return len({
        "" if verdict.marks is None else tuple(sorted(zip(verdict.contestants, verdict.marks, strict=True)))
        for verdict in verdicts
    })  # fmt: skip
