"""Passwords: rules, argon2 hashes, and a verification that takes equally long for unknown names."""

from __future__ import annotations

import unicodedata
from functools import cache
from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from fullbench.errors import InputError
from fullbench.web.words import key

SHORTEST = 10
# Argon2 would hash any length, and its time grows with it.
LONGEST = 256
# Refuses `aaaaaaaaaa` and `1212121212`, which are long enough.
_FEW = 4
_turns = BoundedSemaphore(4)
"""A hash takes 64 MB, so at most this many run at once; a flood of sign-ins waits instead of filling the memory."""


@cache
def _password_hasher() -> PasswordHasher:
    return PasswordHasher()


def check_password(password: str, name: str) -> None:
    """Raise `InputError` if a password is easy to guess: too short, mostly the name, or few distinct characters.

    >>> check_password("a long sentence of mine", "ann")
    >>> check_password("annannann1", "ann")
    Traceback (most recent call last):
    fullbench.errors.InputError: The password must not be made of the name.
    """
    if len(password) < SHORTEST:
        raise InputError(key("The password must have at least 10 characters."))
    if len(password) > LONGEST:
        raise InputError(key("The password must have at most 256 characters."))
    remainder = password.casefold().replace(name.strip().casefold(), "") if name.strip() else password
    if len(remainder) < len(password) and len(remainder) < SHORTEST // 2:
        raise InputError(key("The password must not be made of the name."))
    if len(set(password)) < _FEW:
        raise InputError(key("The password repeats too few characters."))


def hash_password(password: str) -> str:
    """Return the argon2 hash of a password."""
    with _turns:
        return _password_hasher().hash(_normalize_password(password))


def verify_password(password: str, password_hash: str | None) -> bool:
    """Return True if the password matches. Without a hash, verify a dummy and return False."""
    try:
        with _turns:
            _password_hasher().verify(
                _dummy_hash() if password_hash is None else password_hash, _normalize_password(password)
            )
    except (VerifyMismatchError, InvalidHashError):
        return False
    return password_hash is not None


@cache
def _dummy_hash() -> str:
    return _password_hasher().hash("nobody's password")


def _normalize_password(password: str) -> str:
    """Keyboards compose the same letter differently."""
    return unicodedata.normalize("NFKC", password[: LONGEST * 4])
