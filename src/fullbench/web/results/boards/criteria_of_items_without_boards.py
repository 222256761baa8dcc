"""Criteria of items' own rubrics, which have no boards on the site, as they have no leaderboards in reports.

Finding them needs all verdicts of a study, so they are stored with a digest of its boards' stamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from sqlalchemy import Connection

from fullbench.analysis.pooled_single_item_criteria import single_item_criteria_mask
from fullbench.columns.verdict_columns import Columns
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import get_state, set_state

_STATE = "criteria of items"


@dataclass(frozen=True)
class ItemCriteria:
    """The criteria of a study without boards, and the stamp of the verdicts that they were found in."""

    stamp: str
    criteria: frozenset[str]


def read_item_criteria(connection: Connection) -> dict[str, ItemCriteria]:
    """Return the criteria without boards, by study."""
    text = get_state(connection, _STATE)
    stored = orjson.loads(text) if text else {}
    return {study: ItemCriteria(known["stamp"], frozenset(known["criteria"])) for study, known in stored.items()}


def store_item_criteria(connection: Connection, by_study: Mapping[str, ItemCriteria]) -> None:
    """Store the criteria without boards."""
    stored = {
        study: {"stamp": known.stamp, "criteria": sorted(known.criteria)} for study, known in sorted(by_study.items())
    }
    set_state(connection, _STATE, orjson.dumps(stored).decode())


def find_item_criteria(columns: Columns, stamp: str) -> ItemCriteria:
    """Return the criteria of items' own rubrics among the verdicts of a study."""
    codes = set(columns.criterion[single_item_criteria_mask(columns)].tolist())
    return ItemCriteria(stamp, frozenset(columns.names["criterion"][code] for code in codes))
