"""Judge card: a one-page summary of how far a judge can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from statistics import fmean
from string import hexdigits
from typing import Any

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares, standard_verdict_tables, verdict_cost
from fullbench.analysis.agreement import (
    by_tag,
    can_replace_people,
    correlation_with_people_across_scales,
    count_of_verdicts_excluded_by_ballot_mismatch,
    graded_choice_agreement_and_order_effect,
    judges_with_people,
    repeats_and_orders,
)
from fullbench.analysis.agreement.judges_with_people import PeopleComparison, winner_index
from fullbench.analysis.agreement.with_single_votes import single_vote_table
from fullbench.analysis.bias import judge_biases_compared_with_people
from fullbench.analysis.bias.finding_type_and_multiple_test_correction import Finding
from fullbench.analysis.bias.finding_type_and_multiple_test_correction import (
    correct_for_multiple_tests as counted_together,
)
from fullbench.analysis.boards import leaderboard
from fullbench.analysis.people import corrected_leaderboards
from fullbench.analysis.people.voted_rows_check import CaseFacts
from fullbench.analysis.pooled_single_item_criteria import (
    item_criteria_table,
    pool_criteria,
    single_item_criteria_mask,
)
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL, scope_suffix, title_with_scope
from fullbench.analysis.summary.judge_trust import Trust, assess_judge, short_claim
from fullbench.analysis.summary.study_summary import agreement_notes, join_names
from fullbench.analysis.views.view_verdict_helpers import waiting_mask, without_people_decisions
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.registered_display_and_frame_functions import Printable
from fullbench.core.rubric import AGREES, REVIEW_BALLOTS
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, join_notes, join_sentences, word_note
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Pairing, Record
from fullbench.errors import InputError, Undefined
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule
from fullbench.stats.array_checks import exact_sum
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.paired_comparison_and_test_corrections import benjamini_hochberg, paired_difference

YES_NO = REVIEW_BALLOTS[AGREES].spec
ResponseSetKey = tuple[str, frozenset[tuple[str, int]], str]
# Items made for reviews of verdicts begin with the key of the case, cut to this length.
_CASE_DIGITS = 16


@dataclass(frozen=True, repr=False)
class Card(Printable):
    """Summary of one judge: an introduction of a few sentences, and tables in sections.
    `measures` has named numbers for programs, if the author of the card provides some. `names` are the display names by
    full name.
    """

    judge: str
    lead: str
    sections: Mapping[str, Sequence[Table]]
    measures: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        return f"Card({self.judge!r}, {len(self.tables)} tables)"

    @property
    def tables(self) -> list[Table]:
        return [table for tables in self.sections.values() for table in tables]


def build_card(
    record: Record,
    judge: str,
    *,
    people: str = PEOPLE,
    tags: Sequence[str] = (),
    own_contestants: Collection[str] = (),
    columns: Columns | None = None,
    judge_columns: Columns | None = None,
    rule: VoteRule = "default",
    visible: bool = False,
    epsilon: float = can_replace_people.EPSILON,
    facts: CaseFacts | None = None,
    seed: int = 0,
) -> Card:
    """Return the card of one judge: agreement, standing, steadiness, biases, unusable verdicts, cost, leaderboards.

    Results under different criteria stay separate.

    Args:
        tags: item tags by which agreement is split.
        own_contestants: contestants of the judge's own family.
        columns: all verdicts as read from a ledger, including failed calls. The record then needs only the rows for
            agreement (`record_from_verdict_columns.comparable_rows`).
        judge_columns: the judge's own verdicts, if `columns` lack usage.
        rule: rule that joins several people's votes on the same responses.
        visible: use votes with visible names for agreement.
        epsilon: margin by which the judge may lose against a person and still replace them.
        facts: tags and lengths for corrected leaderboards; default: those of the record if there are no `columns`.
    """
    all_verdicts = columns_from_verdicts(record) if columns is None else columns
    if judge not in all_verdicts.judges():
        raise InputError(f"the record has no verdict of {judge!r}; judges there: {', '.join(all_verdicts.judges())}")
    every_verdict = all_verdicts.where(judge=judge) if judge_columns is None else judge_columns
    counted_record = _counted_verdicts(record)
    # Criteria of items' own rubrics are in one table with a row each. All other tables are of the other criteria.
    item_mask = single_item_criteria_mask(all_verdicts)
    item_criteria = {all_verdicts.names["criterion"][code] for code in np.unique(all_verdicts.criterion[item_mask])}
    is_of_item = np.array([name in item_criteria for name in every_verdict.names["criterion"]], dtype=np.bool_)
    own_mask = is_of_item[every_verdict.criterion]
    pooled_verdicts = pool_criteria(every_verdict, own_mask) if own_mask.any() else every_verdict
    judge_verdicts, all_verdicts = every_verdict.rows(~own_mask), all_verdicts.rows(~item_mask)
    sections: dict[str, list[Table]] = {name: [] for name in SECTIONS}
    overall: list[tuple[str, judges_with_people.Agreement]] = []
    comparisons: dict[str, PeopleComparison | None] = {}
    findings: dict[str, list[Finding]] = {}
    by_criterion = counted_record.by("criterion")
    for (criterion,), criterion_verdicts in judge_verdicts.by("criterion"):
        part = by_criterion.get(criterion, Record((), counted_record.items, counted_record.responses))
        comparisons[criterion] = None
        if not criterion_verdicts.self_matches().all():
            comparison = judges_with_people.compare_with_people(part, people, rule, visible=visible)
            comparisons[criterion] = comparison
            agreements, by_section = _criterion_tables(comparison, judge, tags=tags, seed=seed)
            overall += [(criterion, agreement) for agreement in agreements]
            for name, tables in by_section.items():
                sections[name] += _tables_with_scope(tables, criterion)
            findings[criterion] = judge_biases_compared_with_people.bias_findings(
                comparison, judge, own_contestants=own_contestants, judge_verdicts=criterion_verdicts
            )
    elsewhere = correlation_with_people_across_scales.correlation_table(all_verdicts, people, [judge], seed=seed)
    sections["Agreement"] += [
        elsewhere,
        count_of_verdicts_excluded_by_ballot_mismatch.uncompared_verdicts_table(all_verdicts, people, [judge]),
    ]
    # All tests of one judge, over all criteria, are corrected as one family.
    corrected_findings = counted_together([finding for part in findings.values() for finding in part])
    remaining_findings = iter(corrected_findings)
    findings = {criterion: [next(remaining_findings) for _ in part] for criterion, part in findings.items()}
    trusts = [
        assess_judge(
            Trust(judge, "", criterion, "unknown", (), biases=_claims(findings.get(criterion, ()))),
            criterion_verdicts, comparisons[criterion], seed,
        )
        for (criterion,), criterion_verdicts in judge_verdicts.by("criterion")
    ]  # fmt: skip
    sections["Summary"] = [_summary_table(trusts, judge_verdicts)]
    for criterion, part_findings in findings.items():
        table = judge_biases_compared_with_people.bias_table(part_findings, corrected_with=corrected_findings)
        sections["Biases"] += _tables_with_scope([table], criterion)
    sections["Steadiness"] = repeats_and_orders.steadiness_tables(judge_verdicts, seed=seed)
    of_both = all_verdicts.where(judge=[judge, people])
    graded = graded_choice_agreement_and_order_effect.graded_choice_tables(of_both, rule, visible=visible, seed=seed)
    for section, graded_table in zip(("Agreement", "Steadiness"), graded, strict=False):
        sections[section].append(graded_table)
    sections["Reviews"] = [_review_table(counted_record, judge, people, every_verdict)]
    latest = all_verdicts.latest()
    counting = latest.rows(~latest.self_matches())
    sections["Corrected"] = corrected_leaderboards.corrected_tables(
        counting, judges=[judge], together=False, people=people, rule=rule,
        facts=CaseFacts.from_record(record) if columns is None and facts is None else facts,
    )  # fmt: skip
    slices = {
        tag: {item.id: item.tags[tag] for item in counted_record.items.values() if tag in item.tags} for tag in tags
    }
    sections["Replacement"] = [
        can_replace_people.replacement_table(
            without_people_decisions(counting), judges=[judge], slices=slices, epsilon=epsilon, people=people
        )
    ]
    board_settings = leaderboard.Settings(votes=rule, visible=visible, seed=seed)
    sections["Leaderboard"] = leaderboard.leaderboard_tables(judge_verdicts, board_settings)
    of_items, items_agreement = item_criteria_table(every_verdict, own_mask, counted_record, judge, people)
    sections["Criteria of items"] = [of_items]
    sections["Unusable verdicts and cost"] = [
        standard_verdict_tables.fault_table(pooled_verdicts),
        standard_verdict_tables.abstention_reasons_table(pooled_verdicts),
        standard_verdict_tables.cost_table(pooled_verdicts),
        verdict_cost.rate_table(pooled_verdicts),
    ]
    tables_by_section = {
        name: [section_table for section_table in tables if section_table.rows] for name, tables in sections.items()
    }
    lead = _lead_text(
        every_verdict, overall, elsewhere, findings,
        set_aside=len(all_verdicts) - len(counting), items_agreement=items_agreement,
    )  # fmt: skip
    lead = join_sentences([*_verdict_sentences(trusts), lead])
    return Card(judge, lead, {name: tables for name, tables in tables_by_section.items() if tables})


SECTIONS = (
    "Summary",
    "Agreement",
    "Other judges",
    "Steadiness",
    "Biases",
    "Reviews",
    "Corrected",
    "Replacement",
    "Leaderboard",
    "Criteria of items",
    "Unusable verdicts and cost",
)


def _claims(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(short_claim(finding.claim) for finding in findings if finding.is_flagged))


def _verdict_sentences(trusts: Sequence[Trust]) -> Iterator[Note]:
    """Yield the word of trust with its reason, for each criterion; criteria with the same word and reason share one."""
    criteria_by_word: dict[tuple[str, str], list[str]] = {}
    for trust in trusts:
        criteria_by_word.setdefault((trust.word, trust.why), []).append(trust.criterion)
    for (word, why), criteria in criteria_by_word.items():
        where = _of_criterion(join_names(criteria)) if [*criteria] != [OVERALL] else ""
        shown_word = word_note(word)
        yield (
            Note("card.lead.trust-why", word=shown_word, on=where, why=why)
            if why
            else Note("card.lead.trust", word=shown_word, on=where)
        )


def _summary_table(trusts: Sequence[Trust], judge_verdicts: Columns) -> Table:
    """Return the five numbers of a judge: agreement, that of two people, order, unusable verdicts, price."""
    orders = standard_verdict_tables.order_effect_table(judge_verdicts)
    same = {
        str(orders.column("criterion")[place]) if orders.place("criterion") is not None else OVERALL: cell
        for place, cell in enumerate(orders.column("same verdict in both orders"))
    }
    costs = standard_verdict_tables.cost_table(judge_verdicts)
    price = costs.column("dollars per 1,000")[0] if costs.rows else None
    split = ["criterion"] if [trust.criterion for trust in trusts] != [OVERALL] else []
    rows: list[list[Cell]] = [
        [
            *(trust.criterion for _ in split),
            word_note(trust.word),
            trust.agreement,
            trust.people,
            same.get(trust.criterion),
            trust.unusable,
            price,
        ]
        for trust in trusts
    ]
    heads = table_columns(
        *split, "trust", "agreement", "people agree", "same verdict in both orders", "share unusable",
        "dollars per 1,000",
    )  # fmt: skip
    notes = [Note("summary.words"), *agreement_notes(trusts)]
    return Table("summary", Note("card.title.summary"), heads, rows, notes)


def _counted_verdicts(record: Record) -> Record:
    """Return the latest verdict of each rater, without those that compare a contestant with itself."""
    latest: dict[tuple[object, ...], int] = {}
    for v in record:
        key = (v.case, v.judge, v.trial, v.rater)
        latest[key] = max(latest.get(key, 0), v.revision)
    return record.where(
        lambda v: (
            v.revision == latest[v.case, v.judge, v.trial, v.rater] and len(set(v.contestants)) == len(v.contestants)
        )
    )


def _criterion_tables(
    comparison: PeopleComparison, judge: str, *, tags: Sequence[str], seed: int
) -> tuple[Sequence[judges_with_people.Agreement], dict[str, list[Table]]]:
    overall = judges_with_people.judge_agreements(comparison, judge, seed=seed)
    return overall, {
        "Agreement": [
            _overall_table(comparison, overall),
            single_vote_table(comparison, [judge]),
            *by_tag.agreement_tables(comparison, tags, judges=[judge], brief=True, seed=seed),
        ],
        "Other judges": [standing_table(comparison, judge, seed=seed)],
    }


def _tables_with_scope(tables: Sequence[Table], criterion: str) -> Iterator[Table]:
    for table in tables:
        on = scope_suffix("", criterion)
        yield replace(table, name=table.name + on, title=title_with_scope(table.title, on))


def _lead_text(
    verdicts: Columns,
    overall: Sequence[tuple[str, judges_with_people.Agreement]],
    elsewhere: Table,
    findings: Mapping[str, Sequence[Finding]],
    *,
    set_aside: int,
    items_agreement: Note | None,
) -> str:
    """Return the first sentences of the card. Each names its criterion if there are others than the default."""
    calls, dollars = int(verdicts.calls.sum(dtype=np.int64)), exact_sum(verdicts.dollars)
    pending = int(waiting_mask(verdicts).sum())
    fault_count = int((verdicts.fault >= 0).sum()) - pending
    parts: list[str] = [Note("card.lead.verdicts", n=len(verdicts), lost=fault_count)]
    if pending:
        parts.append(Note("card.lead.pending", n=pending))
    if due := sum(due_cases.cases for due_cases in verdicts.due):
        parts.append(Note("card.lead.due", n=due))
    for criterion, entry in overall:
        name = next(iter(judges_with_people.AGREEMENT_METRICS[entry.shape]))
        if entry.first is not None:
            parts.append(
                Note(
                    "card.lead.agreement", on=_of_criterion(criterion),
                    shape=word_note(entry.shape), figure=word_note(name), estimate=str(entry.first),
                )
            )  # fmt: skip
    for row in elsewhere.rows:
        about = dict(zip(map(str, elsewhere.columns), row, strict=True))
        if about["Pearson"] is not None:
            ballots, estimate = str(about["the other's ballots"]), str(about["Pearson"])
            on = _of_criterion(str(about.get("criterion", OVERALL)))
            parts.append(Note("card.lead.other-scale", on=on, ballot=ballots, estimate=estimate))
    if items_agreement is not None:
        parts.append(items_agreement)
    if not overall and not elsewhere.rows and items_agreement is None:
        parts.append(Note("card.lead.no-people"))
    parts += _bias_sentences(findings)
    if set_aside:
        parts.append(Note("card.lead.set-aside", n=set_aside))
    # An unknown price is NaN, and so is a sum that contains it.
    if calls and not isnan(dollars):
        each = 1000 * dollars / len(verdicts)
        parts.append(Note("card.lead.dollars", dollars=each))
    if calls:
        seconds = exact_sum(verdicts.seconds) / calls
        parts.append(Note("card.lead.seconds", seconds=seconds))
    return join_sentences(parts)


def _of_criterion(criterion: str) -> str:
    return "" if criterion == OVERALL else Note("card.lead.of-criterion", criterion=criterion)


def _bias_sentences(findings: Mapping[str, Sequence[Finding]]) -> Iterator[Note]:
    """Yield every bias that was found, by criterion, and the biases that single votes cannot show."""
    for criterion, part in findings.items():
        claims = dict.fromkeys(finding.claim for finding in part if finding.is_flagged)
        if claims:
            yield Note("card.lead.biases", on=_of_criterion(criterion), biases=join_notes([*claims]))
    tests = sum(finding.p is not None for part in findings.values() for finding in part)
    if tests and not any(finding.is_flagged for part in findings.values() for finding in part):
        yield Note("card.lead.no-bias", n=tests)
    for criterion, part in findings.items():
        if any(finding.needs_second_vote for finding in part):
            yield Note("card.lead.second-vote", on=_of_criterion(criterion))


def _overall_table(comparison: PeopleComparison, overall: Sequence[judges_with_people.Agreement]) -> Table:
    rows: list[list[Cell]] = [
        [entry.shape, name, metric, entry.faults] for entry in overall for name, metric in entry.metrics.items()
    ]
    notes: list[str] = [
        Note("card.undefined", shape=word_note(entry.shape), figure=word_note(name), why=why)
        for entry in overall
        for name, why in entry.undefined_reasons.items()
    ]
    notes += [
        Note("card.votes", shape=word_note(kind), note=note)
        for kind in comparison.votes
        for note in comparison.notes(kind)
    ]
    for entry in overall[:1]:
        if judges_with_people.has_tied_ranks(comparison, entry.judge):
            notes.append(judges_with_people.TIED_RANKS)
    return Table(
        "agreement",
        Note("card.title.agreement-with-people"),
        table_columns("verdict", "metric", "estimate", "unusable"),
        rows,
        notes,
        {"rule": {kind: comparison.rule(kind) for kind in comparison.votes}},
    )


def _review_table(record: Record, judge: str, people: str, judge_verdicts: Columns) -> Table:
    """Reviews of verdicts on one item stay together, so the item of each reviewed verdict is looked up."""
    rows: list[list[Cell]] = []
    reviewed = {verdict.item[:_CASE_DIGITS] for verdict in record.where(judge=people, contestant=judge)}
    owner = _items_by_case(judge_verdicts, reviewed)
    for criterion, part in record.where(judge=people, contestant=judge, fault=None).by("criterion").items():
        reviews = [verdict for verdict in part if verdict.contestants == (judge,) and verdict.marks is not None]
        if len(reviews) > 1:
            marks = np.array([verdict.marks[0] for verdict in reviews if verdict.marks is not None])
            _, items = np.unique(
                [owner.get(verdict.item[:_CASE_DIGITS], verdict.item) for verdict in reviews], return_inverse=True
            )
            ballot = reviews[0].ballot
            if ballot == YES_NO:
                # Yes is stored as 2 and no as 1, so the mean of the raw marks has no meaning.
                rows.append([criterion, ballot, None, item_clustered_means_and_shares.share_estimate(marks - 1, items)])
            else:
                rows.append(
                    [
                        criterion,
                        ballot,
                        item_clustered_means_and_shares.mean_estimate(
                            marks, items, item_clustered_means_and_shares.scale_of(ballot)
                        ),
                        None,
                    ]
                )
    return Table(
        "reviews",
        Note("card.title.what-people-think-of-its"),
        table_columns("criterion", "ballot", "mean mark", "share of yes"),
        rows,
    )


def _items_by_case(verdicts: Columns, cases: Collection[str]) -> dict[str, str]:
    """Return the item of each of these cases. Columns keep the first 16 digits of a case."""
    codes = {int(case, 16) for case in cases if len(case) == _CASE_DIGITS and set(case) <= set(hexdigits)}
    wanted = np.array(sorted(codes), dtype=np.uint64)
    rows = np.flatnonzero(np.isin(verdicts.case, wanted)) if len(wanted) else wanted
    names = verdicts.names["item"]
    return {f"{int(verdicts.case[row]):0{_CASE_DIGITS}x}": names[verdicts.item[row]] for row in rows.tolist()}


def standing_table(comparison: PeopleComparison, judge: str, *, seed: int = 0) -> Table:
    """Compare the judge with every other judge on responses that both and people judged."""
    rows: list[list[Cell]] = []
    ps: list[float] = []
    for other_judge in comparison.judges:
        for kind, metrics in judges_with_people.AGREEMENT_METRICS.items():
            shared_cases = (
                _shared_cases(kind, comparison.pairings(judge, kind), comparison.pairings(other_judge, kind))
                if other_judge != judge
                else []
            )
            if shared_cases and (gap := _metric_difference(kind, shared_cases, seed)) is not None:
                rows.append([other_judge, kind, next(iter(metrics)), gap])
                ps.append(1.0 if gap.p is None else gap.p)
    significance_flags = benjamini_hochberg(ps).is_significant if ps else ()
    for row, is_significant in zip(rows, significance_flags, strict=True):
        row.append("yes" if is_significant else "no")
    notes = [Note("card.the-figure-of-less-that", judge=judge), Note("card.for-an-edit-distance-less")]
    columns = table_columns("other judge", "verdict", "metric", "difference", "distinguished")
    return Table(
        "other judges", Note("card.title.among-other-judges"), columns, rows, notes, {"judge": judge, "seed": seed}
    )


@dataclass(frozen=True, slots=True)
class _SharedCase:
    item: str
    ours: float
    theirs: float
    people: float


def _shared_cases(kind: str, ours: Sequence[Pairing], theirs: Sequence[Pairing]) -> list[_SharedCase]:
    """Average over orders and trials."""
    our_pairings, their_pairings = _pairings_by_response_set(ours), _pairings_by_response_set(theirs)
    metrics: dict[str, Callable[[Pairing], float]] = {
        "scores": lambda pairing: pairing.marks[0],
        "pairs": lambda pairing: float(winner_index(pairing.marks) == winner_index(pairing.other_marks)),
        "rankings": lambda pairing: judges_with_people.distance_of_orders(pairing.marks, pairing.other_marks),
    }
    metric = metrics[kind]
    return [
        _SharedCase(
            place[0], fmean(map(metric, our_pairings[place])), fmean(map(metric, their_pairings[place])),
            fmean(pairing.other_marks[0] for pairing in our_pairings[place]),
        )
        for place in our_pairings if place in their_pairings
    ]  # fmt: skip


def _pairings_by_response_set(pairings: Sequence[Pairing]) -> dict[ResponseSetKey, list[Pairing]]:
    places: dict[ResponseSetKey, list[Pairing]] = {}
    for pairing in pairings:
        verdict = pairing.verdict
        places.setdefault((verdict.item, frozenset(verdict.shown_responses), verdict.ballot), []).append(pairing)
    return places


def _metric_difference(kind: str, shared_cases: Sequence[_SharedCase], seed: int) -> Estimate | None:
    items = [pairing.item for pairing in shared_cases]
    ours, theirs = [pairing.ours for pairing in shared_cases], [pairing.theirs for pairing in shared_cases]
    if kind != "scores":
        _, places = np.unique(items, return_inverse=True)
        return item_clustered_means_and_shares.difference_estimate(
            np.array(ours) - np.array(theirs), places, (-1.0, 1.0)
        )
    try:
        return paired_difference(
            statistics_for_bootstrap.weighted_pearson,
            ours,
            theirs,
            [pairing.people for pairing in shared_cases],
            within=(-2.0, 2.0),
            cluster=items,
            seed=seed,
        )
    except Undefined:
        return None
