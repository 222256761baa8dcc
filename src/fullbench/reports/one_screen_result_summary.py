"""The first screen of a result: the summary on at most 40 lines, and how to see the rest.

Tables are shown in a short form: numbers without intervals but for the first one, columns dropped from the right until
the rest fits, no cell on two lines. Texts that are cut end with an ellipsis; `--table NAME` has them in full.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from rich.cells import cell_len, set_cell_size

from fullbench.analysis.item_clustered_means_and_shares import EMPTY
from fullbench.analysis.summary.study_summary import CONTESTANTS, JUDGES, sentences_of, split_first_tables
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.reports.cell_text import format_cell, is_numeric_column, plain_line, row_decimals
from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
from fullbench.reports.names_shortened_for_narrow_tables import shorten_names

HEIGHT = 40
MOST_ROWS = 12
"""Rows of a table that are shown; the others are counted."""
LEAST_ROWS = 4
_MOST_LISTED = 5
_LIMITING_NOTES = frozenset(
    {"sent-pictures.without-pictures", "sent-pictures.not-here", "unverified.left-out", "cleaning.left-out",
     "votes.pilot.left-out", "votes.pilot.counted", "votes.visible.left-out"}
)  # fmt: skip
"""Notes of any table that the first screen has too: they say what was left out of all results."""
_GAP = 2
_HEAD = 14
_LEAST_WHY = 23
_NAME_SHARE, _JUDGE_SHARE = 0.45, 0.37
"""Longest share of the width for a name, less if reasons follow; longer names are shortened."""
_NAMES_SHARE = 0.62
"""Longest share of the width for all names of a row, such as criterion and contestant, so that a number fits."""
_CAPTION_NOTES = (
    "summary.metric", "leaderboard.two-ratings", "summary.agreement", "summary.biases-without-votes", "summary.tiers",
)  # fmt: skip
"""Notes of the first tables that explain its columns; they come above the table, the most important first."""
_MOST_CAPTION_LINES = 2
_GAP_NOTES = frozenset({"gaps.empty", "judging.undefined"})
"""Notes that say why a cell is empty."""
_MOST_GAP_LINES = 3
"""Lines below a table that say why cells are empty."""


@dataclass(frozen=True)
class Selection:
    """Tables that a user selected: all, one, or the rows of one judge."""

    all_tables: bool = False
    table: str | None = None
    judge: str | None = None
    elsewhere: str = ""
    """Where tables that this result lacks can be found; part of the error for an unknown table."""

    @property
    def is_default(self) -> bool:
        """True if the first screen is wanted."""
        return not (self.all_tables or self.table or self.judge)


def select_tables(tables: Sequence[Table], view: Selection, names: DisplayNames | None = None) -> list[Table]:
    """Return the tables that a user asked for; all if nothing was asked. Raise if there is none of the name."""
    selected = list(tables)
    if view.judge is not None:
        judge = (names or DisplayNames()).find(view.judge, _judge_names(tables), "judge")
        selected = [part for table in selected if (part := _rows_about(table, judge)) is not None]
    if view.table is not None:
        known_names = [shown_table_name(table) for table in selected]
        spellings = {view.table, view.table.lower()}
        matches = [
            table for table, name in zip(selected, known_names, strict=True) if {table.name, name} & spellings
        ] or [
            table
            for table, name in zip(selected, known_names, strict=True)
            if name.lower().startswith(view.table.lower()) or table.name.startswith(view.table)
        ]
        if not matches:
            near = get_close_matches(view.table, known_names, n=3, cutoff=0.4) or known_names[:_MOST_LISTED]
            raise InputError(
                f"there is no table {view.table!r}. Near it: {', '.join(map(repr, near))}; "
                f"--all prints all {len(known_names)} tables with their names{view.elsewhere}"
            )
        selected = matches
    return selected


def shown_table_name(table: Table) -> str:
    """Return the name of a table with display names of judges and contestants; `--table` takes both forms."""
    name = table.name
    if name not in {CONTESTANTS, JUDGES}:
        for full in sorted(table.names, key=len, reverse=True):
            name = name.replace(full, table.names[full])
    return name


def _judge_names(tables: Sequence[Table]) -> list[str]:
    for table in tables:
        if table.name == JUDGES and table.rows:
            return list(dict.fromkeys(map(str, table.column("judge"))))
    names = [str(table.source["judge"]) for table in tables if "judge" in table.source]
    for table in tables:
        place = table.place("judge")
        names += [] if place is None else [str(cell) for cell in table.cells(place)]
    return list(dict.fromkeys(names))


def _rows_about(table: Table, judge: str) -> Table | None:
    """Return the table if it is about this judge, its rows of this judge, or None."""
    if table.source.get("judge") == judge:
        return table
    place = table.place("judge")
    rows = [] if place is None else [row for row in table.rows if str(row[place]) == judge]
    return replace(table, rows=rows, chart=None) if rows else None


def render_first_screen(
    tables: Sequence[Table],
    *,
    width: int = 80,
    height: int = HEIGHT,
    sentences: Sequence[str] | None = None,
    most_rows: int = MOST_ROWS,
) -> str:
    """Return the first screen of these tables.

    Args:
        tables: The tables; the summary is first if there is one.
        width: Columns of the terminal.
        height: Lines that may be printed.
        sentences: Sentences that come first; default: those of the summary.
        most_rows: Rows that a table shows at most.
    """
    sentences = [*sentences_of(tables), *_limiting_notes(tables)] if sentences is None else sentences
    first_tables = [table for table in split_first_tables(tables)[0] or tables[:1] if table.rows]
    first_names = {CONTESTANTS, JUDGES, *(table.name for table in first_tables)}
    other_names = [table.name for table in tables if table.name not in first_names]
    footer = _footer_lines(tables, other_names, width)
    parts = [_ShortTable.from_table(_one_row_per_judge(table), width) for table in first_tables]
    lines = _sentence_lines(sentences, width, height - len(footer) - sum(part.fixed_lines + 1 for part in parts))
    free = height - len(lines) - len(footer) - sum(part.fixed_lines for part in parts)
    if sum(min(len(part.rows), most_rows) for part in parts) > free:  # rows matter more than explanations
        parts = [replace(part, caption=part.short_caption, gap_reasons=()) for part in parts]
        free = height - len(lines) - len(footer) - sum(part.fixed_lines for part in parts)
    for part, rows in zip(parts, _share_rows([min(len(part.rows), most_rows) for part in parts], free), strict=True):
        lines += ["", *part.lines(rows)]
    return "\n".join(line.rstrip() for line in [*lines, *footer]).strip("\n") + "\n"


def _wrap(text: str, width: int) -> list[str]:
    """Return the lines of a sentence; names are never broken."""
    return textwrap.wrap(plain_line(text), width, break_long_words=False, break_on_hyphens=False)


def _share_rows(wanted: Sequence[int], free: int) -> list[int]:
    """Return the rows that each table may show: so many that all fit.

    >>> _share_rows([6, 12], 40), _share_rows([12, 12], 14), _share_rows([3, 12], 14)
    ([6, 12], [7, 7], [3, 11])
    """
    shares = list(wanted)
    while sum(shares) > max(free, LEAST_ROWS * len(shares)) and max(shares, default=0) > LEAST_ROWS:
        shares[max(range(len(shares)), key=lambda place: (shares[place], place))] -= 1
    return shares


def _limiting_notes(tables: Sequence[Table]) -> list[str]:
    notes = (note for table in tables for note in table.notes if isinstance(note, Note))
    return list(dict.fromkeys(note for note in notes if note.id in _LIMITING_NOTES))


def _sentence_lines(sentences: Sequence[str], width: int, most: int) -> list[str]:
    """Return the lines of the sentences; if they are too many, the last sentences are counted."""
    lines: list[str] = []
    for place, sentence in enumerate(sentences):
        wrapped = _wrap(sentence, width)
        more = len(sentences) - place
        if len(lines) + len(wrapped) + (more > 1) > most and place:
            return [*lines, f"+{more} more sentence{'s' * (more > 1)}: --all"]
        lines += wrapped
    return lines


def _footer_lines(tables: Sequence[Table], others: Sequence[str], width: int) -> list[str]:
    count = len(tables)
    if not others:
        return []
    text = (
        f"{count} tables in all: --all prints them, --table NAME one of them, such as {_quoted(min(others, key=len))}."
    )
    return ["", *_wrap(text, width)]


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name


def _one_row_per_judge(table: Table) -> Table:
    """Return the table of judges with the worst row of each judge, which names its criterion; other tables unchanged.

    Rows are in the order of trust, so the worst row of a judge is its last one.
    """
    splits = [place for key in ("study", "criterion") if (place := table.place(key)) is not None]
    judge, trust = table.place("judge"), table.place("trust")
    if table.name != JUDGES or not splits or judge is None or trust is None:
        return table
    rows_by_judge: dict[Cell, list[Sequence[Cell]]] = {}
    for row in table.rows:
        rows_by_judge.setdefault(row[judge], []).append(row)
    rows = []
    for of_judge in rows_by_judge.values():
        worst = list(of_judge[-1])
        if len(of_judge) > 1 and len({row[trust] for row in of_judge}) == 1:
            for place in splits:
                worst[place] = f"all {len({row[place] for row in of_judge})}"
        rows.append(worst)
    order = {word: number for number, word in enumerate(dict.fromkeys(str(row[trust]) for row in table.rows))}
    return replace(table, rows=sorted(rows, key=lambda row: order[str(row[trust])]))


@dataclass(frozen=True)
class _ShortTable:
    """A table cut to a width: heads and rows as texts of equal widths, and what was left out."""

    caption: Sequence[str]
    """Lines above the table: its title and what its numbers are."""
    short_caption: Sequence[str]
    """The same on one line."""
    name: str
    heads: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool]
    widths: Sequence[int]
    left_out_columns: int
    more_judges: int
    """Judges whose numbers are in no column that is shown."""
    width: int
    scopes: Sequence[tuple[Cell, ...]]
    """Study and criterion of each row, as far as the table has them."""
    gap_reasons: Sequence[str]
    """Lines on why cells are empty."""

    @classmethod
    def from_table(cls, table: Table, width: int) -> _ShortTable:
        columns = table.typed_columns
        with_interval = None if table.name == JUDGES else _place_of_interval(table)
        texts = [_short_cells(table, place, with_interval=place == with_interval) for place in range(len(columns))]
        name_count = sum(column.kind == "name" and not column.is_data_label for column in columns)
        share = _JUDGE_SHARE if table.name == JUDGES else _NAME_SHARE if name_count < 2 else _NAMES_SHARE / name_count
        most_for_name = int(width * share)
        texts = [
            shorten_names(cells, most_for_name, are_judges=column.key == "judge") if column.kind == "name" else cells
            for column, cells in zip(columns, texts, strict=True)
        ]
        data_heads = shorten_names([plain_line(column) for column in columns if column.is_data_label], _HEAD)
        short_heads = dict(zip((column for column in columns if column.is_data_label), data_heads, strict=True))
        split_heads = [
            _head_lines(column, short_heads.get(column, ""), max(map(cell_len, cells), default=1))
            for column, cells in zip(columns, texts, strict=True)
        ]
        widths = [max(map(cell_len, [*head, *cells])) for head, cells in zip(split_heads, texts, strict=True)]
        places = _fitting_places(table, widths, width)
        if (why := table.place("why")) is not None and why in places:
            widths[why] = min(widths[why], width - sum(widths[place] + _GAP for place in places if place != why))
            texts[why] = [_cut_reasons(text, widths[why]) for text in texts[why]]
        rows = [[texts[place][row] for place in places] for row in range(len(table.rows))]
        left_out = [place for place in range(len(columns)) if place not in places and _is_informative(table, place)]
        left_out_judges = [place for place in left_out if table.name == CONTESTANTS and columns[place].is_data_label]
        return cls(
            _caption_lines(table, width, _MOST_CAPTION_LINES),
            _caption_lines(table, width, 1),
            table.name,
            [split_heads[place] for place in places],
            rows,
            [is_numeric_column(table.cells(place)) for place in places],
            [widths[place] for place in places],
            len(left_out) - len(left_out_judges),
            len(left_out_judges) + sum(_more_judges(note) for note in table.notes),
            width,
            _scopes_of_rows(table),
            _gap_lines(table, width) if any(None in row for row in table.rows) else (),
        )

    @property
    def fixed_lines(self) -> int:
        """Lines besides the rows: a blank line, caption, heads, rule, and what was left out."""
        return 4 + len(self.caption) + len(self.gap_reasons) + any(top for top, _ in self.heads)

    def lines(self, most_rows: int) -> list[str]:
        """Return title, heads, a rule, the first rows, and a line that counts what is not shown."""
        tops, bottoms = zip(*self.heads, strict=True)
        rule = "─" * (sum(self.widths) + _GAP * (len(self.widths) - 1))
        lines = [*self.caption, *([self._line(tops)] if any(tops) else []), self._line(bottoms), rule]
        lines += [self._line(self.rows[place]) for place in self._first_rows(most_rows)]
        counts = {"more row": len(self.rows) - most_rows, "column": self.left_out_columns}
        left_out = [f"+{count:,} {what}{'s' * (count > 1)}" for what, count in counts.items() if count > 0]
        ways = [f"--table {_quoted(self.name)}"] if left_out else []
        if self.more_judges:
            left_out.append(f"+{self.more_judges:,} more judge{'s' * (self.more_judges > 1)}")
            ways.append("--all")
        if left_out:
            line = f"{', '.join(left_out)}: {' or '.join(ways)}"
            lines.append(line if cell_len(line) <= self.width else f"{', '.join(left_out)}: --all")
        return [*lines, *self.gap_reasons]

    def _first_rows(self, most: int) -> list[int]:
        """Return the rows to show: the first of every study and criterion, then the second ones, and so on."""
        numbers: dict[tuple[Cell, ...], int] = {}
        turns = [numbers[scope] for scope in self.scopes if numbers.update({scope: numbers.get(scope, 0) + 1}) is None]
        return sorted(sorted(range(len(self.rows)), key=lambda place: (turns[place], place))[:most])

    def _line(self, cells: Sequence[str]) -> str:
        return (" " * _GAP).join(
            " " * (size - cell_len(cell)) + cell if is_right else cell + " " * (size - cell_len(cell))
            for cell, size, is_right in zip(cells, self.widths, self.right, strict=True)
        )


def _more_judges(note: str) -> int:
    """Return how many judges a note counts that have no column."""
    return int(str(note.values["n"])) if isinstance(note, Note) and note.id == "summary.more-judges" else 0


def _scopes_of_rows(table: Table) -> list[tuple[Cell, ...]]:
    places = [place for key in ("study", "criterion") if (place := table.place(key)) is not None]
    if table.name != CONTESTANTS:
        places = []
    return [tuple(row[place] for place in places) for row in table.rows]


def _short_cells(table: Table, place: int, *, with_interval: bool) -> list[str]:
    column, decimals = table.typed_columns[place], row_decimals(table, place)
    return [
        _short_cell(column, cell, digits, with_interval=with_interval)
        for cell, digits in zip(table.cells(place), decimals, strict=True)
    ]


def _short_cell(column: Column, cell: Cell, decimals: int, *, with_interval: bool) -> str:
    if isinstance(cell, Estimate) and column.key == "share unusable":
        return f"{cell.value:.0%}"
    if isinstance(cell, Estimate) and not (with_interval and not cell.why):
        return format_cell(cell.value, decimals)
    return format_cell(cell, decimals)


def _place_of_interval(table: Table) -> int | None:
    """Return the first column of estimates, the only one with intervals."""
    return next(
        (
            place
            for place in range(len(table.columns))
            if any(isinstance(cell, Estimate) for cell in table.cells(place))
            and table.typed_columns[place].key != "share unusable"
        ),
        None,
    )


_FIRST_KEYS = ("trust", "agreement")
_LAST_KEYS = ("items", "people agree", "biases", "Elo over orders", "matches")
"""Columns that are chosen first, and those that are dropped first."""
_NEVER_KEYS = ("rank alone", "votes to decide")
"""Columns that only --all and --table show."""


def _is_informative(table: Table, place: int) -> bool:
    """Return True if a column says something about some row."""
    cells = table.cells(place)
    is_same_scope = table.name == JUDGES and {str(cell) for cell in cells} <= {f"all {n}" for n in range(2, 1000)}
    return any(cell is not None for cell in cells) and not is_same_scope


def _fitting_places(table: Table, widths: Sequence[int], width: int) -> list[int]:
    """Return the columns that fit, in their order; first those that name a row, then from the left.

    A column `why` needs only some of its width, because its texts may be cut.
    """
    columns = table.typed_columns

    def importance(place: int) -> tuple[int, int]:
        key = columns[place].key
        if columns[place].kind in {"name", "rank"} and not columns[place].is_data_label:
            return 0, place
        return (1 if key in _FIRST_KEYS else 3 if key in _LAST_KEYS else 2), place

    places_that_fit: list[int] = []
    possible = [
        place
        for place in range(len(columns))
        if _is_informative(table, place) and columns[place].key not in _NEVER_KEYS
    ]
    for place in sorted(possible, key=importance):
        # Reasons may be cut for the numbers, but not for what says the same.
        least = [
            min(widths[each], _LEAST_WHY) if columns[each].key == "why" and importance(place)[0] < 3 else widths[each]
            for each in [*places_that_fit, place]
        ]
        if sum(least) + _GAP * len(places_that_fit) <= width or not places_that_fit:
            places_that_fit.append(place)
        elif table.name != JUDGES:  # no gap between the columns that are shown
            break
    return sorted(places_that_fit)


def _caption_lines(table: Table, width: int, most: int) -> list[str]:
    """Return the title, and as many of the notes that explain the columns as fit on so many lines."""
    notes = {note.id: note for note in table.notes if isinstance(note, Note)}
    lines = [plain_line(table.title)]
    text = lines[0] + "."
    for name in _CAPTION_NOTES:
        if name in notes and len(wrapped := _wrap(f"{text} {notes[name]}", width)) <= most:
            text, lines = f"{text} {notes[name]}", wrapped
    return lines


def _gap_lines(table: Table, width: int) -> list[str]:
    """Return the reasons for empty cells, as many as fit in whole on a few lines, and how many there are more."""
    reasons = [note for note in table.notes if isinstance(note, Note) and note.id in _GAP_NOTES]
    lines: list[str] = []
    for place, reason in enumerate(reasons):
        wrapped = _wrap(reason, width)
        if len(lines) + len(wrapped) > _MOST_GAP_LINES and place:
            more = len(reasons) - place
            return [*lines, f"+{more} more reason{'s' * (more > 1)} for {EMPTY}: --table {_quoted(table.name)}"]
        lines += wrapped
    return lines


def _head_lines(column: Column, short_head: str, size: int) -> tuple[str, str]:
    """Return the head of a column on one or two lines; names from the data are shortened if cells are narrow."""
    top, bottom = _two_lines(plain_line(column), size)
    if column.is_data_label and max(cell_len(top), cell_len(bottom)) > max(size, _HEAD):
        return _two_lines(short_head, size)
    return top, bottom


def _two_lines(head: str, size: int) -> tuple[str, str]:
    """Return a head on one line, or on two if it is wider than the cells below it.

    >>> _two_lines("same verdict in both orders", 4), _two_lines("rating", 12)
    (('same verdict', 'in both orders'), ('', 'rating'))
    """
    words = head.split(" ")
    if cell_len(head) <= size or len(words) == 1:
        return "", head
    splits = [(" ".join(words[:place]), " ".join(words[place:])) for place in range(1, len(words))]
    return min(splits, key=lambda split: max(map(cell_len, split)))


def _cut_reasons(text: str, most: int) -> str:
    """Return as many of the reasons, from the first, as fit in whole, and how many there are more.

    >>> _cut_reasons("few items; lenient; strict", 30), _cut_reasons("few items; lenient; strict", 20)
    ('few items; lenient; strict', 'few items (+2 more)')
    """
    if cell_len(text) <= most:
        return text
    reasons = text.split("; ")
    for count in range(len(reasons) - 1, 0, -1):
        short_text = f"{'; '.join(reasons[:count])} (+{len(reasons) - count} more)"
        if cell_len(short_text) <= most:
            return short_text
    return _cut_text(text if len(reasons) == 1 else reasons[0], most)


def _cut_text(text: str, most: int) -> str:
    """Return the beginning of a text, with an ellipsis if something is missing but numbers in parentheses.

    >>> _cut_text("prefers long answers", 12), _cut_text("lenient", 12), _cut_text("less (0.7, 0.8)", 12)
    ('prefers lon…', 'lenient', 'less')
    """
    without_numbers = text.partition(" (")[0] if text.endswith(")") and text.count("(") == 1 else text
    if cell_len(without_numbers) <= most < cell_len(text):
        return without_numbers
    return text if cell_len(text) <= most else set_cell_size(text, most - 1).rstrip() + "…"
