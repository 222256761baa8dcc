"""Create a campaign in one go from files or a ledger: all of it or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Engine

from fullbench.core.item import REQUEST, Item
from fullbench.core.media import Media
from fullbench.core.response import Response
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items, read_responses, read_verdicts
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_verdicts_with_panels
from fullbench.web import media_serving, picture_checks_storage_and_serving, shared_writable_ledgers_by_study
from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaigns import Campaign, CampaignPlan
from fullbench.web.campaigns.create import omitted_data_counts, resumable_task_creation, task_inputs
from fullbench.web.campaigns.create.lazy_lists_of_possible_tasks import (
    CountedTasks,
    TaskName,
    Tasks,
    build_tasks,
    name_of,
    refuse_too_many,
    select_tasks,
)
from fullbench.web.campaigns.create.omitted_data_counts import OmittedCounts
from fullbench.web.campaigns.create.resumable_task_creation import Finishing
from fullbench.web.campaigns.create.storable_task_plan import TaskPlan
from fullbench.web.campaigns.create.task_draw import draw_tasks
from fullbench.web.campaigns.tasks import most_informative_first, mutually_exclusive_tasks
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import read_transaction
from fullbench.web.picture_checks_storage_and_serving import CheckedPicture
from fullbench.web.site_settings_and_worker_transfer import TASK_LIMIT, Settings
from fullbench.web.words import key

PAIRS_APART = 5
"""Maximum number of conflicting pairs of tasks, as a multiple of the task limit."""
Role = Literal["gold", "qualify"]


@dataclass(frozen=True)
class Material:
    """Source of a campaign: files, or a ledger from which `contestants` and `judges` select a part."""

    items: Path | None = None
    responses: tuple[Path, ...] = ()
    queue: Path | None = None
    ledger: Ledger | None = None
    contestants: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    gold: Path | None = None
    qualify: Path | None = None
    conflict_pairs: Path | None = None
    conflict_tag: str = ""
    per_item: int = 0
    limit: int = 0
    conflict_campaigns: tuple[str, ...] = ()
    """Other campaigns whose tasks on the same pictures must go to other people."""
    ledger_study: str = ""
    """Study of the ledger; by default its only one."""
    include_unverified: bool = False
    """Whether items marked as not verified are judged too."""
    by_gain: bool = False
    """Whether pairs come in the order in which votes shrink the corrected leaderboard's intervals fastest."""
    pending: str = ""
    """Cascade of the ledger: only cases that wait for people there."""
    with_reference: bool = False
    """Whether the items' references compete as the answers of one more contestant."""
    checked_pictures: Mapping[str, CheckedPicture] = field(default_factory=dict)
    """Pictures that were checked and stored before, by digest."""


@dataclass(frozen=True)
class CreatedCampaign:
    """New campaign with the number of its tasks by role."""

    campaign: Campaign
    work: int
    gold: int
    qualify: int
    conflict_count: int
    omitted_counts: OmittedCounts
    plan: TaskPlan | None = None
    """Tasks of a large campaign, which are still to be created."""


@dataclass(frozen=True)
class PlannedTasks:
    """Tasks that a campaign would have, before anything is stored: for work, and with known answers by role."""

    contents: list[Content]
    known_tasks: dict[Role, list[tuple[Content, dict[str, Any]]]]
    omitted_counts: OmittedCounts
    gain: dict[str, Any] | None = None

    def all_contents(self) -> Iterator[Content]:
        """Iterate over the tasks of all roles."""
        yield from self.contents
        for tasks in self.known_tasks.values():
            yield from (content for content, _ in tasks)


def plan_tasks(campaign: Campaign, material: Material, task_limit: int = TASK_LIMIT) -> PlannedTasks:
    """Return the tasks of a campaign, which need not be stored; raise `InputError` above `task_limit`.

    Tasks are counted before any of them is built.
    """
    source, left_out = _tasks_of_material(campaign, material)
    gain = None
    if material.by_gain:
        ordered_tasks = most_informative_first.order_by_gain(
            campaign, source, material.ledger, _ledger_study(material), material.judges,
            planned_votes=material.limit or len(source),
        )  # fmt: skip
        left_out = replace(left_out, pairs=len(source) - len(ordered_tasks.contents))
        source, gain = ordered_tasks.contents, ordered_tasks.gain
    known_tasks: dict[Role, list[tuple[Content, dict[str, Any]]]] = {}
    roles: tuple[tuple[Role, Path | None], ...] = (("qualify", material.qualify), ("gold", material.gold))
    set_apart: set[TaskName] = set()
    for role, path in roles:
        if path is not None:
            labels = list(read_verdicts(path, ballot=campaign.rules.ballot))
            # A label may be on a pair that the draw left out: its task is included anyway.
            every = _tasks_of_material(campaign, replace(material, per_item=0))[0] if material.per_item else source
            labelled_tasks = select_tasks(every, {(label.item, frozenset(label.contestants)) for label in labels})
            fresh = (task for task in labelled_tasks if material.per_item or name_of(task) not in set_apart)
            known_tasks[role] = task_inputs.split_known_tasks(campaign.kind, fresh, labels).known_tasks
            set_apart |= {name_of(content) for content, _ in known_tasks[role]}
    remaining = len(source) - sum(1 for _ in select_tasks(source, set_apart))
    work = min(remaining, material.limit) if material.limit else remaining
    refuse_too_many(work + sum(map(len, known_tasks.values())), task_limit)
    if work < remaining and gain is None:
        contents = draw_tasks(source, work, campaign.seed, set_apart)
        left_out = replace(left_out, drawn=work, drawn_of=remaining, seed=campaign.seed)
    else:
        # The order by gain is a draw of its own, with the chances of its queue.
        left_out = replace(left_out, over_limit=remaining - work)
        unknown = (task for task in source if not set_apart or name_of(task) not in set_apart)
        contents = list(islice(unknown, work))
    contents = _with_known_chances(contents, campaign, material)
    if not contents:
        raise InputError(Note("web.wrong.there-is-nothing-to-do", kind=campaign.kind_name))
    # A generator that refuses leaves no file: one file anywhere is enough.
    if campaign.kind_name == "rate" and not any(each.media for task in contents for each in task.responses):
        raise InputError(
            key("The kind rate is for files such as pictures, and no response has one. Choose score or pair for texts.")
        )
    return PlannedTasks(contents, known_tasks, left_out, gain)


def _with_known_chances(contents: list[Content], campaign: Campaign, material: Material) -> list[Content]:
    """Keep the chances of tasks that stand for all answers of their source, and give all tasks of a ledger chance 1.

    A list that somebody chose, such as the cases that a cascade leaves to people, stands for itself only.
    """
    if campaign.kind_name not in task_inputs.COMPARISON_KINDS or material.pending:
        return [replace(content, probability=None) for content in contents]
    if material.ledger is None or material.items is not None:
        return contents
    return [content if content.probability else replace(content, probability=1.0) for content in contents]


@dataclass(frozen=True)
class PreparedCampaign:
    """Campaign that is checked and counted before anything is stored."""

    tasks: PlannedTasks
    plan: TaskPlan
    pairs: list[tuple[str, str]]
    every: bool
    conflict_campaign_ids: list[str]


def prepare_campaign(engine: Engine, plan: CampaignPlan, material: Material, task_limit: int) -> PreparedCampaign:
    """Check and count everything that a campaign would have, without storing it and without holding a write lock."""
    campaign = Campaign.from_plan(plan)
    with read_transaction(engine) as connection:
        campaigns.refuse_taken_name(connection, campaign.name)
    tasks = plan_tasks(campaign, material, task_limit)
    task_plan = TaskPlan.from_contents(campaign, tasks.known_tasks.items(), tasks.contents)
    most = PAIRS_APART * task_limit
    pairs = [] if material.conflict_pairs is None else task_inputs.read_conflict_pairs(material.conflict_pairs)
    counts = task_plan.tasks_on
    mutually_exclusive_tasks.refuse_unknown_items(campaign.name, pairs, counts)
    count = sum(counts[first] * counts[counterpart] for first, counterpart in pairs)
    if material.conflict_tag:
        items = {content.item.id: content.item for content in tasks.contents}
        mutually_exclusive_tasks.refuse_too_many_pairs(
            count + task_inputs.count_conflict_pairs_by_tag(material.conflict_tag, items.values(), counts), most
        )
        pairs += task_inputs.conflict_pairs_by_tag(material.conflict_tag, items.values())
    mutually_exclusive_tasks.refuse_too_many_pairs(count, most)
    every = mutually_exclusive_tasks.EVERY in material.conflict_campaigns
    with read_transaction(engine) as connection:
        named_campaigns = [
            campaigns.campaign_by_name(connection, name)
            for name in material.conflict_campaigns
            if name != mutually_exclusive_tasks.EVERY
        ]
        for counterpart in named_campaigns:
            campaigns.refuse_unfinished(counterpart)
        conflict_campaigns = mutually_exclusive_tasks.conflicting_campaigns(
            connection, campaign, named_campaigns, every=every
        )
        if conflict_campaigns:
            picture_counts = Counter[str]()
            for content in (
                *tasks.contents,
                *(first for known_tasks in tasks.known_tasks.values() for first, _ in known_tasks),
            ):
                picture_counts.update(mutually_exclusive_tasks.picture_keys(content.item))
            mutually_exclusive_tasks.refuse_too_many_pairs(
                mutually_exclusive_tasks.count_shared_pairs(connection, picture_counts, conflict_campaigns), most
            )
    return PreparedCampaign(tasks, task_plan, pairs, every, [counterpart.id for counterpart in named_campaigns])


def create_campaign_from_material(
    connection: Connection, settings: Settings, user: User | None, plan: CampaignPlan, *, material: Material,
    preparation: PreparedCampaign, draft: bool = False,
) -> CreatedCampaign:  # fmt: skip
    """Create a campaign, open at once or as a draft; pictures are stored as uploads of `user`.

    For a large campaign, call `store_large_campaign` after the transaction.
    """
    tasks = preparation.tasks
    campaign = campaigns.create_campaign(
        connection, plan, draft=draft or not resumable_task_creation.is_small(plan.votes, preparation.plan)
    )
    options = {
        **({} if tasks.gain is None else {"ordered": True, "gain": tasks.gain}),
        **({"separate_every": True} if preparation.every else {}),
        **tasks.omitted_counts.option,
    }
    campaigns.set_options(connection, campaign, options)
    campaign = campaigns.get_campaign(connection, campaign.id)
    store_pictures(connection, settings, user, preparation.plan.pictures.values(), material.checked_pictures)
    finishing = Finishing(not draft, preparation.pairs, preparation.conflict_campaign_ids, preparation.every)
    kept_apart = resumable_task_creation.create_tasks(connection, campaign, preparation.plan, finishing)
    known_counts = {role: len(tasks.known_tasks.get(role, ())) for role in ("gold", "qualify")}
    return CreatedCampaign(
        campaigns.get_campaign(connection, campaign.id),
        len(tasks.contents),
        known_counts["gold"],
        known_counts["qualify"],
        kept_apart or 0,
        tasks.omitted_counts,
        None if kept_apart is not None else preparation.plan,
    )


def store_large_campaign(engine: Engine, creation: CreatedCampaign) -> None:
    """Store the plan of a large campaign; a background process then creates its tasks."""
    if creation.plan is not None:
        resumable_task_creation.store_large_plan(engine, creation.campaign.id, creation.plan)


def _tasks_of_material(campaign: Campaign, material: Material) -> tuple[Tasks, OmittedCounts]:
    """Tasks, not built yet, and counts of data that is left out."""
    kind = campaign.kind
    if kind.name == "agree":
        if material.ledger is None:
            raise InputError("a campaign of kind agree shows judges' verdicts: give their ledger (--ledger)")
        record = material.ledger.record(material.judges or None, study=_ledger_study(material))
        verdicts, votes, bare = task_inputs.select_reviewed_verdicts(record, material.judges, campaign.rules.criterion)
        readable_verdicts = [verdict for verdict in verdicts if verdict.marks is not None]
        unusable = len(verdicts) - len(readable_verdicts)
        if verdicts and not readable_verdicts:
            raise InputError(Note("web.wrong.only-unusable-verdicts", n=unusable))
        other_criteria_count = task_inputs.count_other_criteria(
            record, material.judges, verdicts, campaign.rules.criterion
        )
        tasks = CountedTasks(len(readable_verdicts), lambda: task_inputs.review_tasks(record, readable_verdicts))
        return tasks, OmittedCounts(votes=votes, bare=bare, other_criteria=other_criteria_count, unusable=unusable)
    if kind.name == "rewrite":
        if material.queue is None:
            raise InputError(
                "a campaign of kind rewrite needs the queue that `fullbench compose rewrite` wrote (--queue)"
            )
        items_by_id = {} if material.items is None else {item.id: item for item in read_items(material.items)}
        return list(task_inputs.rewrite_tasks(material.queue, items_by_id)), OmittedCounts()
    every = _load_items(material)
    items, answers, left_out = omitted_data_counts.select_items_to_judge(
        kind.name, every, _load_responses(material, every), include_unverified=material.include_unverified
    )
    if material.with_reference:
        answers = task_inputs.with_references(kind.name, campaign.rules, items, answers)
    requests = 0 if material.items is not None else sum(REQUEST in item.tags for item in _ledger_items(material))
    comparison_tasks = build_tasks(
        kind, campaign.rules.ballot, items, answers, per_item=material.per_item, seed=campaign.seed
    )
    selected_tasks = (
        list(_pending_tasks(comparison_tasks, campaign, material)) if material.pending else comparison_tasks
    )
    return selected_tasks, replace(left_out, requests=requests)


def _pending_tasks(tasks: Tasks, campaign: Campaign, material: Material) -> Iterator[Content]:
    if material.ledger is None:
        raise InputError("cases that a cascade leaves to people are in its ledger: give it (--ledger)")
    places = ledger_verdicts_with_panels.cases_left_to_people(
        material.ledger, material.pending, study=_ledger_study(material)
    )
    pending_keys = {
        (item, response_ids) for item, criterion, _, response_ids in places if criterion == campaign.rules.criterion
    }
    for task in select_tasks(
        tasks, {(item, frozenset(name for name, _ in response_ids)) for item, response_ids in pending_keys}
    ):
        if (task.item.id, frozenset((answer.contestant, answer.sample) for answer in task.responses)) in pending_keys:
            yield task


def _ledger_study(material: Material) -> str | None:
    return (
        None
        if material.ledger is None
        else shared_writable_ledgers_by_study.ledger_study_name(material.ledger, material.ledger_study)
    )


def _load_items(material: Material) -> list[Item]:
    if material.items is not None:
        return list(read_items(material.items))
    if material.ledger is None:
        raise InputError("a campaign needs items: give a file (--items) or a ledger (--ledger)")
    return [item for item in _ledger_items(material) if REQUEST not in item.tags]


def _ledger_items(material: Material) -> list[Item]:
    """All items, with the last content of each id."""
    if material.ledger is None:
        return []
    return list({item.id: item for item in material.ledger.items(study=_ledger_study(material))}.values())


def _load_responses(material: Material, items: Iterable[Item]) -> list[Response]:
    if material.ledger is not None and not material.responses:
        keys = [item.key for item in items]
        return list(
            material.ledger.responses(material.contestants or None, item_keys=keys, study=_ledger_study(material))
        )
    item_ids = {item.id for item in items}
    responses = [
        response
        for path in material.responses
        for response in read_responses(path, contestant=path.stem, items=item_ids)
    ]
    return [
        response for response in responses if not material.contestants or response.contestant in material.contestants
    ]


def store_pictures(
    connection: Connection, settings: Settings, user: User | None, pictures: Iterable[Media],
    checked_pictures: Mapping[str, CheckedPicture],
) -> None:  # fmt: skip
    """Store the pictures and other media that tasks show, each once."""
    for picture in {picture.digest: picture for picture in pictures}.values():
        if user is None:
            raise InputError(
                "pictures need a lead's account, and there is none yet. Start `fullbench serve`, open the link that "
                "it prints, then run this again"
            )
        if picture.digest in checked_pictures:
            picture_checks_storage_and_serving.record_upload(connection, user, checked_pictures[picture.digest])
        elif picture.kind == "image":
            picture_checks_storage_and_serving.store_upload(connection, settings, user, picture.data())
        else:
            media_serving.store_media(connection, settings, user, picture)
