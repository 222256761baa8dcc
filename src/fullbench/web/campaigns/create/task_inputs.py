"""Where tasks come from: items and responses of files or a ledger, a judge's verdicts, queues of rewordings.

Known answers come as labels (as `files.item_files.read_verdicts` reads them): a task that is on the same item and the
same contestants takes the answer that the marks stand for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from fullbench.analysis.scope_text import OVERALL
from fullbench.core.ballot import ballot
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.rubric import is_review
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.files.item_files import read_rows
from fullbench.files.row_fields import Fields
from fullbench.web.campaigns.tasks.task_content import Content, parts_json
from fullbench.web.campaigns.tasks.task_kind_base import Kind, Rules
from fullbench.web.words import key

COMPARED = ("pair", "score", "rank", "rate")
"""The kinds of task in which people judge answers."""
REFERENCE = "reference"
"""The contestant whose answers are the items' references."""


def with_references(kind: str, rules: Rules, items: Iterable[Item], responses: Sequence[Response]) -> list[Response]:
    """The responses with the items' references among them, as the answers of one more contestant.

    A reference that plays already, as in a ledger where judges compared it, is not there twice.
    """
    if kind not in COMPARED:
        raise InputError(
            Note(
                "web.wrong.a-reference-competes-where",
                "a reference competes where people judge answers ({kinds}); found the kind {kind}",
                kinds=", ".join(COMPARED),
                kind=kind,
            )
        )
    if rules.options.get("reference"):
        raise InputError(key("a reference that is shown beside the answers cannot compete with them: choose one"))
    playing = {response.item for response in responses if response.contestant == REFERENCE}
    joining = [
        Response.say(item.id, REFERENCE, item.reference) for item in items if item.reference and item.id not in playing
    ]
    if not playing and not joining:
        raise InputError(key("no item has a reference that could compete"))
    return [*responses, *joining]


def reviewed(record: Record, judges: Collection[str] = (), criterion: str = OVERALL) -> tuple[list[Verdict], int, int]:
    """The verdicts that an agree study is about; how many votes of people with a reason are not among them, and how
    many verdicts whose text has no word, as that of metrics.

    Those of the judges named, else of all judges that are not people and say why; of one criterion where it is another
    than overall. Reviews of verdicts are never among them.
    """
    verdicts = [
        verdict for verdict in record
        if verdict.item in record.items and verdict.text and not is_review(verdict)
        and criterion in {OVERALL, verdict.criterion} and (not judges or verdict.judge in judges)
    ]  # fmt: skip
    of_judges = [verdict for verdict in verdicts if judges or verdict.judge != PEOPLE]
    chosen = [verdict for verdict in of_judges if judges or any(letter.isalpha() for letter in verdict.text)]
    return chosen, len(verdicts) - len(of_judges), len(of_judges) - len(chosen)


def on_other_criteria(record: Record, judges: Collection[str], chosen: Sequence[Verdict], criterion: str) -> int:
    """How many verdicts a criterion leaves out; refused where it leaves none."""
    every, _, _ = reviewed(record, judges)
    if every and not chosen:
        raise InputError(
            Note(
                "web.wrong.no-verdict-on-criterion",
                "no verdict with reasons is on the criterion {criterion!r}; there are: {there}",
                criterion=criterion, there=", ".join(sorted({verdict.criterion for verdict in every})),
            )
        )  # fmt: skip
    return len(every) - len(chosen)


def appeals(record: Record, verdicts: Iterable[Verdict]) -> Iterator[Content]:
    """Verdicts of a record with their reasons, to be judged in turn."""
    for verdict in verdicts:
        item = record.items[verdict.item]
        responses = [record.responses.get((verdict.item, *shown)) for shown in verdict.shown]
        judged = [response for response in responses if response is not None]
        about = {
            "judged": [parts_json(response.parts) for response in judged],
            "ruling": ruling(verdict),
            "criterion": verdict.criterion,
        }
        heard = Item(verdict.case, item.turns, tags=item.tags)
        response = Response(verdict.case, verdict.judge, (verdict.text,), sample=verdict.trial)
        yield Content(heard, (response,), about, tuple(picture for answer in judged for picture in answer.pictures))


def ruling(verdict: Verdict) -> str:
    """A verdict's marks as a person reads them; the fault where it has none."""
    if verdict.marks is None:
        return str(verdict.fault)
    form = ballot(verdict.ballot)
    return form.write(verdict.marks).replace("[[", "").replace("]]", "")


def rewordings(path: Path, items: Mapping[str, Item] | None = None) -> Iterator[Content]:
    """The queue that `fullbench compose rewrite` wrote; with the items, their pictures are shown as well."""
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        seed, question = fields.name("seed"), fields.name("question")
        text, writer = fields.name("text"), fields.name("writer", "a writer")
        item = (items or {}).get(seed) or Item.ask(seed, question)
        yield Content(item, (Response.say(seed, writer, text),), {"variant": fields.integer("variant", 1)})


@dataclass(frozen=True)
class Split:
    """Tasks for work, and those whose answer is known."""

    work: list[Content]
    known: list[tuple[Content, dict[str, Any]]]


def with_answers(kind: Kind, contents: Iterable[Content], labels: Iterable[Verdict]) -> Split:
    """Set apart the tasks that a label is about; the label's marks become the known answer."""
    answers = {(label.item, frozenset(label.contestants)): label for label in labels if label.marks is not None}
    split = Split([], [])
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
        split.known.append((content, kind.known([marks[name] for name in names])))
    if lost := [place for place in answers if place not in used]:
        item, about = lost[0]
        raise InputError(
            f"{len(lost)} known answers are about no task of the study; the first is on item {item!r} and "
            f"{', '.join(sorted(about))}"
        )
    return split


def apart(path: Path) -> list[tuple[str, str]]:
    """Pairs of items that must not meet the same person, from a file with the columns `one` and `other`."""
    pairs = []
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        pairs.append((fields.name("one"), fields.name("other")))
    return pairs


def apart_by(tag: str, items: Iterable[Item]) -> list[tuple[str, str]]:
    """Return all pairs of items with the same value of a tag, such as wordings of one seed."""
    return [pair for names in _by_tag(tag, items).values() for pair in combinations(names, 2)]


def count_apart_by(tag: str, items: Iterable[Item], tasks_on: Mapping[str, int]) -> int:
    """Return the number of pairs of tasks on the pairs of `apart_by`, without building them.

    >>> items = [Item.ask(name, "?", tags={"seed": "s"}) for name in "abc"]
    >>> count_apart_by("seed", items, {"a": 1, "b": 2, "c": 3})
    11
    """
    count = 0
    for names in _by_tag(tag, items).values():
        numbers = [tasks_on[name] for name in names]
        count += (sum(numbers) ** 2 - sum(number**2 for number in numbers)) // 2
    return count


def _by_tag(tag: str, items: Iterable[Item]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for item in items:
        if value := item.tags.get(tag):
            groups.setdefault(value, []).append(item.id)
    return groups
