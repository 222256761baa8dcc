"""Whoever is about to be asked, made known to the ledger."""

from __future__ import annotations

import warnings

from fullbench.errors import DataWarning
from fullbench.ledger.accounts import Role
from fullbench.ledger.store import Ledger
from fullbench.nouns.judge import Judge, former_names_of
from fullbench.nouns.model import Model


def introduce(ledger: Ledger, role: Role, who: Judge | Model) -> tuple[str, ...]:
    """Declare a judge or contestant; what it gave under a name of an earlier release is its own.

    What the ledger says about that, one sentence each.
    """
    notices = ledger.introduce(role, who.name, who.settings, former_names_of(who))
    if role == "judge" and (twin := ledger.twin_of(who.name)) is not None:
        warnings.warn(
            f"{ledger.place}: {twin!r} has ruled here and has the same settings as {who.name!r}, which is asked anew; "
            f"where they are one, stop and type: fullbench ledger alias {twin!r} {who.name!r} --ledger {ledger.place}",
            DataWarning,
            stacklevel=2,
        )
    return notices
