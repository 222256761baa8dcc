"""Check codes: random words unknown to contestants, which show that a verdict is the judge's own."""

from __future__ import annotations

import functools
import hashlib
import re

from fullbench.core.ballot import Language, Style
from fullbench.parsing.bracket_verdicts import Markers
from fullbench.parsing.json_verdicts import Objects
from fullbench.parsing.verdict_form_base import ECHO, Form, Marks

KEY = "code"

_GAP = re.compile(r"[\s:\"'>#=.,()|-]{0,8}(?=\[\[)")


def asking(nonce: str, language: Language, form: Style) -> str:
    """The sentence that asks for the nonce, to stand behind the words that ask for the ruling."""
    if language == "zh":
        if form == "marker":
            return f"请在这一行的双方括号前面写上 {nonce}，以表明这是你本人的裁决。"
        return f'请在 judgement 之后再写一项 "{KEY}": "{nonce}"，以表明这是你本人的裁决。'
    if form == "marker":
        return f"Write {nonce} in front of the brackets on that line: it shows that the ruling is yours."
    return f'After the judgement, add "{KEY}": "{nonce}" to the object: it shows that the ruling is yours.'


def copied(nonce: str, text: str) -> bool:
    """Whether a reply carries the nonce."""
    return nonce in text.casefold()


def signed(form: Form, n: int, text: str, nonce: str, *, cut: bool) -> Marks | None:
    """The last ruling in plain text that carries the nonce, which may be illegal; None where there is none.

    In a reply that was `cut` off nothing may stand behind it.
    """
    if not copied(nonce, text):
        return None
    # Inside the brackets, where some write it: two more patterns that only such a reply has to wait for.
    if any(
        "[[" in text[max(0, at - 3) : at] or "]]" in text[at + len(nonce) : at + len(nonce) + 3]
        for at in _places(nonce, text)
    ):
        text = re.sub(rf"\[\[\s?{nonce}\s?[:,;-]?\s?", f"{nonce} [[", text, flags=re.IGNORECASE)
        text = re.sub(rf"\s?[:,;-]?\s?{nonce}\s?\]\]", f"]] {nonce}", text, flags=re.IGNORECASE)
    found = _in_object(form, n, text, nonce) if "{" in text else None
    bracketed = _bracketed(form, n, text, nonce)
    last = max((claim for claim in (found, bracketed) if claim is not None), default=None)
    if last is None:
        return None
    end, marks = last
    return None if cut and text[end:].strip(" \n.}\"'") else marks


def _places(nonce: str, text: str) -> list[int]:
    """Where the nonce stands. A pattern would have to be compiled for each reply: longer than all the reading takes."""
    folded = text.casefold()
    if len(folded) > len(text):  # letters such as ß become two, and places behind them would be others
        return [match.start() for match in re.finditer(nonce, text, re.IGNORECASE)]
    places: list[int] = []
    at = folded.find(nonce)
    while at >= 0:
        places.append(at)
        at = folded.find(nonce, at + len(nonce))
    return places


def _bracketed(form: Form, n: int, text: str, nonce: str) -> tuple[int, Marks] | None:
    """Where the last ruling in brackets ends that stands beside the nonce, and its marks."""
    for start in reversed(_places(nonce, text)):
        gap = _GAP.match(text, start + len(nonce))
        if gap:
            row, _, more = text[gap.end() : gap.end() + 2000].partition("\n")
            for part in (row, f"{row}\n{more}"):  # a row of brackets may be written one a line
                claims = Markers(form, n).claims(part)
                if claims and claims[0].start == 0 and claims[0].kind != ECHO and (claims[0].marks or part != row):
                    return gap.end() + claims[0].end, claims[0].marks
        line = text.rfind("\n", 0, start) + 1
        claims = Markers(form, n).claims(text[line:start])
        beside = claims and not text[line + claims[-1].end : start].strip(" :\"'.,()|-")
        if beside and claims[-1].kind != ECHO:
            return start + len(nonce), claims[-1].marks
    return None


def _in_object(form: Form, n: int, text: str, nonce: str) -> tuple[int, Marks] | None:
    """The same for the last object that holds the nonce."""
    objects = Objects(form, n, lambda _: None)
    tail = objects.tail(text)
    if tail is not None and copied(nonce, text[tail.start : tail.end]):
        return tail.end, tail.marks
    for claim in reversed(objects.claims(text)):
        if copied(nonce, text[claim.start : claim.end]):
            return claim.end, claim.marks
    return None


# The nonce of a hearing, from the ledger's salt. What it is for stands in `parsing.random_check_codes`, which a run of
# judges that ask no model need not import.

SIGNS = "bcdfghjkmnpqrstvwxz"
"""Consonants alone: no word, number or letter of a response is ever made of eight of them."""
LENGTH = 8
_MANY = len(SIGNS) ** LENGTH
_BLOCK = 64
"""The bytes that SHA-256 takes in at a time."""
_PAIRS = [first + second for second in SIGNS for first in SIGNS]
"""Two signs at a time: half of the divisions, and there is a nonce for every hearing."""


def nonce_of(salt: bytes, case: str, trial: int) -> str:
    """The nonce of one hearing. Nobody can know it who does not know the ledger's salt.

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
    """The two halves of HMAC-SHA256 with the salt taken in: `hmac` looks its algorithm up anew for every nonce, which
    takes longer than the digest."""
    block = hashlib.sha256(salt).digest() if len(salt) > _BLOCK else salt
    padded = block.ljust(_BLOCK, b"\0")
    return hashlib.sha256(bytes(byte ^ 0x36 for byte in padded)), hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))
