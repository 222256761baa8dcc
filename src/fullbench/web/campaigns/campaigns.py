"""Campaigns: create one, add tasks, open and close it, change options and guidelines."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Row, func, insert, select, update

from fullbench.core.dialogue_turn_answers_and_criteria import EACH_TURN
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.web.campaigns.campaign_tables import guidelines, studies
from fullbench.web.campaigns.create.task_rows import Lots, TaskRow, insert_tasks
from fullbench.web.campaigns.tasks import shipped_guidelines_and_scale_anchors as guides
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kind_base import Kind, Rules
from fullbench.web.campaigns.tasks.task_kinds import kind_of
from fullbench.web.live_events import publish_event
from fullbench.web.words import Language

SettledBy = Literal["majority", "all"]
Stage = Literal["creating", "draft", "pilot", "open", "closed"]
_KINDS_WITH_CRITERIA = frozenset({"pair", "score", "rank", "rate", "agree"})
# Far below the number of `?` that one statement of SQLite may have.
CHUNK = 500
# About forty printed pages; they are rendered for every annotator.
LONGEST_GUIDELINES = 100_000


@dataclass(frozen=True)
class CampaignPlan:
    """Settings that a lead chooses for a campaign.

    Every task gets `votes` votes; while people disagree, up to `most`. They agree when more than half give the same
    answer (`settled_by="majority"`) or when all do (`"all"`). About one task in `gold_every` has a known answer; 0 is
    none. If there is a qualification round, a share of `pass_share` of its answers must be right.
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
            raise InputError(Note("web.wrong.a-study-needs-a-name"))
        if not 1 <= self.votes <= 100:
            raise InputError(Note("web.wrong.a-task-gets-1-to", votes=self.votes))
        if self.most and not self.votes <= self.most <= 100:
            raise InputError(Note("web.wrong.the-most-votes-are-to", votes=self.votes, most=self.most))
        if self.settled_by not in get_args(SettledBy):
            raise InputError(
                Note(
                    "web.wrong.a-task-is-settled-by", names=" or ".join(get_args(SettledBy)), settled_by=self.settled_by
                )
            )
        if not 10 <= self.lease_seconds <= 7 * 86_400:
            raise InputError(Note("web.wrong.a-lease-lasts-10-seconds", lease_seconds=self.lease_seconds))
        if not 0 <= self.gold_every <= 1000:
            raise InputError(Note("web.wrong.one-task-in-1-to", gold_every=self.gold_every))
        if not 0 <= self.pass_share <= 1:
            raise InputError(Note("web.wrong.the-share-to-pass-is", pass_share=self.pass_share))
        if self.criterion.endswith(EACH_TURN):
            raise InputError(Note("web.wrong.one-turn-per-study", found=self.criterion))
        if len(self.guidelines) > LONGEST_GUIDELINES:
            raise _guidelines_too_long(self.guidelines)
        guides.check_paper(str(self.options.get("paper") or ""), self.kind)
        self.rules  # noqa: B018

    @property
    def rules(self) -> Rules:
        rules = Rules(self.ballot or kind_of(self.kind).ballot, self.criterion, self.options)
        # Parse the ballot here, so that an invalid one is refused.
        rules.form  # noqa: B018
        return rules


@dataclass(frozen=True)
class Campaign:
    """Stored campaign."""

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
    has_conflicts: bool
    qualifies: int
    golds: int
    seed: int
    state: str
    at: float

    @classmethod
    def from_row(cls, row: Row[*tuple[Any, ...]]) -> Campaign:
        rules = Rules(row.ballot, row.criterion, row.options)
        return cls(
            row.id, row.name, row.kind, rules, row.guidelines, row.votes, row.most, row.settled_by, row.lease_seconds,
            row.gold_every, row.pass_share, row.conflicted, row.qualifies, row.golds, row.seed, row.state, row.at,
        )  # fmt: skip

    @classmethod
    def from_plan(cls, plan: CampaignPlan) -> Campaign:
        """Build a campaign from a plan without storing it."""
        rules = replace(plan.rules, options={**_reference_option(plan), **plan.options})
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
        """Version of the guideline that annotators see now."""
        version = self.rules.options.get("guideline")
        return (
            f"{self.name} {version}"
            if self.guidelines and version
            else guides.shipped_version(self._shipped_text, self.paper)
        )

    @property
    def paper(self) -> str:
        """Paper whose shipped guideline is shown if the campaign has no text of its own."""
        return str(self.rules.options.get("paper") or guides.PLAIN)

    def guideline_text(self, language: Language) -> str:
        """Return the guideline in a language: the campaign's own text, else the shipped one."""
        if self.guidelines:
            return guides.in_language(self.guidelines, language)
        return guides.shipped_text(self._shipped_text, language, self.paper)

    @property
    def _shipped_text(self) -> str:
        return guides.text_name(self.kind_name, self.rules.ballot, self.paper)

    def criterion_rules(self, criterion: str, task: str, language: Language) -> str:
        """Return what the paper means by a criterion; empty under a guideline of the campaign's own."""
        if self.guidelines or self.kind_name not in _KINDS_WITH_CRITERIA:
            return ""
        return guides.criterion_rules(self.paper, criterion, task, language)

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def is_pilot(self) -> bool:
        """True for the pilot of another campaign; its votes are marked and excluded by default."""
        return bool(self.rules.options.get("pilot_of"))

    @property
    def stage(self) -> Stage:
        """Stage of the campaign.

        A draft has no annotators yet and can be removed. In the stage `creating`, tasks are still being created.
        """
        if self.rules.options.get("creating"):
            return "creating"
        if self.is_open:
            return "pilot" if self.is_pilot else "open"
        return "draft" if self.rules.options.get("draft") else "closed"

    @property
    def is_quick(self) -> bool:
        """True if choosing sends the vote: for pairs, unless a reason or a confirmation is required."""
        options = self.rules.options
        return self.kind_name == "pair" and not options.get("reason") and not options.get("confirm")


def _reference_option(plan: CampaignPlan) -> dict[str, bool]:
    return {"reference": True} if (plan.kind, plan.options.get("paper")) in guides.AGAINST_REFERENCE else {}


def create_campaign(connection: Connection, plan: CampaignPlan, *, draft: bool = False) -> Campaign:
    """Create a campaign without tasks, open at once or as a draft."""
    name = plan.name.strip()
    refuse_taken_name(connection, name)
    row: dict[str, Any] = {
        "id": secrets.token_hex(8), "name": name, "kind": plan.kind, "ballot": plan.rules.ballot,
        "criterion": plan.criterion, "guidelines": plan.guidelines,
        "options": {**_reference_option(plan), **plan.options, **({"draft": True} if draft else {})},
        "votes": plan.votes, "most": max(plan.most, plan.votes), "settled_by": plan.settled_by,
        "lease_seconds": plan.lease_seconds, "gold_every": plan.gold_every, "pass_share": plan.pass_share,
        "conflicted": False, "qualifies": 0, "golds": 0, "seed": plan.seed,
        "state": "closed" if draft else "open", "at": time.time(),
    }  # fmt: skip
    connection.execute(insert(studies).values(row))
    _store_guidelines(connection, get_campaign(connection, row["id"]), plan.guidelines)
    return get_campaign(connection, row["id"])


def refuse_taken_name(connection: Connection, name: str) -> None:
    """Raise `InputError` if another campaign has this name."""
    if connection.execute(select(studies.c.id).where(studies.c.name == name)).first() is not None:
        raise InputError(Note("web.wrong.there-is-a-study-already", name=name))


def find_campaign(connection: Connection, study_id: str) -> Campaign | None:
    row = connection.execute(select(studies).where(studies.c.id == study_id)).first()
    return None if row is None else Campaign.from_row(row)


def get_campaign(connection: Connection, study_id: str) -> Campaign:
    existing = find_campaign(connection, study_id)
    if existing is None:
        raise InputError(Note("web.wrong.there-is-no-study", study_id=study_id))
    return existing


def campaign_by_name(connection: Connection, name: str) -> Campaign:
    row = connection.execute(select(studies).where(studies.c.name == name)).first()
    if row is None:
        names = ", ".join(connection.execute(select(studies.c.name).order_by(studies.c.name).limit(20)).scalars())
        raise InputError(Note("web.wrong.there-is-no-study-there", name=name, known=names or "none"))
    return Campaign.from_row(row)


def list_campaigns(
    connection: Connection, *, only_open: bool = False, start: int = 0, count: int = 50
) -> list[Campaign]:
    """Return campaigns, newest first."""
    query = select(studies).order_by(studies.c.at.desc(), studies.c.id).offset(start).limit(count)
    if only_open:
        query = query.where(studies.c.state == "open")
    return [Campaign.from_row(row) for row in connection.execute(query)]


def lots_of(campaign: Campaign) -> Lots:
    """Return the lots of a campaign's slots."""
    return Lots(
        f"{campaign.seed} {campaign.id}", campaign.votes, is_ordered=bool(campaign.rules.options.get("ordered"))
    )


def add_task_rows(
    connection: Connection,
    campaign: Campaign,
    role: str,
    rows: Sequence[TaskRow],
    lots: Lots | None = None,
    *,
    first: int = 0,
) -> None:
    """Insert tasks and count those with a known answer.

    Args:
        connection: Connection with a transaction.
        campaign: The campaign.
        role: `work`, `gold` or `qualify`.
        rows: The tasks.
        lots: Order in which tasks are handed out; only for the role `work`.
        first: Place of the first of these tasks among all of the role.
    """
    task_lots = lots.of_tasks(first, len(rows)) if lots is not None and role == "work" else ()
    has_authors = insert_tasks(connection, campaign.id, role, rows, task_lots)
    if has_authors and not get_campaign(connection, campaign.id).rules.options.get("authored"):
        set_options(connection, campaign, {"authored": True})
    if role != "work":
        column = studies.c.golds if role == "gold" else studies.c.qualifies
        connection.execute(update(studies).where(studies.c.id == campaign.id).values({column: column + len(rows)}))


def check_known_answer(campaign: Campaign, content: Content, answer: Mapping[str, Any]) -> None:
    """Raise `InputError` if a task cannot have this known answer."""
    campaign.kind.check(campaign.rules, content)
    if campaign.kind.label(answer) is None:
        raise InputError(Note("web.wrong.the-known-answer-to-item", id=content.item.id, answer=str(dict(answer))))


def refuse_unfinished(campaign: Campaign) -> None:
    """Raise `InputError` if the tasks of a campaign are still being created."""
    if campaign.stage == "creating":
        raise InputError(Note("web.wrong.still-being-created", name=campaign.name))


def set_state(connection: Connection, study_id: str, state: Literal["open", "closed"]) -> None:
    """Open or close a campaign; a draft that is opened stops being a draft."""
    refuse_unfinished(get_campaign(connection, study_id))
    connection.execute(update(studies).where(studies.c.id == study_id).values(state=state))
    now = get_campaign(connection, study_id)
    if state == "open" and now.rules.options.get("draft"):
        set_options(connection, now, {"draft": False})


def set_options(connection: Connection, campaign: Campaign, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change some options of a campaign and return all of them."""
    options = {**get_campaign(connection, campaign.id).rules.options, **changes}
    connection.execute(update(studies).where(studies.c.id == campaign.id).values(options=options))
    return options


def set_guidelines(connection: Connection, study_id: str, text: str) -> None:
    if len(text) > LONGEST_GUIDELINES:
        raise _guidelines_too_long(text)
    connection.execute(update(studies).where(studies.c.id == study_id).values(guidelines=text))
    _store_guidelines(connection, get_campaign(connection, study_id), text)


def _guidelines_too_long(text: str) -> InputError:
    return InputError(Note("web.wrong.guidelines-have-at-most-100", n=len(text)))


def _store_guidelines(connection: Connection, campaign: Campaign, text: str) -> None:
    """Earlier versions stay because votes refer to them."""
    if text:
        last = select(func.max(guidelines.c.version)).where(guidelines.c.study == campaign.id)
        version = (connection.execute(last).scalar() or 0) + 1
        connection.execute(insert(guidelines).values(study=campaign.id, version=version, text=text, at=time.time()))
        set_options(connection, campaign, {"guideline": version})


def campaign_topic(study_id: str) -> str:
    return f"organiser/study/{study_id}"


def publish_change(connection: Connection, study_id: str) -> None:
    """Publish an event for every change, even if the last one was moments ago.

    The page reloads at most every two seconds. If the event of the last change were dropped, a page that loaded before
    that change would never show it.
    """
    publish_event(connection, campaign_topic(study_id))
