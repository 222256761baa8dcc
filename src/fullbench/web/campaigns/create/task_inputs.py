"""Sources of tasks: items and responses from files or a ledger, judges' verdicts, queues of rewordings.

Known answers come as labels (read by `files.item_response_verdict_files.read_verdicts`). A task on the same item and
contestants takes the answer that corresponds to the label's marks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.core.ballot import GradedChoice, ballot
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.rubric import is_review
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows
from fullbench.web.campaigns.tasks.task_content import Content, parts_json
from fullbench.web.campaigns.tasks.task_kind_base import Kind, Rules
from fullbench.web.words import key

COMPARISON_KINDS = ("pair", "score", "rank", "rate")
"""Kinds of task in which people judge answers."""
REFERENCE = "reference"
"""Contestant whose answers are the items' references."""


def with_references(kind: str, rules: Rules, items: Iterable[Item], responses: Sequence[Response]) -> list[Response]:
    """Add the items' references to the responses, as answers of one more contestant.

    A reference that is already a contestant, as in a ledger that compared it, is not added twice.
    """
    if kind not in COMPARISON_KINDS:
        raise InputError(Note("web.wrong.a-reference-competes-where", kinds=", ".join(COMPARISON_KINDS), kind=kind))
    if rules.options.get("reference"):
        raise InputError(key("a reference that is shown with the answers cannot compete with them; choose one"))
    playing = {response.item for response in responses if response.contestant == REFERENCE}
    joining = [
        Response.say(item.id, REFERENCE, item.reference) for item in items if item.reference and item.id not in playing
    ]
    if not playing and not joining:
        raise InputError(key("no item has a reference that could compete"))
    return [*responses, *joining]


def select_reviewed_verdicts(
    record: Record, judges: Collection[str] = (), criterion: str = OVERALL
) -> tuple[list[Verdict], int, int]:
    """Return the verdicts for an agree campaign, and the numbers of omitted human votes and word-less verdicts.

    Selects the named judges, else all judges that are not people and give reasons. A criterion other than overall
    restricts them to it. Verdicts whose text has no word, such as those of metrics, are omitted. So are reviews.
    """
    verdicts = [
        verdict for verdict in record
        if verdict.item in record.items and verdict.text and not is_review(verdict)
        and criterion in {OVERALL, verdict.criterion} and (not judges or verdict.judge in judges)
    ]  # fmt: skip
    of_judges = [verdict for verdict in verdicts if judges or verdict.judge != PEOPLE]
    reviewed_verdicts = [verdict for verdict in of_judges if judges or any(letter.isalpha() for letter in verdict.text)]
    return reviewed_verdicts, len(verdicts) - len(of_judges), len(of_judges) - len(reviewed_verdicts)


def count_other_criteria(
    record: Record, judges: Collection[str], reviewed_verdicts: Sequence[Verdict], criterion: str
) -> int:
    """Return the number of verdicts on other criteria; raise `InputError` if the criterion has none."""
    every, _, _ = select_reviewed_verdicts(record, judges)
    if every and not reviewed_verdicts:
        raise InputError(
            Note(
                "web.wrong.no-verdict-on-criterion",
                criterion=criterion, there=", ".join(sorted({verdict.criterion for verdict in every})),
            )
        )  # fmt: skip
    return len(every) - len(reviewed_verdicts)


def review_tasks(record: Record, verdicts: Iterable[Verdict]) -> Iterator[Content]:
    """Return tasks that review verdicts and their reasons."""
    for verdict in verdicts:
        item = record.items[verdict.item]
        responses = [record.responses.get((verdict.item, *response_id)) for response_id in verdict.shown_responses]
        judged_responses = [response for response in responses if response is not None]
        about = {
            "judged": [parts_json(response.parts) for response in judged_responses],
            "verdict": verdict_as_text(verdict),
            "criterion": verdict.criterion,
        }
        case_item = Item(verdict.case, item.turns, tags=item.tags)
        response = Response(verdict.case, verdict.judge, (verdict.text,), sample=verdict.trial)
        yield Content(
            case_item, (response,), about, tuple(media for answer in judged_responses for media in answer.media)
        )


def verdict_as_text(verdict: Verdict) -> str:
    """Return a verdict's marks as readable text, or its fault if it has no marks."""
    if verdict.marks is None:
        return str(verdict.fault)
    form = ballot(verdict.ballot)
    return form.write(verdict.marks).replace("[[", "").replace("]]", "")


def rewrite_tasks(path: Path, items: Mapping[str, Item] | None = None) -> Iterator[Content]:
    """Return tasks from a queue written by `fullbench compose rewrite`; `items` add their pictures."""
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        seed, question = fields.name("seed"), fields.name("question")
        text, writer = fields.name("text"), fields.name("writer", "a writer")
        item = (items or {}).get(seed) or Item.ask(seed, question)
        yield Content(item, (Response.say(seed, writer, text),), {"variant": fields.integer("variant", 1)})


@dataclass(frozen=True)
class TaskSplit:
    """Tasks for work, and tasks with a known answer."""

    work: list[Content]
    known_tasks: list[tuple[Content, dict[str, Any]]]


def _known_answer(kind: Kind, spec: str, marks: Sequence[float]) -> dict[str, Any]:
    form = ballot(spec)
    if isinstance(form, GradedChoice) and (step := form.step_of(marks)) is not None:
        return {"level": form.token(step)}
    return kind.known_answer(marks)


def split_known_tasks(kind: Kind, contents: Iterable[Content], labels: Iterable[Verdict]) -> TaskSplit:
    """Separate the tasks that have a label; the label's marks become the known answer."""
    answers = {(label.item, frozenset(label.contestants)): label for label in labels if label.marks is not None}
    split = TaskSplit([], [])
    used = set()
    for content in contents:
        names = tuple(response.contestant for response in content.responses)
        place = (content.item.id, frozenset(names))
        label = answers.get(place)
        if label is None:
            split.work.append(content)
            continue
        used.add(place)
        marks = dict(zip(label.contestants, label.marks or (), strict=True))
        split.known_tasks.append((content, _known_answer(kind, label.ballot, [marks[name] for name in names])))
    if unmatched_labels := [place for place in answers if place not in used]:
        item, about = unmatched_labels[0]
        raise InputError(
            f"{len(unmatched_labels)} known answers match no task of the campaign; the first is on item {item!r} and "
            f"{', '.join(sorted(about))}"
        )
    return split


def read_conflict_pairs(path: Path) -> list[tuple[str, str]]:
    """Read pairs of items that one person must not both get, from a file with columns `one` and `other`."""
    pairs = []
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        pairs.append((fields.name("one"), fields.name("other")))
    return pairs


def conflict_pairs_by_tag(tag: str, items: Iterable[Item]) -> list[tuple[str, str]]:
    """Return all pairs of items with the same value of a tag, such as rewordings of one seed."""
    return [pair for names in _item_ids_by_tag(tag, items).values() for pair in combinations(names, 2)]


def count_conflict_pairs_by_tag(tag: str, items: Iterable[Item], tasks_on: Mapping[str, int]) -> int:
    """Return the number of pairs of tasks on the pairs of `conflict_pairs_by_tag`, without building them.

    >>> items = [Item.ask(name, "?", tags={"seed": "s"}) for name in "abc"]
    >>> count_conflict_pairs_by_tag("seed", items, {"a": 1, "b": 2, "c": 3})
    11
    """
    count = 0
    for names in _item_ids_by_tag(tag, items).values():
        numbers = [tasks_on[name] for name in names]
        count += (sum(numbers) ** 2 - sum(number**2 for number in numbers)) // 2
    return count


def _item_ids_by_tag(tag: str, items: Iterable[Item]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for item in items:
        if value := item.tags.get(tag):
            groups.setdefault(value, []).append(item.id)
    return groups
