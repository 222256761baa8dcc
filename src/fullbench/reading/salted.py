"""The nonce of a hearing, from the ledger's salt. What it is for stands in `reading.nonces`, which a run of judges that
ask no model need not import."""

from __future__ import annotations

import hmac

SIGNS = "bcdfghjkmnpqrstvwxz"
"""Consonants alone: no word, number or letter of a response is ever made of eight of them."""
LENGTH = 8
_MANY = len(SIGNS) ** LENGTH
_PAIRS = [first + second for second in SIGNS for first in SIGNS]
"""Two signs at a time: half of the divisions, and there is a nonce for every hearing."""


def nonce_of(salt: bytes, case: str, trial: int) -> str:
    """The nonce of one hearing. Nobody can know it who does not know the ledger's salt.

    >>> nonce_of(b"salt", "0123", 0)
    'bbbjrpbc'
    """
    number = int.from_bytes(hmac.digest(salt, f"{case} {trial}".encode(), "sha256")) % _MANY
    nonce = ""
    for _ in range(LENGTH // 2):
        number, place = divmod(number, len(_PAIRS))
        nonce += _PAIRS[place]
    return nonce
