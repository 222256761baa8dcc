"""Contents of a case page: question, answers, all verdicts in all orders, people's votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup
from sqlalchemy import Connection, func, select, true

from fullbench.analysis.summary.judge_trust import is_baseline
from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import is_dialogue, open_turns, turn_starts
from fullbench.core.item import Turn
from fullbench.core.model_call import Call
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.studies.exchange import sent_prompts_rebuilt_from_ledger
from fullbench.web.accounts.users import pseudonymize_tags
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import contestants_in, study_ids_by_name
from fullbench.web.results.catalogue.disagreement_flags import is_person
from fullbench.web.results.catalogue.rater_pseudonyms import load_rater_names
from fullbench.web.results.pages.answer_letters_in_judge_text import Tag, tag_letters
from fullbench.web.results.pages.marks_and_rankings_in_words import (
    answer_colours,
    answer_name,
    mark_in_words,
    ranked_groups,
)
from fullbench.web.results.site.page_urls import voice_name

# A case with more would make a page of many megabytes; the page counts what it leaves out.
MAX_VERDICTS = 400


@dataclass(frozen=True)
class Exchange:
    """One call to a judge's model: the conversation sent, if known, and the reply."""

    call: Call
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class VerdictDetails:
    """One verdict with marks by answer and flags of the catalogue."""

    verdict: Verdict
    marks: Mapping[str, float]
    order: int
    is_swapped: bool
    is_opposed: bool
    turns_by_prompt: Mapping[str, tuple[Turn, ...]]
    """Prompts sent to the judge, by digest, as far as they can be rendered again; see `rerender_prompts.sent_prompts`.
    """

    @property
    def exchanges(self) -> list[Exchange]:
        """Return all calls of the verdict. Empty for people and for judges that call no model."""
        verdict = self.verdict
        if verdict.exchanges:
            return [Exchange(call, self.turns_by_prompt.get(call.prompt, ())) for call in verdict.exchanges]
        if not verdict.prompt:
            return []
        # A Parquet export has no calls: the one reply is in the verdict itself.
        single_call = Call("", verdict.text, verdict.prompt, usage=verdict.usage, at=verdict.at)
        return [Exchange(single_call, self.turns_by_prompt.get(verdict.prompt, ()))]

    @property
    def names(self) -> list[str]:
        """Return the answers in the order shown to this judge, as A, B, C."""
        return [answer_name(name, sample) for name, sample in self.verdict.shown_responses]

    @property
    def in_words(self) -> list[list[str]]:
        """Return the ranking; see `ranked_groups`."""
        return ranked_groups(self.verdict.ballot, list(self.marks), list(self.marks.values()))

    def mark_in_words(self, name: str) -> str:
        """Return the mark of one answer in words."""
        return mark_in_words(self.verdict.ballot, self.marks[name])

    @property
    def anchor(self) -> str:
        """Return the page anchor shared by all verdicts of this judge or person."""
        return voice_name(self.verdict.judge, self.verdict.rater)

    @property
    def best(self) -> str | None:
        """Return the only winner. None for a tie, a single score or a fault."""
        if len(self.marks) < 2:
            return None
        top = max(self.marks.values())
        first = [name for name, mark in self.marks.items() if mark == top]
        return first[0] if len(first) == 1 else None


@dataclass(frozen=True)
class Voice:
    """Verdicts of one judge or person in one trial, in every order shown."""

    verdicts: Sequence[VerdictDetails]

    @property
    def is_swapped(self) -> bool:
        """Return True if another order gave another winner."""
        return any(details.is_swapped for details in self.verdicts)

    @property
    def is_opposed(self) -> bool:
        return any(details.is_opposed for details in self.verdicts)

    @property
    def is_consistent(self) -> bool:
        """Return True if all orders gave the same verdict, so that it is shown once."""
        outcomes = {(details.verdict.fault, tuple(sorted(details.marks.items()))) for details in self.verdicts}
        return len(outcomes) == 1


@dataclass(frozen=True)
class Backer:
    """A judge, or people, that preferred an answer `times` times; `marks` lists their marks, if any."""

    judge: str
    people: bool
    times: int
    marks: str


@dataclass(frozen=True)
class CaseDetails:
    """A case, the orders in which its responses were shown, and all verdicts."""

    key: str
    study: str
    item: str
    contestants: tuple[str, ...]
    ballot: str
    criterion: str
    case: Case | None
    orders: Sequence[tuple[str, tuple[str, ...]]]
    judges: Mapping[str, Sequence[VerdictDetails]]
    people: Mapping[str, Sequence[VerdictDetails]]
    """By rater."""
    is_split: bool
    left_out: int
    all_contestants: Sequence[str] = ()
    """All contestants of the study, by name."""

    @property
    def distinct_orders(self) -> Sequence[tuple[str, tuple[str, ...]]]:
        """Return each order once, with this case for its own: votes may be stored under a key of their own."""
        keys_by_order: dict[tuple[str, ...], str] = {}
        for key, order in self.orders:
            keys_by_order.setdefault(order, key)
        return [(key, order) for order, key in keys_by_order.items()]

    @property
    def turn_numbers(self) -> dict[int, int]:
        """Return the numbers of the turns that contestants answered in a dialogue, by index."""
        if self.case is None or not is_dialogue(self.case.item):
            return {}
        return {index: number for number, index in enumerate(open_turns(self.case.item), 1)}

    def turn_starts(self, response: Response) -> dict[int, int]:
        """Return the turn of each answer in a response, by the index of its first part."""
        return {} if self.case is None else turn_starts(self.case.item, response)

    def colours(self) -> dict[str, int]:
        """Return the colour number of each answer, as in the list of cases."""
        return answer_colours(self.contestants, self.all_contestants)

    def text_with_names(self, details: VerdictDetails, text: str, display_name: Callable[[str], str]) -> Markup:
        """Return a verdict's text with letters tagged with names, in the order that this verdict was shown."""
        numbers = self.colours()
        tags = [Tag(display_name(name), name, numbers.get(name, 9)) for name in details.names]
        turns = () if self.case is None else self.case.item.turns
        return tag_letters(text, tags, "\n".join(turn.text for turn in turns))

    def backers(self) -> dict[str, list[Backer]]:
        """Return who preferred or marked each answer, people first. The empty name collects ties."""
        backing: dict[str, dict[str, list[str]]] = {}
        voices = [*((PEOPLE, voice_details) for voice_details in self.people.values()), *self.judges.items()]
        for judge, voice_details in voices:
            for details in voice_details:
                if not details.marks:
                    continue
                if details.in_words:
                    backing.setdefault(details.best or "", {}).setdefault(judge, []).append("")
                else:
                    for name in details.marks:
                        backing.setdefault(name, {}).setdefault(judge, []).append(details.mark_in_words(name))
        return {
            name: [Backer(judge, is_person(judge), len(marks), _join_marks(marks)) for judge, marks in by_judge.items()]
            for name, by_judge in backing.items()
        }

    @staticmethod
    def voices(all_details: Sequence[VerdictDetails]) -> list[Voice]:
        """Group one judge's or person's verdicts by trial, with all orders of a trial together."""
        by_trial: dict[int, list[VerdictDetails]] = {}
        for details in all_details:
            by_trial.setdefault(details.verdict.trial, []).append(details)
        return [Voice(trial_details) for trial_details in by_trial.values()]

    @property
    def count(self) -> int:
        return sum(map(len, self.judges.values())) + sum(map(len, self.people.values()))


def load_case_details(connection: Connection, ledger: Ledger, key: str, study: str = "") -> CaseDetails | None:
    """Load a case of a study (empty: the first that has it). None if it is not in the catalogue."""
    return load_cases(connection, ledger, [key], study).get(key)


def load_cases(
    connection: Connection, ledger: Ledger, case_keys: Sequence[str], study: str = ""
) -> dict[str, CaseDetails]:
    """Load several cases of a study (empty: the first that has each) with few queries, by key.

    Cases that are not in the catalogue are left out.
    """
    v, c, n = catalogue_tables.verdicts.c, catalogue_tables.cases.c, catalogue_tables.names.c
    study_ids = study_ids_by_name(connection)
    if study and study not in study_ids:
        return {}
    study_names = {number: name for name, number in study_ids.items()}
    within = c.study_id == study_ids[study] if study else true()
    places_of_cases = (
        select(c.key, v.study_id, func.min(v.response_set_id).label("response_set"))
        .join(catalogue_tables.verdicts, v.case_id == c.id)
        .where(c.key.in_(case_keys), within)
        .group_by(c.key, v.study_id)
    )
    sets: dict[str, tuple[int, int]] = {}
    for place in sorted(connection.execute(places_of_cases), key=lambda place: place.study_id):
        sets.setdefault(place.key, (place.study_id, place.response_set))
    if not sets:
        return {}
    rater = catalogue_tables.names.alias("rater")
    rows_by_set: dict[int, list[Any]] = {}
    for row in connection.execute(
        select(v.response_set_id, c.key, n.name, v.trial, rater.c.name.label("rater"), v.split, v.swapped, v.opposed)
        .select_from(catalogue_tables.verdicts)
        .join(catalogue_tables.cases, c.id == v.case_id)
        .join(catalogue_tables.names, n.id == v.judge_id)
        .join(rater, rater.c.id == v.rater_id)
        .where(v.response_set_id.in_({response_set for _, response_set in sets.values()}))
        .order_by(v.id)
    ):
        rows_by_set.setdefault(row.response_set_id, []).append(row)
    rater_names = load_rater_names(connection)
    all_keys = list(dict.fromkeys(row.key for rows in rows_by_set.values() for row in rows))
    verdicts_by_case: dict[str, list[Verdict]] = {}
    for verdict in ledger.verdicts(cases=all_keys):
        verdicts_by_case.setdefault(verdict.case, []).append(rater_names.rename_verdict(verdict))
    cases = {case.key: case for case in ledger.cases(all_keys)}
    for case_key, case in cases.items():
        tags = pseudonymize_tags(case.item.tags, rater_names.accounts)
        if tags is not case.item.tags:
            cases[case_key] = replace(case, item=replace(case.item, tags=tags))
    judges = {one.judge for verdicts in verdicts_by_case.values() for one in verdicts if one.prompt}
    settings = {judge: ledger.settings_behind("judge", judge) or {} for judge in judges}
    contestants = {study_id: contestants_in(connection, study_id) for study_id in {one for one, _ in sets.values()}}
    found = {}
    for key, (study_id, response_set) in sets.items():
        details = _case_details(
            key,
            study=study_names[study_id],
            rows=rows_by_set[response_set],
            verdicts_by_case=verdicts_by_case,
            cases=cases,
            settings=settings,
            contestants=contestants[study_id],
        )
        if details is not None:
            found[key] = details
    return found


def _case_details(
    key: str,
    *,
    study: str,
    rows: Sequence[Any],
    verdicts_by_case: Mapping[str, Sequence[Verdict]],
    cases: Mapping[str, Case],
    settings: Mapping[str, Mapping[str, Any]],
    contestants: Sequence[str],
) -> CaseDetails | None:
    """Return one case. `rows` are the catalogue's verdicts on its responses in every order."""
    flags = {(row.key, row.name, row.trial, row.rater): row for row in rows[:MAX_VERDICTS]}
    # The requested order comes first.
    keys = sorted(dict.fromkeys(row.key for row in rows), key=lambda case_key: (case_key != key, case_key))
    verdicts = [
        verdict for case_key in keys for verdict in verdicts_by_case.get(case_key, ()) if _verdict_key(verdict) in flags
    ]
    if not verdicts:
        return None
    orders = {
        verdict.case: tuple(answer_name(name, sample) for name, sample in verdict.shown_responses)
        for verdict in verdicts
    }
    shown_orders = [(case_key, orders[case_key]) for case_key in keys if case_key in orders]
    places = {case_key: place for place, (case_key, _) in enumerate(shown_orders)}
    all_details = [
        _verdict_details(
            verdict, places[verdict.case], flags[_verdict_key(verdict)], _sent_turns(verdict, cases, settings)
        )
        for verdict in verdicts
    ]
    details_by_judge: dict[str, list[VerdictDetails]] = {}
    people: dict[str, list[VerdictDetails]] = {}
    for details in sorted(
        all_details,
        key=lambda details: (
            is_baseline(details.verdict.judge),
            details.verdict.judge,
            details.verdict.rater,
            details.verdict.trial,
            details.order,
        ),
    ):
        if is_person(details.verdict.judge):
            people.setdefault(details.verdict.rater, []).append(details)
        else:
            details_by_judge.setdefault(details.verdict.judge, []).append(details)
    first = next((verdict for verdict in verdicts if verdict.case == key), verdicts[0])
    return CaseDetails(
        key,
        study,
        first.item,
        orders.get(key, first.contestants),
        first.ballot,
        first.criterion,
        cases.get(key),
        shown_orders,
        details_by_judge,
        people,
        any(row.split for row in rows),
        len(rows) - len(flags),
        contestants,
    )


def _join_marks(marks: Sequence[str]) -> str:
    """Join at most six marks of one judge.

    >>> _join_marks(["4", "5", "4"]), _join_marks(["", ""])
    ('4, 5, 4', '')
    """
    return ", ".join(mark for mark in marks[:6] if mark) + ("…" if len(marks) > 6 and marks[0] else "")


def _verdict_key(verdict: Verdict) -> tuple[str, str, int, str]:
    return verdict.case, verdict.judge, verdict.trial, verdict.rater


def _sent_turns(
    verdict: Verdict, cases: Mapping[str, Case], settings: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, tuple[Turn, ...]]:
    if verdict.case not in cases or not verdict.prompt:
        return {}
    return sent_prompts_rebuilt_from_ledger.sent_prompts(settings[verdict.judge], cases[verdict.case], verdict)


def _verdict_details(
    verdict: Verdict, order: int, row: Any, turns_by_prompt: Mapping[str, tuple[Turn, ...]]
) -> VerdictDetails:
    answer_names = [answer_name(name, sample) for name, sample in verdict.shown_responses]
    marks = dict(zip(answer_names, verdict.marks or (), strict=False))
    return VerdictDetails(verdict, marks, order, bool(row.swapped), bool(row.opposed), turns_by_prompt)
