"""View of a task for pages and the API: letters instead of names, picture addresses, no sign of gold tasks.

A template or the API gives the annotator only what is built here. Names of contestants, judges and items are never
included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.ballot import LETTERS, Likert, Score, ballot
from fullbench.core.item import Part, parts_text
from fullbench.studies.authoring.rewording_and_reference_review import REASONS as COMPLAINTS
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.tasks.guidelines import scale_anchors
from fullbench.web.campaigns.tasks.task_content import parts_from_json
from fullbench.web.campaigns.tasks.task_kind_base import Rules
from fullbench.web.campaigns.tasks.task_kinds import FAULTY, Write
from fullbench.web.campaigns.votes.task_queue import Lease
from fullbench.web.picture_serving import picture_url, unveiled_url
from fullbench.web.words import Language

SMALL = 960


@dataclass(frozen=True)
class Piece:
    """Text, or a picture by its addresses; `bare` shows a sensitive picture without its veil."""

    text: str = ""
    small: str = ""
    full_size: str = ""
    bare: str = ""


@dataclass(frozen=True)
class Candidate:
    """Response with its letter."""

    place: int
    letter: str
    pieces: tuple[Piece, ...]
    has_picture: bool
    text: str


@dataclass(frozen=True)
class Choice:
    """Option of a question and the key that selects it."""

    value: str
    words: str
    key: str
    anchor: str = ""
    """Guideline text for this point of a scale."""
    arrow: str = ""


@dataclass(frozen=True)
class TaskView:
    """Everything that a task's page shows."""

    lease: str
    kind: str
    revision: int
    turns: tuple[tuple[str, tuple[Piece, ...]], ...]
    candidates: tuple[Candidate, ...]
    scale: tuple[Choice, ...]
    fields: Mapping[str, str]
    about: Mapping[str, Any]
    criterion: str = ""
    reference: str = ""
    captions: tuple[str, ...] = ()
    guideline: str = ""
    quick: bool = False
    """Whether choosing sends the vote."""

    @property
    def pictures(self) -> list[str]:
        """Addresses of all pictures, for preloading."""
        judged_pieces = [response.pieces for response in self.about.get("judged", ())]
        pieces = [
            *(pieces for _, pieces in self.turns),
            *(candidate.pieces for candidate in self.candidates),
            *judged_pieces,
        ]
        return list(dict.fromkeys(piece.small for group in pieces for piece in group if piece.small))

    def json(self) -> dict[str, Any]:
        """Return the view as JSON for the API."""
        return {
            "lease": self.lease,
            "kind": self.kind,
            "revision": self.revision,
            "turns": [{"role": role, "parts": [_piece_json(piece) for piece in pieces]} for role, pieces in self.turns],
            "responses": [
                {"letter": candidate.letter, "parts": [_piece_json(p) for p in candidate.pieces]}
                for candidate in self.candidates
            ],
            "scale": [point.value for point in self.scale],
            "anchors": {point.value: point.anchor for point in self.scale if point.anchor},
            "fields": dict(self.fields),
            "criterion": self.criterion,
            "reference": self.reference,
            "captions": list(self.captions),
            "texts": list(self.about.get("texts", ())),
            "guideline": self.guideline,
        }


def build_task_view(campaign: Campaign, lease: Lease, language: Language = "en") -> TaskView:
    """Build the view for the person who holds this lease: with their draft if there is one, else the latest answer."""
    guideline = campaign.guideline_text(language)
    responses = [lease.content.responses[place] for place in lease.display_order]
    content = lease.content
    item = content.item
    answer_fields = {} if lease.answer is None else campaign.kind.fields(lease.answer, lease.display_order)
    return TaskView(
        lease.token,
        campaign.kind_name,
        lease.revision,
        tuple((turn.role, _pieces_from_parts(turn.parts, item.tags)) for turn in item.turns_judged),
        tuple(_candidate_from_parts(place, response.parts, response.tags) for place, response in enumerate(responses)),
        add_anchors(ballot_scale(campaign.rules), guideline),
        dict(lease.draft) if lease.draft is not None else answer_fields,
        _extra_values(campaign, content.about, guideline)
        | (
            {"pictures": len(item.pictures), "places": max(1, len(item.turns[-1].pictures))}
            if campaign.kind_name == "write"
            else {}
        ),
        str(content.about.get("criterion", campaign.rules.criterion)),
        item.reference or "" if campaign.rules.options.get("reference") else "",
        item.captions if campaign.kind_name == "verify" else (),
        campaign.guideline,
        campaign.is_quick,
    )


def add_anchors(points: Sequence[Choice], guideline: str) -> tuple[Choice, ...]:
    """Add the guideline's anchor texts to the points of a scale."""
    words = scale_anchors(guideline, [point.value for point in points])
    return tuple(replace(point, anchor=words.get(point.value, "")) for point in points)


def ballot_scale(rules: Rules) -> tuple[Choice, ...]:
    """Return the marks of a campaign's ballot, lowest first, each with its key."""
    form = ballot(rules.ballot)
    if isinstance(form, Score):
        return tuple(_mark_choice(mark, str(mark), mark - form.low) for mark in range(form.low, form.high + 1))
    if isinstance(form, Likert):
        return tuple(_mark_choice(place + 1, word, place) for place, word in enumerate(form.words))
    return ()


def _mark_choice(mark: int, words: str, place: int) -> Choice:
    # The key 0 gives the mark 10.
    key = str(mark % 10) if 1 <= mark <= 10 else str(place + 1) if place < 9 else ""
    return Choice(str(mark), words, key)


def _extra_values(campaign: Campaign, about: Mapping[str, Any], guideline: str) -> dict[str, Any]:
    if campaign.kind_name == "agree":
        judged_candidates = [
            _candidate_from_parts(place, parts_from_json(parts)) for place, parts in enumerate(about.get("judged", ()))
        ]
        grades = add_anchors([_mark_choice(mark, str(mark), mark - 1) for mark in range(1, 6)], guideline)
        return {"judged": judged_candidates, "verdict": about.get("verdict", ""), "grades": grades}
    if campaign.kind_name == "write":
        ask_names = (*Write.texts, Write.brings)
        return {"texts": [name for name in ask_names if name in campaign.rules.options.get("texts", Write.usual)],
                "family": about.get("family", "")}  # fmt: skip
    if campaign.kind_name == "verify":
        return {"faulty": FAULTY, "complaints": tuple(COMPLAINTS)}
    return {}


def _candidate_from_parts(place: int, parts: Sequence[Part], tags: Mapping[str, str] | None = None) -> Candidate:
    pieces = _pieces_from_parts(parts, tags)
    return Candidate(place, LETTERS[place], pieces, any(piece.small for piece in pieces), parts_text(parts))


def _pieces_from_parts(parts: Sequence[Part], tags: Mapping[str, str] | None = None) -> tuple[Piece, ...]:
    return tuple(
        Piece(text=part)
        if isinstance(part, str)
        else Piece(
            small=picture_url(part.digest, tags, size=SMALL),
            full_size=picture_url(part.digest, tags),
            bare=unveiled_url(part.digest, tags, size=SMALL),
        )
        for part in parts
    )


def _piece_json(piece: Piece) -> dict[str, str]:
    return {"text": piece.text} if piece.text or not piece.full_size else {"picture": piece.full_size}
