"""Current names for rows stored under older ones: aliases, and older spellings of human raters."""

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
"""Columns judge, trial, rater, contestants and samples of a verdict."""


def normalize_voter(judge: str, trial: int, rater: str) -> tuple[str, int, str]:
    """Return judge, trial and rater in today's spelling.

    Older rows store people as judges `human:NAME`, or as trials of `human`.

    >>> (normalize_voter("human:Ann", 0, ""), normalize_voter("human", 2, ""), normalize_voter("human", 2, "w7"),
    ...  normalize_voter("gpt", 2, ""))
    (('human', 0, 'Ann'), ('human', 0, '2'), ('human', 2, 'w7'), ('gpt', 2, ''))
    """
    if rater or not judge.startswith(PEOPLE):
        return judge, trial, rater
    if judge.startswith(PERSON) and len(judge) > len(PERSON):
        return PEOPLE, trial, judge.removeprefix(PERSON)
    return (judge, 0, str(trial)) if judge == PEOPLE and trial else (judge, trial, rater)


@dataclass(frozen=True)
class Naming:
    """Current name of each former judge and contestant name."""

    judges: Mapping[str, str]
    contestants: Mapping[str, str]

    @classmethod
    def read(cls, reader: Connection) -> Naming:
        """Read the aliases of a ledger and resolve chains of aliases."""
        return cls.read_with_queries(reader)[0]

    @classmethod
    def read_with_queries(
        cls, reader: Connection, *queries: tuple[str, Sequence[Any]]
    ) -> tuple[Naming, list[list[Row]]]:
        """Read the aliases and run other queries in the same network round trip."""
        alias_rows, *query_results = reader.together(
            ("SELECT role, former, name FROM aliases ORDER BY rowid", ()),
            *queries,
        )
        return cls._from_rows(alias_rows), query_results

    @classmethod
    def _from_rows(cls, alias_rows: Sequence[Row]) -> Naming:
        names: dict[str, dict[str, str]] = {"judge": {}, "contestant": {}}
        for role, former, name in alias_rows:
            names[role][former] = name
        final_names = {
            role: {former: _final_name(former, direct) for former in direct} for role, direct in names.items()
        }
        return cls(final_names["judge"], final_names["contestant"])

    @property
    def is_empty(self) -> bool:
        """True if there are no aliases; human raters may still have older spellings."""
        return not (self.judges or self.contestants)

    def stored_names(self, role: str, names: Iterable[str]) -> tuple[str, ...]:
        """Return these names and all their former names."""
        current_names = tuple(names)
        aliases = self.judges if role == "judge" else self.contestants
        return (*current_names, *(former for former, name in aliases.items() if name in current_names))

    def judge_condition(self, names: Sequence[str] | None) -> tuple[str, tuple[str | int, ...]]:
        """Return an SQL condition for the rows of these judges, with its values; empty if `names` is None."""
        if names is None:
            return "", ()
        stored_names = self.stored_names("judge", names)
        clauses = [f"verdicts.judge IN ({', '.join('?' * len(stored_names))})"] if stored_names else ["1 = 0"]
        values: list[str | int] = list(stored_names)
        if PEOPLE in stored_names:
            clauses.append("substr(verdicts.judge, 1, ?) = ?")  # not LIKE: psycopg reads % as a placeholder
            values += (len(PERSON), PERSON)
        for person in (name for name in stored_names if name.startswith(PERSON)):
            clauses.append("(verdicts.judge = ? AND verdicts.rater = ?)")
            values += (PEOPLE, person.removeprefix(PERSON))
        return f"({' OR '.join(clauses)})", tuple(values)

    def rename_vote(self, row: Vote) -> Vote:
        """Return these columns of a verdict under current names."""
        judge, trial, rater, contestants, samples = row
        if judge.startswith(PEOPLE):
            judge, trial, rater = normalize_voter(judge, trial, rater)
        if self.judges:
            judge = self.judges.get(judge, judge)
        if self.contestants:
            current_contestants = [self.contestants.get(name, name) for name in orjson.loads(contestants)]
            contestants = orjson.dumps(current_contestants).decode()
        return judge, trial, rater, contestants, samples

    def rename_verdict(self, verdict: Verdict) -> Verdict:
        """Return the verdict under current names."""
        if self.is_empty and not verdict.judge.startswith(PEOPLE):
            return verdict
        judge, trial, rater = normalize_voter(verdict.judge, verdict.trial, verdict.rater)
        return replace(
            verdict,
            judge=self.judges.get(judge, judge),
            trial=trial,
            rater=rater,
            contestants=tuple(self.contestants.get(name, name) for name in verdict.contestants),
        )

    def rename_response(self, response: Response) -> Response:
        """Return the response under its contestant's current name; its key does not change."""
        name = self.contestants.get(response.contestant)
        if name is None:
            return response
        renamed_response = replace(response, contestant=name)
        # A key derived from the new name would not match the cases that refer to this response.
        renamed_response.__dict__["key"] = response.key
        return renamed_response


def _final_name(name: str, aliases: Mapping[str, str]) -> str:
    visited_names = {name}
    while (next_name := aliases.get(name)) is not None and next_name not in visited_names:
        name = next_name
        visited_names.add(name)
    return name
