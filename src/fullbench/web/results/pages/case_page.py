"""One case with all that belongs to it: question and answers, every ruling in every order, people's votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup
from sqlalchemy import Connection, select, true

from fullbench.core.call import Call
from fullbench.core.case import Case
from fullbench.core.item import Turn
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.studies.exchange import rerender_prompts
from fullbench.web.accounts.users import pseudonyms, unnamed_tags
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.disagreement import is_person
from fullbench.web.results.catalogue.rater_pseudonyms import unnamed
from fullbench.web.results.catalogue.row_helpers import contestants_in, studies
from fullbench.web.results.pages.answer_letters import Tag, lettered
from fullbench.web.results.pages.verdict_text import answer_name, mark_in_words, placing, seats
from fullbench.web.results.site.page_urls import voice_name

MOST = 400
"""So many verdicts of a meeting are shown at most."""


@dataclass(frozen=True)
class Exchange:
    """One call to a judge's model: the conversation that was sent, where it is known, and what came back."""

    call: Call
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Told:
    """One verdict, with marks by contestant and what the catalogue says of it."""

    verdict: Verdict
    marks: Mapping[str, float]
    order: int
    swapped: bool
    opposed: bool
    sent: Mapping[str, tuple[Turn, ...]]
    """What the judge was sent, by digest, as far as it can be rendered again; see `rendering.sent`."""

    @property
    def exchanges(self) -> list[Exchange]:
        """All that went to the judge and came back, call by call; none for people and for who asks nobody."""
        verdict = self.verdict
        if verdict.exchanges:
            return [Exchange(call, self.sent.get(call.prompt, ())) for call in verdict.exchanges]
        if not verdict.prompt:
            return []
        # A Parquet export has no calls: the one reply is in the verdict itself.
        whole = Call("", verdict.text, verdict.prompt, usage=verdict.usage, at=verdict.at)
        return [Exchange(whole, self.sent.get(verdict.prompt, ()))]

    @property
    def names(self) -> list[str]:
        """The answers in the order in which this judge saw them, as A, B, C."""
        return [answer_name(name, sample) for name, sample in self.verdict.shown]

    @property
    def in_words(self) -> list[list[str]]:
        """Who is ahead of whom; see `placing`."""
        return placing(self.verdict.ballot, list(self.marks), list(self.marks.values()))

    def mark_in_words(self, name: str) -> str:
        """The mark of one of them as it was chosen."""
        return mark_in_words(self.verdict.ballot, self.marks[name])

    @property
    def anchor(self) -> str:
        """Where on the page of the case it stands, with all that the same judge or person ruled."""
        return voice_name(self.verdict.judge, self.verdict.rater)

    @property
    def best(self) -> str | None:
        """The one contestant put first; None for a tie, a single score or a fault."""
        if len(self.marks) < 2:
            return None
        top = max(self.marks.values())
        first = [name for name, mark in self.marks.items() if mark == top]
        return first[0] if len(first) == 1 else None


@dataclass(frozen=True)
class Voice:
    """What one judge or person ruled in one trial, in every order in which the answers were shown."""

    rulings: Sequence[Told]

    @property
    def turned(self) -> bool:
        """Whether another order brought another winner."""
        return any(ruling.swapped for ruling in self.rulings)

    @property
    def opposed(self) -> bool:
        return any(ruling.opposed for ruling in self.rulings)

    @property
    def agreed(self) -> bool:
        """Whether all orders brought the same ruling, so that it can be said once."""
        said = {(ruling.verdict.fault, tuple(sorted(ruling.marks.items()))) for ruling in self.rulings}
        return len(said) == 1


@dataclass(frozen=True)
class Backer:
    """A judge, or people, who ruled for an answer `times` times; `marks` are what they gave, where they gave marks."""

    judge: str
    people: bool
    times: int
    marks: str


@dataclass(frozen=True)
class Hearing:
    """A case, the orders in which its responses were shown, and everybody's rulings."""

    key: str
    study: str
    item: str
    contestants: tuple[str, ...]
    ballot: str
    criterion: str
    case: Case | None
    orders: Sequence[tuple[str, tuple[str, ...]]]
    judges: Mapping[str, Sequence[Told]]
    people: Mapping[str, Sequence[Told]]
    """By rater."""
    split: bool
    left_out: int
    everybody: Sequence[str] = ()
    """All contestants of the study, by name."""

    def seats(self) -> dict[str, int]:
        """The number of each answer's colour, the same as in the list of cases."""
        return seats(self.contestants, self.everybody)

    def said(self, ruling: Told, text: str, shown: Callable[[str], str]) -> Markup:
        """What was said in a ruling, its letters tagged with names: those of the order that this ruling saw."""
        numbers = self.seats()
        tags = [Tag(shown(name), name, numbers.get(name, 9)) for name in ruling.names]
        turns = () if self.case is None else self.case.item.turns
        return lettered(text, tags, "\n".join(turn.text for turn in turns))

    def backers(self) -> dict[str, list[Backer]]:
        """Who put each answer first, or marked it how, people before judges; under an empty name who saw a tie."""
        backing: dict[str, dict[str, list[str]]] = {}
        voices = [*((PEOPLE, some) for some in self.people.values()), *self.judges.items()]
        for judge, some in voices:
            for ruling in some:
                if not ruling.marks:
                    continue
                if ruling.in_words:
                    backing.setdefault(ruling.best or "", {}).setdefault(judge, []).append("")
                else:
                    for name in ruling.marks:
                        backing.setdefault(name, {}).setdefault(judge, []).append(ruling.mark_in_words(name))
        return {
            name: [Backer(judge, is_person(judge), len(marks), _briefly(marks)) for judge, marks in by_judge.items()]
            for name, by_judge in backing.items()
        }

    @staticmethod
    def voices(rulings: Sequence[Told]) -> list[Voice]:
        """One judge's or person's rulings by trial: all orders of a trial together."""
        by_trial: dict[int, list[Told]] = {}
        for ruling in rulings:
            by_trial.setdefault(ruling.verdict.trial, []).append(ruling)
        return [Voice(some) for some in by_trial.values()]

    @property
    def count(self) -> int:
        return sum(map(len, self.judges.values())) + sum(map(len, self.people.values()))


def hearing(connection: Connection, ledger: Ledger, key: str, study: str = "") -> Hearing | None:
    """All about a case in a study (empty: the first that holds it); None where the catalogue does not know it."""
    v, c, n = catalogue_tables.verdicts.c, catalogue_tables.cases.c, catalogue_tables.names.c
    there = studies(connection)
    if study and study not in there:
        return None
    within = c.study_id == there[study] if study else true()
    meeting_row = connection.execute(
        select(v.meeting_id, v.study_id)
        .join(catalogue_tables.cases, c.id == v.case_id)
        .where(c.key == key, within)
        .order_by(v.study_id, v.id)
        .limit(1)
    ).first()
    if meeting_row is None:
        return None
    meeting = meeting_row.meeting_id
    (study,) = (name for name, number in there.items() if number == meeting_row.study_id)
    rater = catalogue_tables.names.alias("rater")
    rows = connection.execute(
        select(c.key, n.name, v.trial, rater.c.name.label("rater"), v.split, v.swapped, v.opposed)
        .select_from(catalogue_tables.verdicts)
        .join(catalogue_tables.cases, c.id == v.case_id)
        .join(catalogue_tables.names, n.id == v.judge_id)
        .join(rater, rater.c.id == v.rater_id)
        .where(v.meeting_id == meeting)
        .order_by(v.id)
    ).all()
    flags = {(row.key, row.name, row.trial, row.rater): row for row in rows[:MOST]}
    keys = sorted(dict.fromkeys(row.key for row in rows), key=lambda case_key: (case_key != key, case_key))
    accounts = pseudonyms(connection)
    every = (unnamed(verdict, accounts) for verdict in ledger.verdicts(cases=keys))
    heard = [verdict for verdict in every if _voice(verdict) in flags]
    if not heard:
        return None
    orders = {verdict.case: tuple(answer_name(name, sample) for name, sample in verdict.shown) for verdict in heard}
    shown = [(case_key, orders[case_key]) for case_key in keys if case_key in orders]
    places = {case_key: place for place, (case_key, _) in enumerate(shown)}
    cases = {case.key: case for case in ledger.cases(keys)}
    for case_key, case in cases.items():
        tags = unnamed_tags(case.item.tags, accounts)
        if tags is not case.item.tags:
            cases[case_key] = replace(case, item=replace(case.item, tags=tags))
    settings = {
        verdict.judge: ledger.settings_behind("judge", verdict.judge) or {} for verdict in heard if verdict.prompt
    }
    rulings = [
        _told(verdict, places[verdict.case], flags[_voice(verdict)], _sent(verdict, cases, settings))
        for verdict in heard
    ]
    grouped: dict[str, list[Told]] = {}
    people: dict[str, list[Told]] = {}
    for ruling in sorted(
        rulings, key=lambda ruling: (ruling.verdict.judge, ruling.verdict.rater, ruling.verdict.trial, ruling.order)
    ):
        if is_person(ruling.verdict.judge):
            people.setdefault(ruling.verdict.rater, []).append(ruling)
        else:
            grouped.setdefault(ruling.verdict.judge, []).append(ruling)
    first = next((verdict for verdict in heard if verdict.case == key), heard[0])
    return Hearing(
        key,
        study,
        first.item,
        orders.get(key, first.contestants),
        first.ballot,
        first.criterion,
        cases.get(key),
        shown,
        grouped,
        people,
        any(row.split for row in rows),
        len(rows) - len(flags),
        contestants_in(connection, meeting_row.study_id),
    )


def _briefly(marks: Sequence[str]) -> str:
    """Marks of one judge in a few characters.

    >>> _briefly(["4", "5", "4"]), _briefly(["", ""])
    ('4, 5, 4', '')
    """
    return ", ".join(mark for mark in marks[:6] if mark) + ("…" if len(marks) > 6 and marks[0] else "")


def _voice(verdict: Verdict) -> tuple[str, str, int, str]:
    return verdict.case, verdict.judge, verdict.trial, verdict.rater


def _sent(
    verdict: Verdict, cases: Mapping[str, Case], settings: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, tuple[Turn, ...]]:
    if verdict.case not in cases or not verdict.prompt:
        return {}
    return rerender_prompts.sent(settings[verdict.judge], cases[verdict.case], verdict)


def _told(verdict: Verdict, order: int, row: object, sent: Mapping[str, tuple[Turn, ...]]) -> Told:
    shown = [answer_name(name, sample) for name, sample in verdict.shown]
    marks = dict(zip(shown, verdict.marks or (), strict=False))
    return Told(verdict, marks, order, bool(getattr(row, "swapped")), bool(getattr(row, "opposed")), sent)  # noqa: B009
