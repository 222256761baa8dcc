"""Nonces: HMAC-SHA256 of the case and the trial, whatever the salt's length."""

from __future__ import annotations

import hmac

from hypothesis import given
from hypothesis import strategies as st

from fullbench.parsing.random_check_codes import LENGTH, SIGNS, nonce_of


@given(st.binary(max_size=200), st.text(max_size=40), st.integers(0, 10**6))
def test_a_nonce_is_written_from_python_s_own_hmac(salt: bytes, case: str, trial: int) -> None:
    number = int.from_bytes(hmac.digest(salt, f"{case} {trial}".encode(), "sha256"))
    signs = []
    for _ in range(LENGTH):
        number, place = divmod(number % len(SIGNS) ** LENGTH, len(SIGNS))
        signs.append(SIGNS[place])
    assert nonce_of(salt, case, trial) == "".join(signs)
