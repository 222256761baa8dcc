"""Dialogues that contestants answer turn by turn, and the verdicts on one turn or on all of them.

A user turn without an assistant turn behind it is open: contestants answer it. An item with several open turns is
answered in sequence, each time with the contestant's own earlier answers. The response has one part per answer. If an
answer has several parts, the response's tag `parts by turn` has their numbers, such as `1 2`.

A verdict on the second answer has the criterion `turn 2`, or `helpfulness, turn 2`. Its case shows the dialogue up to
that turn. Any other criterion is about the whole dialogue. `each turn` stands for `turn 1`, `turn 2` and so on.

References for single turns are one text, each behind the number of its turn: `[turn 1] ...`, a line break, and so on.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from fullbench.core.case import Case
from fullbench.core.item import Item, Part, Turn
from fullbench.core.response import Response
from fullbench.errors import InputError

PARTS_BY_TURN = "parts by turn"
"""Tag of a response with the number of parts of each answer."""
EACH_TURN = "each turn"
OVERALL = "overall"
_TURN = re.compile(r"(?:(?P<base>.+), )?turn (?P<number>[1-9]\d*)$")
_REFERENCE = re.compile(r"^\[turn (\d+)\] ", re.MULTILINE)
_EACH = re.compile(rf"(?:(?P<base>.+), )?{EACH_TURN}$")


def open_turns(item: Item) -> tuple[int, ...]:
    """Return the indices of the user turns that contestants answer."""
    turns = item.turns
    return tuple(
        index
        for index, turn in enumerate(turns)
        if turn.role == "user" and (index + 1 == len(turns) or turns[index + 1].role != "assistant")
    )


def is_dialogue(item: Item) -> bool:
    """Return True if contestants answer the item in several turns."""
    return len(open_turns(item)) > 1


def turns_to_answer(item: Item, answers: Sequence[Sequence[Part]]) -> tuple[Turn, ...]:
    """Return the conversation up to the next open turn, with these answers to earlier ones."""
    places = open_turns(item)
    turns: list[Turn] = []
    for index, turn in enumerate(item.turns):
        turns.append(turn)
        if index in places:
            if places.index(index) == len(answers):
                break
            turns.append(Turn("assistant", tuple(answers[places.index(index)])))
    return tuple(turns)


def dialogue_response(response: Response, answers: Sequence[Sequence[Part]]) -> Response:
    """Return the response with these answers, one for each open turn."""
    tags = {name: value for name, value in response.tags.items() if name != PARTS_BY_TURN}
    if any(len(answer) != 1 for answer in answers):
        tags[PARTS_BY_TURN] = " ".join(str(len(answer)) for answer in answers)
    return replace(response, parts=tuple(part for answer in answers for part in answer), tags=tags)


def answers_by_turn(item: Item, response: Response) -> list[tuple[Part, ...]] | None:
    """Return the answer to each open turn of a dialogue, or None if the response does not say which is which."""
    turn_count = len(open_turns(item))
    counts = [int(count) if count.isdecimal() else -1 for count in response.tags.get(PARTS_BY_TURN, "").split()]
    counts = counts or [1] * len(response.parts)
    if turn_count < 2 or len(counts) != turn_count or sum(counts) != len(response.parts) or min(counts) < 0:
        return None
    return [response.parts[start:end] for start, end in pairwise([0, *accumulate(counts)])]


def join_references(references: Sequence[str]) -> str:
    r"""Return the reference of a dialogue with one for each turn.

    >>> join_references(["Six.", "Eight."]), join_references(["Six."])
    ('[turn 1] Six.\n[turn 2] Eight.', 'Six.')
    """
    if len(references) == 1:
        return references[0]
    return "\n".join(f"[turn {number}] {text}" for number, text in enumerate(references, 1))


def references_by_turn(item: Item) -> list[str]:
    """Return the reference for each turn that contestants answer; empty if the item has one for the whole dialogue."""
    _, *pieces = _REFERENCE.split(item.reference or "")
    numbers, texts = [int(number) for number in pieces[::2]], pieces[1::2]
    turn_count = len(open_turns(item))
    if turn_count < 2 or numbers != list(range(1, turn_count + 1)):
        return []
    return [text.removesuffix("\n") for text in texts]


def turn_criterion(base: str, number: int) -> str:
    """Return the criterion of a verdict on one turn.

    >>> turn_criterion("overall", 2), turn_criterion("accuracy", 1)
    ('turn 2', 'accuracy, turn 1')
    """
    return f"turn {number}" if base == OVERALL else f"{base}, turn {number}"


def split_criterion(criterion: str) -> tuple[str, int | None]:
    """Return a criterion without its turn, and the number of the turn.

    >>> split_criterion("turn 2"), split_criterion("accuracy, turn 1"), split_criterion("turning")
    (('overall', 2), ('accuracy', 1), ('turning', None))
    """
    match = _TURN.match(criterion)
    return (criterion, None) if match is None else (match["base"] or OVERALL, int(match["number"]))


def names_turns(criterion: str) -> bool:
    """Return True for a criterion of verdicts on one turn or on each."""
    return bool(_TURN.match(criterion) or _EACH.match(criterion))


def criteria_of_items(criterion: str, items: Sequence[Item]) -> Iterator[tuple[str, list[Item]]]:
    """Yield the criteria that a requested criterion stands for, each with the items that it is for."""
    each = _EACH.match(criterion)
    if each is not None:
        turn_counts = [max(1, len(open_turns(item))) for item in items]
        for number in range(1, max(turn_counts, default=0) + 1):
            long_enough_items = [item for item, count in zip(items, turn_counts, strict=True) if count >= number]
            yield turn_criterion(each["base"] or OVERALL, number), long_enough_items
        return
    _, turn = split_criterion(criterion)
    yield criterion, [item for item in items if turn is None or max(1, len(open_turns(item))) >= turn]


def check_answers_by_turn(items: Sequence[Item], responses: Sequence[Response]) -> None:
    """Raise `InputError` if a response does not have one answer for each turn of its dialogue."""
    dialogues = {item.id: item for item in items if is_dialogue(item)}
    for response in responses:
        item = dialogues.get(response.item)
        if item is not None and answers_by_turn(item, response) is None:
            turn_count = len(open_turns(item))
            raise InputError(
                f"verdicts on each turn need an answer to each turn: item {item.id!r} has {turn_count} turns to "
                f"answer, and the response of {response.contestant!r} has {len(response.parts)} parts; give `turns`, "
                f"a list of {turn_count} answers"
            )


def case_as_shown(case: Case, *, with_earlier: bool = True) -> Case:
    """Return the case as a judge is shown it, under the same key: up to its turn, if its criterion names one.

    Args:
        case: The case to judge.
        with_earlier: False for a judge that reads the answer alone, such as a metric. It gets the one answer.
    """
    item, responses = content_as_shown(case.item, case.responses, case.criterion, with_earlier=with_earlier)
    if not with_earlier and item is case.item:  # a metric of the whole dialogue reads no numbers of turns
        item = _item_with_plain_reference(item)
    if item is case.item:
        return case
    key = case.key
    same = copy.copy(case)
    # The dataclass is frozen, and its key must stay that of the whole case.
    same.__dict__.update(item=item, responses=responses, key=key)
    return same


def content_as_shown(
    item: Item, responses: Sequence[Response], criterion: str, *, with_earlier: bool = True
) -> tuple[Item, tuple[Response, ...]]:
    """Return the item and the responses up to the turn that the criterion names; unchanged if it names none."""
    _, number = split_criterion(criterion)
    places = open_turns(item)
    answers = [answers_by_turn(item, response) for response in responses]
    if number is None or len(places) < 2 or number > len(places) or None in answers:
        return item, tuple(responses)
    shown_answers = [answer[:number] if with_earlier else answer[number - 1 : number] for answer in answers if answer]
    shown_item = _item_up_to(item, places[number - 1], with_earlier=with_earlier)
    return shown_item, tuple(map(dialogue_response, responses, shown_answers))


def turn_starts(item: Item, response: Response) -> dict[int, int]:
    """Return the turn that each answer of a dialogue is for, by the index of the answer's first part."""
    starts, index = {}, 0
    for number, answer in enumerate(answers_by_turn(item, response) or (), 1):
        starts[index] = number
        index += len(answer)
    return starts


_LAST_ITEMS: dict[tuple[str, int, bool], Item] = {}


def _item_with_plain_reference(item: Item) -> Item:
    references = references_by_turn(item)
    return replace(item, reference="\n".join(references)) if references else item


def _item_up_to(item: Item, place: int, *, with_earlier: bool) -> Item:
    """Consecutive cases get the same object, so that judges build what they share once."""
    key = item.key, place, with_earlier
    if key not in _LAST_ITEMS:
        if len(_LAST_ITEMS) > 256:
            _LAST_ITEMS.clear()
        number, reference = open_turns(item).index(place) + 1, item.reference
        if references := references_by_turn(item):
            reference = join_references(references[:number]) if with_earlier else references[number - 1]
        turns = item.turns[: place + 1]
        earlier_pictures = 0
        if not with_earlier:
            earlier_pictures = sum(len(turn.pictures) for turn in turns[:-1])
            turns = turns[-1:]
        end = earlier_pictures + sum(len(turn.pictures) for turn in turns)
        _LAST_ITEMS[key] = replace(item, turns=turns, reference=reference, captions=item.captions[earlier_pictures:end])
    return _LAST_ITEMS[key]
