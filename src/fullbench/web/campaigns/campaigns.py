"""Studies for people: making one, filling it with tasks, opening and closing it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Row, func, insert, select, update

from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.web.campaigns.campaign_tables import guidelines, studies
from fullbench.web.campaigns.create.task_rows import Lots, TaskRow, insert_tasks
from fullbench.web.campaigns.tasks import guidelines as guides
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kind_base import Kind, Rules
from fullbench.web.campaigns.tasks.task_kinds import kind_of
from fullbench.web.words import Language

SettledBy = Literal["majority", "all"]
Stage = Literal["creating", "draft", "pilot", "open", "closed"]
CHUNK = 500
LONGEST_GUIDELINES = 100_000


@dataclass(frozen=True)
class Plan:
    """What an organiser decides about a study.

    Every task gets `votes` votes; while people disagree, up to `most`. They agree when more than half say the same
    (`settled_by="majority"`) or when all do (`"all"`). About one task in `gold_every` has a known answer; 0 is none.
    Where tasks of the qualification round are given, `pass_share` of them must be right.
    """

    name: str
    kind: str
    ballot: str = ""
    criterion: str = "overall"
    guidelines: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    votes: int = 1
    most: int = 0
    settled_by: SettledBy = "majority"
    lease_seconds: int = 1800
    gold_every: int = 10
    pass_share: float = 0.7
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.name.strip() or len(self.name) > 200:
            raise InputError(Note("web.wrong.a-study-needs-a-name", "a study needs a name of 1 to 200 letters"))
        if not 1 <= self.votes <= 100:
            raise InputError(
                Note("web.wrong.a-task-gets-1-to", "a task gets 1 to 100 votes; found {votes}", votes=self.votes)
            )
        if self.most and not self.votes <= self.most <= 100:
            raise InputError(
                Note(
                    "web.wrong.the-most-votes-are-to",
                    "the most votes are {votes} to 100, as the votes wanted are {votes}; found {most}",
                    votes=self.votes,
                    most=self.most,
                )
            )
        if self.settled_by not in get_args(SettledBy):
            raise InputError(
                Note(
                    "web.wrong.a-task-is-settled-by",
                    "a task is settled by {names}; found {settled_by!r}",
                    names=" or ".join(get_args(SettledBy)),
                    settled_by=self.settled_by,
                )
            )
        if not 10 <= self.lease_seconds <= 7 * 86_400:
            raise InputError(
                Note(
                    "web.wrong.a-lease-lasts-10-seconds",
                    "a lease lasts 10 seconds to 7 days; found {lease_seconds} seconds",
                    lease_seconds=self.lease_seconds,
                )
            )
        if not 0 <= self.gold_every <= 1000:
            raise InputError(
                Note(
                    "web.wrong.one-task-in-1-to",
                    "one task in 1 to 1000 is gold, or 0 for none; found {gold_every}",
                    gold_every=self.gold_every,
                )
            )
        if not 0 <= self.pass_share <= 1:
            raise InputError(
                Note(
                    "web.wrong.the-share-to-pass-is",
                    "the share to pass is between 0 and 1; found {pass_share}",
                    pass_share=self.pass_share,
                )
            )
        if len(self.guidelines) > LONGEST_GUIDELINES:
            raise _too_long(self.guidelines)
        guides.checked(str(self.options.get("paper") or ""), self.kind)
        self.rules  # noqa: B018

    @property
    def rules(self) -> Rules:
        rules = Rules(self.ballot or kind_of(self.kind).ballot, self.criterion, self.options)
        rules.form  # noqa: B018
        return rules


@dataclass(frozen=True)
class Study:
    """A study as it is kept."""

    id: str
    name: str
    kind_name: str
    rules: Rules
    guidelines: str
    votes: int
    most: int
    settled_by: SettledBy
    lease_seconds: int
    gold_every: int
    pass_share: float
    conflicted: bool
    qualifies: int
    golds: int
    seed: int
    state: str
    at: float

    @classmethod
    def of(cls, row: Row[*tuple[Any, ...]]) -> Study:
        rules = Rules(row.ballot, row.criterion, row.options)
        return cls(
            row.id, row.name, row.kind, rules, row.guidelines, row.votes, row.most, row.settled_by, row.lease_seconds,
            row.gold_every, row.pass_share, row.conflicted, row.qualifies, row.golds, row.seed, row.state, row.at,
        )  # fmt: skip

    @classmethod
    def sketched(cls, plan: Plan) -> Study:
        """A study as the plan says, which is kept nowhere."""
        rules = replace(plan.rules, options={**_shown(plan), **plan.options})
        return cls(
            "", plan.name.strip(), plan.kind, rules, plan.guidelines, plan.votes, max(plan.most, plan.votes),
            plan.settled_by, plan.lease_seconds, plan.gold_every, plan.pass_share, False, 0, 0, plan.seed, "closed",
            0.0,
        )  # fmt: skip

    @property
    def kind(self) -> Kind:
        return kind_of(self.kind_name)

    @property
    def guideline(self) -> str:
        """The version of what people are told now."""
        version = self.rules.options.get("guideline")
        return f"{self.name} {version}" if self.guidelines and version else guides.version(self.kind_name, self.paper)

    @property
    def paper(self) -> str:
        """The paper whose shipped guideline people are given, where the study has none of its own."""
        return str(self.rules.options.get("paper") or guides.PLAIN)

    def told(self, language: Language) -> str:
        """What people are told, in a language: the study's own words, else those that are shipped."""
        if self.guidelines:
            return guides.in_language(self.guidelines, language)
        return guides.shipped(self.kind_name, language, self.paper)

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def is_pilot(self) -> bool:
        """Whether this is the pilot of another study: its votes are marked, and left out unless asked for."""
        return bool(self.rules.options.get("pilot_of"))

    @property
    def stage(self) -> Stage:
        """Where a study stands: nobody works in a draft yet, and it can still be thrown away. The tasks of one that is
        `creating` are still being created."""
        if self.rules.options.get("creating"):
            return "creating"
        if self.is_open:
            return "pilot" if self.is_pilot else "open"
        return "draft" if self.rules.options.get("draft") else "closed"

    @property
    def is_quick(self) -> bool:
        """Whether the choice itself is the vote: for pairs, unless the study wants a reason or a confirmation."""
        options = self.rules.options
        return self.kind_name == "pair" and not options.get("reason") and not options.get("confirm")


def _shown(plan: Plan) -> dict[str, bool]:
    """What people must see for the guideline that they are given: one that marks against the reference shows it."""
    return {"reference": True} if (plan.kind, plan.options.get("paper")) in guides.AGAINST_REFERENCE else {}


def create(connection: Connection, plan: Plan, *, draft: bool = False) -> Study:
    """Make a study without tasks: open at once, or a draft."""
    name = plan.name.strip()
    refuse_taken_name(connection, name)
    row: dict[str, Any] = {
        "id": secrets.token_hex(8), "name": name, "kind": plan.kind, "ballot": plan.rules.ballot,
        "criterion": plan.criterion, "guidelines": plan.guidelines,
        "options": {**_shown(plan), **plan.options, **({"draft": True} if draft else {})},
        "votes": plan.votes, "most": max(plan.most, plan.votes), "settled_by": plan.settled_by,
        "lease_seconds": plan.lease_seconds, "gold_every": plan.gold_every, "pass_share": plan.pass_share,
        "conflicted": False, "qualifies": 0, "golds": 0, "seed": plan.seed,
        "state": "closed" if draft else "open", "at": time.time(),
    }  # fmt: skip
    connection.execute(insert(studies).values(row))
    _new_guidelines(connection, study(connection, row["id"]), plan.guidelines)
    return study(connection, row["id"])


def refuse_taken_name(connection: Connection, name: str) -> None:
    """Raise `InputError` if another study has this name."""
    if connection.execute(select(studies.c.id).where(studies.c.name == name)).first() is not None:
        raise InputError(
            Note(
                "web.wrong.there-is-a-study-already",
                "there is a study {name!r} already; choose another name",
                name=name,
            )
        )


def find(connection: Connection, study_id: str) -> Study | None:
    row = connection.execute(select(studies).where(studies.c.id == study_id)).first()
    return None if row is None else Study.of(row)


def study(connection: Connection, study_id: str) -> Study:
    existing = find(connection, study_id)
    if existing is None:
        raise InputError(Note("web.wrong.there-is-no-study", "there is no study {study_id!r}", study_id=study_id))
    return existing


def named(connection: Connection, name: str) -> Study:
    row = connection.execute(select(studies).where(studies.c.name == name)).first()
    if row is None:
        known = ", ".join(connection.execute(select(studies.c.name).order_by(studies.c.name).limit(20)).scalars())
        raise InputError(
            Note(
                "web.wrong.there-is-no-study-there",
                "there is no study {name!r}; there are: {known}",
                name=name,
                known=known or "none",
            )
        )
    return Study.of(row)


def listed(connection: Connection, *, only_open: bool = False, start: int = 0, count: int = 50) -> list[Study]:
    """Studies, the newest first."""
    query = select(studies).order_by(studies.c.at.desc(), studies.c.id).offset(start).limit(count)
    if only_open:
        query = query.where(studies.c.state == "open")
    return [Study.of(row) for row in connection.execute(query)]


def add(connection: Connection, into: Study, contents: Iterable[Content]) -> int:
    """Add tasks, each with the slots for the votes wanted, in one transaction; return their number.

    Slots are handed out by their lot. It is drawn, unless the study's order is one by which votes count most: then the
    first task comes first. Studies of any size are created by `creation`.
    """
    lots = lots_of(into)
    count = 0
    remaining = iter(contents)
    while chunk := list(islice(remaining, CHUNK)):
        for content in chunk:
            into.kind.check(into.rules, content)
        add_rows(connection, into, "work", [TaskRow.from_content(content) for content in chunk], lots, first=count)
        count += len(chunk)
    return count


def add_known(
    connection: Connection,
    into: Study,
    known: Iterable[tuple[Content, Mapping[str, Any]]],
    role: Literal["gold", "qualify"],
) -> int:
    """Add tasks whose answer is known: to be sprinkled in (`gold`), or for the qualification round (`qualify`)."""
    pairs = list(known)
    for content, answer in pairs:
        check_known(into, content, answer)
    add_rows(connection, into, role, [TaskRow.from_content(content, answer) for content, answer in pairs])
    return len(pairs)


def lots_of(into: Study) -> Lots:
    """Return the lots of a study's slots."""
    return Lots(f"{into.seed} {into.id}", into.votes, ordered=bool(into.rules.options.get("ordered")))


def add_rows(
    connection: Connection, into: Study, role: str, rows: Sequence[TaskRow], lots: Lots | None = None, *, first: int = 0
) -> None:
    """Insert tasks of one role and count those with a known answer.

    Args:
        connection: The transaction.
        into: The study.
        role: `work`, `gold` or `qualify`.
        rows: The tasks.
        lots: The lots of the study's slots, for tasks to work on.
        first: The place of the first of these tasks among the tasks to work on.
    """
    drawn = lots.of_tasks(first, len(rows)) if lots is not None and role == "work" else ()
    authored = insert_tasks(connection, into.id, role, rows, drawn)
    if authored and not study(connection, into.id).rules.options.get("authored"):
        set_options(connection, into, {"authored": True})
    if role != "work":
        column = studies.c.golds if role == "gold" else studies.c.qualifies
        connection.execute(update(studies).where(studies.c.id == into.id).values({column: column + len(rows)}))


def check_known(into: Study, content: Content, answer: Mapping[str, Any]) -> None:
    """Raise `InputError` if a task cannot have this known answer."""
    into.kind.check(into.rules, content)
    if into.kind.label(answer) is None:
        raise InputError(
            Note(
                "web.wrong.the-known-answer-to-item",
                "the known answer to item {id!r} says nothing that can be compared: {answer}",
                id=content.item.id,
                answer=str(dict(answer)),
            )
        )


def refuse_unfinished(of: Study) -> None:
    """Raise `InputError` if the tasks of a study are still being created."""
    if of.stage == "creating":
        raise InputError(
            Note(
                "web.wrong.still-being-created",
                "The tasks of {name!r} are still being created. Wait until all are there.",
                name=of.name,
            )
        )


def set_state(connection: Connection, study_id: str, state: Literal["open", "closed"]) -> None:
    """Open or close a study; what was opened once is no draft any more."""
    refuse_unfinished(study(connection, study_id))
    connection.execute(update(studies).where(studies.c.id == study_id).values(state=state))
    now = study(connection, study_id)
    if state == "open" and now.rules.options.get("draft"):
        set_options(connection, now, {"draft": False})


def set_options(connection: Connection, of: Study, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change some of a study's options; all of them as they are now."""
    options = {**study(connection, of.id).rules.options, **changes}
    connection.execute(update(studies).where(studies.c.id == of.id).values(options=options))
    return options


def set_guidelines(connection: Connection, study_id: str, text: str) -> None:
    if len(text) > LONGEST_GUIDELINES:
        raise _too_long(text)
    connection.execute(update(studies).where(studies.c.id == study_id).values(guidelines=text))
    _new_guidelines(connection, study(connection, study_id), text)


def _too_long(text: str) -> InputError:
    return InputError(
        Note(
            "web.wrong.guidelines-have-at-most-100",
            "guidelines have at most 100,000 letters; found {n:,}",
            n=len(text),
        )
    )


def _new_guidelines(connection: Connection, of: Study, text: str) -> None:
    """Keep a wording as the next version; the earlier ones stay, for votes were given under them."""
    if text:
        last = select(func.max(guidelines.c.version)).where(guidelines.c.study == of.id)
        version = (connection.execute(last).scalar() or 0) + 1
        connection.execute(insert(guidelines).values(study=of.id, version=version, text=text, at=time.time()))
        set_options(connection, of, {"guideline": version})
