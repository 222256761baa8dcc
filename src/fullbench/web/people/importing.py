"""A study made in one go: from files, or from a ledger; all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection

from fullbench.errors import InputError
from fullbench.files.nouns import read_items, read_responses, read_verdicts
from fullbench.ledger.store import Ledger
from fullbench.nouns.item import REQUEST, Item
from fullbench.nouns.note import Note
from fullbench.nouns.response import Response
from fullbench.studies import seated
from fullbench.web import ledgers, pictures
from fullbench.web.accounts.users import User
from fullbench.web.people import apart, gaining, omitted, sources, studies
from fullbench.web.people.content import Content
from fullbench.web.people.omitted import Omitted
from fullbench.web.people.studies import Plan, Study
from fullbench.web.pictures import Checked
from fullbench.web.settings import Settings

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


@dataclass(frozen=True)
class Planned:
    """The tasks that a study would have, before anything is kept: for work, and with known answers by role."""

    contents: list[Content]
    known: dict[Role, list[tuple[Content, dict[str, Any]]]]
    omitted: Omitted
    gain: dict[str, Any] | None = None


def planned(study: Study, material: Material) -> Planned:
    """The tasks that the material gives a study, which need not be kept yet."""
    contents, left_out = _contents(study, material)
    gain = None
    if material.by_gain:
        chosen = gaining.ordered(study, contents, material.ledger, _study(material), material.judges)
        left_out = replace(left_out, pairs=len(contents) - len(chosen.contents))
        contents, gain = chosen.contents, chosen.gain
    known: dict[Role, list[tuple[Content, dict[str, Any]]]] = {}
    roles: tuple[tuple[Role, Path | None], ...] = (("qualify", material.qualify), ("gold", material.gold))
    for role, path in roles:
        if path is not None:
            labels = read_verdicts(path, ballot=study.rules.ballot)
            # An answer may be known to a pair that the draw left out: it is asked about all the same.
            every = _contents(study, replace(material, per_item=0))[0] if material.per_item else contents
            known[role] = sources.with_answers(study.kind, every, labels).known
            set_apart = {_pair(content) for content, _ in known[role]}
            contents = [content for content in contents if _pair(content) not in set_apart]
    if material.limit:
        left_out = replace(left_out, over_limit=max(0, len(contents) - material.limit))
        contents = contents[: material.limit]
    if not contents:
        raise InputError(
            Note(
                "web.wrong.there-is-nothing-to-do",
                "there is nothing to do in this study: no {kind} task can be made of what was given",
                kind=study.kind_name,
            )
        )
    return Planned(contents, known, left_out, gain)


def _pair(content: Content) -> tuple[str, frozenset[str]]:
    """What a label names a task by."""
    return content.item.id, frozenset(response.contestant for response in content.responses)


def make(
    connection: Connection,
    settings: Settings,
    user: User | None,
    plan: Plan,
    material: Material,
    *,
    draft: bool = False,
) -> Made:
    """Make a study with its tasks, open at once or as a draft; pictures are checked and kept as this user's uploads."""
    study = studies.create(connection, plan, draft=draft)
    tasks = planned(study, material)
    if tasks.gain is not None:
        studies.set_options(connection, study, {"ordered": True, "gain": tasks.gain})
        study = studies.study(connection, study.id)
    for role, pairs in tasks.known.items():
        keep(connection, settings, user, [content for content, _ in pairs], material.checked)
        studies.add_known(connection, study, pairs, role)
    keep(connection, settings, user, tasks.contents, material.checked)
    work = studies.add(connection, study, tasks.contents)
    pairs_apart = [] if material.apart is None else sources.apart(material.apart)
    if material.apart_by:
        items = {content.item.id: content.item for content in tasks.contents}
        pairs_apart += sources.apart_by(material.apart_by, items.values())
    count = apart.keep_apart(connection, study, pairs_apart) if pairs_apart else 0
    every = apart.EVERY in material.apart_from
    if every:
        studies.set_options(connection, studies.study(connection, study.id), {"apart_every": True})
    others = [studies.named(connection, name) for name in material.apart_from if name != apart.EVERY]
    others = apart.others_of(connection, study, others, every=every)
    count += apart.keep_apart_from(connection, study, others) if others else 0
    studies.set_options(connection, studies.study(connection, study.id), tasks.omitted.option)
    filled = studies.study(connection, study.id)
    known = {role: len(tasks.known.get(role, ())) for role in ("gold", "qualify")}
    return Made(filled, work, known["gold"], known["qualify"], count, tasks.omitted)


def _contents(study: Study, material: Material) -> tuple[list[Content], Omitted]:
    """The tasks, and what is left out of the material."""
    kind = study.kind
    if kind.name == "agree":
        if material.ledger is None:
            raise InputError("an agree study shows judges' verdicts: name the ledger that holds them")
        record = material.ledger.record(material.judges or None, study=_study(material))
        verdicts, votes, bare = sources.reviewed(record, material.judges, study.rules.criterion)
        others = sources.on_other_criteria(record, material.judges, verdicts, study.rules.criterion)
        return list(sources.appeals(record, verdicts)), Omitted(votes=votes, bare=bare, other_criteria=others)
    if kind.name == "rewrite":
        if material.queue is None:
            raise InputError("a rewrite study needs the queue that `fullbench compose rewrite` wrote")
        known = {} if material.items is None else {item.id: item for item in read_items(material.items)}
        return list(sources.rewordings(material.queue, known)), Omitted()
    every = _items(material)
    items, answers, left_out = omitted.judged(
        kind.name, every, _responses(material, every), unverified=material.unverified
    )
    if material.with_reference:
        answers = sources.with_references(kind.name, study.rules, items, answers)
    requests = 0 if material.items is not None or material.ledger is None else sum(map(_is_request, _every(material)))
    tasks = sources.tasks_of(kind, study.rules.ballot, items, answers, per_item=material.per_item, seed=study.seed)
    chosen = _waiting(tasks, study, material) if material.pending else tasks
    return list(chosen), replace(left_out, requests=requests)


def _waiting(tasks: Iterable[Content], study: Study, material: Material) -> Iterator[Content]:
    """Those of the tasks that a cascade left to people."""
    if material.ledger is None:
        raise InputError("what a cascade leaves to people stands in its ledger: name it")
    places = seated.waiting(material.ledger, material.pending, study=_study(material))
    wanted = {(item, shown) for item, criterion, _, shown in places if criterion == study.rules.criterion}
    for task in tasks:
        if (task.item.id, frozenset((answer.contestant, answer.sample) for answer in task.responses)) in wanted:
            yield task


def _study(material: Material) -> str | None:
    return None if material.ledger is None else ledgers.study_of(material.ledger, material.ledger_study)


def _items(material: Material) -> list[Item]:
    if material.items is not None:
        return list(read_items(material.items))
    if material.ledger is None:
        raise InputError("a study is made of items: name a file of them, or a ledger")
    return [item for item in _every(material) if not _is_request(item)]


def _every(material: Material) -> list[Item]:
    """All items of the ledger, the last content of each id."""
    if material.ledger is None:
        return []
    return list({item.id: item for item in material.ledger.items(study=_study(material))}.values())


def _is_request(item: Item) -> bool:
    """Whether an item asks for a question; those of the first release bear no tag, but their picture and no author."""
    untagged = item.id.startswith("ask ") and "image" in item.tags and "reviewer" not in item.tags
    return REQUEST in item.tags or untagged


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
    connection: Connection, settings: Settings, user: User | None, contents: Iterable[Content],
    checked: Mapping[str, Checked],
) -> None:  # fmt: skip
    """Keep the pictures that the tasks show, each once."""
    by_digest = {picture.digest: picture for content in contents for picture in content.pictures}
    for picture in by_digest.values():
        if user is None:
            raise InputError(
                "pictures are kept in an organiser's name, and nobody has an organiser's account yet: start "
                "`fullbench serve`, open the link that it prints, then repeat this"
            )
        if picture.digest in checked:
            pictures.note(connection, user, checked[picture.digest])
        else:
            pictures.keep(connection, settings, user, picture.data())
