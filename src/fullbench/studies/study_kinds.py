"""Kinds of study: each is planned, run, resumed and replayed alike.

`judging` is the usual one: contestants answer, judges rule on all of it. `leaderboard` plays a newcomer against those
that are there, `peer-review` lets contestants review each other, `rerank` puts the answers to each item in order.
`experiment` lets a model write something first: longer answers, descriptions, references.
"""

from __future__ import annotations

from typing import Protocol, Unpack

from fullbench.core.table import Table
from fullbench.ledger.ledger import Ledger
from fullbench.reports.atomic_write import check_page
from fullbench.studies.engines import Budget
from fullbench.studies.run.run_options import RunTermsByName
from fullbench.studies.run.study_run import Conducted, Conductor
from fullbench.studies.study_file import Study


class Conducting(Protocol):
    """A study whose files were read and whose judges and contestants were made: nothing was asked yet."""

    def plan(self, ledger: Ledger) -> Table:
        """What would be asked, and what it would take; nothing is asked."""

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse what cannot go well before anything is made or asked."""

    def conduct(self, ledger: Ledger, **named: Unpack[RunTermsByName]) -> Conducted:
        """Ask what the ledger does not hold yet, and look at all of it; `whole` asks for a record with its texts."""

    def replay(self, ledger: Ledger) -> Conducted:
        """The tables of what the ledger holds; nothing is asked."""


def conductor(study: Study) -> Conducting:
    """What conducts a study of its kind."""
    if study.report is not None:
        check_page(study.report)
    if study.kind == "leaderboard":
        from fullbench.studies.leaderboards.leaderboard_kind import Growing

        return Growing(study)
    if study.kind == "peer-review":
        from fullbench.studies.peer_review.peer_review_kind import Reviewing

        return Reviewing(study)
    if study.kind == "rerank":
        from fullbench.studies.best_of_n_kind import Reranking

        return Reranking(study)
    if study.kind == "experiment":
        from fullbench.studies.experiment_kind import Experimenting

        return Experimenting(study)
    return Conductor(study)
