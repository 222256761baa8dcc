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
from operator import add as add_texts

from sqlalchemy import ColumnElement, Connection, FromClause, Integer, Text, cast, column, literal, select, table, text
from sqlalchemy.dialects.postgresql import TSQUERY

from fullbench.web.results.catalogue.row_helpers import many

_CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"([{_CJK}]+)|([^\\W_{_CJK}]+)")
_WORDS = re.compile("[^\\W_]+")
_LONGEST = 64
MOST = 16
"""How many pieces of a query count."""
NEAR = 50
"""Ids so far from each other at most are asked for in one query."""
_ADDING = {
    "sqlite": text("INSERT INTO public_search (rowid, words) VALUES (:id, :words)"),
    "postgresql": text(
        "INSERT INTO public_search (id, words) VALUES (:id, array_to_tsvector(string_to_array(:words, ' ')))"
    ),
}


def pieces(words: str) -> dict[str, None]:
    """The pieces of a text, each once, in order.

    >>> list(pieces("The Moon, 月亮大3号"))
    ['the', 'moon', '月亮', '亮大', '大', '大3', '3', '3号', '号']
    """
    distinct: dict[str, None] = {}
    for pair, word, run in _cut(words):
        if pair:
            distinct[pair] = None
        if word:
            distinct[word] = None
        else:
            distinct.update(dict.fromkeys(map(add_texts, run, run[1:])))
            distinct[run[-1]] = None
    return distinct


def asked(query: str) -> list[tuple[str, bool]]:
    """The pieces that a query asks for, and whether each is only the beginning of one.

    >>> asked("地球 moon"), asked("球")
    ([('地球', False), ('moon', False)], [('球', True)])
    """
    distinct: dict[tuple[str, bool], None] = {}
    for pair, word, run in _cut(query):
        for piece in (pair, word, *map(add_texts, run, run[1:])):
            if piece:
                distinct[piece, False] = None
        if len(run) == 1:
            distinct[run, True] = None
    return list(distinct)[:MOST]


def _cut(words: str) -> Iterator[tuple[str, str, str]]:
    """Words and runs of CJK characters in order, the other of the two empty; before it, the pair of what touches.

    Where a run and a word touch, as in 第3张, the two that touch are a pair as well.
    """
    if words.isascii():  # most rulings are: many times quicker than the rest
        for word in _WORDS.findall(words.casefold()):
            yield "", word[:_LONGEST], ""
        return
    tail, end = "", -1
    for match in _RUNS.finditer(unicodedata.normalize("NFKC", words).casefold()):
        run, word = match.groups("")
        pair = tail + (word or run[0])[:_LONGEST] if match.start() == end else ""
        yield pair, word[:_LONGEST], run
        tail, end = (word or run[-1])[:_LONGEST], match.end()


def add(connection: Connection, documents: Iterable[tuple[int, str]]) -> None:
    """Index documents: the id of a verdict, and its pieces with blanks between them."""
    many(connection, _ADDING[connection.dialect.name], [{"id": id_, "words": words} for id_, words in documents])


def clear(connection: Connection) -> None:
    """Forget all documents."""
    if connection.dialect.name == "sqlite":
        connection.execute(text("INSERT INTO public_search (public_search) VALUES ('delete-all')"))
    else:
        connection.execute(text("DELETE FROM public_search"))


def among(connection: Connection, query: str, ids: Iterable[int]) -> set[int]:
    """Those of some verdicts that have all pieces of a query."""
    hits = matching(connection.dialect.name, query)
    if hits is None:
        return set()
    index, id_, match = hits
    asked, wanted = select(id_).select_from(index).where(match), sorted(ids)
    if connection.dialect.name != "sqlite":
        return set(connection.execute(asked.where(id_.in_(wanted))).scalars())
    # FTS5 looks each id up on its own, which takes longer than to read on: near ones are asked for together.
    starts = [place for place, one in enumerate(wanted) if not place or one - wanted[place - 1] > NEAR]
    found: set[int] = set()
    for start, end in zip(starts, (*starts[1:], len(wanted)), strict=True):
        found.update(connection.execute(asked.where(id_.between(wanted[start], wanted[end - 1]))).scalars())
    return found.intersection(wanted)


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
