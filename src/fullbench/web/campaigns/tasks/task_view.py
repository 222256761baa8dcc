"""View of a task for pages and the API: letters instead of names, picture addresses, no sign of gold tasks.

A template or the API gives the annotator only what is built here. Names of contestants, judges and items are never
included.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.ballot import LETTERS, GradedChoice, Likert, Score, ballot
from fullbench.core.dialogue_turn_answers_and_criteria import content_as_shown, is_dialogue, open_turns, turn_starts
from fullbench.core.item import SENSITIVE, Item, Part, parts_text
from fullbench.core.response import Response
from fullbench.studies.authoring.human_review_of_rewordings_and_references import REASONS as COMPLAINTS
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.tasks.shipped_guidelines_and_scale_anchors import scale_anchors
from fullbench.web.campaigns.tasks.task_content import parts_from_json
from fullbench.web.campaigns.tasks.task_kind_base import FormField, Rules
from fullbench.web.campaigns.tasks.task_kinds import FAULTY, Write
from fullbench.web.campaigns.votes.task_queue import Lease
from fullbench.web.media_serving import can_preview, media_url, preview_url
from fullbench.web.picture_checks_storage_and_serving import picture_url, unveiled_url
from fullbench.web.words import Language

# Two pictures next to each other fill a wide screen; the zoom loads the original.
SMALL = 960


@dataclass(frozen=True)
class Piece:
    """Text, a picture by its addresses, or a video, recording or document.

    `bare` shows a sensitive picture without its veil. `media_kind` is the kind of a file that is no picture, `media`
    its address, and `is_sensitive` says that it is shown only after a click.
    `caption` is the caption to verify, in an interleaved question. `turn` is the number of the turn of a dialogue that
    begins here; 0 if none does.
    """

    text: str = ""
    small: str = ""
    full_size: str = ""
    bare: str = ""
    caption: str = ""
    turn: int = 0
    media_kind: str = ""
    media: str = ""
    poster: str = ""
    is_sensitive: bool = False

    @property
    def is_words(self) -> bool:
        return not self.small and not self.media_kind


@dataclass(frozen=True)
class Candidate:
    """Response with its letter."""

    place: int
    letter: str
    pieces: tuple[Piece, ...]
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
    criterion_rules: str = ""
    """What the criterion means, or the rules of the item's task, in the annotator's language."""
    reference: str = ""
    captions: tuple[str, ...] = ()
    guideline: str = ""
    quick: bool = False
    """Whether choosing sends the vote."""
    form: tuple[FormField, ...] = ()
    """Fields of the vote, with the values that each may have."""
    is_interleaved: bool = False
    """Whether the parts of the question keep their places on the page."""

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
        grades = self.about.get("grades", self.scale)
        meanings = {point.value: point.anchor for point in grades if point.anchor}
        return {
            "lease": self.lease,
            "kind": self.kind,
            "revision": self.revision,
            "turns": [{"role": role, "parts": [_piece_json(piece) for piece in pieces]} for role, pieces in self.turns],
            "responses": [_candidate_json(candidate) for candidate in self.candidates],
            "judged": [_candidate_json(candidate) for candidate in self.about.get("judged", ())],
            "verdict": self.about.get("verdict", ""),
            "form": [field.json(meanings) for field in self.form],
            "scale": [point.value for point in self.scale],
            "anchors": meanings,
            "fields": dict(self.fields),
            "criterion": self.criterion,
            "criterion_rules": self.criterion_rules,
            "reference": self.reference,
            "captions": list(self.captions),
            "texts": list(self.about.get("texts", ())),
            "guideline": self.guideline,
        }


def build_task_view(campaign: Campaign, lease: Lease, language: Language = "en") -> TaskView:
    """Build the view for the person who holds this lease: with their draft if there is one, else the latest answer."""
    guideline = campaign.guideline_text(language)
    content = lease.content
    criterion = str(content.about.get("criterion", campaign.rules.criterion))
    ordered_responses = [content.responses[place] for place in lease.display_order]
    item, responses = content_as_shown(content.item, ordered_responses, criterion)
    captions = item.captions if campaign.kind_name == "verify" else ()
    answer_fields = {} if lease.answer is None else campaign.kind.fields(lease.answer, lease.display_order)
    return TaskView(
        lease.token,
        campaign.kind_name,
        lease.revision,
        tuple(_turn_pieces(item, captions if item.is_interleaved else ())),
        tuple(_candidate_from_response(place, item, response) for place, response in enumerate(responses)),
        add_anchors(ballot_scale(campaign.rules, language), guideline) if campaign.kind.has_scale else (),
        dict(lease.draft) if lease.draft is not None else answer_fields,
        _extra_values(campaign, content.about, guideline)
        | (
            {"pictures": len(item.pictures), "places": max(1, len(item.turns[-1].pictures))}
            if campaign.kind_name == "write"
            else {}
        ),
        criterion,
        campaign.criterion_rules(criterion, item.tags.get("task", ""), language),
        item.reference or "" if campaign.rules.options.get("reference") else "",
        captions,
        campaign.guideline,
        campaign.is_quick,
        tuple(campaign.kind.form_fields(campaign.rules, content)),
        item.is_interleaved,
    )


def add_anchors(points: Sequence[Choice], guideline: str) -> tuple[Choice, ...]:
    """Add the guideline's anchor texts to the points of a scale."""
    words = scale_anchors(guideline, [point.value for point in points])
    return tuple(replace(point, anchor=words.get(point.value, "")) for point in points)


def ballot_scale(rules: Rules, language: Language = "en") -> tuple[Choice, ...]:
    """Return the marks of a campaign's ballot, lowest first, or the levels of a graded choice, each with its key."""
    form = ballot(rules.ballot)
    if isinstance(form, GradedChoice):
        return tuple(
            Choice(form.token(step), form.words(step, language), str(place), arrow="" if step else "ArrowDown")
            for place, step in enumerate(form.steps, 1)
        )
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
    return Candidate(place, LETTERS[place], pieces, parts_text(parts))


def _candidate_from_response(place: int, item: Item, response: Response) -> Candidate:
    candidate = _candidate_from_parts(place, response.parts, response.tags)
    starts = turn_starts(item, response)
    pieces = tuple(replace(piece, turn=starts.get(index, 0)) for index, piece in enumerate(candidate.pieces))
    return replace(candidate, pieces=pieces)


def _turn_pieces(item: Item, captions: Sequence[str]) -> Iterator[tuple[str, tuple[Piece, ...]]]:
    """Yield the turns that judges are shown, with each of the captions in the piece of its picture."""
    remaining_captions = deque(captions)
    first_judged = len(item.turns) - len(item.turns_judged)
    numbers = {index: number for number, index in enumerate(open_turns(item), 1)} if is_dialogue(item) else {}
    for place, turn in enumerate(item.turns):
        pieces = tuple(
            replace(piece, caption=remaining_captions.popleft()) if not piece.is_words and remaining_captions else piece
            for piece in _pieces_from_parts(turn.parts, item.tags)
        )
        if place >= first_judged:
            yield turn.role, tuple(replace(piece, turn=numbers.get(place, 0)) for piece in pieces[:1]) + pieces[1:]


def _pieces_from_parts(parts: Sequence[Part], tags: Mapping[str, str] | None = None) -> tuple[Piece, ...]:
    return tuple(_piece_from_part(part, tags) for part in parts)


def _piece_from_part(part: Part, tags: Mapping[str, str] | None) -> Piece:
    if isinstance(part, str):
        return Piece(text=part)
    if part.kind != "image":
        is_sensitive = bool(tags and tags.get(SENSITIVE))
        address = preview_url(part.digest) if part.kind == "document" else media_url(part.digest)
        poster = preview_url(part.digest) if can_preview(part) and part.kind == "video" else ""
        return Piece(media_kind=part.kind, media=address, poster=poster, is_sensitive=is_sensitive)
    return Piece(
        small=picture_url(part.digest, tags, size=SMALL),
        full_size=picture_url(part.digest, tags),
        bare=unveiled_url(part.digest, tags, size=SMALL),
    )


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    return {"letter": candidate.letter, "parts": [_piece_json(piece) for piece in candidate.pieces]}


def _piece_json(piece: Piece) -> dict[str, str]:
    turn = {"turn": str(piece.turn)} if piece.turn else {}
    if piece.is_words:
        return {"text": piece.text, **turn}
    caption = {"caption": piece.caption} if piece.caption else {}
    if piece.media_kind:
        return {piece.media_kind: piece.media, **caption, **turn}
    return {"picture": piece.full_size, **caption, **turn}
