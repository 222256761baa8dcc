"""Digests: keys of what is in ledgers already, so they may never change."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from fullbench import Item
from fullbench.core.item import INSTRUCTED_TAG, Turn
from fullbench.core.json_digests_and_cached_properties import digest

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_a_digest_is_that_of_plain_json(value):
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    plain = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    assert digest(value) == plain


def test_keys_stay_what_they_were():
    assert digest(["好", 1, None, {"b": 0.5, "a": "\ud83d"}]) == "be19567e73f85bb90b53f72c05441345"
    assert Item.ask("q1", "How many?\n数").key == "1de6d27d6164ca96f44507661e35b90e"


def test_whoever_judges_is_shown_no_instruction_to_contestants_and_the_key_is_the_same():
    turns = (Turn("system", ("Answer step by step.",)), Turn("user", ("How many?",)))
    before, now = Item("q", turns), Item("q", turns, tags={INSTRUCTED_TAG: "yes"})
    assert before.key == now.key
    assert before.turns_judged == turns
    assert now.turns_judged == turns[1:]
    assert Item.ask("q", "How many?", tags={INSTRUCTED_TAG: "yes"}).turns_judged == turns[1:]
