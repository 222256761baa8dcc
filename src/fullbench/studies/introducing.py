"""Whoever is about to be asked, made known to the ledger."""

from __future__ import annotations

from fullbench.ledger.accounts import Role
from fullbench.ledger.store import Ledger
from fullbench.nouns.judge import Judge, former_names_of
from fullbench.nouns.model import Model


def introduce(ledger: Ledger, role: Role, who: Judge | Model) -> tuple[str, ...]:
    """Declare a judge or contestant; what it gave under a name of an earlier release is its own.

    What the ledger says about that, one sentence each.
    """
    return ledger.introduce(role, who.name, who.settings, former_names_of(who))
