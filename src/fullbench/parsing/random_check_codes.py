"""Check codes: random words unknown to contestants, which show that a verdict is the judge's own."""

from __future__ import annotations

import functools
import hashlib
import re

from fullbench.core.ballot import Language, Style
from fullbench.parsing.bracket_verdicts import MENU, bracket_claims
from fullbench.parsing.json_verdicts import Objects
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import Form, Marks

KEY = "code"

_CODE = "\2"
"""Sign in the place of the check code: to compile a pattern for each code would take longer than all the reading."""
_INSIDE = re.compile(rf"\[\[([^\[\]{_CODE}]{{0,120}}){_CODE}([^\[\]]{{0,120}})\]\]")
_GAP = re.compile(r"[\s:\"'>#=.,()|-]{0,8}(?=\[\[)")


def asking(nonce: str, language: Language, form: Style) -> str:
    """Return the sentence that requests the check code, after the words that request the verdict."""
    if language == "zh":
        if form == "marker":
            return f"请在这一行的双方括号前面写上 {nonce}，以表明这是你本人的裁决。"
        return f'请在 judgement 之后再写一项 "{KEY}": "{nonce}"，以表明这是你本人的裁决。'
    if form == "marker":
        return f"Write {nonce} in front of the brackets on that line: it shows that the ruling is yours."
    return f'After the judgement, add "{KEY}": "{nonce}" to the object: it shows that the ruling is yours.'


def signed_marks(form: Form, n: int, text: str, nonce: str, *, cut: bool) -> Marks | None:
    """Return the last verdict in plain text that carries the check code, which may be illegal; None if there is none.

    In a reply that was `cut` off nothing may follow it.
    """
    text = text.replace(_CODE, "")  # a contestant may have written the sign
    for spelling in (nonce, nonce.upper(), nonce.capitalize()):
        text = text.replace(spelling, _CODE)
    objects = Objects(form, n, lambda _: None).claims(text) if "{" in text else []
    found = next(((c.end, c.marks) for c in reversed(objects) if _CODE in text[c.start : c.end]), None)
    # Some models write the code inside the brackets, or in brackets of its own.
    text = _INSIDE.sub(_put_in_front, text)
    last = max((claim for claim in (found, _next_to_code(form, n, text)) if claim is not None), default=None)
    if last is None:
        return None
    end, marks = last
    return None if cut and text[end:].strip(" \n.}\"'") else marks


def _put_in_front(match: re.Match[str]) -> str:
    verdict = f"{match[1]}{match[2]}".strip(" :,;-")
    return f"{_CODE} [[{verdict}]]" if verdict else _CODE


def _next_to_code(form: Form, n: int, text: str) -> tuple[int, Marks] | None:
    """Return the end and the marks of the last verdict in brackets next to the check code."""
    start = text.rfind(_CODE)
    while start >= 0:
        if gap := _GAP.match(text, start + 1):
            row, _, more = text[gap.end() : gap.end() + 2000].partition("\n")
            for part in (row, f"{row}\n{more}"):  # a row of brackets may be written one a line
                claims = bracket_claims(form, n, part)
                if claims and claims[0].start == 0 and claims[0].kind != MENU and (claims[0].marks or part != row):
                    return gap.end() + claims[0].end, claims[0].marks
        line = text.rfind("\n", 0, start) + 1
        claims = bracket_claims(form, n, text[line:start])
        if claims and claims[-1].kind != MENU and not text[line + claims[-1].end : start].strip(" :\"'.,()|-"):
            return start + 1, claims[-1].marks
        start = text.rfind(_CODE, 0, start)
    return None


SIGNS = "bcdfghjkmnpqrstvwxz"
"""Consonants alone: no word, number or letter of a response is ever made of eight of them."""
LENGTH = 8
_MANY = len(SIGNS) ** LENGTH
_BLOCK = 64
"""The bytes that SHA-256 takes in at a time."""
_PAIRS = [first + second for second in SIGNS for first in SIGNS]
"""Two signs at a time: half of the divisions, and there is a code for each call."""


def nonce_of(salt: bytes, case: str, trial: int) -> str:
    """Return the check code of a case and trial, which nobody can know without the ledger's salt.

    >>> nonce_of(b"salt", "0123", 0)
    'bbbjrpbc'
    """
    inner, outer = (keyed.copy() for keyed in _keyed(salt))
    inner.update(f"{case} {trial}".encode())
    outer.update(inner.digest())
    number = int.from_bytes(outer.digest()) % _MANY
    nonce = ""
    for _ in range(LENGTH // 2):
        number, place = divmod(number, len(_PAIRS))
        nonce += _PAIRS[place]
    return nonce


@functools.lru_cache(maxsize=64)
def _keyed(salt: bytes) -> tuple[hashlib._Hash, hashlib._Hash]:
    """Return both halves of HMAC-SHA256 with the salt: `hmac` looks its algorithm up for each code, which takes longer
    than the digest."""
    block = hashlib.sha256(salt).digest() if len(salt) > _BLOCK else salt
    padded = block.ljust(_BLOCK, b"\0")
    return hashlib.sha256(bytes(byte ^ 0x36 for byte in padded)), hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))
