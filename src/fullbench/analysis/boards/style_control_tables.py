"""Style control: ratings with length and format alike, and length-controlled win rates against a reference.

Both need the texts of the responses. Style control has the features of LMArena: length, headers, bold and lists.
Length-controlled win rates are those of AlpacaEval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.leaderboard import Board
from fullbench.analysis.boards.matches_from_verdicts import Matches, MatchRows
from fullbench.analysis.boards.win_shares_and_mean_marks import divided_shares
from fullbench.analysis.item_clustered_means_and_shares import share_estimate
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.language_and_words import words_of
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence, join_notes, word_note
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats
from fullbench.stats.ratings.length_controlled_win_rates import length_controlled_win_rates
from fullbench.stats.ratings.style_control import rate_with_style_control, relative_lead

Feature = Callable[[str], float]
Place = tuple[str, str, int]
_HEADER = re.compile(r"^ {0,3}#{1,6}\s", re.MULTILINE)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]", re.MULTILINE)
FEATURES: dict[str, Feature] = {
    "words": lambda text: float(len(words_of(text))),
    "headers": lambda text: float(len(_HEADER.findall(text))),
    "bold": lambda text: float(len(_BOLD.findall(text))),
    "list items": lambda text: float(len(_LIST_ITEM.findall(text))),
}


def style_tables(record: Record, board: Board) -> list[Table]:
    """Return the effects of length and format, and the ratings controlled for them next to the plain ones."""
    rows, sides = _rows_with_texts(record, board.matches, board.matches.rows)
    leads = _feature_leads(record, sides)
    used = {name: differences for name, differences in leads.items() if len(np.unique(differences)) > 1}
    effects: list[list[Cell]] = []
    ratings: list[list[Cell]] = []
    notes = [Note("board.an-effect-is-in-log"), *_missing_text_notes(board.matches.rows, rows)]
    unused = [word_note(name) for name in leads if name not in used]
    if unused:
        notes.append(Note("board.style-does-not-vary", names=join_notes(unused)))
    if len(rows) and used:
        contestant_codes, codes = np.unique(np.concatenate([rows.first, rows.second]), return_inverse=True)
        names = [board.matches.names[code] for code in contestant_codes]
        first_codes, second_codes = np.split(codes, 2)
        try:
            style_fit = rate_with_style_control(
                first_codes, second_codes, rows.outcome, list(used.values()), cluster=rows.item
            )
            effects += [[name, effect] for name, effect in zip(used, style_fit.effects, strict=True)]
            ratings += [
                [name, rating, board.rating_of(name)]
                for name, rating in sorted(
                    zip(names, style_fit.estimates, strict=True), key=lambda named: -named[1].value
                )
            ]
        except Undefined as reason:
            effects += [[name, None] for name in used]
            notes.append(Note("board.style-cannot-be-told-apart", reason=error_sentence(reason)))
    hint = {"kind": "intervals", "label": "contestant", "value": "style-controlled rating"}
    return [
        Table("style", Note("board.title.what-style-is-worth"), table_columns("more", "effect"), effects, notes),
        Table(
            "style ratings",
            Note("board.title.ratings-with-style-alike"),
            table_columns("contestant", "style-controlled rating", "rating"),
            ratings,
            [Note("board.style-controlled", names=join_notes([word_note(name) for name in used]))] if used else [],
            {},
            hint,
        ),
    ]


def length_controlled_table(record: Record, board: Board) -> Table:
    """Return win rates against the reference as they would be at equal length; no rows without the reference."""
    reference = board.settings.reference
    title = Note("board.title.length-controlled", reference=reference or "")
    columns = table_columns("contestant", "length-controlled win rate", "win rate", "matches")
    if reference is None or reference not in board.matches.names:
        return Table("length controlled", title, columns, [])
    rows, names = _rows_against(board, reference)
    rated_rows, (places, first, second) = _rows_with_texts(record, board.matches, rows, names)
    notes: list[str] = [*_missing_text_notes(rows, rated_rows)]
    if not len(rated_rows):
        return Table("length controlled", title, columns, [])
    characters = np.array([float(len(record.responses[place].text)) for place in places])
    contestants, codes = np.unique(rated_rows.first, return_inverse=True)
    try:
        fit = length_controlled_win_rates(
            codes, rated_rows.item, rated_rows.outcome, characters[first] - characters[second]
        )
    except Undefined as reason:
        notes.append(Note("board.no-length-controlled", reason=error_sentence(reason)))
        return Table("length controlled", title, columns, [], notes)
    own_rows = [codes == code for code in range(len(contestants))]
    plain = [share_estimate(rated_rows.outcome[own], rated_rows.item[own]) for own in own_rows]
    order = sorted(range(len(contestants)), key=lambda code: -(fit.estimates[code] or plain[code]).value)
    cells: list[list[Cell]] = [
        [names[contestants[code]], fit.estimates[code], plain[code], plain[code].n] for code in order
    ]
    notes += [Note("board.length-controlled-one-sided", contestant=str(row[0])) for row in cells if row[1] is None]
    effect = fit.length_effect
    notes.append(Note("board.length-effect", value=effect.value, low=effect.low, high=effect.high))
    with_items, without_items = Note("board.length-controlled"), Note("board.length-controlled-without-items")
    notes.append(with_items if fit.has_difficulty else without_items)
    hint = {"kind": "intervals", "label": "contestant", "value": "length-controlled win rate"}
    return Table("length controlled", title, columns, cells, notes, {"reference": reference}, hint)


def _rows_against(board: Board, reference: str) -> tuple[MatchRows, tuple[str, ...]]:
    """Return the matches of each contestant with the reference, the contestant first, and the names behind the codes.

    If the judge divides one whole between two responses, its shares count, not who got the larger one.
    """
    rows, names = board.matches.rows, board.matches.names
    shares = divided_shares(board.columns)
    if shares is not None:
        verdicts, first_shares = shares
        at = board.columns.start.astype(np.int64)[verdicts]
        contestant, sample = board.columns.contestant, board.columns.sample
        names = board.columns.names["contestant"]
        rows = MatchRows(
            board.columns.item[verdicts], contestant[at], contestant[at + 1], first_shares,
            (sample[at], sample[at + 1]), np.ones(len(at), dtype=np.int8),
        )  # fmt: skip
    code = names.index(reference)
    rows = rows.where((rows.first == code) != (rows.second == code))
    is_second = rows.first == code
    first_samples, second_samples = rows.samples
    return MatchRows(
        rows.item, np.where(is_second, rows.second, rows.first), np.where(is_second, rows.first, rows.second),
        np.where(is_second, 1 - rows.outcome, rows.outcome),
        (np.where(is_second, second_samples, first_samples), np.where(is_second, first_samples, second_samples)),
        rows.ahead,
    ), names  # fmt: skip


def _missing_text_notes(all_rows: MatchRows, rows_with_texts: MatchRows) -> list[str]:
    missing_count = len(all_rows) - len(rows_with_texts)
    return [Note("board.no-text", n=missing_count, all=len(all_rows))] if missing_count else []


_Sides = tuple[list[Place], npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""Responses in matches, and their index for the first and the second side of every match."""


def _rows_with_texts(
    record: Record, matches: Matches, rows: MatchRows, names: tuple[str, ...] | None = None
) -> tuple[MatchRows, _Sides]:
    """Return the rows for which the record has both texts; `names` are those behind the codes, if not the matches'."""
    sides = np.concatenate(
        [
            np.column_stack([rows.item, rows.first, rows.samples[0]]),
            np.column_stack([rows.item, rows.second, rows.samples[1]]),
        ]
    )
    different, number = np.unique(sides, axis=0, return_inverse=True)
    places = [(matches.items[item], (names or matches.names)[who], sample) for item, who, sample in different.tolist()]
    there = np.array([place in record.responses for place in places] or [False])
    first, second = np.split(number.reshape(-1), 2)
    has_texts = there[first] & there[second]
    return rows.where(has_texts), (places, first[has_texts], second[has_texts])


def _feature_leads(record: Record, sides: _Sides) -> dict[str, Floats]:
    places, first, second = sides
    response_numbers = np.unique(np.concatenate([first, second]))
    texts = [record.responses[places[number]].text for number in response_numbers.tolist()]
    leads: dict[str, Floats] = {}
    for name, feature in FEATURES.items():
        worth = np.zeros(len(places))
        worth[response_numbers] = [feature(text) for text in texts]
        leads[name] = np.zeros(0) if math.isclose(worth.sum(), 0) else relative_lead(worth[first], worth[second])
    return leads
