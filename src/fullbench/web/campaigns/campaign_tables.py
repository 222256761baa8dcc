"""Database tables of campaigns.

A **campaign** (table `studies`) has **tasks**. A task has **slots**, one for each vote wanted. A person holds a slot
by a lease and fills it with a **vote**. Votes are only ever inserted: a change is a new revision of the same slot.
The latest revision counts and all are kept. A free slot is found by its lot. Tasks with a known answer (`gold`,
`qualify`) get a slot without a lot for each person who receives one, so nobody else can take it.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from fullbench.web.database import RowId, metadata

studies = Table(
    "studies",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("ballot", Text, nullable=False),
    Column("criterion", Text, nullable=False),
    Column("guidelines", Text, nullable=False, default=""),
    Column("options", JSON, nullable=False, default=dict),
    Column("votes", Integer, nullable=False),
    Column("most", Integer, nullable=False),
    Column("settled_by", Text, nullable=False),
    Column("lease_seconds", Integer, nullable=False),
    Column("gold_every", Integer, nullable=False),
    Column("pass_share", Double, nullable=False),
    Column("conflicted", Boolean, nullable=False, default=False),
    Column("qualifies", Integer, nullable=False, default=0),
    Column("golds", Integer, nullable=False, default=0),
    Column("seed", Integer, nullable=False),
    Column("state", Text, nullable=False, default="open"),
    Column("at", Double, nullable=False),
    CheckConstraint("state IN ('open', 'closed')", name="state"),
    CheckConstraint("votes >= 1 AND most >= votes", name="votes"),
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("study", Text, ForeignKey("studies.id"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("role", Text, nullable=False, default="work"),
    Column("content", JSON, nullable=False),
    Column("known", JSON),
    Column("wanted", Integer, nullable=False),
    Column("voted", Integer, nullable=False, default=0),
    Column("probability", Double),
    UniqueConstraint("study", "place"),
    CheckConstraint("role IN ('work', 'gold', 'qualify')", name="role"),
    CheckConstraint("(role = 'work') = (known IS NULL)", name="known"),
)
Index("tasks_role_of", tasks.c.study, tasks.c.role)

slots = Table(
    "slots",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("study", Text, ForeignKey("studies.id"), nullable=False),
    Column("task", RowId, ForeignKey("tasks.id"), nullable=False),
    Column("lot", Double),
    Column("person", Text),
    Column("lease", Text, unique=True),
    Column("leased_at", Double, nullable=False, default=0.0),
    Column("expires", Double, nullable=False, default=0.0),
    Column("revision", Integer, nullable=False, default=0),
)
Index(
    "slots_free", slots.c.study, slots.c.lot, sqlite_where=text("revision = 0"), postgresql_where=text("revision = 0")
)
Index("slots_once", slots.c.task, slots.c.person, unique=True)
Index(
    "slots_held",
    slots.c.person,
    slots.c.study,
    sqlite_where=text("revision = 0"),
    postgresql_where=text("revision = 0"),
)

votes = Table(
    "votes",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("slot", RowId, ForeignKey("slots.id"), nullable=False),
    Column("study", Text, ForeignKey("studies.id"), nullable=False),
    Column("task", RowId, nullable=False),
    Column("person", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("key", Text, nullable=False),
    Column("answer", JSON, nullable=False),
    Column("shown", JSON, nullable=False),
    Column("right", Boolean),
    Column("seconds", Double, nullable=False),
    Column("at", Double, nullable=False),
    Column("guideline", Text, nullable=False, default=""),
    UniqueConstraint("slot", "revision"),
    UniqueConstraint("person", "key"),
)
Index("votes_of", votes.c.study, votes.c.person)
Index("votes_on", votes.c.task)

leases = Table(
    "leases",
    metadata,
    Column("lease", Text, primary_key=True),
    Column("study", Text, ForeignKey("studies.id"), nullable=False),
    Column("task", RowId, ForeignKey("tasks.id"), nullable=False),
    Column("person", Text, nullable=False),
    Column("at", Double, nullable=False),
)
"""Every lease of a free slot, even after somebody else got the slot: a late vote finds its task here."""
# Without these indexes, removing a task scans every table that refers to tasks.
Index("leases_on", leases.c.task)

guidelines = Table(
    "guidelines",
    metadata,
    Column("study", Text, ForeignKey("studies.id"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("at", Double, nullable=False),
)
"""Every version of a campaign's guidelines; the last one is shown."""

campaign_items = Table(
    "campaign_items",
    metadata,
    Column("study", Text, ForeignKey("studies.id"), primary_key=True),
    Column("item", Text, primary_key=True),
)
"""Subjects of a campaign's tasks: an item, or, if verdicts are reviewed, a case of a ledger."""
Index("campaign_items_of", campaign_items.c.item)

members = Table(
    "members",
    metadata,
    Column("study", Text, ForeignKey("studies.id"), primary_key=True),
    Column("person", Text, primary_key=True),
    Column("standing", Text, nullable=False),
    Column("done", Integer, nullable=False, default=0),
    Column("at", Double, nullable=False),
    CheckConstraint("standing IN ('new', 'qualified', 'failed')", name="standing"),
)

arrivals = Table(
    "arrivals",
    metadata,
    Column("study", Text, ForeignKey("studies.id"), primary_key=True),
    Column("person", Text, primary_key=True),
    Column("external_id", Text),
    Column("at", Double, nullable=False),
    UniqueConstraint("study", "external_id"),
)
"""People who came to the site for one campaign: by its group link, with the id that another site gave them, or by an
invitation. They see no campaign that they are not assigned to, and no results."""
Index("arrivals_of", arrivals.c.person)

ways_back = Table(
    "ways_back",
    metadata,
    Column("person", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("at", Double, nullable=False),
    UniqueConstraint("digest"),
)
"""For people who came by a group link, the digest of the secret in their browser. Without the secret nobody can
continue their work, whatever id they give."""

drafts = Table(
    "drafts",
    metadata,
    Column("slot", RowId, ForeignKey("slots.id"), primary_key=True),
    Column("person", Text, nullable=False),
    Column("fields", JSON, nullable=False),
    Column("at", Double, nullable=False),
)

conflicts = Table(
    "conflicts",
    metadata,
    Column("task", RowId, ForeignKey("tasks.id"), primary_key=True),
    Column("other", RowId, ForeignKey("tasks.id"), primary_key=True),
)
Index("conflicts_with", conflicts.c.other)

task_authors = Table(
    "task_authors",
    metadata,
    Column("task", RowId, ForeignKey("tasks.id"), primary_key=True),
    Column("author", Text, primary_key=True),
)
"""People who wrote what a task shows, by account name or rater id; they do not judge it."""

adjudications = Table(
    "adjudications",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("study", Text, ForeignKey("studies.id"), nullable=False),
    Column("task", RowId, ForeignKey("tasks.id"), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("person", Text, nullable=False),
    Column("answer", JSON, nullable=False),
    Column("at", Double, nullable=False),
    UniqueConstraint("task", "revision"),
)
"""Leads' verdicts on split votes: the latest revision counts; all revisions and all votes stay."""
Index("adjudications_of", adjudications.c.study)

exported_cases = Table(
    "kept",
    metadata,
    Column("case_key", Text, primary_key=True),
    Column("task", RowId, ForeignKey("tasks.id"), primary_key=True),
)
"""Cases of a ledger that got the votes on a task."""
Index("kept_of", exported_cases.c.task)

creations = Table(
    "creations",
    metadata,
    Column("study", Text, ForeignKey("studies.id"), primary_key=True),
    Column("state", Text, nullable=False),
    Column("total", Integer, nullable=False),
    Column("created", Integer, nullable=False, default=0),
    Column("moves", Integer, nullable=False, default=0),
    Column("finishing", JSON, nullable=False),
    CheckConstraint("state IN ('planning', 'creating', 'removing')", name="state"),
)
"""Campaigns whose tasks are being created or removed in batches. `moves` counts the transactions, so that a process can
see if another one is at work."""

creation_parts = Table(
    "creation_parts",
    metadata,
    Column("study", Text, ForeignKey("studies.id"), primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("content", JSON, nullable=False),
    CheckConstraint("kind IN ('nouns', 'tasks')", name="kind"),
)
"""Parts still to be created: items and responses once each (`nouns`), and batches of tasks that refer to them by
number. A batch is deleted in the transaction that creates its tasks."""
