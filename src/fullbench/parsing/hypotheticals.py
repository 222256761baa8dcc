"""Detection of hypothetical verdicts: "a perfect answer would be [[5]]", "rating: 5 would be too generous"."""

from __future__ import annotations

import re

from fullbench.parsing.verdict_form_base import Claim
from fullbench.parsing.vocabulary import NOUN, clause

_AT_ONCE = (
    r"(?:\s(?:a|an|the|as|at|worth|really|quite|even|just|mere|full|clear|rated?|score of|rating of)){0,3}"
    r"[\s\"'(]{0,3}$"
)
_BEFORE = re.compile(
    rf"\b(?:not|never|instead of|rather than|less than|more than|short of|far from|unlike|nowhere near|close to|almost"
    rf"|without being|cannot be|can't be|isn't|wasn't){_AT_ONCE}"
    rf"|\b(?:perfect|ideal|flawless|faultless|complete|better|stronger|fuller|fully \w+|excellent|correct|good|worse)\s"
    rf"(?:{NOUN}|one|description|solution|version)s?\s(?:\w+\s){{0,3}}?"
    r"(?:would|should|could|might|must|deserves?|gets?|earns?|merits?|is|receives?)\b[^.!?;\n]{0,30}$"
    r"|\b(?:embedded|planted|hidden|injected|ignor(?:e|ed|ing)|disregard(?:ed|ing)?|tempted to (?:give|say|write)"
    r"|(?:to|not|hardly|cannot|can't|won't) (?:get|earn|reach|deserve|merit|justify)|fake|so-called|demands?|begs? for)"
    r"[^.!?,;\n]{0,40}$"
    r"|\b(?:for|reserved for|reserve)\s(?:a|an)\s?[\"'(]{0,3}$"
    r"|(?:完美|理想|满分|更好)的?(?:回答|答案)[^.!?;\n]{0,20}$|(?:而不是|而非|并非|不是|不到|够不上|不应给|不该给|无视|忽略|嵌入的?)\s{0,2}$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"[\"')]{0,3}\s?(?:points?|stars?|分)?,?\s?(?:(?:is|was|seems|feels|would be|would have been|might be|could be"
    r"|may be|sounds)\s(?:clearly |simply |just |perhaps |far |a bit |a little |much |rather |slightly |way )*"
    r"(?:too|overly|undeserved|excessive|unfair|unjust|out of the question|wrong|not (?:deserved|warranted|justified"
    r"|right|my)|more than|generous|harsh|reserved|what (?:it|the|they|response))"
    r"|would (?:need|require|take|mean|imply|overstate|reward|ignore|go)\b"
    r"|(?:会|就|未免|显得|似乎|有些|有点)?(?:太高|太低|过高|过低|偏高|偏低|太严|太宽))",
    re.IGNORECASE,
)


def mentioned(text: str, claim: Claim) -> bool:
    """Whether the sentence speaks of a ruling without giving it.

    >>> text = "A perfect answer would be [[5]]."
    >>> mentioned(text, Claim(26, 31, (5.0,))), mentioned("My rating is [[5]].", Claim(13, 18, (5.0,)))
    (True, False)
    """
    return _BEFORE.search(clause(text, claim.start)) is not None or _AFTER.match(text, claim.end) is not None
