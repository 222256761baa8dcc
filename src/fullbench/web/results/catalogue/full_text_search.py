"""Full-text search that supports Chinese, on SQLite (FTS5) and PostgreSQL (GIN).

Neither database splits Chinese into words, so this module does. A run of CJK characters becomes its pairs of neighbours
and its last character. Other text becomes words. A word and a run that touch become one more pair. A query matches if
all its pieces occur. A single CJK character matches the pairs that start with it. The index `public_search` is created
together with the table of verdicts (`catalogue_tables`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from operator import add as add_texts

from sqlalchemy import ColumnElement, Connection, FromClause, Integer, Text, cast, column, literal, select, table, text
from sqlalchemy.dialects.postgresql import TSQUERY

from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import execute_many

_CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"([{_CJK}]+)|([^\\W_{_CJK}]+)")
_WORDS = re.compile("[^\\W_]+")
# Base64 and links would fill the index with words that nobody types.
_MAX_PIECE_LENGTH = 64
MAX_QUERY_PIECES = 16
"""Further pieces of a query are ignored."""
MAX_ID_GAP = 50
"""Ids at most this far apart are looked up in one query."""
_ADDING = {
    "sqlite": text("INSERT INTO public_search (rowid, words) VALUES (:id, :words)"),
    "postgresql": text(
        "INSERT INTO public_search (id, words) VALUES (:id, array_to_tsvector(string_to_array(:words, ' ')))"
    ),
}


def text_pieces(words: str) -> dict[str, None]:
    """Split a text into distinct pieces, in order.

    >>> list(text_pieces("The Moon, 月亮大3号"))
    ['the', 'moon', '月亮', '亮大', '大', '大3', '3', '3号', '号']
    """
    distinct: dict[str, None] = {}
    for pair, word, run in _split_runs(words):
        if pair:
            distinct[pair] = None
        if word:
            distinct[word] = None
        else:
            distinct.update(dict.fromkeys(map(add_texts, run, run[1:])))
            distinct[run[-1]] = None
    return distinct


def query_pieces(query: str) -> list[tuple[str, bool]]:
    """Split a query into pieces, each with True if it is only a prefix.

    >>> query_pieces("地球 moon"), query_pieces("球")
    ([('地球', False), ('moon', False)], [('球', True)])
    """
    distinct: dict[tuple[str, bool], None] = {}
    for pair, word, run in _split_runs(query):
        for piece in (pair, word, *map(add_texts, run, run[1:])):
            if piece:
                distinct[piece, False] = None
        if len(run) == 1:
            distinct[run, True] = None
    return list(distinct)[:MAX_QUERY_PIECES]


def _split_runs(words: str) -> Iterator[tuple[str, str, str]]:
    """Yield (pair, word, CJK run); word or run is empty. `pair` joins it to a part that it touches, as in 第3张."""
    if words.isascii():  # true for most verdicts, and many times faster
        for word in _WORDS.findall(words.casefold()):
            yield "", word[:_MAX_PIECE_LENGTH], ""
        return
    tail, end = "", -1
    for match in _RUNS.finditer(unicodedata.normalize("NFKC", words).casefold()):
        run, word = match.groups("")
        pair = tail + (word or run[0])[:_MAX_PIECE_LENGTH] if match.start() == end else ""
        yield pair, word[:_MAX_PIECE_LENGTH], run
        tail, end = (word or run[-1])[:_MAX_PIECE_LENGTH], match.end()


def add_documents(connection: Connection, documents: Iterable[tuple[int, str]]) -> None:
    """Index documents: the id of a verdict, and its pieces separated by spaces."""
    execute_many(
        connection, _ADDING[connection.dialect.name], [{"id": id_, "words": words} for id_, words in documents]
    )


def clear_index(connection: Connection) -> None:
    """Remove all documents."""
    if connection.dialect.name == "sqlite":
        # A contentless FTS5 table does not support DELETE.
        connection.execute(text("INSERT INTO public_search (public_search) VALUES ('delete-all')"))
    else:
        connection.execute(text("DELETE FROM public_search"))


def matching_verdicts(connection: Connection, query: str, ids: Iterable[int]) -> set[int]:
    """Return those of the given verdicts that contain all pieces of a query."""
    hits = match_condition(connection.dialect.name, query)
    if hits is None:
        return set()
    index, id_, match = hits
    hits_query, sorted_ids = select(id_).select_from(index).where(match), sorted(ids)
    if connection.dialect.name != "sqlite":
        return set(connection.execute(hits_query.where(id_.in_(sorted_ids))).scalars())
    # FTS5 looks up each id separately, which is slower than reading a range. So near ids are queried together.
    starts = [
        place
        for place, verdict_id in enumerate(sorted_ids)
        if not place or verdict_id - sorted_ids[place - 1] > MAX_ID_GAP
    ]
    hit_ids: set[int] = set()
    for start, end in zip(starts, (*starts[1:], len(sorted_ids)), strict=True):
        hit_ids.update(
            connection.execute(hits_query.where(id_.between(sorted_ids[start], sorted_ids[end - 1]))).scalars()
        )
    return hit_ids.intersection(sorted_ids)


def match_condition(dialect: str, query: str) -> tuple[FromClause, ColumnElement[int], ColumnElement[bool]] | None:
    """Return the index table, its id column, and the match condition of a query. None if it has no pieces."""
    searched_pieces = query_pieces(query)
    if not searched_pieces:
        return None
    # Pieces contain only letters and digits, so they need no escaping inside quotes.
    if dialect == "sqlite":
        words = " AND ".join(f'"{piece}"*' if is_prefix else f'"{piece}"' for piece, is_prefix in searched_pieces)
        index = table("public_search", column("rowid", Integer), column("public_search", Text))
        return index, index.c.rowid, index.c.public_search.op("MATCH", is_comparison=True)(words)
    words = " & ".join(f"'{piece}':*" if is_prefix else f"'{piece}'" for piece, is_prefix in searched_pieces)
    index = table("public_search", column("id", Integer), column("words", Text))
    return index, index.c.id, index.c.words.op("@@", is_comparison=True)(cast(literal(words), TSQUERY))
