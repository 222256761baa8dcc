"""Answers that people scored: read from files or a record, checked, split and shuffled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fullbench.analysis.scored_answer_split_for_critic_training import INTERNAL, split_responses
from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items, read_responses, read_verdicts
from fullbench.training.critic.data.prompt_settings import PromptSettings

SPLITS = ("train", "internal", "external")


def _say_nothing(_sentence: str) -> None:
    """Default of `say`."""


@dataclass(frozen=True)
class ScoredAnswer:
    """One answer with one person's score, the reason if there is one, and the `split` that it belongs to."""

    case: Case
    mark: float
    reason: str
    split: str


def record_from_files(items: Path, responses: Path, labels: Path, *, people: str, ballot: str) -> Record:
    """Build a record from files of items, responses and labels."""
    items_by_id = {item.id: item for item in read_items(items)}
    answers = {
        (response.item, response.contestant): response for response in read_responses(responses, items=set(items_by_id))
    }
    return Record(tuple(read_verdicts(labels, judge=people, ballot=ballot)), items_by_id, answers)


def build_scored_answers(
    record: Record,
    asking: PromptSettings,
    *,
    people: str = "human",
    criteria: Collection[str] = (),
    external: Collection[str] = (),
    share: float = INTERNAL,
    seed: int = 0,
    say: Callable[[str], None] = _say_nothing,
) -> list[ScoredAnswer]:
    """Return people's scores as shuffled examples with their splits.

    Every vote is an example; scores without any text are left out. So are scores of responses that are not at hand, as
    when a file of responses was shortened; `say` gets their number. A case that the critic could not judge (no
    reference although it is shown) is an error, because training on prompts that never occur in judging is useless.

    Args:
        record: Items, responses and people's scores.
        asking: Settings of the critic's prompt.
        people: Name under which people's scores are stored.
        criteria: Only scores by these; empty for all.
        external: Contestants that are held out entirely.
        share: Share of the items of each category that is held out, with all answers to an item and all its wordings
            together. Responses with the tag `split` keep it.
        seed: Seed of the order and the splits.
        say: Called with a sentence on scores that are left out.
    """
    every = _select_labels(record, asking.ballot, people, criteria)
    labels = [label for label in every if _is_at_hand(record, label) and not has_no_words(record, label)]
    if missing := [label for label in every if not _is_at_hand(record, label)]:
        _report_missing(record, missing, len(every), say)
    responses = _labelled_responses(record, labels)
    if not any("split" in response.tags for response in responses):
        responses = split_responses(responses, record.items, external=external, share=share, seed=seed)
    tags = {
        (response.item, response.contestant, response.sample): response.tags.get("split", "train")
        for response in responses
    }
    examples = [_build_example(record, verdict, asking, tags) for verdict in labels]
    _check_examples(examples, asking)
    return sorted(examples, key=lambda example: digest([seed, example.case.key, example.mark, example.reason]))


def has_no_words(record: Record, verdict: Verdict) -> bool:
    """True if neither question nor answer has text: such a score teaches nothing."""
    item, response = record.items.get(verdict.item), record.responses.get((verdict.item, *verdict.shown_responses[0]))
    return item is not None and response is not None and not (item.question.strip() or response.text.strip())


def tag_splits(record: Record, examples: Iterable[ScoredAnswer]) -> Record:
    """Return the record with the split of every scored response as its tag, which the tables need."""
    tags = {
        (example.case.item.id, example.case.contestants[0], example.case.responses[0].sample): example.split
        for example in examples
    }
    responses = {
        response_key: replace(response, tags={**response.tags, "split": tags[response_key]})
        if response_key in tags
        else response
        for response_key, response in record.responses.items()
    }
    return Record(record.verdicts, record.items, responses)


def _select_labels(record: Record, spec: str, people: str, criteria: Collection[str]) -> list[Verdict]:
    people_verdicts = record.where(lambda verdict: not criteria or verdict.criterion in criteria, judge=people)
    labels = [
        verdict
        for verdict in people_verdicts
        if verdict.ballot == spec and verdict.marks is not None and len(verdict.contestants) == 1
    ]
    if not labels:
        ballots = Counter(verdict.ballot for verdict in people_verdicts)
        ballots_text = ", ".join(f"{count} on {name}" for name, count in ballots.most_common()) or "none"
        raise InputError(
            f"no answer has a score of {people!r} on the ballot {spec}; found {ballots_text}; add --ballot"
        )
    return labels


def _is_at_hand(record: Record, verdict: Verdict) -> bool:
    return verdict.item in record.items and (verdict.item, *verdict.shown_responses[0]) in record.responses


def _report_missing(record: Record, missing: Sequence[Verdict], total: int, say: Callable[[str], None]) -> None:
    """Say how many scores have no response; raise `InputError` if none has."""
    first = missing[0]
    what = "response" if first.item in record.items else "item"
    sentence = (
        f"{len(missing):,} of {total:,} scores are about responses that are not at hand; the first is of "
        f"{first.contestants[0]!r} on item {first.item!r}, by {first.criterion!r}, whose {what} is missing"
    )
    if len(missing) == total:
        raise InputError(f"{sentence}; add the {what}s, or choose the criteria to learn from with --criterion")
    say(f"Left out: {sentence}.")


def _labelled_responses(record: Record, labels: Sequence[Verdict]) -> list[Response]:
    keys = {(verdict.item, *verdict.shown_responses[0]): None for verdict in labels}
    return [record.responses[response_key] for response_key in keys]


def _build_example(
    record: Record, verdict: Verdict, asking: PromptSettings, tags: dict[tuple[str, str, int], str]
) -> ScoredAnswer:
    response_key = (verdict.item, *verdict.shown_responses[0])
    response = record.responses[response_key]
    case = Case(record.items[verdict.item], (response,), asking.scale, verdict.criterion)
    marks = verdict.marks or ()
    if not asking.scale.allows(marks):
        raise InputError(
            f"the score {marks[0]:g} of {response_key[1]!r} on item {response_key[0]!r} is not one of {asking.ballot}"
        )
    if tags[response_key] not in SPLITS:
        raise InputError(
            f"the tag split is one of {', '.join(SPLITS)}; found {tags[response_key]!r} on item {response_key[0]!r}"
        )
    return ScoredAnswer(case, marks[0], verdict.text.strip(), tags[response_key])


def _check_examples(examples: Sequence[ScoredAnswer], asking: PromptSettings) -> None:
    if asking.mode == "analyze" and (reasonless_count := sum(not example.reason for example in examples)):
        raise InputError(
            f"{reasonless_count} of {len(examples)} scores have no reason in 'text', which the mode 'analyze' learns "
            f"to write; use the mode 'direct'"
        )
    for example in examples:
        if asking.reference and not example.case.item.reference:
            raise InputError(
                f"item {example.case.item.id!r} has no reference, which the prompt needs; add --prompt-style plain "
                f"--no-reference"
            )
        if example.case.responses[0].pictures:
            raise InputError(f"the answer to item {example.case.item.id!r} is a picture, but a critic reads only text")
