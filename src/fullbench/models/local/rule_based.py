"""A model that goes by rules: it answers, asks and rules from notes on a picture, and says so where they do not tell.

It is no language model. Questions about how many, whether, what is written, which colours and what is there are
understood; to any other it says what was noted.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Literal

from fullbench.core.ballot import LETTERS
from fullbench.models.prompt_fences import Hearing
from fullbench.models.tools.colour_tool import colours_named
from fullbench.models.tools.detector_words import count_of, counted, labels_named, listed, numbers_in, plural
from fullbench.models.tools.picture_notes import LINES, Notes
from fullbench.models.tools.text_image_fit import Weights, said, shown, words_in

Kind = Literal["count", "whether", "writing", "colours", "things"]
WEIGHTS = Weights(thing=1.0, colour=0.3)
"""What a thing and a colour count beside a word when an answer's understanding is rated."""
MARGIN = 0.05
"""Answers whose worth differs by less than this tie."""
UNKNOWN = "I cannot tell from what I know of the picture."
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("count", re.compile(r"\bhow many\b|\bnumber of\b|多少|几[个只辆张把条位台头匹架艘列]")),
    ("writing", re.compile(
        r"\b(?:words?|written|writing|texts?|letters?|titles?|headline|says?|reads?|spell\w*|caption)\b|写|文字|标题")),
    ("colours", re.compile(r"\bcolou?rs?\b|颜色")),
    ("whether", re.compile(r"^\W*(?:is|are|do|does|can|could|was|were)\b|是否|有没有|吗")),
)  # fmt: skip
_NO = re.compile(r"\b(?:no|not|none|nothing|isn't|aren't|doesn't|don't)\b|没有|不是|否", re.IGNORECASE)
_SAID = re.compile(r"\b(yes|no)\b(?=[,.!;:]|$)", re.IGNORECASE | re.MULTILINE)

Answer = int | bool | tuple[str, ...]
"""So many, whether or not, or lines, colours, kinds of things."""


@dataclass(frozen=True)
class Query:
    """A question understood: what it wants to know, and of which kinds of things."""

    kind: Kind
    labels: tuple[str, ...] = ()


def understand(question: str) -> Query:
    """What a question wants to know; what is not understood is taken for a question about what is there.

    >>> understand("How many people are in the picture?")
    Query(kind='count', labels=('person',))
    >>> understand("What does the sign say?").kind, understand("Tell me more.").kind
    ('writing', 'things')
    """
    labels = tuple(labels_named(question))
    kind: Kind = next((kind for kind, words in _KINDS if words.search(question.lower())), "things")
    needs_labels = kind in {"count", "whether"}
    return Query("things" if needs_labels and not labels else kind, labels)


def solve(query: Query, notes: Notes) -> Answer | None:
    """What the notes say to a question; None where the tool that would know did not look."""
    if query.kind == "writing":
        return None if notes.text is None else notes.text[:LINES]
    if query.kind == "colours":
        return None if notes.colours is None else tuple(notes.main_colours)
    if query.kind == "count":
        return None if notes.objects is None else notes.counts.get(query.labels[0], 0)
    if notes.seen is None:
        return None
    if query.kind == "whether":
        return all(label in notes.seen for label in query.labels)
    return tuple(notes.counts or notes.seen)


def say(query: Query, answer: Answer | None) -> str:
    """An answer as a sentence."""
    if answer is None:
        return UNKNOWN
    if isinstance(answer, bool):
        things = listed([counted(label, 1) for label in query.labels])
        return f"Yes, there is {things}." if answer else f"No, there is not {things}."
    if isinstance(answer, int):
        return f"There {'is' if answer == 1 else 'are'} {counted(query.labels[0], answer)}."
    named = list(answer)
    if query.kind == "writing":
        return "It says: " + "; ".join(f'"{line}"' for line in named) + "." if named else "Nothing is written there."
    if query.kind == "colours":
        return f"The main colours are {listed(named)}." if named else "There is no colour to speak of."
    things = listed([plural(label) if label.endswith("s") else counted(label, 1) for label in named]) if named else ""
    return f"There is {things}." if named else "There is nothing of a kind I know."


def answered(question: str, notes: Notes) -> str:
    """What was noted, and then the answer itself, in a sentence of its own."""
    query = understand(question)
    noted = notes.told()
    return f"{noted}\n{say(query, solve(query, notes))}" if noted else say(query, solve(query, notes))


def asked(notes: Notes, rng: random.Random) -> str:
    """A question whose answer the notes hold; where there are none, the plainest one."""
    questions = [f"How many {plural(label)} are there in the picture?" for label in notes.counts]
    questions += [f"Is there {counted(label, 1)} in the picture?" for label in notes.counts or notes.seen or ()]
    questions += ["What words are written in the picture?"] * min(3, len(notes.text or ()))
    questions += ["Which colours are spread widest in the picture?"] if notes.colours else []
    return rng.choice(questions) if questions else "What things are there in the picture?"


def worth(query: Query, known: Answer, text: str, *, some: bool = False) -> float:
    """From 0 to 1: how far an answer agrees with what is known, which may be `some` of the colours and not all."""
    if query.kind == "count":
        numbers = numbers_in(text)
        count = count_of(text, query.labels[0])
        return float((numbers[-1] if count is None and numbers else count) == known)
    if query.kind == "whether":
        return float(affirmed(query, text) is known)
    truth = set(known) if isinstance(known, tuple) else set()
    if query.kind == "writing":
        read = {word for line in truth for word in words_in(line)}
        return len(read & words_in(text)) / len(read) if read else float(_NO.search(text) is not None)
    named = colours_named(text) if query.kind == "colours" else set(labels_named(text))
    if some and truth:
        return len(truth & named) / len(truth)
    return 2 * len(truth & named) / (len(truth) + len(named)) if truth or named else 1.0


def understanding(notes: Notes, text: str) -> float:
    """From -1 to 1: how much of what was noted a text says, less what it says against the notes.

    What no tool looked for counts neither way.
    """
    there, claims = shown(notes, WEIGHTS), said(text, WEIGHTS)
    looked = {"thing": notes.seen is not None, "colour": notes.colours is not None and not notes.some_colours}
    right = sum(weight for key, weight in there.items() if key in claims)
    wrong = sum(weight for key, weight in claims.items() if looked.get(key[0]) and key not in there)
    return max(-1.0, (right - wrong) / sum(there.values())) if there else 0.0


def affirmed(query: Query, text: str) -> bool | None:
    """Whether a text says that the things asked for are there, by its last yes or no, or by what it says of them.

    >>> query = understand("Is there a dog?")
    >>> [affirmed(query, text) for text in ("Yes, it sits there.", "I see no dog.", "A dog.", "A nice day.")]
    [True, False, True, None]
    """
    if spoken := _SAID.findall(text):
        return str(spoken[-1]).lower() == "yes"
    sentences = re.split(r"(?<=[.!?。！？])\s*|\n", text)
    about = [sentence for sentence in sentences if set(labels_named(sentence)) & set(query.labels)]
    return _NO.search(about[-1]) is None if about else None


def ruled(hearing: Hearing, notes: Notes) -> str:
    """Which answer is better by the notes, as a reply; a tie where they do not tell."""
    query = understand(hearing.question)
    known = solve(query, notes)
    if hearing.by_understanding:
        worths = [understanding(notes, answer) for answer in hearing.answers]
    else:
        some = query.kind == "colours" and notes.some_colours
        worths = [0.0 if known is None else worth(query, known, answer, some=some) for answer in hearing.answers]
    best = max(worths)
    close = [place for place, each in enumerate(worths) if each > best - MARGIN]
    if len(close) > 1:
        return f"By my notes they come to the same.\n\n[[{LETTERS[len(worths)]}]]"
    return f"I compared the answers with my notes.\n\n[[{LETTERS[close[0]]}]]"
