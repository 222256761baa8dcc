"""Counts of data that a campaign leaves out, taken at creation and shown with the campaign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from fullbench.core.item import Item
from fullbench.core.response import Response, split_refused_drawings
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.studies.run.study_items_responses_and_labels import is_unverified
from fullbench.web.campaigns.campaigns import Campaign

OPTION = "omitted"


@dataclass(frozen=True)
class OmittedCounts:
    """Counts of omitted data.

    They are: `unverified` of `items`, requests for questions, pairs without an information gain, people's own votes in
    a review of judges' verdicts, verdicts on other criteria, verdicts whose text is only numbers (`bare`), unusable
    verdicts, refused drawings, and tasks over a limit. Of a random draw they are the tasks `drawn` of `drawn_of`, and
    the seed.
    """

    items: int = 0
    unverified: int = 0
    requests: int = 0
    pairs: int = 0
    over_limit: int = 0
    votes: int = 0
    other_criteria: int = 0
    bare: int = 0
    unusable: int = 0
    drawn: int = 0
    drawn_of: int = 0
    seed: int = 0
    drawings: int = 0

    @property
    def option(self) -> dict[str, dict[str, int]]:
        """Return the counts as an option of the campaign."""
        return {OPTION: asdict(self)}

    def notes(self) -> list[Note]:
        """Return a sentence for each kind of omitted data."""
        counted_notes = (
            (self.unverified, Note("web.people.omitted.unverified", n=self.unverified, items=self.items)),
            (self.requests, Note("web.people.omitted.requests", n=self.requests)),
            (self.drawings, Note("web.people.omitted.drawings", n=self.drawings)),
            (self.pairs, Note("web.people.omitted.pairs", n=self.pairs)),
            (self.votes, Note("web.people.omitted.votes", n=self.votes)),
            (self.other_criteria, Note("web.people.omitted.criteria", n=self.other_criteria)),
            (self.bare, Note("web.people.omitted.bare", n=self.bare)),
            (self.unusable, Note("web.people.omitted.unusable", n=self.unusable)),
            (self.over_limit, Note("web.people.omitted.limit", n=self.over_limit)),
            (
                self.drawn,
                Note(
                    "web.people.omitted.drawn",
                    n=self.drawn,
                    all=self.drawn_of,
                    seed=self.seed,
                    chance=self.drawn / max(1, self.drawn_of),
                ),
            ),
        )
        return [note for count, note in counted_notes if count]


def omitted_counts_of(campaign: Campaign) -> OmittedCounts:
    """Return the counts of a campaign; all zero if it was created before they were recorded."""
    counts: Mapping[str, Any] = campaign.rules.options.get(OPTION) or {}
    return OmittedCounts(**{field.name: int(counts.get(field.name, 0)) for field in fields(OmittedCounts)})


def select_items_to_judge(
    kind: str, items: Iterable[Item], answers: Iterable[Response], *, include_unverified: bool
) -> tuple[list[Item], list[Response], OmittedCounts]:
    """Return the items to judge, the answers to them, and counts of what was left out.

    Refused drawings are always left out. Unverified items can be verified or written after, but they are judged only
    with `include_unverified`.
    """
    every = list(items)
    every_answer, drawings = split_refused_drawings(answers)
    if include_unverified or kind in {"verify", "write"}:
        return every, every_answer, OmittedCounts(len(every), drawings=len(drawings))
    items_to_judge = [item for item in every if not is_unverified(item)]
    if every and not items_to_judge:
        raise InputError(Note("web.wrong.no-item-is-verified", n=len(every)))
    names = {item.id for item in items_to_judge}
    kept_answers = [answer for answer in every_answer if answer.item in names]
    return (
        items_to_judge,
        kept_answers,
        OmittedCounts(len(every), len(every) - len(items_to_judge), drawings=len(drawings)),
    )
