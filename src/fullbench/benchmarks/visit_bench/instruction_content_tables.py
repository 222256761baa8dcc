"""Verbs and nouns of a set of instructions, and objects in its pictures (the paper's Figures 10 and 9)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from fullbench.core.column_labels import table_columns
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table

OBJECTS = "objects"
"""Tag with the objects that a detector found in an item's pictures, separated by commas; names may repeat."""
VERBS = 20
NOUNS = 4


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_REQUESTS = _word_set(
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
"""Verbs that begin a request; a list, because we ship no parser of English."""
_BEFORE_NOUN = _word_set(
    "a all an any both each every few five four her his in into its many me more most my one our out several "
    "short simple some the their them these this those three to two up us what whether which your"
)
_AFTER_NOUN = _word_set(
    "about after and are as at based because before between but by during for from given had has have how if in "
    "inside into is it like of on or so than that then there through to under using was were what when where "
    "which who why with within would you"
)
_OPENERS = _word_set("also can could finally first just kindly next now please then will would you")
_MAX_WORDS_BETWEEN = 3


def content_tables(items: Iterable[Item]) -> list[Table]:
    """Return both tables, without empty ones."""
    item_list = list(items)
    return [table for table in (request_table(item_list), object_table(item_list)) if table.rows]


def request_table(items: Iterable[Item]) -> Table:
    """Return the most common request verbs, each with its most common nouns.

    A sentence that begins with a listed verb, after polite openers, is a request for the noun that follows.
    """
    nouns_by_verb: dict[str, Counter[str]] = defaultdict(Counter)
    unmatched_count = 0
    for item in items:
        verb_noun_pairs = [pair for sentence in _last_turn_sentences(item) if (pair := verb_and_noun(sentence))]
        unmatched_count += not verb_noun_pairs
        for verb, noun in verb_noun_pairs:
            nouns_by_verb[verb][noun] += 1
    totals = {verb: nouns.total() for verb, nouns in nouns_by_verb.items()}
    common = sorted(totals, key=lambda verb: (-totals[verb], verb))
    rows: list[list[Cell]] = [
        [f"{verb} {noun}", count, verb, totals[verb]]
        for verb in common[:VERBS]
        for noun, count in sorted(nouns_by_verb[verb].items(), key=lambda entry: (-entry[1], entry[0]))[:NOUNS]
        if noun
    ]
    notes = [
        Note(
            "visit-bench.contents.requests",
            n=len(totals),
            verbs=min(len(totals), VERBS),
            nouns=NOUNS,
            others=unmatched_count,
            known=len(_REQUESTS),
        )
    ]
    title = Note("visit-bench.contents.title.requests")
    hint = {"kind": "bars", "label": "verb and noun", "value": "requests"}
    return Table(
        "requests",
        title,
        table_columns("verb and noun", "requests", "verb", "requests with the verb"),
        rows,
        notes,
        {},
        hint,
    )


def verb_and_noun(sentence: str) -> tuple[str, str] | None:
    """Return a request's first verb and its noun; the noun is empty if none follows soon.

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
    remaining_words = words[1:]
    while (
        remaining_words
        and remaining_words[0] in _BEFORE_NOUN
        and remaining_words[0] not in {"what", "which", "whether"}
    ):
        remaining_words = remaining_words[1:]
    phrase: list[str] = []
    for word in remaining_words[: _MAX_WORDS_BETWEEN + 1]:
        if word in _AFTER_NOUN or (phrase and word.endswith(("ing", "ed"))):
            break
        phrase.append(word)
    return words[0], phrase[-1] if phrase else ""


def object_table(items: Iterable[Item]) -> Table:
    """Count the objects in the pictures, by the tag with a detector's findings."""
    object_lists = [item.tags[OBJECTS] for item in items if item.tags.get(OBJECTS)]
    object_counts: Counter[str] = Counter()
    shown_in: Counter[str] = Counter()
    for names in object_lists:
        item_counts = Counter(name.strip() for name in names.split(",") if name.strip())
        object_counts += item_counts
        shown_in.update(item_counts.keys())
    rows: list[list[Cell]] = [
        [name, count, shown_in[name]]
        for name, count in sorted(object_counts.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
    notes = [Note("visit-bench.contents.objects", n=len(object_lists), tag=OBJECTS)]
    title = Note("visit-bench.contents.title.objects")
    hint = {"kind": "bars", "label": "object", "value": "times found"}
    return Table("objects", title, table_columns("object", "times found", "items"), rows, notes, {}, hint)


def _last_turn_sentences(item: Item) -> list[str]:
    return [part for part in re.split(r"[.!?;:\n]+", item.turns[-1].text) if part.strip()]
