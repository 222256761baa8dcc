"""A task as a page shows it: letters instead of names, pictures by address, nothing that tells gold from work.

What is built here is all that a template or the API gives to the person at work: contestants', judges' and items'
names never enter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.ballot import LETTERS, Likert, Score, ballot
from fullbench.core.item import Part, parts_text
from fullbench.studies.authoring.reworded_questions import REASONS as COMPLAINTS
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.tasks.guidelines import anchors
from fullbench.web.campaigns.tasks.task_content import parts_of
from fullbench.web.campaigns.tasks.task_kind_base import Rules
from fullbench.web.campaigns.tasks.task_kinds import FAULTY, Write
from fullbench.web.campaigns.votes.task_queue import Lease
from fullbench.web.picture_serving import bare_url, picture_url
from fullbench.web.words import Language

SMALL = 960


@dataclass(frozen=True)
class Piece:
    """A text, or a picture by its addresses; `bare` leads to a sensitive picture without its veil."""

    text: str = ""
    small: str = ""
    whole: str = ""
    bare: str = ""


@dataclass(frozen=True)
class Candidate:
    """One response under its letter."""

    place: int
    letter: str
    pieces: tuple[Piece, ...]
    pictured: bool
    text: str


@dataclass(frozen=True)
class Choice:
    """One option of a question and the key that chooses it."""

    value: str
    words: str
    key: str
    anchor: str = ""
    """What the guideline says of this point of a scale."""
    arrow: str = ""


@dataclass(frozen=True)
class Shown:
    """All that a task's page shows."""

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
        """The addresses of all pictures, to be loaded ahead."""
        judged = [response.pieces for response in self.about.get("judged", ())]
        pieces = [*(pieces for _, pieces in self.turns), *(candidate.pieces for candidate in self.candidates), *judged]
        return list(dict.fromkeys(piece.small for group in pieces for piece in group if piece.small))

    def json(self) -> dict[str, Any]:
        """The same for the API."""
        return {
            "lease": self.lease,
            "kind": self.kind,
            "revision": self.revision,
            "turns": [{"role": role, "parts": [_plain(piece) for piece in pieces]} for role, pieces in self.turns],
            "responses": [
                {"letter": candidate.letter, "parts": [_plain(p) for p in candidate.pieces]}
                for candidate in self.candidates
            ],
            "scale": [point.value for point in self.scale],
            "anchors": {point.value: point.anchor for point in self.scale if point.anchor},
            "fields": dict(self.fields),
            "criterion": self.criterion,
            "reference": self.reference,
            "captions": list(self.captions),
            "asks": list(self.about.get("asks", ())),
            "guideline": self.guideline,
        }


def show(study: Study, lease: Lease, language: Language = "en") -> Shown:
    """What the person who holds this lease sees: a draft where there is one, else the answer that counts."""
    guideline = study.told(language)
    content = lease.content.ordered(lease.shown)
    item = content.item
    answered = {} if lease.answer is None else study.kind.fields(lease.answer, lease.shown)
    return Shown(
        lease.token,
        study.kind_name,
        lease.revision,
        tuple((turn.role, _pieces(turn.parts, item.tags)) for turn in item.turns_judged),
        tuple(_candidate(place, response.parts, response.tags) for place, response in enumerate(content.responses)),
        anchored(scale(study.rules), guideline),
        dict(lease.draft) if lease.draft is not None else answered,
        _about(study, content.about, guideline)
        | (
            {"pictures": len(item.pictures), "places": max(1, len(item.turns[-1].pictures))}
            if study.kind_name == "write"
            else {}
        ),
        str(content.about.get("criterion", study.rules.criterion)),
        item.reference or "" if study.rules.options.get("reference") else "",
        item.captions if study.kind_name == "verify" else (),
        study.guideline,
        study.is_quick,
    )


def anchored(points: Sequence[Choice], told: str) -> tuple[Choice, ...]:
    """The points of a scale with what the guideline says of each."""
    words = anchors(told, [point.value for point in points])
    return tuple(replace(point, anchor=words.get(point.value, "")) for point in points)


def scale(rules: Rules) -> tuple[Choice, ...]:
    """The marks of a study's ballot, lowest first, with the digit that gives each."""
    form = ballot(rules.ballot)
    if isinstance(form, Score):
        return tuple(_mark(mark, str(mark), mark - form.low) for mark in range(form.low, form.high + 1))
    if isinstance(form, Likert):
        return tuple(_mark(place + 1, word, place) for place, word in enumerate(form.words))
    return ()


def _mark(mark: int, words: str, place: int) -> Choice:
    key = str(mark % 10) if 1 <= mark <= 10 else str(place + 1) if place < 9 else ""
    return Choice(str(mark), words, key)


def _about(study: Study, about: Mapping[str, Any], guideline: str) -> dict[str, Any]:
    """What a kind shows besides the item and the responses."""
    if study.kind_name == "agree":
        judged = [_candidate(place, parts_of(parts)) for place, parts in enumerate(about.get("judged", ()))]
        grades = anchored([_mark(mark, str(mark), mark - 1) for mark in range(1, 6)], guideline)
        return {"judged": judged, "ruling": about.get("ruling", ""), "grades": grades}
    if study.kind_name == "write":
        known = (*Write.asks, Write.brings)
        return {"asks": [name for name in known if name in study.rules.options.get("asks", Write.usual)],
                "family": about.get("family", "")}  # fmt: skip
    if study.kind_name == "verify":
        return {"faulty": FAULTY, "complaints": tuple(COMPLAINTS)}
    return {}


def _candidate(place: int, parts: Sequence[Part], tags: Mapping[str, str] | None = None) -> Candidate:
    pieces = _pieces(parts, tags)
    return Candidate(place, LETTERS[place], pieces, any(piece.small for piece in pieces), parts_text(parts))


def _pieces(parts: Sequence[Part], tags: Mapping[str, str] | None = None) -> tuple[Piece, ...]:
    return tuple(
        Piece(text=part)
        if isinstance(part, str)
        else Piece(
            small=picture_url(part.digest, tags, size=SMALL),
            whole=picture_url(part.digest, tags),
            bare=bare_url(part.digest, tags, size=SMALL),
        )
        for part in parts
    )


def _plain(piece: Piece) -> dict[str, str]:
    return {"text": piece.text} if piece.text or not piece.whole else {"picture": piece.whole}
