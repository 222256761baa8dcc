"""Passwords: rules that make sense, argon2 hashes, and the same work for a name that does not exist."""

from __future__ import annotations

import unicodedata
from functools import cache
from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from fullbench.errors import InputError
from fullbench.web.words import key

SHORTEST = 10
LONGEST = 256
_FEW = 4
_turns = BoundedSemaphore(4)
"""A hash takes 64 MB; so many are made at once, and a flood of sign-ins waits instead of filling the memory."""


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


def check(password: str, name: str) -> None:
    """Refuse a password that is quickly guessed: too short, the name itself, or a few characters over and over.

    >>> check("a long sentence of mine", "ann")
    >>> check("annannann1", "ann")
    Traceback (most recent call last):
    fullbench.errors.InputError: The password must not be made of the name.
    """
    if len(password) < SHORTEST:
        raise InputError(key("The password must have at least 10 characters."))
    if len(password) > LONGEST:
        raise InputError(key("The password must have at most 256 characters."))
    rest = password.casefold().replace(name.strip().casefold(), "") if name.strip() else password
    if len(rest) < len(password) and len(rest) < SHORTEST // 2:
        raise InputError(key("The password must not be made of the name."))
    if len(set(password)) < _FEW:
        raise InputError(key("The password repeats too few characters."))


def hashed(password: str) -> str:
    """What is kept of a password."""
    with _turns:
        return _hasher().hash(_normal(password))


def matches(password: str, password_hash: str | None) -> bool:
    """Whether this is the password. Without a kept hash the same work is done, and the answer is no."""
    try:
        with _turns:
            _hasher().verify(_dummy() if password_hash is None else password_hash, _normal(password))
    except (VerifyMismatchError, InvalidHashError):
        return False
    return password_hash is not None


@cache
def _dummy() -> str:
    return _hasher().hash("nobody's password")


def _normal(password: str) -> str:
    """The same password, however the keyboard composes its letters."""
    return unicodedata.normalize("NFKC", password[: LONGEST * 4])
