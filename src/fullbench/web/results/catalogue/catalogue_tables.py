"""Tables of the public pages: the catalogue of the ledger's verdicts, panels, requests.

The catalogue can be dropped and filled again from the ledger, which stays the source of truth. So a change of its
tables needs no migration: drop them, and `database.upgrade_schema` creates them again. Names are stored as ids
(`names`), so that a million verdicts stay small. A *response set* groups the verdicts of one study, item, criterion,
ballot and set of answers, in any order shown. Studies are separate: a case of two studies has a row in each. Only the
latest revision of a vote or a re-parsed reply is stored.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, SmallInteger, String, Table, Text, UniqueConstraint

from fullbench.web.database import execute_after_create, metadata
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS

names = Table(
    "public_names",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(12), nullable=False),
    Column("name", Text, nullable=False),
    UniqueConstraint("kind", "name", name="public_names_once"),
)
"""Studies, judges, contestants, ballots, criteria and raters."""

items = Table(
    "public_items",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("place", String(32), nullable=False, unique=True),
    Column("study_id", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("title", Text, nullable=False),
)
"""`place` is a digest of study and name."""

tags = Table(
    "public_tags",
    metadata,
    Column("item_id", Integer, primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("value", Text, nullable=False),
    Index("public_tags_value", "name", "value", "item_id"),
)

cases = Table(
    "public_cases",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("place", String(32), nullable=False, unique=True),
    Column("study_id", Integer, nullable=False),
    Column("key", String(64), nullable=False),
    Column("item_id", Integer, nullable=False),
    Index("public_cases_key", "key"),
)
"""`place` is a digest of study and key."""

response_sets = Table(
    "public_response_sets",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("key", String(32), nullable=False, unique=True),
    Column("study_id", Integer, nullable=False),
    Column("item_id", Integer, nullable=False),
    Column("doubt", SmallInteger, nullable=False),
    Index("public_response_sets_study", "study_id", "id"),
    Index("public_response_sets_doubt", "study_id", "doubt", "id"),
)
"""`doubt` is how much its verdicts differ (see `catalogue.disagreement.doubt_score`)."""

compared_contestants = Table(
    "public_compared",
    metadata,
    Column("contestant_id", Integer, primary_key=True, autoincrement=False),
    Column("response_set_id", Integer, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

unflagged_response_sets = Table(
    "public_dirty", metadata, Column("response_set_id", Integer, primary_key=True, autoincrement=False)
)
"""Response sets with new verdicts whose flags are still to be set."""

verdicts = Table(
    "public_verdicts",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("study_id", Integer, nullable=False),
    Column("case_id", Integer, nullable=False),
    Column("judge_id", Integer, nullable=False),
    Column("trial", Integer, nullable=False),
    Column("rater_id", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("item_id", Integer, nullable=False),
    Column("response_set_id", Integer, nullable=False),
    Column("ballot_id", Integer, nullable=False),
    Column("criterion_id", Integer, nullable=False),
    Column("fault", SmallInteger, nullable=False),
    Column("shape", SmallInteger, nullable=False),
    Column("shown", Text, nullable=False),
    Column("samples", Text, nullable=False),
    Column("marks", Text),
    *(Column(flag, SmallInteger, nullable=False) for flag in FLAGS),
    Column("place", BigInteger),
    UniqueConstraint("case_id", "judge_id", "trial", "rater_id", name="public_verdicts_once"),
    Index("public_verdicts_judge", "judge_id", "id"),
    Index("public_verdicts_item", "item_id", "id"),
    Index("public_verdicts_study", "study_id", "id"),
    Index("public_verdicts_response_set", "response_set_id", "judge_id", "fault"),
    Index("public_verdicts_fault", "fault", "id"),
    Index("public_verdicts_split", "split", "id"),
    Index("public_verdicts_swapped", "swapped", "id"),
    Index("public_verdicts_met", "met", "opposed", "id"),
)
"""One row per verdict, in the order of entry.

`fault` is its number in `FAULTS` from 1, or 0 if marks were given; `shape` is 0 for a score of one response, 1 for a
choice among several, 2 for a ranking. `samples` numbers the answers shown (empty: all are the first). Then come its
`FLAGS`. `place` is its place in the ledger; empty for a panel's verdict, and for rows from before places were stored.
"""

# FTS5 gets words that are already split, stores no text (`content=''`) and no positions (`detail='none'`).
_SEARCH = {
    "sqlite": [
        "CREATE VIRTUAL TABLE public_search USING fts5(words, content='', detail='none', columnsize=0, "
        "tokenize='ascii')"
    ],
    "postgresql": [
        "CREATE TABLE public_search (id integer PRIMARY KEY, words tsvector NOT NULL)",
        "CREATE INDEX public_search_words ON public_search USING gin (words)",
    ],
}
execute_after_create(verdicts, _SEARCH)

shown_contestants = Table(
    "public_shown",
    metadata,
    Column("contestant_id", Integer, primary_key=True, autoincrement=False),
    Column("judge_id", Integer, primary_key=True, autoincrement=False),
    Column("verdict_id", Integer, primary_key=True, autoincrement=False),
    Index("public_shown_verdict", "contestant_id", "verdict_id"),
    sqlite_with_rowid=False,
)

counts = Table(
    "public_counts",
    metadata,
    Column("study_id", Integer, primary_key=True, autoincrement=False),
    Column("judge_id", Integer, primary_key=True, autoincrement=False),
    Column("contestant_id", Integer, primary_key=True, autoincrement=False),
    Column("ballot_id", Integer, primary_key=True, autoincrement=False),
    Column("criterion_id", Integer, primary_key=True, autoincrement=False),
    Column("fault", SmallInteger, primary_key=True, autoincrement=False),
    Column("shape", SmallInteger, primary_key=True, autoincrement=False),
    Column("n", Integer, nullable=False),
    Column("last", Integer, nullable=False),
)
"""Number of verdicts of each kind, and the last of them.

`contestant_id` 0 counts each verdict once, others those that show the contestant.
"""

state = Table(
    "public_state",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

boards = Table(
    "public_boards",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("kind", String(8), nullable=False),
    Column("stamp", String(40), nullable=False),
    Column("body", Text, nullable=False),
)
"""Computed boards and judge cards with the links of their cells; `stamp` identifies their inputs."""

panels = Table(
    "public_panels",
    metadata,
    Column("ledger", String(64), primary_key=True),
    Column("name", String(80), primary_key=True),
    Column("rule", String(12), nullable=False),
    Column("judges", Text, nullable=False),
    Column("closed_at", Float),
    Column("closed_place", BigInteger),
)
"""Several judges under one name with their rule; when it was closed, and at which place of the ledger."""

requests = Table(
    "public_requests",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("case_key", String(64), nullable=False),
    Column("judge", Text, nullable=False),
    Column("asked_by", String(120), nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("state", String(12), nullable=False),
    Column("cost", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("spec", Text, nullable=False, server_default=""),
    Column("trial", Integer),
    Column("beat", Float),
    Column("ledger", String(64), nullable=False),
    UniqueConstraint("ledger", "case_key", "judge", "asked_by", name="public_requests_once"),
    Index("public_requests_state", "state", "at"),
)
"""Cases that somebody wants to be judged again.

`spec` is the judge's spec and `trial` the number of the new trial, both set at the start; `beat` is the last sign of
life of the process that runs it.
"""

CATALOGUE = (
    names,
    items,
    tags,
    cases,
    response_sets,
    compared_contestants,
    unflagged_response_sets,
    verdicts,
    shown_contestants,
    counts,
    state,
    boards,
)
ALL = (*CATALOGUE, panels, requests)
