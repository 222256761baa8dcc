"""What a set of instructions asks for, and what its pictures show (the paper's Figures 10 and 9)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table

OBJECTS = "objects"
"""The tag that names what a detector found in an item's pictures, with commas between; a name may come again."""
VERBS = 20
NOUNS = 4


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_REQUESTS = _listed(
    "add analyse analyze answer arrange ask assess build calculate caption categorise categorize change check "
    "choose classify come compare complete compose compute connect consider convert count create critique decide "
    "define demonstrate depict describe design detail determine develop devise differentiate discuss draft draw "
    "elaborate estimate evaluate examine explain express fill find fix formulate generate give guess help "
    "highlight identify illustrate imagine indicate infer interpret invent judge justify label list locate make "
    "match mention name narrate offer order organise organize outline plan point predict prepare pretend produce "
    "propose provide rank rate read recognise recognize recommend recount rephrase reply report respond rewrite "
    "say select share show simulate solve sort specify speculate spot state suggest summarise summarize teach "
    "tell think transcribe translate use verify visualise visualize write"
)
"""Verbs with which a request begins; a list, for no parser of English ships with us."""
_BEFORE_NOUN = _listed(
    "a all an any both each every few five four her his in into its many me more most my one our out several "
    "short simple some the their them these this those three to two up us what whether which your"
)
_AFTER_NOUN = _listed(
    "about after and are as at based because before between but by during for from given had has have how if in "
    "inside into is it like of on or so than that then there through to under using was were what when where "
    "which who why with within would you"
)
_OPENERS = _listed("also can could finally first just kindly next now please then will would you")
_MOST_BETWEEN = 3


def tables(items: Iterable[Item]) -> list[Table]:
    """Both figures, as far as there is something to draw."""
    listed = list(items)
    return [table for table in (requests(listed), objects(listed)) if table.rows]


def requests(items: Iterable[Item]) -> Table:
    """The commonest verbs of request, and of each the commonest things that are requested.

    A sentence that begins with a verb of a list, after words of courtesy, is a request for the noun that follows.
    """
    wanted: dict[str, Counter[str]] = defaultdict(Counter)
    others = 0
    for item in items:
        found = [pair for sentence in _sentences(item) if (pair := verb_and_noun(sentence))]
        others += not found
        for verb, noun in found:
            wanted[verb][noun] += 1
    totals = {verb: nouns.total() for verb, nouns in wanted.items()}
    common = sorted(totals, key=lambda verb: (-totals[verb], verb))
    rows: list[list[Cell]] = [
        [f"{verb} {noun}", count, verb, totals[verb]]
        for verb in common[:VERBS]
        for noun, count in sorted(wanted[verb].items(), key=lambda entry: (-entry[1], entry[0]))[:NOUNS]
        if noun
    ]
    notes = [
        Note(
            "visit-bench.contents.requests",
            "{n:,} verbs in all, {verbs} shown with at most {nouns} nouns each; {others:,} items hold no sentence that "
            "begins with a verb of our list of {known} (questions, other languages).",
            n=len(totals),
            verbs=min(len(totals), VERBS),
            nouns=NOUNS,
            others=others,
            known=len(_REQUESTS),
        )
    ]
    title = Note("visit-bench.contents.title.requests", "What the instructions ask for")
    hint = {"kind": "bars", "label": "verb and noun", "value": "requests"}
    return Table(
        "requests",
        title,
        headings("verb and noun", "requests", "verb", "requests with the verb"),
        rows,
        notes,
        {},
        hint,
    )


def verb_and_noun(sentence: str) -> tuple[str, str] | None:
    """The verb that a request begins with, and its noun; no noun where none follows soon.

    >>> verb_and_noun("Could you please write a short poem about this sky?")
    ('write', 'poem')
    >>> verb_and_noun("Explain how this works"), verb_and_noun("What is this?")
    (('explain', ''), None)
    >>> verb_and_noun("Answer the question based on the image")
    ('answer', 'question')
    """
    words = re.findall(r"[a-z']+", sentence.lower())
    while words and words[0] in _OPENERS:
        words = words[1:]
    if not words or words[0] not in _REQUESTS:
        return None
    rest = words[1:]
    while rest and rest[0] in _BEFORE_NOUN and rest[0] not in {"what", "which", "whether"}:
        rest = rest[1:]
    phrase: list[str] = []
    for word in rest[: _MOST_BETWEEN + 1]:
        if word in _AFTER_NOUN or (phrase and word.endswith(("ing", "ed"))):
            break
        phrase.append(word)
    return words[0], phrase[-1] if phrase else ""


def objects(items: Iterable[Item]) -> Table:
    """How many of each object the pictures show, by the tag that a detector's findings were written to."""
    tagged = [item.tags[OBJECTS] for item in items if item.tags.get(OBJECTS)]
    found: Counter[str] = Counter()
    shown_in: Counter[str] = Counter()
    for names in tagged:
        each = Counter(name.strip() for name in names.split(",") if name.strip())
        found += each
        shown_in.update(each.keys())
    rows: list[list[Cell]] = [
        [name, count, shown_in[name]] for name, count in sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
    notes = [Note("visit-bench.contents.objects", "Of {n:,} items with the tag `{tag}`.", n=len(tagged), tag=OBJECTS)]
    title = Note("visit-bench.contents.title.objects", "What the pictures show")
    hint = {"kind": "bars", "label": "object", "value": "times found"}
    return Table("objects", title, headings("object", "times found", "items"), rows, notes, {}, hint)


def _sentences(item: Item) -> list[str]:
    """The sentences of what is asked last."""
    return [part for part in re.split(r"[.!?;:\n]+", item.turns[-1].text) if part.strip()]
