"""Verbs and nouns of instructions and questions (Figure 10), and objects in pictures (Figure 9).

No parser ships with us, so verbs and nouns come from a documented rule (docs/papers/visit_bench.md):

1. A sentence that begins with a verb of a list, after polite openers, is an instruction. Its noun is the last word of
   the noun phrase behind the verb.
2. Any other sentence that begins with a question word or an auxiliary is a question. Its verb is the one that the
   auxiliary needs ("how do I cook rice": cook), else be, have or do. Its noun is that of the question word ("which
   title": title), else that of the subject or object.
3. Objects come from a tag with a detector's findings. In the captions of an item without the tag, each noun phrase
   that begins with an article, a number or a possessive is an object: its last word, a plural counted as its singular
   if both occur. A phrase ends before a preposition, an auxiliary or a verb of a list, and after four words.
   Words for the picture or a place in it are left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.item import Item
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note

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
    "about after and are as at based because before between but by during for from given had has have here how if in "
    "inside into is it like of on or seen shown so than that then there through to under using was were what when "
    "where which who why with within would you"
)
_OPENERS = _word_set("also can could finally first just kindly next now please then will would you")
_NOUNS_LIKE_VERBS = _word_set(
    "bed bedding bread building ceiling clothing crossing drawing evening icing king lettering lighting meeting "
    "morning opening painting parking railing ring seed shed spring string swing thing wedding weed wing"
)
_MAX_WORDS_BETWEEN = 3
_QUESTION_WORDS = _word_set("what which who whom whose where when why how")
_AUXILIARIES = {
    **dict.fromkeys(["is", "are", "am", "was", "were", "be"], "be"),
    **dict.fromkeys(["has", "have", "had"], "have"),
    **dict.fromkeys(["do", "does", "did"], "do"),
    **dict.fromkeys(["can", "could", "should", "would", "will", "must", "may", "might", "shall"], ""),
}
"""Auxiliary by its form; modal verbs stand for no verb of their own."""
_DETERMINERS = _word_set(
    "a an another both each eight every few five four her his its many my nine one our seven several six some ten the "
    "their these this those three two your"
)
_PHRASE_ENDS = _word_set(
    "above across against along among around away back behind below beneath beside down few front near next not off "
    "onto out over past there toward towards underneath until up upon where without also too while as who can will "
    "appear appears be "
    "carries carry covers do does eat eats face faces goes grow grows hang hangs hold holds lead leads lie lies "
    "look looks lay lays play plays point points read reads reach rest rests ride rides run runs says show shows sit "
    "sits stand stands stretch surround surrounds wait waits walk walks watch watches wear wears"
)
"""Words that end a noun phrase of a caption: prepositions, adverbs, and verbs that captions often use."""
_AMOUNT_PHRASES = (["lot", "of"], ["pair", "of"], ["couple", "of"], ["group", "of"], ["number", "of"])
_NOT_NOUNS = _word_set(
    "area back background being bottom center centre close corner edge end first foreground front image kind last left "
    "made middle of other others part photo photograph picture position right row same scene second side small third "
    "top various visible black blue brown gray green grey orange pink purple red white yellow"
)
"""Words that name the picture or a place in it, and colours and other adjectives whose noun is missing."""
_PRONOUNS = _word_set("i you he she it we they one this that these those there someone anyone everyone")
_AMOUNTS = _word_set("many much kind kinds type types sort sorts long often far else exactly")


def content_tables(items: Iterable[Item]) -> list[Table]:
    """Return both tables, without empty ones."""
    item_list = list(items)
    return [table for table in (request_table(item_list), object_table(item_list)) if table.rows]


def request_table(items: Iterable[Item]) -> Table:
    """Return the most common request verbs, each with its most common nouns.

    The module's docstring has the rule.
    """
    nouns_by_verb: dict[str, Counter[str]] = defaultdict(Counter)
    unmatched_count = 0
    for item in items:
        verb_noun_pairs = [
            pair
            for sentence in re.split(r"[.!?;:\n]+", item.turns[-1].text)
            if sentence.strip() and (pair := verb_and_noun(sentence) or question_verb_and_noun(sentence))
        ]
        unmatched_count += not verb_noun_pairs
        for verb, noun in verb_noun_pairs:
            nouns_by_verb[verb][noun] += 1
    totals = {verb: nouns.total() for verb, nouns in nouns_by_verb.items()}
    common = sorted(totals, key=lambda verb: (-totals[verb], verb))
    rows: list[list[Cell]] = [
        [f"{verb} {noun}".strip(), count, verb, totals[verb]]
        for verb in common[:VERBS]
        for noun, count in sorted(nouns_by_verb[verb].items(), key=lambda entry: (-entry[1], entry[0]))[:NOUNS]
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
    return words[0], _noun_after(words[1:])[0]


def question_verb_and_noun(sentence: str) -> tuple[str, str] | None:
    """Return the verb and the noun of a question; the noun is empty if none is found.

    >>> question_verb_and_noun("How do I cook rice?"), question_verb_and_noun("Which title should I choose for it?")
    (('cook', 'rice'), ('choose', 'title'))
    >>> question_verb_and_noun("What colour is the car?"), question_verb_and_noun("Why is the man smiling?")
    (('be', 'colour'), ('be', 'man'))
    >>> question_verb_and_noun("Is there a cat?"), question_verb_and_noun("What is this?")
    (('be', 'cat'), ('be', ''))
    >>> question_verb_and_noun("A red kite.")
    """
    words = re.findall(r"[a-z']+", sentence.lower())
    if not words or words[0] not in _QUESTION_WORDS | _AUXILIARIES.keys():
        return None
    place = next((place for place, word in enumerate(words) if word in _AUXILIARIES), None)
    if place is None:
        return None
    asked_for = [word for word in words[:place] if word not in _QUESTION_WORDS | _AMOUNTS | _AFTER_NOUN | _BEFORE_NOUN]
    subject, verb_words = _subject_and_rest(words[place + 1 :])
    auxiliary = _AUXILIARIES[words[place]]
    if auxiliary in {"", "do"} and verb_words:
        verb, objects = verb_words[0], _noun_after(verb_words[1:])[0]
        return verb, asked_for[-1] if asked_for else objects or subject
    return auxiliary or words[place], asked_for[-1] if asked_for else subject or _noun_after(verb_words)[0]


def _subject_and_rest(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the noun of a subject, empty for a pronoun, and the words behind the subject."""
    if words and words[0] in _PRONOUNS:
        return "", words[1:]
    noun, length = _noun_after(words)
    return noun, words[length:]


def _noun_after(words: Sequence[str]) -> tuple[str, int]:
    """Return the last word of the noun phrase at the start, or "" if there is none, and the words that it takes."""
    start = 0
    while start < len(words) and words[start] in _BEFORE_NOUN and words[start] not in {"what", "which", "whether"}:
        start += 1
    phrase: list[str] = []
    for word in words[start : start + _MAX_WORDS_BETWEEN + 1]:
        if word in _AFTER_NOUN or (phrase and word.endswith(("ing", "ed")) and word not in _NOUNS_LIKE_VERBS):
            break
        phrase.append(word)
    return (phrase[-1] if phrase else ""), start + len(phrase)


def object_table(items: Iterable[Item]) -> Table:
    """Count the objects in the pictures: by the tag with a detector's findings, else by the nouns of captions."""
    object_lists: list[list[str]] = []
    tagged_count = captioned_count = 0
    for item in items:
        if item.tags.get(OBJECTS):
            tagged_count += 1
            object_lists.append([name.strip() for name in item.tags[OBJECTS].split(",") if name.strip()])
        elif nouns := [noun for caption in item.captions for noun in caption_nouns(caption)]:
            captioned_count += 1
            object_lists.append(nouns)
    names = {name for names in object_lists for name in names}
    singular = {name: name[:-1] for name in names if name.endswith("s") and name[:-1] in names}
    object_counts: Counter[str] = Counter()
    shown_in: Counter[str] = Counter()
    for objects in object_lists:
        item_counts = Counter(singular.get(name, name) for name in objects)
        object_counts += item_counts
        shown_in.update(item_counts.keys())
    rows: list[list[Cell]] = [
        [name, count, shown_in[name]]
        for name, count in sorted(object_counts.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
    notes = [Note("visit-bench.contents.objects", n=tagged_count, tag=OBJECTS, captions=captioned_count)]
    title = Note("visit-bench.contents.title.objects")
    hint = {"kind": "bars", "label": "object", "value": "times found"}
    return Table("objects", title, table_columns("object", "times found", "items"), rows, notes, {}, hint)


def caption_nouns(caption: str) -> list[str]:
    """Return the nouns of a caption's noun phrases that begin with an article, a number or a possessive.

    >>> caption_nouns("Two dogs and a red kite over the long beach. It is sunny.")
    ['dogs', 'kite', 'beach']
    >>> caption_nouns("A lot of people wait; his bag lies on a table.")
    ['people', 'bag', 'table']
    """
    nouns = []
    for clause in re.split(r"[^a-z' ]+", caption.lower()):
        words = clause.split()
        for place, word in enumerate(words):
            if word in _DETERMINERS and (place == 0 or words[place - 1] not in _DETERMINERS):
                words_behind = words[place + 1 :]
                if words_behind[:2] in _AMOUNT_PHRASES:
                    words_behind = words_behind[2:]
                ends = [n for n, behind in enumerate(words_behind) if behind in _PHRASE_ENDS | _DETERMINERS]
                noun = _noun_after(words_behind[: ends[0]] if ends else words_behind)[0]
                if noun and noun not in _NOT_NOUNS:
                    nouns.append(noun)
    return nouns
