"""Agreement of nouns and verbs with the number 1 in finished English sentences.

Sentences are templates with counts, and most counts are not 1. Errors, warnings, notes, messages of commands and texts
of web pages pass through one rule, instead of a second template for each sentence.
"""

from __future__ import annotations

import re

_NOUNS = """
    accounts annotators answers attacks attempts audits ballots bars bins blanks bootstraps bytes calls
    campaigns cards cells changes characters charts claims clusters columns commits comparisons completions
    components contestants conversations cycles days descriptions dialogues digests dimensions documents dollars drafts
    drawings duplicates entries errors estimates examples facts failures files folders frames functions galleries gaps
    groups hours images intervals items judges judgments keys labels languages leaderboards levels lines marks
    measurements members messages metrics minutes models months names notes notices numbers observations
    options orders outcomes pages pairs panels parts pictures places points positions predictions problems
    processes prompts questions raters ratings recordings records references refusals rejections requests resamples
    responses results reviewers reviews revisions rewordings rounds rows rubrics rules rulings runs samples
    scales scores seconds seeds segments sentences servers sets settings shapes signatures slices snapshots
    steps stories strengths subjects submissions tables tags tasks tensors tests texts thresholds ties times
    tokens trials turns units users values variants verdicts versions videos views votes warnings weeks wins words
    workers years
"""
_IRREGULAR = {
    "analyses": "analysis", "batches": "batch", "biases": "bias", "boundaries": "boundary", "boxes": "box",
    "caches": "cache", "cases": "case", "categories": "category", "classes": "class", "copies": "copy",
    "criteria": "criterion", "entries": "entry", "families": "family", "galleries": "gallery", "matches": "match",
    "people": "person", "processes": "process", "queries": "query", "replies": "reply", "retries": "retry",
    "stories": "story", "studies": "study",
}  # fmt: skip
_VERBS = {
    "are": "is", "were": "was", "have": "has", "do": "does", "carry": "carries", "match": "matches", "miss": "misses",
} | {
    verb: f"{verb}s"
    for verb in ["agree", "come", "compare", "differ", "fail", "get", "hold", "lack", "name", "narrow", "need", "occur",
                 "say", "show", "stay", "tie"]
}  # fmt: skip
_ADJECTIVES = "new|other|more|different|equal|unusable|human|open|further|same|stored|due|usable|failed|earlier|full"
# A digit, point, bracket, dash or quote before the 1 makes it a part of a number, a range, a name or a quotation.
_ONE = r"(?<![\w.,:/#'\"‘“<\[(=+–−-])(?P<open>\(?)"
_PLACE = r" (?:of|in|on|with|from|by)(?: (?!that|which|who|and)[\w.-]+){1,4}?"
_VERB = rf"(?P<between>(?: that|{_PLACE})?) (?P<verb>{'|'.join(_VERBS)})\b"
_PLURAL = rf"(?P<noun>{'|'.join(sorted({*_NOUNS.split(), *_IRREGULAR}))})\b(?!')"
# Texts, since compiling them takes 7 ms and most processes print no 1: `re` keeps what it has compiled.
_COUNT_OF_ONE = rf"{_ONE}1 (?P<adjective>(?:(?:{_ADJECTIVES}) )?){_PLURAL}(?:{_VERB})?"
_ONE_OF = rf"{_ONE}(?P<start>1 of [\d,]+ [a-z]+) (?P<verb>{'|'.join(_VERBS)})\b"
_NUMBERED = re.compile(
    r"\b(?:line|sample|trial|turn|version|level|round|revision|exchange|step|part|row|picture|page|column|rank|format|"
    r"number|code|status|response|item|table|figure|seed|first|top) $",
    re.IGNORECASE,
)
"""Words before a number that is a name: in "line 1 names", the 1 counts nothing."""


def agree_with_one(sentence: str) -> str:
    """Return a sentence with nouns and verbs after the number 1 in the singular.

    >>> agree_with_one("1 items, 1 responses (1 cases); 12 judges; 1 new votes of 1 raters")
    '1 item, 1 response (1 case); 12 judges; 1 new vote of 1 rater'
    >>> agree_with_one("1 cases are due: 1 of 4 items are left out, as '1 items' says. Line 1 names 0.1 points.")
    "1 case is due: 1 of 4 items is left out, as '1 items' says. Line 1 names 0.1 points."
    >>> agree_with_one("all 1 items are new; 1 names of the ledger were changed; 1 replies of judges that are slow")
    'the only item is new; 1 name of the ledger was changed; 1 reply of judges that are slow'
    """
    if "1 " not in sentence:
        return sentence
    return re.sub(_ONE_OF, _agree_verb, re.sub(_COUNT_OF_ONE, _agree_noun, sentence)).replace("all 1 ", "the only ")


def _agree_noun(match: re.Match[str]) -> str:
    if not match["open"] and _NUMBERED.search(match.string, 0, match.start()):
        return match[0]
    noun, verb = match["noun"], match["verb"]
    singular = _IRREGULAR.get(noun) or noun.removesuffix("s")
    return f"{match['open']}1 {match['adjective']}{singular}" + (f"{match['between']} {_VERBS[verb]}" if verb else "")


def _agree_verb(match: re.Match[str]) -> str:
    return f"{match['open']}{match['start']} {_VERBS[match['verb']]}"
