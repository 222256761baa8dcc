"""Audit as a study: planned, priced, run, resumed and replayed like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from fullbench.analysis.judge_card import Card
from fullbench.audit import audit_card_and_board as cards
from fullbench.audit.audit_of_user_items import own_items_card
from fullbench.audit.audited_judge_loader import load_audited_judges
from fullbench.audit.cases.build_audit_cases import audit_cases, size_by_name
from fullbench.audit.cases.media_use_cases import MEDIA as OTHER_MEDIA
from fullbench.audit.cases.media_use_cases import media_use_cases
from fullbench.core.case import Case
from fullbench.core.verdict import Circumstances
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_verdicts_with_panels
from fullbench.studies.engines import JobCounts
from fullbench.studies.run.base_run import FixedCasesRun, StudyResult
from fullbench.studies.run.call_context import CallContext
from fullbench.studies.run.run_options import RunOptions
from fullbench.studies.study_file import Study

PREFIX = "audit-"
"""Prefix of the names of audit studies."""


PICTURE = "picture"
MEDIA: tuple[str, ...] = (PICTURE, *OTHER_MEDIA)
"""Media whose use can be audited."""


def study_name(size: str, seed: int, media: Sequence[str] = (PICTURE,)) -> str:
    """Return the name of an audit's study.

    >>> study_name("quick", 7), study_name("quick", 7, ["video"])
    ('audit-quick-7', 'audit-video-quick-7')
    """
    tested_media = "" if tuple(media) == (PICTURE,) else f"{'-'.join(media)}-"
    return f"{PREFIX}{tested_media}{size}-{seed}"


def parse_media(names: Sequence[str]) -> tuple[str, ...]:
    """Return the media of these names, in the order of `MEDIA`."""
    if unknown := [name for name in names if name not in MEDIA]:
        raise InputError(f"an audit knows no medium {unknown[0]!r}; known: {', '.join(MEDIA)}")
    if not names:
        raise InputError(f"an audit needs a medium: {', '.join(MEDIA)}")
    return tuple(medium for medium in MEDIA if medium in names)


def circumstances_by_case(cases: Sequence[Case]) -> dict[str, Circumstances]:
    """Return the deliberate change of each case and its strength, by case key."""
    circumstances = {}
    for case in cases:
        tags = case.item.tags
        if tags.get("what"):
            strength = float(tags["strength"]) if "strength" in tags else None
            circumstances[case.key] = Circumstances(variant=tags["what"], strength=strength)
    return circumstances


def parse_study_name(name: str) -> tuple[str, int] | None:
    """Return the size and the seed from an audit study's name, or None for another study.

    >>> parse_study_name("audit-quick-7"), parse_study_name("mine")
    (('quick', 7), None)
    """
    size, _, seed = name.removeprefix(PREFIX).rpartition("-")
    return (size, int(seed)) if name.startswith(PREFIX) and size and seed.isdecimal() else None


class AuditRun(FixedCasesRun):
    """Audit of some judges on a set of cases; nothing is called until `execute`."""

    def __init__(
        self,
        judges: Sequence[str],
        *,
        size: str = "default",
        seed: int = 0,
        media: Sequence[str] = (PICTURE,),
        own_data: tuple[str, Sequence[Case]] | None = None,
        panels: Path | None = None,
    ) -> None:
        """Load the judges; cases are built later.

        Args:
            judges: Specs of judges, panels and cascades.
            size: Name of a size in `SIZES`.
            seed: Seed of the generated cases.
            media: Media whose use is tested, of `MEDIA`. Knowledge, stability and biases are tested on pictures only.
            own_data: Name of a study and its cases, instead of generated ones (see `audit.audit_of_user_items`).
            panels: TOML file that defines panels and cascades.
        """
        if not judges:
            raise InputError("an audit needs a judge, such as openai:gpt-4o or simulated:accurate")
        self.media = parse_media(media)
        name, self._own_cases = own_data or (study_name(size, seed, self.media), ())
        super().__init__(Study(name, judges=tuple(judges), seed=seed))
        self.audited_judges = load_audited_judges(judges, panels)
        self.judges, self.specs = self.audited_judges.judges, self.audited_judges.specs_by_name
        self.views, self.second = self.audited_judges.views, self.audited_judges.second_judges
        self.size = size_by_name(size)
        self.has_own_items = own_data is not None
        self._findings_by_judge: dict[str, tuple[Record, cards.Findings]] = {}

    @cached_property
    def cases(self) -> list[Case]:
        """Cases to judge, built on first access because their pictures must be drawn."""
        if self._own_cases:
            return list(self._own_cases)
        seed = self.study.seed
        picture_cases = audit_cases(self.size, seed) if PICTURE in self.media else ()
        other_media = [medium for medium in OTHER_MEDIA if medium in self.media]
        return [
            *picture_cases,
            *(case for medium in other_media for case in media_use_cases(medium, self.size.name, seed)),
        ]

    def media_warnings(self) -> list[str]:
        """Return a sentence for each judge whose settings turn the videos of an audit into stills."""
        if "video" not in self.media:
            return []
        samplings = {judge.name: getattr(getattr(judge, "model", None), "sampling", None) for judge in self.judges}
        return [
            f"{self.specs[name]} gets one still of each video, because the videos are moving WebP pictures. Add the "
            "option video=frames to send their frames."
            for name, sampling in samplings.items()
            if sampling is not None and not sampling.moves
        ]

    def _execute(self, calls: CallContext, run_options: RunOptions) -> StudyResult:
        self._refuse_open_batches(calls.ledger)
        for view in self.views:
            calls.ledger.declare("judge", view.name, view.settings)
        return super()._execute(calls, run_options)

    def _circumstances_by_case(self) -> dict[str, Circumstances]:
        return circumstances_by_case(self.cases)

    def _build_result(self, ledger: Ledger, job_counts: list[JobCounts]) -> StudyResult:
        names = self.audited_judges.names
        all_names = [*names, *(judge.name for judge in self.judges if judge.name not in names)]
        record = ledger_verdicts_with_panels.load_record(ledger, all_names, study=self.study.name).in_canonical_order()
        all_cards = [self.card(record, name) for name in names if name in record.judges]
        tables = [table for card in all_cards for table in card.tables]
        return self._build_sourced_result(record, tables, names, job_counts)

    def judge_findings(self, record: Record, judge: str) -> cards.Findings:
        """Return the findings about a judge, cached per record because tables, card and board all need them."""
        cached_findings = self._findings_by_judge.get(judge)
        if cached_findings is None or cached_findings[0] is not record:
            findings = cards.build_findings(
                record, judge, case_count=len(self.cases), members=self.audited_judges.members(judge)
            )
            cached_findings = self._findings_by_judge[judge] = (record, findings)
        return cached_findings[1]

    def card(self, record: Record, judge: str) -> Card:
        """Return the card of a judge."""
        plain_card = (
            own_items_card(record, judge)
            if self.has_own_items
            else cards.audit_card(record, self.judge_findings(record, judge))
        )
        source = {"study": self.study.name, "judge": judge, "size": self.size.name, "seed": self.study.seed}
        sections = {
            name: [replace(table, source={**source, **table.source}) for table in tables]
            for name, tables in plain_card.sections.items()
        }
        return replace(plain_card, sections=sections)


def load_audit_findings(ledger: Ledger) -> list[tuple[str, cards.Findings]]:
    """Return the findings of all audits in a ledger as (study, findings). Nothing is called or drawn."""
    all_findings = []
    for name in ledger.studies():
        if parse_study_name(name) is None:
            continue
        record = ledger_verdicts_with_panels.load_record(ledger, study=name).in_canonical_order()
        members = {view.name: view.members for view in ledger.views()}
        all_findings += [
            (name, cards.build_findings(record, judge, members=members.get(judge, ()))) for judge in record.judges
        ]
    return all_findings
