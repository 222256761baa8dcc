"""Answers that people scored: read from files, a ledger or a benchmark, checked, split, and in the order drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fullbench.analysis.critic_train_test_split import INTERNAL, split
from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.files.item_files import read_items, read_responses, read_verdicts
from fullbench.training.critic.data.prompts import Asking

SPLITS = ("train", "internal", "external")


@dataclass(frozen=True)
class Scored:
    """One answer with one person's score, and the reason where one was given. `split` says what it is for."""

    case: Case
    mark: float
    reason: str
    split: str


def from_files(items: Path, responses: Path, labels: Path, *, people: str, ballot: str) -> Record:
    """The record that three files make."""
    asked = {item.id: item for item in read_items(items)}
    answers = {
        (response.item, response.contestant): response for response in read_responses(responses, items=set(asked))
    }
    return Record(tuple(read_verdicts(labels, judge=people, ballot=ballot)), asked, answers)


def scored(
    record: Record,
    asking: Asking,
    *,
    people: str = "human",
    criteria: Collection[str] = (),
    external: Collection[str] = (),
    share: float = INTERNAL,
    seed: int = 0,
) -> list[Scored]:
    """People's scores as examples, shuffled, each with its split; only those by the `criteria` where some are named.

    Responses that carry the tag `split` keep it; otherwise a `share` of the items of each category is held back, all
    answers to an item and all its wordings together, and contestants named `external` are held back whole. Every vote
    is an example; scores without any words to them are left out. What the critic could not be asked about (no
    reference where it is shown) is an error: training on prompts that judging never makes would be for nothing.
    """
    labels = [label for label in _labels(record, asking.ballot, people, criteria) if not wordless(record, label)]
    responses = _responses(record, labels)
    if not any("split" in response.tags for response in responses):
        responses = split(responses, record.items, external=external, share=share, seed=seed)
    tags = {
        (response.item, response.contestant, response.sample): response.tags.get("split", "train")
        for response in responses
    }
    examples = [_example(record, verdict, asking, tags) for verdict in labels]
    _check(examples, asking)
    return sorted(examples, key=lambda example: digest([seed, example.case.key, example.mark, example.reason]))


def wordless(record: Record, verdict: Verdict) -> bool:
    """Whether neither question nor answer has words: a score whose words were never released teaches nothing."""
    item, response = record.items.get(verdict.item), record.responses.get((verdict.item, *verdict.shown[0]))
    return item is not None and response is not None and not (item.question.strip() or response.text.strip())


def tagged(record: Record, examples: Iterable[Scored]) -> Record:
    """The record with every response that was scored carrying its split as a tag, as the tables want it."""
    tags = {
        (example.case.item.id, example.case.contestants[0], example.case.responses[0].sample): example.split
        for example in examples
    }
    responses = {
        place: replace(response, tags={**response.tags, "split": tags[place]}) if place in tags else response
        for place, response in record.responses.items()
    }
    return Record(record.verdicts, record.items, responses)


def _labels(record: Record, spec: str, people: str, criteria: Collection[str]) -> list[Verdict]:
    people_verdicts = record.where(lambda verdict: not criteria or verdict.criterion in criteria, judge=people)
    labels = [
        verdict
        for verdict in people_verdicts
        if verdict.ballot == spec and verdict.marks is not None and len(verdict.contestants) == 1
    ]
    if not labels:
        ballots = Counter(verdict.ballot for verdict in people_verdicts)
        tally = ", ".join(f"{count} on {name}" for name, count in ballots.most_common()) or "none"
        raise InputError(f"no answer has a score of {people!r} on the ballot {spec}; found {tally}; say --ballot")
    return labels


def _responses(record: Record, labels: Sequence[Verdict]) -> list[Response]:
    responses: dict[tuple[str, str, int], Response] = {}
    for verdict in labels:
        place = (verdict.item, *verdict.shown[0])
        response = record.responses.get(place)
        if response is None or verdict.item not in record.items:
            missing = "item" if verdict.item not in record.items else "response"
            raise InputError(
                f"{place[1]!r} was scored on item {place[0]!r}, by {verdict.criterion!r}, but that {missing} is not at "
                "hand; add it, or name the criteria to learn from with --criterion"
            )
        responses[place] = response
    return list(responses.values())


def _example(record: Record, verdict: Verdict, asking: Asking, tags: dict[tuple[str, str, int], str]) -> Scored:
    place = (verdict.item, *verdict.shown[0])
    response = record.responses[place]
    case = Case(record.items[verdict.item], (response,), asking.scale, verdict.criterion)
    marks = verdict.marks or ()
    if not asking.scale.allows(marks):
        raise InputError(f"the score {marks[0]:g} of {place[1]!r} on item {place[0]!r} is not one of {asking.ballot}")
    if tags[place] not in SPLITS:
        raise InputError(f"the tag split is one of {', '.join(SPLITS)}; found {tags[place]!r} on item {place[0]!r}")
    return Scored(case, marks[0], verdict.text.strip(), tags[place])


def _check(examples: Sequence[Scored], asking: Asking) -> None:
    if asking.mode == "analyze" and (bare := sum(not example.reason for example in examples)):
        raise InputError(
            f"{bare} of {len(examples)} scores have no reason in 'text', which the mode 'analyze' learns to write; "
            "take the mode 'direct'"
        )
    for example in examples:
        if asking.reference and not example.case.item.reference:
            raise InputError(
                f"item {example.case.item.id!r} has no reference, which the critic would be shown; "
                "say --manner plain --no-reference"
            )
        if example.case.responses[0].pictures:
            raise InputError(f"the answer to item {example.case.item.id!r} is a picture; a critic reads words")
