"""The nonce of a hearing, from the ledger's salt. What it is for stands in `reading.nonces`, which a run of judges that
ask no model need not import."""

from __future__ import annotations

import functools
import hashlib

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
