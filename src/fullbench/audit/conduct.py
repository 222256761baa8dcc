"""An audit as a study: planned, priced, heard, resumed and replayed like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from fullbench.audit import card as cards
from fullbench.audit.docket import docket, size_of
from fullbench.audit.own import own_card
from fullbench.errors import InputError
from fullbench.figures.card import Card
from fullbench.ledger.store import Ledger
from fullbench.nouns.case import Case
from fullbench.nouns.judge import Judge, former_names_of
from fullbench.nouns.record import Record
from fullbench.nouns.table import Table
from fullbench.studies import plan, specs
from fullbench.studies.batches.folders import refuse_open
from fullbench.studies.conduct import Conducted
from fullbench.studies.engines import Budget, Tally
from fullbench.studies.hear import hear
from fullbench.studies.kinds.looking import looked_at
from fullbench.studies.progress import watching
from fullbench.studies.study import Study
from fullbench.studies.terms import RunTerms, RunTermsByName

PREFIX = "audit-"
"""What the names of audits' studies begin with."""


def study_name(size: str, seed: int) -> str:
    """The study in which an audit's verdicts stand.

    >>> study_name("quick", 7)
    'audit-quick-7'
    """
    return f"{PREFIX}{size}-{seed}"


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
    ) -> None:
        """`own` are the name of a study and its cases, in the place of drawn ones (see `audit.own`)."""
        if not judges:
            raise InputError("an audit needs a judge, such as openai:gpt-4o or simulated:accurate")
        self.judges: list[Judge] = [specs.judge(spec) for spec in judges]
        specs.distinct("judges", [judge.name for judge in self.judges])
        self.specs = {judge.name: spec for judge, spec in zip(self.judges, judges, strict=True)}
        self.size = size_of(size)
        self.own = own is not None
        name, cases = own or (study_name(size, seed), ())
        self.study = Study(name, judges=tuple(judges), seed=seed)
        self._docket: list[Case] = list(cases)

    @property
    def cases(self) -> list[Case]:
        """The docket, made when it is first looked at: its pictures are drawn then."""
        if not self._docket:
            self._docket = list(docket(self.size, self.study.seed))
        return self._docket

    def plan(self, ledger: Ledger) -> Table:
        """What would be asked, and what it would take."""
        return plan.table(ledger, contestants=(), items=(), judges=self.judges, cases=lambda _: iter(self.cases))

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse a missing key, or a budget without prices."""
        models = plan.models_asked(self.judges)
        for model in models:
            model.answer(())
        return plan.purse(budget, models, spent=spent) if budget is not None else None

    def conduct(self, ledger: Ledger, **named: Unpack[RunTermsByName]) -> Conducted:
        """Let the judges hear what is due, and look at it. Stopped half-way, the same call goes on from there."""
        terms = RunTerms(**named)
        purse = self.ready(terms.budget, spent=terms.spent)
        refuse_open(ledger.path, [name for judge in self.judges for name in (judge.name, *former_names_of(judge))])
        names = [judge.name for judge in self.judges]
        with watching("verdicts", names, len(self.cases), quiet=terms.quiet) as watch:
            tallies = hear(
                self.judges, lambda _: self.cases, ledger, engine=terms.engine, specs=self.specs, budget=purse,
                stop=terms.stop, watch=watch, insist=terms.insist,
            )  # fmt: skip
        return self._look(ledger, tallies)

    def replay(self, ledger: Ledger) -> Conducted:
        """The cards of what the ledger holds."""
        done = self._look(ledger, [])
        if not len(done.record):
            raise InputError(f"{ledger.place} holds no verdict of this audit; `fullbench audit` asks for them")
        done.missing = len(self.cases) * len(self.judges) - len(done.record)
        return done

    def _look(self, ledger: Ledger, tallies: list[Tally]) -> Conducted:
        names = [judge.name for judge in self.judges]
        record = ledger.record(names, study=self.study.name).ordered()
        all_cards = [self.card(record, name) for name in names if name in record.judges]
        tables = [table for card in all_cards for table in card.tables]
        return looked_at(self.study, record, tables, names, tallies)

    def findings(self, record: Record, judge: str) -> cards.Findings:
        """What was found about a judge."""
        return cards.findings(record, judge, wanted=len(self.cases))

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
        record = ledger.record(study=name).ordered()
        all_findings += [(name, cards.findings(record, judge)) for judge in record.judges]
    return all_findings
