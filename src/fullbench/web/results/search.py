"""Full-text search that serves Chinese too, the same on SQLite (FTS5) and PostgreSQL (GIN).

Neither database cuts Chinese into words, so we cut ourselves: a run of CJK characters becomes its pairs of neighbours
and its last character, anything else its words, and where the two touch, a pair of both. A query asks for all of its
pieces; one lone character asks for the pairs that begin with it. The index itself, `public_search`, is made with the
table of verdicts (`tables`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from sqlalchemy import ColumnElement, Connection, FromClause, Integer, Text, cast, column, literal, table, text
from sqlalchemy.dialects.postgresql import TSQUERY

_CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"([{_CJK}]+)|([^\\W_{_CJK}]+)")
_LONGEST = 64
MOST = 16
"""How many pieces of a query count."""


def pieces(words: str) -> dict[str, None]:
    """The pieces of a text, each once, in order.

    >>> list(pieces("The Moon, 月亮大3号"))
    ['the', 'moon', '月亮', '亮大', '大', '大3', '3', '3号', '号']
    """
    distinct: dict[str, None] = {}
    for piece, _ in _cut(words):
        distinct[piece] = None
    return distinct


def asked(query: str) -> list[tuple[str, bool]]:
    """The pieces that a query asks for, and whether each is only the beginning of one.

    >>> asked("地球 moon"), asked("球")
    ([('地球', False), ('moon', False)], [('球', True)])
    """
    distinct: dict[tuple[str, bool], None] = {}
    for piece, alone in _cut(query):
        if alone is not False:
            distinct[piece, bool(alone)] = None
    return list(distinct)[:MOST]


def _cut(words: str) -> Iterator[tuple[str, bool | None]]:
    """Pieces in order: words and pairs (None), the last character of a run (False), or its only one (True).

    Where a run and a word touch, as in 第3张, the two that touch are a pair as well.
    """
    tail, end = "", -1
    for match in _RUNS.finditer(unicodedata.normalize("NFKC", words).casefold()):
        run, word = match[1], match[2]
        if tail and match.start() == end:
            yield tail + (word or run[0])[:_LONGEST], None
        if word:
            yield word[:_LONGEST], None
        else:
            for place in range(len(run) - 1):
                yield run[place : place + 2], None
            yield run[-1], len(run) == 1
        tail, end = (word or run[-1])[:_LONGEST], match.end()


def add(connection: Connection, documents: Iterable[tuple[int, Iterable[str]]]) -> None:
    """Index documents: the id of a verdict, and its pieces."""
    if connection.dialect.name == "sqlite":
        rows = [{"id": id_, "words": " ".join(words)} for id_, words in documents]
        statement = "INSERT INTO public_search (rowid, words) VALUES (:id, :words)"
    else:
        rows = [{"id": id_, "words": list(words)} for id_, words in documents]
        statement = "INSERT INTO public_search (id, words) VALUES (:id, array_to_tsvector(CAST(:words AS text[])))"
    if rows:
        connection.execute(text(statement), rows)


def clear(connection: Connection) -> None:
    """Forget all documents."""
    if connection.dialect.name == "sqlite":
        connection.execute(text("INSERT INTO public_search (public_search) VALUES ('delete-all')"))
    else:
        connection.execute(text("DELETE FROM public_search"))


def matching(dialect: str, query: str) -> tuple[FromClause, ColumnElement[int], ColumnElement[bool]] | None:
    """The index as a table, its column of verdicts' ids, and the condition that all pieces of the query are there.

    None where a query holds nothing to ask for.
    """
    wanted = asked(query)
    if not wanted:
        return None
    if dialect == "sqlite":
        words = " AND ".join(f'"{piece}"*' if begins else f'"{piece}"' for piece, begins in wanted)
        index = table("public_search", column("rowid", Integer), column("public_search", Text))
        return index, index.c.rowid, index.c.public_search.op("MATCH", is_comparison=True)(words)
    words = " & ".join(f"'{piece}':*" if begins else f"'{piece}'" for piece, begins in wanted)
    index = table("public_search", column("id", Integer), column("words", Text))
    return index, index.c.id, index.c.words.op("@@", is_comparison=True)(cast(literal(words), TSQUERY))
