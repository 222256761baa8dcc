"""Inputs of a study: items, responses, people's labels and imported verdicts from its files or its benchmark.

Items marked as not verified are excluded unless a study requests them. Labels and imported verdicts are stored in the
ledger. Imported verdicts on known responses get the key of the case that a judge of ours would get, so that panels
combine both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fullbench.core.ballot import ballot as ballot_of
from fullbench.core.benchmark import Benchmark, LoadedData
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.existing_scores import ExistingVerdicts, read_existing_verdicts
from fullbench.files.item_response_verdict_files import read_items, read_response_files, read_verdicts
from fullbench.files.items_from_picture_folder import other_files_note, same_stem_note
from fullbench.files.name_suggestions_and_lookalikes import closest_name
from fullbench.files.picture_access_policy import allow_picture_folders, without_pictures
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.name_aliases import normalize_voter
from fullbench.plugin_specs import load_benchmark as benchmark_named
from fullbench.studies.study_file import Study


def load_benchmark_release(name: str, data: Path | None = None) -> LoadedData:
    """Load a benchmark's released data with the verdicts of people and judges, or its sample without `data`."""
    return benchmark_named(name).bring_with_labels(data)


VERIFIED_TAG = "verified"


def is_unverified(item: Item) -> bool:
    return item.tags.get(VERIFIED_TAG) == "no"


def without_unverified(items: Iterable[Item], *, include_unverified: bool) -> tuple[list[Item], list[Table]]:
    """Return the items to judge and a table of the excluded ones; all items if `include_unverified` is set."""
    all_items = list(items)
    left_out = [] if include_unverified else [item for item in all_items if is_unverified(item)]
    if not left_out:
        return all_items, []
    note = Note("unverified.left-out", n=len(left_out), all=len(all_items))
    table = Table(
        "unverified", Note("unverified.title"), table_columns("items", "left out"),
        [[len(all_items), len(left_out)]], [note],
    )  # fmt: skip
    return [item for item in all_items if not is_unverified(item)], [table]


def read_answers(paths: Sequence[Path], all_items: Iterable[Item], judged_ids: Container[str]) -> list[Response]:
    """Read the responses to judged items; a response to an unknown item is an error."""
    answers = read_response_files(paths, items={item.id for item in all_items})
    return [response for response in answers if response.item in judged_ids]


def limit_messages(used_count: int, total_count: int) -> list[str]:
    """Return the message about a limit on items, the same in every command; empty if all items are used.

    >>> limit_messages(2, 5), limit_messages(5, 5)
    (['Only the first 2 of 5 items are in this run, as the limit says.'], [])
    """
    if used_count >= total_count:
        return []
    return [f"Only the first {used_count:,} of {total_count:,} items are in this run, as the limit says."]


VoteKey = tuple[str, str, int, str]
"""Case, judge, trial and rater; there is one vote of each."""


@dataclass
class StudyInputs:
    """Items, given responses, people's labels with imported verdicts, and messages about what was excluded."""

    items: list[Item]
    input_responses: list[Response] = field(default_factory=list)
    labels: list[Verdict] = field(default_factory=list)
    imported_judges: list[str] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    """Cases of the imported verdicts."""
    extra_tables: Sequence[Table] = ()
    messages: list[str] = field(default_factory=list)

    def record(self) -> Record:
        """Return the items, responses, labels and imported verdicts."""
        responses = {(answer.item, answer.contestant, answer.sample): answer for answer in self.input_responses}
        return Record(tuple(self.labels), {item.id: item for item in self.items}, responses)


def load_study_inputs(
    study: Study, benchmark: Benchmark | None, contestants: Collection[str], existing: ExistingVerdicts
) -> StudyInputs:
    """Load the inputs of a study, for its first `limit` items.

    Args:
        study: The study.
        benchmark: Its benchmark, if any.
        contestants: Contestants that will answer.
        existing: The verdicts of its files.
    """
    with allow_picture_folders(*study.pictures_from, urls=study.fetch_urls), without_pictures(study.without_pictures):
        all_items = list(_load_items(study, benchmark))
        items_to_judge, extra_tables = without_unverified(all_items, include_unverified=study.unverified)
        inputs = StudyInputs(items_to_judge[: study.limit], extra_tables=extra_tables)
        ids = {item.id for item in inputs.items}
        inputs.input_responses = read_answers(study.response_files, all_items, ids)
        labels = existing.labels
        if benchmark is not None and benchmark.labels is not None and study.labels is None:
            labels = [label for label in benchmark.labels(study.data) if label.item in ids]
        if benchmark is not None and benchmark.bring is not None and not (study.responses or contestants):
            release = benchmark.bring_with_labels(study.data)
            inputs.input_responses = [
                response for response in release.record.responses.values() if response.item in ids
            ]
            inputs.extra_tables = [*extra_tables, *release.tables]
            if study.labels is None:
                labels = [label for label in release.record.where(judge=PEOPLE) if label.item in ids]
    dropped_ids = {item.id for item in items_to_judge} - ids
    names = {response.contestant for response in inputs.input_responses} | set(contestants)
    labels = strip_blanks_around_names(labels, ids | dropped_ids, names)
    inputs.labels = [label for label in labels if label.item not in dropped_ids]
    inputs.messages = [
        *_item_messages(study, len(items_to_judge), len(inputs.items)),
        *existing.messages,
        *_label_file_messages(study, inputs, contestants),
    ]
    verdicts = strip_blanks_around_names(existing.verdicts, ids | dropped_ids, names)
    verdicts = [verdict for verdict in verdicts if verdict.item not in dropped_ids]
    if verdicts:
        place = " and ".join(map(str, study.verdict_files))
        inputs.messages += label_messages(place, verdicts, ids, inputs.input_responses, contestants, what="verdicts")
        add_imported_verdicts(inputs, verdicts)
    return inputs


def read_study_verdicts(study: Study) -> ExistingVerdicts:
    """Read a study's files of verdicts and people's labels."""
    form = study.ballots[0] if len(study.ballots) == 1 else None
    if study.verdict_files:
        return read_existing_verdicts(study.verdict_files, study.labels, ballot=form)
    return ExistingVerdicts(labels=list(read_verdicts(study.labels, ballot=form)) if study.labels else [])


def add_imported_verdicts(inputs: StudyInputs, verdicts: Iterable[Verdict]) -> None:
    """Add verdicts of judges to the labels of a study, with the cases that they are about."""
    items = {item.id: item for item in inputs.items}
    responses = {(answer.item, answer.contestant, answer.sample): answer for answer in inputs.input_responses}
    cases: dict[str, Case] = {}
    for verdict in verdicts:
        shown_responses = [responses.get((verdict.item, *key)) for key in verdict.shown_responses]
        known_responses = tuple(response for response in shown_responses if response is not None)
        if verdict.item in items and len(known_responses) == len(shown_responses) and verdict.judge != PEOPLE:
            case = Case(items[verdict.item], known_responses, ballot_of(verdict.ballot), verdict.criterion)
            verdict = replace(verdict, case=cases.setdefault(case.key, case).key)  # noqa: PLW2901
        inputs.labels.append(verdict)
    inputs.cases += cases.values()
    inputs.imported_judges = sorted({label.judge for label in inputs.labels} - {PEOPLE})


def _load_items(study: Study, benchmark: Benchmark | None) -> Iterator[Item]:
    if benchmark is not None:
        if study.question is not None:
            raise InputError("a benchmark has its own questions: leave out the question", path=study.path)
        yield from benchmark.items(study.data)
    elif study.items is not None:
        yield from read_items(study.items, question=study.question)


def _item_messages(study: Study, total_count: int, used_count: int) -> Iterator[str]:
    yield from limit_messages(used_count, total_count)
    if study.items is not None and study.items.is_dir() and (ignored_files_text := other_files_note(study.items)):
        yield f"{study.items}: {ignored_files_text}; they were left out."
    if study.items is not None and study.items.is_dir() and (shared_names_text := same_stem_note(study.items)):
        yield f"{study.items}: {shared_names_text}."


def _label_file_messages(study: Study, inputs: StudyInputs, contestants: Collection[str]) -> Iterator[str]:
    if study.labels is not None:
        ids = {item.id for item in inputs.items}
        yield from label_messages(str(study.labels), inputs.labels, ids, inputs.input_responses, contestants)


def strip_blanks_around_names(
    labels: Iterable[Verdict], ids: Collection[str], contestants: Collection[str]
) -> list[Verdict]:
    """Return labels with blanks removed around names that are only known without them."""
    known_contestants = frozenset(contestants)

    def known_name(name: str, known_names: Collection[str]) -> str:
        return name.strip() if name not in known_names and name.strip() in known_names else name

    matched_labels = []
    for label in labels:
        if label.item not in ids or not known_contestants.issuperset(label.contestants):
            names = tuple(known_name(name, known_contestants) for name in label.contestants)
            label = replace(label, item=known_name(label.item, ids), contestants=names)  # noqa: PLW2901
        matched_labels.append(label)
    return matched_labels


def label_messages(
    place: str,
    labels: Sequence[Verdict],
    ids: Collection[str],
    responses: Iterable[Response],
    contestants: Collection[str] = (),
    *,
    what: str = "labels",
) -> Iterator[str]:
    """Yield messages about labels on unknown items or contestants, and about labels without a sample number.

    Labels on unknown items or contestants are kept, but compared with nothing.

    Args:
        place: The file.
        labels: The labels, or imported verdicts.
        ids: Ids of the items.
        responses: The responses.
        contestants: Contestants that will answer.
        what: Noun for the labels.
    """
    answers = list(responses)
    contestant_names = {response.contestant for response in answers} | set(contestants)
    strangers = [label for label in labels if not set(label.contestants) <= contestant_names]
    elsewhere = [label for label in labels if label.item not in ids]
    for stray, where, names in (
        (elsewhere, "items that are not here", {label.item for label in elsewhere}),
        (
            strangers,
            "contestants that have no response here",
            {c for s in strangers for c in s.contestants} - contestant_names,
        ),
    ):
        if stray and len(stray) == len(labels):
            known_names = ids if stray is elsewhere else contestant_names
            raise InputError(_no_label_fits_text(len(labels), what, where, names, known_names), path=Path(place))
        if stray:
            names_text = ", ".join(sorted(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            counts = f"{len(stray):,} of {len(labels):,} {what}"
            consequence = (
                "compared with no judge, and only in people's own tables"
                if what == "labels"
                else "only in the tables of their own judge"
            )
            yield f"{place}: {counts} are on {where} ({names_text}): {consequence}."
    several = {response.contestant for response in answers if response.sample}
    first = [label for label in labels if several.intersection(label.contestants)]
    if first and not any(label.samples for label in labels):
        yield (
            f"{place}: {len(first):,} of {len(labels):,} {what} are on contestants that answered several times "
            f"({', '.join(sorted(several)[:3])}) and name no sample: they are taken for the first answer, sample 0; "
            "a column samples names others."
        )


def _no_label_fits_text(count: int, what: str, where: str, names: Collection[str], known_names: Collection[str]) -> str:
    """Return the error for a file of labels of which none can be compared with a response."""
    first = min(names)
    nearest = closest_name(first, sorted(known_names))
    hint = f"did you mean {nearest!r}" if nearest else f"known are {', '.join(map(repr, sorted(known_names)[:3]))}"
    subject = f"the only {what.removesuffix('s')} is" if count == 1 else f"all {count:,} {what} are"
    return f"{subject} on {where}, so nothing can be compared; the first is {first!r}, {hint}"


def enter_responses(inputs: StudyInputs, ledger: Ledger) -> None:
    """Store the items, the given responses and the cases of imported verdicts, which no judge is called for."""
    items = {item.id: item for item in inputs.items}
    ledger.add(*inputs.items, *inputs.cases)
    stored_keys = {response.key for case in inputs.cases for response in case.responses}
    for response in inputs.input_responses:
        if response.key not in stored_keys:
            ledger.add_response(items[response.item], response)
    ledger.flush()


def enter_labels(labels: Iterable[Verdict], ledger: Ledger) -> int:
    """Store people's labels in the ledger, each once; return the number of changed labels.

    A label that differs from the stored one of the same person is a revision: both stay, the new one counts.
    """
    fresh, changed_count = find_new_labels(labels, ledger)
    ledger.add(*fresh)
    ledger.flush()
    return changed_count


def find_new_labels(labels: Iterable[Verdict], ledger: Ledger) -> tuple[list[Verdict], int]:
    """Return labels that are not in the ledger, and how many of them change a stored label.

    Changed labels are numbered as revisions of the stored ones.
    """
    by_vote: dict[VoteKey, list[Verdict]] = defaultdict(list)
    for label in labels:
        by_vote[_vote_key(label)].append(label)
    judges = sorted({judge for _, judge, _, _ in by_vote})
    keys = {case for case, _, _, _ in by_vote}
    stored_verdicts = (
        {_vote_key(verdict): verdict for verdict in ledger.verdicts(judges, cases=keys, texts=False)} if keys else {}
    )
    fresh: list[Verdict] = []
    changed_count = 0
    for vote_key, vote_labels in by_vote.items():
        stored_verdict, latest = stored_verdicts.get(vote_key), max(vote_labels, key=lambda label: label.revision)
        if stored_verdict is None:
            fresh += vote_labels
        elif latest.revision > stored_verdict.revision:
            fresh += [label for label in vote_labels if label.revision > stored_verdict.revision]
        # A file with numbered revisions, but fewer than the ledger has, is older and changes nothing.
        elif latest.revision in {0, stored_verdict.revision} and (latest.marks, latest.fault) != (
            stored_verdict.marks,
            stored_verdict.fault,
        ):
            fresh.append(replace(latest, revision=stored_verdict.revision + 1))
            changed_count += 1
    return fresh, changed_count


def _vote_key(label: Verdict) -> VoteKey:
    judge, trial, rater = normalize_voter(label.judge, label.trial, label.rater)
    return label.case, judge, trial, rater


def changed_label_messages(place: str, changed_count: int, *, what: str = "labels") -> list[str]:
    """Return the message about changed labels, or verdicts."""
    if not changed_count:
        return []
    whom = "people" if what == "labels" else "judges"
    return [
        f"{place}: {changed_count:,} {what} differ from the ledger's votes of the same {whom}. The {what} of the "
        "file count from now on; the earlier ones stay as older revisions."
    ]
