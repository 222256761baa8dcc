"""A rule-based model that answers, writes questions and judges from notes on a picture.

It is not a language model. It understands questions about counts, presence, text, colours and objects; to any other
it replies with the notes. If the notes do not suffice, it says so.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Literal

from fullbench.core.ballot import LETTERS
from fullbench.models.response_fences_and_parser import JudgingRequest
from fullbench.models.tools.colour_words_and_picture_shares import colours_named
from fullbench.models.tools.detector_words import (
    count_of,
    count_phrase,
    join_words,
    labels_named,
    numbers_in,
    plural_form,
)
from fullbench.models.tools.picture_notes_and_their_wording import MAX_LINES, Notes
from fullbench.models.tools.text_image_fit_from_notes import Weights, picture_bag, text_bag, words_in

Kind = Literal["count", "whether", "writing", "colours", "things"]
WEIGHTS = Weights(thing=1.0, colour=0.3)
"""Weights of a thing and a colour relative to a word, for scores of understanding."""
MARGIN = 0.05
"""Answers whose worths differ by less than this tie."""
UNKNOWN = "I cannot tell from what I know of the picture."
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("count", re.compile(r"\bhow many\b|\bnumber of\b|多少|几[个只辆张把条位台头匹架艘列]")),
    ("writing", re.compile(
        r"\b(?:words?|written|writing|texts?|letters?|titles?|headline|says?|reads?|spell\w*|caption)\b|写|文字|标题")),
    ("colours", re.compile(r"\bcolou?rs?\b|颜色")),
    ("whether", re.compile(r"^\W*(?:is|are|do|does|can|could|was|were)\b|是否|有没有|吗")),
)  # fmt: skip
_NO = re.compile(r"\b(?:no|not|none|nothing|isn't|aren't|doesn't|don't)\b|没有|不是|否", re.IGNORECASE)
_YES_OR_NO = re.compile(r"\b(yes|no)\b(?=[,.!;:]|$)", re.IGNORECASE | re.MULTILINE)

Answer = int | bool | tuple[str, ...]
"""A count, yes or no, or lines, colours, kinds of things."""


@dataclass(frozen=True)
class Query:
    """A parsed question: what it is about, and which kinds of objects."""

    kind: Kind
    labels: tuple[str, ...] = ()


def parse_question(question: str) -> Query:
    """Parse a question; one that is not understood counts as a question about objects.

    >>> parse_question("How many people are in the picture?")
    Query(kind='count', labels=('person',))
    >>> parse_question("What does the sign say?").kind, parse_question("Tell me more.").kind
    ('writing', 'things')
    """
    labels = tuple(labels_named(question))
    kind: Kind = next((kind for kind, words in _KINDS if words.search(question.lower())), "things")
    needs_labels = kind in {"count", "whether"}
    return Query("things" if needs_labels and not labels else kind, labels)


def answer_from_notes(query: Query, notes: Notes) -> Answer | None:
    """Return the notes' answer to a question, or None if the tool for it did not run."""
    if query.kind == "writing":
        return None if notes.text is None else notes.text[:MAX_LINES]
    if query.kind == "colours":
        return None if notes.colours is None else tuple(notes.main_colours)
    if query.kind == "count":
        return None if notes.objects is None else notes.counts.get(query.labels[0], 0)
    if notes.confidence_by_kind is None:
        return None
    if query.kind == "whether":
        return all(label in notes.confidence_by_kind for label in query.labels)
    return tuple(notes.counts or notes.confidence_by_kind)


def phrase_answer(query: Query, answer: Answer | None) -> str:
    """Return an answer as a sentence."""
    if answer is None:
        return UNKNOWN
    if isinstance(answer, bool):
        things = join_words([count_phrase(label, 1) for label in query.labels])
        return f"Yes, there is {things}." if answer else f"No, there is not {things}."
    if isinstance(answer, int):
        return f"There {'is' if answer == 1 else 'are'} {count_phrase(query.labels[0], answer)}."
    entries = list(answer)
    if query.kind == "writing":
        return (
            "It says: " + "; ".join(f'"{line}"' for line in entries) + "." if entries else "Nothing is written there."
        )
    if query.kind == "colours":
        return f"The main colours are {join_words(entries)}." if entries else "There is no colour to speak of."
    things = (
        join_words([plural_form(label) if label.endswith("s") else count_phrase(label, 1) for label in entries])
        if entries
        else ""
    )
    return f"There is {things}." if entries else "There is nothing of a kind I know."


def answer_question(question: str, notes: Notes) -> str:
    """Return the notes, followed by the answer in its own sentence."""
    query = parse_question(question)
    notes_text = notes.to_text()
    return (
        f"{notes_text}\n{phrase_answer(query, answer_from_notes(query, notes))}"
        if notes_text
        else phrase_answer(query, answer_from_notes(query, notes))
    )


def pose_question(notes: Notes, rng: random.Random) -> str:
    """Return a question that the notes can answer, or the plainest one if there are no notes."""
    questions = [f"How many {plural_form(label)} are there in the picture?" for label in notes.counts]
    questions += [
        f"Is there {count_phrase(label, 1)} in the picture?" for label in notes.counts or notes.confidence_by_kind or ()
    ]
    questions += ["What words are written in the picture?"] * min(3, len(notes.text or ()))
    questions += ["Which colours are spread widest in the picture?"] if notes.colours else []
    return rng.choice(questions) if questions else "What things are there in the picture?"


def score_answer(query: Query, known_answer: Answer, text: str, *, is_partial: bool = False) -> float:
    """Score from 0 to 1 how far an answer agrees with the known one; `is_partial` if that lists only some colours."""
    if query.kind == "count":
        numbers = numbers_in(text)
        count = count_of(text, query.labels[0])
        return float((numbers[-1] if count is None and numbers else count) == known_answer)
    if query.kind == "whether":
        return float(affirms_presence(query, text) is known_answer)
    truth = set(known_answer) if isinstance(known_answer, tuple) else set()
    if query.kind == "writing":
        true_words = {word for line in truth for word in words_in(line)}
        return len(true_words & words_in(text)) / len(true_words) if true_words else float(_NO.search(text) is not None)
    mentions = colours_named(text) if query.kind == "colours" else set(labels_named(text))
    if is_partial and truth:
        return len(truth & mentions) / len(truth)
    return 2 * len(truth & mentions) / (len(truth) + len(mentions)) if truth or mentions else 1.0


def score_understanding(notes: Notes, text: str) -> float:
    """Score (-1 to 1) how much of the notes a text contains minus contradictions; unexamined topics do not count."""
    picture_weights, claims = picture_bag(notes, WEIGHTS), text_bag(text, WEIGHTS)
    checked_kinds = {
        "thing": notes.confidence_by_kind is not None,
        "colour": notes.colours is not None and not notes.some_colours,
    }
    right = sum(weight for key, weight in picture_weights.items() if key in claims)
    wrong = sum(weight for key, weight in claims.items() if checked_kinds.get(key[0]) and key not in picture_weights)
    return max(-1.0, (right - wrong) / sum(picture_weights.values())) if picture_weights else 0.0


def affirms_presence(query: Query, text: str) -> bool | None:
    """Return True if a text claims that the things are present: by its last yes or no, else by what it mentions.

    >>> query = parse_question("Is there a dog?")
    >>> [affirms_presence(query, text) for text in ("Yes, it sits there.", "I see no dog.", "A dog.", "A nice day.")]
    [True, False, True, None]
    """
    if yes_or_no_words := _YES_OR_NO.findall(text):
        return str(yes_or_no_words[-1]).lower() == "yes"
    sentences = re.split(r"(?<=[.!?。！？])\s*|\n", text)
    relevant_sentences = [sentence for sentence in sentences if set(labels_named(sentence)) & set(query.labels)]
    return _NO.search(relevant_sentences[-1]) is None if relevant_sentences else None


def judge_answers(judging_request: JudgingRequest, notes: Notes) -> str:
    """Return a reply that names the better answer according to the notes, or a tie if they do not tell."""
    query = parse_question(judging_request.question)
    known_answer = answer_from_notes(query, notes)
    if judging_request.by_understanding:
        worths = [score_understanding(notes, answer) for answer in judging_request.answers]
    else:
        is_partial = query.kind == "colours" and notes.some_colours
        worths = [
            0.0 if known_answer is None else score_answer(query, known_answer, answer, is_partial=is_partial)
            for answer in judging_request.answers
        ]
    best = max(worths)
    close = [place for place, score in enumerate(worths) if score > best - MARGIN]
    if len(close) > 1:
        return f"By my notes they come to the same.\n\n[[{LETTERS[len(worths)]}]]"
    return f"I compared the answers with my notes.\n\n[[{LETTERS[close[0]]}]]"
