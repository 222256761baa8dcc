"""A study in a few sentences: what was judged, by whom, and what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select

from fullbench.web.results.boards.board_store import item_tags
from fullbench.web.results.boards.first_page_matrix import Matrix, Task
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.disagreement import is_panel, is_person
from fullbench.web.results.catalogue.row_helpers import judges_in, studies
from fullbench.web.words import key

NAMED = 3
"""So many names stand in a sentence, then how many more there are."""


@dataclass(frozen=True)
class Sentence:
    """Words that are translated where they are shown, and what is filled in."""

    words: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Story:
    """How much there is of a study, and its items by tag: each tag with its values and how many items have each."""

    items: int
    contestants: int
    judges: int
    panels: int
    raters: int
    votes: int
    tasks: Mapping[str, Sequence[tuple[Task, int]]]


def story(connection: Connection, study: str) -> Story:
    """What a study holds."""
    number = studies(connection).get(study, 0)
    c, i, v = catalogue_tables.counts.c, catalogue_tables.items.c, catalogue_tables.verdicts.c
    here = (c.study_id == number, c.n > 0)
    contestants = connection.execute(
        select(func.count(c.contestant_id.distinct())).where(*here, c.contestant_id != 0)
    ).scalar_one()
    items = connection.execute(
        select(func.count()).select_from(catalogue_tables.items).where(i.study_id == number)
    ).scalar_one()
    present = judges_in(connection, number)
    people = [id_ for id_, name in present.items() if is_person(name)]
    rated = select(func.count(v.rater_id.distinct()), func.count()).where(v.judge_id.in_(people), v.study_id == number)
    raters, votes = connection.execute(rated).one()
    counted = {tag: Counter(values.values()) for tag, values in item_tags(connection, number).items()}
    return Story(
        items=items,
        contestants=contestants,
        judges=sum(not is_person(name) and not is_panel(name) for name in present.values()),
        panels=sum(is_panel(name) for name in present.values()),
        raters=raters,
        votes=votes,
        tasks={tag: [(Task(tag, value), n) for value, n in sorted(values.items())] for tag, values in counted.items()},
    )


def outcome(matrices: Sequence[Matrix]) -> list[Sentence]:
    """What came out, from the first matrix: who is ahead for people and for how many judges."""
    if not matrices or not matrices[0].rows:
        return []
    matrix = matrices[0]
    sentences: list[Sentence] = []
    if matrix.by_people:
        best = _first(matrix, 0)
        if len(best) == 1:
            sentences.append(Sentence(key("People put {name} first."), {"name": best[0]}))
        elif len(best) == len(matrix.rows):
            sentences.append(Sentence(key("People's votes do not tell the contestants apart.")))
        elif best:
            words = (
                key("In people's votes {names} share the first place.")
                if len(best) <= NAMED
                else key("In people's votes {names} and {more} more share the first place.")
            )
            sentences.append(Sentence(words, _named(best)))
    judges = [place for place, column in enumerate(matrix.columns) if not column.people and not column.panel]
    firsts = [_first(matrix, place) for place in judges]
    telling = [first for first in firsts if 0 < len(first) < len(matrix.rows)]
    counts = {name: sum(name in first for first in telling) for name, _ in matrix.rows}
    most = max(counts.values())
    if most and len(judges) == 1:
        words = (
            key("The judge puts {name} first.")
            if len(telling[0]) == 1
            else key("For the judge {names} share the first place.")
            if len(telling[0]) <= NAMED
            else key("For the judge {names} and {more} more share the first place.")
        )
        sentences.append(Sentence(words, {"name": telling[0][0], **_named(telling[0])}))
    elif most:
        names = [name for name, count in counts.items() if count == most]
        words = (
            key("For {count} of {judges} judges {names} is first, alone or with others.")
            if len(names) == 1
            else key("For {count} of {judges} judges each of {names} is first, alone or with others.")
            if len(names) <= NAMED
            else key("For {count} of {judges} judges each of {names} and {more} more is first, alone or with others.")
        )
        sentences.append(Sentence(words, {"judges": len(judges), "count": most, **_named(names)}))
    elif len(judges) == 1:
        sentences.append(Sentence(key("The judge's rulings do not tell the contestants apart.")))
    elif judges:
        words = key("None of the {judges} judges tells the contestants apart.")
        sentences.append(Sentence(words, {"judges": len(judges)}))
    return sentences


def _first(matrix: Matrix, column: int) -> list[str]:
    """The contestants whose rank set begins at 1 on one judge's board."""
    return [name for name, cells in matrix.rows if (cell := cells[column]) and cell.rank.split("-")[0] == "1"]


def _named(names: Sequence[str]) -> dict[str, Any]:
    """The first few by name, and how many more there are."""
    return {"names": ", ".join(names[:NAMED]), "more": len(names) - NAMED}
