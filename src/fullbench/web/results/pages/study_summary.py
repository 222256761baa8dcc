"""Summary of a study: its counts, and sentences about the outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select

from fullbench.web.results.boards.board_store import item_tags
from fullbench.web.results.boards.contestants_by_judges_matrix import Matrix, Task
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import judges_in, study_ids_by_name
from fullbench.web.results.catalogue.disagreement_flags import is_panel, is_person
from fullbench.web.words import key

MAX_NAMES = 3
"""Maximum number of names in a sentence; the others are counted."""


@dataclass(frozen=True)
class Sentence:
    """A sentence to translate, and the values to fill in."""

    words: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Story:
    """Counts of a study, and the number of items for each value of each tag."""

    items: int
    contestants: int
    judges: int
    panels: int
    raters: int
    votes: int
    tasks: Mapping[str, Sequence[tuple[Task, int]]]


def load_story(connection: Connection, study: str) -> Story:
    """Load the counts of a study."""
    number = study_ids_by_name(connection).get(study, 0)
    c, i, v = catalogue_tables.counts.c, catalogue_tables.items.c, catalogue_tables.verdicts.c
    study_conditions = (c.study_id == number, c.n > 0)
    contestants = connection.execute(
        select(func.count(c.contestant_id.distinct())).where(*study_conditions, c.contestant_id != 0)
    ).scalar_one()
    items = connection.execute(
        select(func.count()).select_from(catalogue_tables.items).where(i.study_id == number)
    ).scalar_one()
    present = judges_in(connection, number)
    people = [id_ for id_, name in present.items() if is_person(name)]
    votes_query = select(func.count(v.rater_id.distinct()), func.count()).where(
        v.judge_id.in_(people), v.study_id == number
    )
    raters, votes = connection.execute(votes_query).one()
    value_counts = {tag: Counter(values.values()) for tag, values in item_tags(connection, number).items()}
    return Story(
        items=items,
        contestants=contestants,
        judges=sum(not is_person(name) and not is_panel(name) for name in present.values()),
        panels=sum(is_panel(name) for name in present.values()),
        raters=raters,
        votes=votes,
        tasks={
            tag: [(Task(tag, value), n) for value, n in sorted(values.items())] for tag, values in value_counts.items()
        },
    )


def outcome_sentences(matrices: Sequence[Matrix]) -> list[Sentence]:
    """Describe the outcome from the first matrix: the best for people and for how many judges."""
    if not matrices or not matrices[0].rows:
        return []
    matrix = matrices[0]
    sentences: list[Sentence] = []
    if matrix.by_people:
        best = _first_ranked(matrix, 0)
        if len(best) == 1:
            sentences.append(Sentence(key("People put {name} first."), {"name": best[0]}))
        elif len(best) == len(matrix.rows):
            sentences.append(Sentence(key("People's votes do not distinguish the contestants.")))
        elif best:
            words = (
                key("In people's votes {names} share the first place.")
                if len(best) <= MAX_NAMES
                else key("In people's votes {names} and {more} more share the first place.")
            )
            sentences.append(Sentence(words, _name_values(best)))
    judges = [place for place, column in enumerate(matrix.columns) if not column.people and not column.panel]
    firsts = [_first_ranked(matrix, place) for place in judges]
    decisive_firsts = [first for first in firsts if 0 < len(first) < len(matrix.rows)]
    counts = {name: sum(name in first for first in decisive_firsts) for name, _ in matrix.rows}
    highest_count = max(counts.values())
    if highest_count and len(judges) == 1:
        words = (
            key("The judge puts {name} first.")
            if len(decisive_firsts[0]) == 1
            else key("For the judge {names} share the first place.")
            if len(decisive_firsts[0]) <= MAX_NAMES
            else key("For the judge {names} and {more} more share the first place.")
        )
        sentences.append(Sentence(words, {"name": decisive_firsts[0][0], **_name_values(decisive_firsts[0])}))
    elif highest_count:
        names = [name for name, count in counts.items() if count == highest_count]
        words = (
            key("For {count} of {judges} judges {names} is first, alone or with others.")
            if len(names) == 1
            else key("For {count} of {judges} judges each of {names} is first, alone or with others.")
            if len(names) <= MAX_NAMES
            else key("For {count} of {judges} judges each of {names} and {more} more is first, alone or with others.")
        )
        sentences.append(Sentence(words, {"judges": len(judges), "count": highest_count, **_name_values(names)}))
    elif len(judges) == 1:
        sentences.append(Sentence(key("The judge's verdicts do not distinguish the contestants.")))
    elif judges:
        words = key("None of the {judges} judges distinguishes the contestants.")
        sentences.append(Sentence(words, {"judges": len(judges)}))
    return sentences


def _first_ranked(matrix: Matrix, column: int) -> list[str]:
    return [name for name, cells in matrix.rows if (cell := cells[column]) and cell.rank.split("-")[0] == "1"]


def _name_values(names: Sequence[str]) -> dict[str, Any]:
    return {"names": ", ".join(names[:MAX_NAMES]), "more": len(names) - MAX_NAMES}
