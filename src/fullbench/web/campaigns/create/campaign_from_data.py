"""A study made in one go: from files, or from a ledger; all of it or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Engine

from fullbench.core.item import REQUEST, Item
from fullbench.core.note import Note
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.files.item_files import read_items, read_responses, read_verdicts
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_columns
from fullbench.web import open_ledgers, picture_serving
from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaigns import Plan, Study
from fullbench.web.campaigns.create import omitted_data, task_creation, task_inputs
from fullbench.web.campaigns.create.omitted_data import Omitted
from fullbench.web.campaigns.create.task_creation import Finishing
from fullbench.web.campaigns.create.task_lists import (
    CountedTasks,
    Named,
    Tasks,
    name_of,
    refuse_too_many,
    tasks_named,
    tasks_of,
)
from fullbench.web.campaigns.create.task_plans import TaskPlan
from fullbench.web.campaigns.tasks import most_informative_first, task_conflicts
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import reading
from fullbench.web.picture_serving import Checked
from fullbench.web.site_settings import TASK_LIMIT, Settings

PAIRS_APART = 5
"""Pairs of tasks that nobody meets both of: at most this many times the limit of tasks."""
Role = Literal["gold", "qualify"]


@dataclass(frozen=True)
class Material:
    """What a study is made of: files, or a ledger (of which `contestants` and `judges` choose a part)."""

    items: Path | None = None
    responses: tuple[Path, ...] = ()
    queue: Path | None = None
    ledger: Ledger | None = None
    contestants: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    gold: Path | None = None
    qualify: Path | None = None
    apart: Path | None = None
    apart_by: str = ""
    per_item: int = 0
    limit: int = 0
    apart_from: tuple[str, ...] = ()
    """Other studies whose tasks on the same pictures are for other people."""
    ledger_study: str = ""
    """The study of the ledger; where it is left out, the only one there is."""
    unverified: bool = False
    """Whether items are judged too that are marked as not verified."""
    by_gain: bool = False
    """Whether the pairs are asked about in the order in which votes shrink the corrected leaderboard fastest."""
    pending: str = ""
    """A cascade of the ledger: only what waits for people there."""
    with_reference: bool = False
    """Whether the items' references compete as the answers of one more contestant."""
    checked: Mapping[str, Checked] = field(default_factory=dict)
    """Pictures that were looked at and kept before, by digest."""


@dataclass(frozen=True)
class Made:
    """A new study and how many tasks it has, by role."""

    study: Study
    work: int
    gold: int
    qualify: int
    apart: int
    omitted: Omitted
    plan: TaskPlan | None = None
    """The tasks of a large study, which are still to be created."""


@dataclass(frozen=True)
class Planned:
    """The tasks that a study would have, before anything is kept: for work, and with known answers by role."""

    contents: list[Content]
    known: dict[Role, list[tuple[Content, dict[str, Any]]]]
    omitted: Omitted
    gain: dict[str, Any] | None = None


def planned(study: Study, material: Material, task_limit: int = TASK_LIMIT) -> Planned:
    """Return the tasks that the material gives a study; they are counted before any is built.

    Args:
        study: The study, which need not be stored.
        material: What it is made of.
        task_limit: Number of tasks that a study may have; more are refused.
    """
    source, left_out = _tasks(study, material)
    gain = None
    if material.by_gain:
        chosen = most_informative_first.ordered(study, source, material.ledger, _study(material), material.judges)
        left_out = replace(left_out, pairs=len(source) - len(chosen.contents))
        source, gain = chosen.contents, chosen.gain
    known: dict[Role, list[tuple[Content, dict[str, Any]]]] = {}
    roles: tuple[tuple[Role, Path | None], ...] = (("qualify", material.qualify), ("gold", material.gold))
    set_apart: set[Named] = set()
    for role, path in roles:
        if path is not None:
            labels = list(read_verdicts(path, ballot=study.rules.ballot))
            # An answer may be known to a pair that the draw left out: it is asked about all the same.
            every = _tasks(study, replace(material, per_item=0))[0] if material.per_item else source
            labelled = tasks_named(every, {(label.item, frozenset(label.contestants)) for label in labels})
            fresh = (one for one in labelled if material.per_item or name_of(one) not in set_apart)
            known[role] = task_inputs.with_answers(study.kind, fresh, labels).known
            set_apart |= {name_of(content) for content, _ in known[role]}
    remaining = len(source) - sum(1 for _ in tasks_named(source, set_apart))
    work = min(remaining, material.limit) if material.limit else remaining
    refuse_too_many(work + sum(map(len, known.values())), task_limit)
    left_out = replace(left_out, over_limit=remaining - work)
    unknown = (one for one in source if not set_apart or name_of(one) not in set_apart)
    contents = list(islice(unknown, work))
    if not contents:
        raise InputError(
            Note(
                "web.wrong.there-is-nothing-to-do",
                "there is nothing to do in this study: no {kind} task can be made of what was given",
                kind=study.kind_name,
            )
        )
    return Planned(contents, known, left_out, gain)


@dataclass(frozen=True)
class Prepared:
    """A study that is checked and counted, before anything is stored."""

    tasks: Planned
    plan: TaskPlan
    pairs: list[tuple[str, str]]
    every: bool
    others: list[str]


def prepare(engine: Engine, plan: Plan, material: Material, task_limit: int) -> Prepared:
    """Check and count everything that a study would have; nothing is stored, and nobody has to wait.

    Args:
        engine: The site's database.
        plan: The study.
        material: What it is made of.
        task_limit: Number of tasks that a study may have.
    """
    study = Study.sketched(plan)
    with reading(engine) as connection:
        campaigns.refuse_taken_name(connection, study.name)
    tasks = planned(study, material, task_limit)
    task_plan = TaskPlan.from_contents(study, tasks.known.items(), tasks.contents)
    most = PAIRS_APART * task_limit
    pairs = [] if material.apart is None else task_inputs.apart(material.apart)
    counts = task_plan.tasks_on
    task_conflicts.refuse_unknown_items(study.name, pairs, counts)
    count = sum(counts[one] * counts[other] for one, other in pairs)
    if material.apart_by:
        items = {content.item.id: content.item for content in tasks.contents}
        task_conflicts.refuse_too_many_pairs(
            count + task_inputs.count_apart_by(material.apart_by, items.values(), counts), most
        )
        pairs += task_inputs.apart_by(material.apart_by, items.values())
    task_conflicts.refuse_too_many_pairs(count, most)
    every = task_conflicts.EVERY in material.apart_from
    with reading(engine) as connection:
        named = [campaigns.named(connection, name) for name in material.apart_from if name != task_conflicts.EVERY]
        for other in named:
            campaigns.refuse_unfinished(other)
        others = task_conflicts.others_of(connection, study, named, every=every)
        if others:
            shown = Counter[str]()
            for content in (*tasks.contents, *(one for known in tasks.known.values() for one, _ in known)):
                shown.update(task_conflicts.names_shown(content.item))
            task_conflicts.refuse_too_many_pairs(task_conflicts.count_shared(connection, shown, others), most)
    return Prepared(tasks, task_plan, pairs, every, [other.id for other in named])


def make(
    connection: Connection, settings: Settings, user: User | None, plan: Plan, *, material: Material,
    prepared: Prepared, draft: bool = False,
) -> Made:  # fmt: skip
    """Make a study, open at once or as a draft; if it is large, `complete` must be called after the transaction.

    Args:
        connection: The transaction.
        settings: The site.
        user: Pictures are checked and kept as this user's uploads.
        plan: The study.
        material: What it is made of.
        prepared: The result of `prepare`.
        draft: Whether it stays a draft.
    """
    tasks = prepared.tasks
    study = campaigns.create(connection, plan, draft=draft or not task_creation.is_small(plan.votes, prepared.plan))
    options = {
        **({} if tasks.gain is None else {"ordered": True, "gain": tasks.gain}),
        **({"apart_every": True} if prepared.every else {}),
        **tasks.omitted.option,
    }
    campaigns.set_options(connection, study, options)
    study = campaigns.study(connection, study.id)
    keep(connection, settings, user, prepared.plan.pictures.values(), material.checked)
    finishing = Finishing(not draft, prepared.pairs, prepared.others, prepared.every)
    kept_apart = task_creation.create_tasks(connection, study, prepared.plan, finishing)
    known = {role: len(tasks.known.get(role, ())) for role in ("gold", "qualify")}
    return Made(
        campaigns.study(connection, study.id), len(tasks.contents), known["gold"], known["qualify"], kept_apart or 0,
        tasks.omitted, None if kept_apart is not None else prepared.plan,
    )  # fmt: skip


def complete(engine: Engine, made: Made) -> None:
    """Store the plan of a large study, whose tasks a process then creates in the background."""
    if made.plan is not None:
        task_creation.store_large_plan(engine, made.study.id, made.plan)


def _tasks(study: Study, material: Material) -> tuple[Tasks, Omitted]:
    """Return the tasks, not built yet, and what is left out of the material."""
    kind = study.kind
    if kind.name == "agree":
        if material.ledger is None:
            raise InputError("an agree study shows judges' verdicts: name the ledger that holds them")
        record = material.ledger.record(material.judges or None, study=_study(material))
        verdicts, votes, bare = task_inputs.reviewed(record, material.judges, study.rules.criterion)
        others = task_inputs.on_other_criteria(record, material.judges, verdicts, study.rules.criterion)
        tasks = CountedTasks(len(verdicts), lambda: task_inputs.appeals(record, verdicts))
        return tasks, Omitted(votes=votes, bare=bare, other_criteria=others)
    if kind.name == "rewrite":
        if material.queue is None:
            raise InputError("a rewrite study needs the queue that `fullbench compose rewrite` wrote")
        known = {} if material.items is None else {item.id: item for item in read_items(material.items)}
        return list(task_inputs.rewordings(material.queue, known)), Omitted()
    every = _items(material)
    items, answers, left_out = omitted_data.judged(
        kind.name, every, _responses(material, every), unverified=material.unverified
    )
    if material.with_reference:
        answers = task_inputs.with_references(kind.name, study.rules, items, answers)
    requests = 0 if material.items is not None else sum(REQUEST in item.tags for item in _every(material))
    compared = tasks_of(kind, study.rules.ballot, items, answers, per_item=material.per_item, seed=study.seed)
    chosen = list(_waiting(compared, study, material)) if material.pending else compared
    return chosen, replace(left_out, requests=requests)


def _waiting(tasks: Tasks, study: Study, material: Material) -> Iterator[Content]:
    """Those of the tasks that a cascade left to people."""
    if material.ledger is None:
        raise InputError("what a cascade leaves to people stands in its ledger: name it")
    places = ledger_columns.waiting(material.ledger, material.pending, study=_study(material))
    wanted = {(item, shown) for item, criterion, _, shown in places if criterion == study.rules.criterion}
    for task in tasks_named(tasks, {(item, frozenset(name for name, _ in shown)) for item, shown in wanted}):
        if (task.item.id, frozenset((answer.contestant, answer.sample) for answer in task.responses)) in wanted:
            yield task


def _study(material: Material) -> str | None:
    return None if material.ledger is None else open_ledgers.study_of(material.ledger, material.ledger_study)


def _items(material: Material) -> list[Item]:
    if material.items is not None:
        return list(read_items(material.items))
    if material.ledger is None:
        raise InputError("a study is made of items: name a file of them, or a ledger")
    return [item for item in _every(material) if REQUEST not in item.tags]


def _every(material: Material) -> list[Item]:
    """All items of the ledger, the last content of each id."""
    if material.ledger is None:
        return []
    return list({item.id: item for item in material.ledger.items(study=_study(material))}.values())


def _responses(material: Material, items: Iterable[Item]) -> list[Response]:
    if material.ledger is not None and not material.responses:
        keys = [item.key for item in items]
        return list(material.ledger.responses(material.contestants or None, item_keys=keys, study=_study(material)))
    known = {item.id for item in items}
    responses = [
        response for path in material.responses for response in read_responses(path, contestant=path.stem, items=known)
    ]
    return [
        response for response in responses if not material.contestants or response.contestant in material.contestants
    ]


def keep(
    connection: Connection, settings: Settings, user: User | None, shown: Iterable[Picture],
    checked: Mapping[str, Checked],
) -> None:  # fmt: skip
    """Keep the pictures that tasks show, each once."""
    for picture in {picture.digest: picture for picture in shown}.values():
        if user is None:
            raise InputError(
                "pictures are kept in an organiser's name, and nobody has an organiser's account yet: start "
                "`fullbench serve`, open the link that it prints, then repeat this"
            )
        if picture.digest in checked:
            picture_serving.note(connection, user, checked[picture.digest])
        else:
            picture_serving.keep(connection, settings, user, picture.data())
