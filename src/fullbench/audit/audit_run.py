"""An audit as a study: planned, priced, heard, resumed and replayed like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from fullbench.analysis.judge_card import Card
from fullbench.audit import audit_card as cards
from fullbench.audit.audit_of_own_items import own_card
from fullbench.audit.audited_judges import seats
from fullbench.audit.cases.build_audit_cases import docket, size_of
from fullbench.core.case import Case
from fullbench.core.note import Note
from fullbench.core.panel import is_view
from fullbench.core.record import Record
from fullbench.core.table import Table
from fullbench.core.verdict import Circumstances
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_columns
from fullbench.studies.batches.batch_folders import refuse_open
from fullbench.studies.engines import Budget, Stop, Tally
from fullbench.studies.run import study_plan
from fullbench.studies.run.judge_cases import hear
from fullbench.studies.run.panels_and_cascades import hear_doubts, left_in_doubt
from fullbench.studies.run.progress_display import watching
from fullbench.studies.run.run_options import RunTerms, RunTermsByName
from fullbench.studies.run.study_run import Conducted
from fullbench.studies.study_file import Study
from fullbench.studies.table_sources import looked_at

PREFIX = "audit-"
"""What the names of audits' studies begin with."""


def study_name(size: str, seed: int) -> str:
    """The study in which an audit's verdicts stand.

    >>> study_name("quick", 7)
    'audit-quick-7'
    """
    return f"{PREFIX}{size}-{seed}"


def variants(cases: Sequence[Case]) -> dict[str, Circumstances]:
    """What was changed on purpose in each case, and in which dose, by the cases' keys."""
    marked = {}
    for case in cases:
        tags = case.item.tags
        if tags.get("what"):
            dose = float(tags["dose"]) if "dose" in tags else None
            marked[case.key] = Circumstances(variant=tags["what"], dose=dose)
    return marked


def study_of(name: str) -> tuple[str, int] | None:
    """The size and the seed of an audit's study; None where it is no such study.

    >>> study_of("audit-quick-7"), study_of("mine")
    (('quick', 7), None)
    """
    size, _, seed = name.removeprefix(PREFIX).rpartition("-")
    return (size, int(seed)) if name.startswith(PREFIX) and size and seed.isdecimal() else None


class Auditing:
    """Judges and a docket; nothing was asked yet."""

    def __init__(
        self,
        judges: Sequence[str],
        *,
        size: str = "default",
        seed: int = 0,
        own: tuple[str, Sequence[Case]] | None = None,
        panels: Path | None = None,
    ) -> None:
        """`own` are the name of a study and its cases, in the place of drawn ones (see `audit.audit_of_own_items`);
        `panels` is the
        file that names panels and cascades."""
        if not judges:
            raise InputError("an audit needs a judge, such as openai:gpt-4o or simulated:accurate")
        self.seats = seats(judges, panels)
        self.judges = self.seats.judges
        self.size = size_of(size)
        self.own = own is not None
        name, cases = own or (study_name(size, seed), ())
        self.study = Study(name, judges=tuple(judges), seed=seed)
        self._docket: list[Case] = list(cases)
        self._found: dict[str, tuple[Record, cards.Findings]] = {}

    @property
    def cases(self) -> list[Case]:
        """The docket, made when it is first looked at: its pictures are drawn then."""
        if not self._docket:
            self._docket = list(docket(self.size, self.study.seed))
        return self._docket

    def plan(self, ledger: Ledger) -> Table:
        """What would be asked, and what it would take."""
        notes = [
            Note(
                "plan.second",
                "{judge} is asked only about what a smaller judge leaves in doubt: this is the most.",
                judge=name,
            )
            for name in self.seats.second
        ]
        return study_plan.table(
            ledger, contestants=(), items=(), judges=self.judges, cases=lambda _: iter(self.cases), notes=notes
        )

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse a missing key, or a budget without prices."""
        return study_plan.ready(study_plan.models_asked(self.judges), budget, spent=spent)

    def conduct(self, ledger: Ledger, **named: Unpack[RunTermsByName]) -> Conducted:
        """Let the judges hear what is due, and look at it. Stopped half-way, the same call goes on from there."""
        terms = RunTerms(**named)
        purse = self.ready(terms.budget, spent=terms.spent)
        refuse_open(ledger.path, [judge.name for judge in self.judges])
        stop = terms.stop or Stop()
        for view in self.seats.views:
            ledger.declare("judge", view.name, view.settings)
        first = [judge for judge in self.judges if judge.name not in self.seats.second]
        with watching("verdicts", [judge.name for judge in first], len(self.cases), quiet=terms.quiet) as watch:
            tallies = hear(
                first, lambda _: self.cases, ledger, engine=terms.engine, specs=self.seats.specs, budget=purse,
                stop=stop, watch=watch, insist=terms.insist, marked=variants(self.cases),
            )  # fmt: skip
        second = [judge for judge in self.judges if judge.name in self.seats.second]
        tallies += hear_doubts(
            second, self.cases, ledger, self.seats.views, engine=terms.engine, specs=self.seats.specs, budget=purse,
            stop=stop, insist=terms.insist, quiet=terms.quiet,
        )  # fmt: skip
        return self._look(ledger, tallies)

    def replay(self, ledger: Ledger) -> Conducted:
        """The cards of what the ledger holds."""
        done = self._look(ledger, [])
        if not len(done.record):
            raise InputError(f"{ledger.place} holds no verdict of this audit; `fullbench audit` asks for them")
        asked = [judge.name for judge in self.judges if judge.name not in self.seats.second]
        due = len(self.cases) * len(asked)
        due += sum(len(left_in_doubt(name, self.cases, ledger, self.seats.views)) for name in self.seats.second)
        done.missing = due - sum(not is_view(verdict.judge) for verdict in done.record)
        return done

    def _look(self, ledger: Ledger, tallies: list[Tally]) -> Conducted:
        names = self.seats.names
        everybody = [*names, *(judge.name for judge in self.judges if judge.name not in names)]
        record = ledger_columns.record(ledger, everybody, study=self.study.name).ordered()
        all_cards = [self.card(record, name) for name in names if name in record.judges]
        tables = [table for card in all_cards for table in card.tables]
        return looked_at(self.study, record, tables, names, tallies)

    def findings(self, record: Record, judge: str) -> cards.Findings:
        """What was found about a judge; computed once for a record, since tables, card and board all ask for it."""
        known = self._found.get(judge)
        if known is None or known[0] is not record:
            result = cards.findings(record, judge, wanted=len(self.cases), members=self.seats.members(judge))
            known = self._found[judge] = (record, result)
        return known[1]

    def card(self, record: Record, judge: str) -> Card:
        """The card of a judge."""
        plain = own_card(record, judge) if self.own else cards.audit_card(record, self.findings(record, judge))
        source = {"study": self.study.name, "judge": judge, "size": self.size.name, "seed": self.study.seed}
        sections = {
            name: [replace(table, source={**source, **table.source}) for table in tables]
            for name, tables in plain.sections.items()
        }
        return replace(plain, sections=sections)


def audited(ledger: Ledger) -> list[tuple[str, cards.Findings]]:
    """What a ledger holds of audits: for each study and judge what was found. Nothing is asked or drawn."""
    all_findings = []
    for name in ledger.studies():
        if study_of(name) is None:
            continue
        record = ledger_columns.record(ledger, study=name).ordered()
        members = {view.name: view.members for view in ledger.views()}
        all_findings += [
            (name, cards.findings(record, judge, members=members.get(judge, ()))) for judge in record.judges
        ]
    return all_findings
