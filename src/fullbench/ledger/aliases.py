"""Names as they are today, for rows that were written under others: aliases, and the spellings that people had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row

PERSON = f"{PEOPLE}:"
"""Prefix of a person in label files: `human:Ann` is the judge `human` with the rater `Ann`."""


Vote = tuple[str, int, str, str, str]
"""The columns judge, trial, rater, contestants and samples of a verdict."""


def voter(judge: str, trial: int, rater: str) -> tuple[str, int, str]:
    """Judge, trial and rater as they are written today; several people once were trials of `human`, too.

    >>> voter("human:Ann", 0, ""), voter("human", 2, ""), voter("human", 2, "w7"), voter("gpt", 2, "")
    (('human', 0, 'Ann'), ('human', 0, '2'), ('human', 2, 'w7'), ('gpt', 2, ''))
    """
    if rater or not judge.startswith(PEOPLE):
        return judge, trial, rater
    if judge.startswith(PERSON) and len(judge) > len(PERSON):
        return PEOPLE, trial, judge.removeprefix(PERSON)
    return (judge, 0, str(trial)) if judge == PEOPLE and trial else (judge, trial, rater)


@dataclass(frozen=True)
class Naming:
    """What a name of a row is called today."""

    judges: Mapping[str, str]
    contestants: Mapping[str, str]

    @classmethod
    def read(cls, reader: Connection) -> Naming:
        """The aliases of a ledger, each followed to its end."""
        return cls.beside(reader)[0]

    @classmethod
    def beside(cls, reader: Connection, *queries: tuple[str, Sequence[Any]]) -> tuple[Naming, list[list[Row]]]:
        """The aliases, and the rows of other queries that come by the same way over the network."""
        renamed, *others = reader.together(
            ("SELECT role, former, name FROM aliases ORDER BY rowid", ()),
            *queries,
        )
        return cls._of(renamed), others

    @classmethod
    def _of(cls, renamed: Sequence[Row]) -> Naming:
        names: dict[str, dict[str, str]] = {"judge": {}, "contestant": {}}
        for role, former, name in renamed:
            names[role][former] = name
        followed = {role: {former: _end(former, direct) for former in direct} for role, direct in names.items()}
        return cls(followed["judge"], followed["contestant"])

    @property
    def plain(self) -> bool:
        """Whether all names but those of people are today's."""
        return not (self.judges or self.contestants)

    def formers(self, role: str, names: Iterable[str]) -> tuple[str, ...]:
        """These names and all that they once were."""
        wanted = tuple(names)
        aliases = self.judges if role == "judge" else self.contestants
        return (*wanted, *(former for former, name in aliases.items() if name in wanted))

    def judge_condition(self, names: Sequence[str] | None) -> tuple[str, tuple[str | int, ...]]:
        """SQL that is true of the rows of these judges, with its values; of all rows where there are none named."""
        if names is None:
            return "", ()
        stored = self.formers("judge", names)
        clauses = [f"verdicts.judge IN ({', '.join('?' * len(stored))})"] if stored else ["1 = 0"]
        values: list[str | int] = list(stored)
        if PEOPLE in stored:
            clauses.append("substr(verdicts.judge, 1, ?) = ?")  # no LIKE: a % in SQL is psycopg's
            values += (len(PERSON), PERSON)
        for person in (name for name in stored if name.startswith(PERSON)):
            clauses.append("(verdicts.judge = ? AND verdicts.rater = ?)")
            values += (PEOPLE, person.removeprefix(PERSON))
        return f"({' OR '.join(clauses)})", tuple(values)

    def vote(self, row: Vote) -> Vote:
        """What some columns of a verdict's row hold today."""
        judge, trial, rater, contestants, samples = row
        if judge.startswith(PEOPLE):
            judge, trial, rater = voter(judge, trial, rater)
        if self.judges:
            judge = self.judges.get(judge, judge)
        if self.contestants:
            today = [self.contestants.get(name, name) for name in orjson.loads(contestants)]
            contestants = orjson.dumps(today).decode()
        return judge, trial, rater, contestants, samples

    def verdict(self, verdict: Verdict) -> Verdict:
        """The verdict under today's names."""
        if self.plain and not verdict.judge.startswith(PEOPLE):
            return verdict
        judge, trial, rater = voter(verdict.judge, verdict.trial, verdict.rater)
        return replace(
            verdict,
            judge=self.judges.get(judge, judge),
            trial=trial,
            rater=rater,
            contestants=tuple(self.contestants.get(name, name) for name in verdict.contestants),
        )

    def response(self, response: Response) -> Response:
        """The response under its contestant's name of today; its key stays."""
        name = self.contestants.get(response.contestant)
        if name is None:
            return response
        renamed = replace(response, contestant=name)
        renamed.__dict__["key"] = response.key
        return renamed


def _end(name: str, aliases: Mapping[str, str]) -> str:
    seen = {name}
    while (following := aliases.get(name)) is not None and following not in seen:
        name = following
        seen.add(name)
    return name
