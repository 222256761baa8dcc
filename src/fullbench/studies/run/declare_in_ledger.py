"""Registration of judges and contestants in the ledger before they are called."""

from __future__ import annotations

import warnings

from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.errors import DataWarning
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.ledger import Ledger


def introduce(ledger: Ledger, role: Role, who: Judge | Model) -> tuple[str, ...]:
    """Register a judge or contestant in the ledger, and return the ledger's notices."""
    notice = ledger.declare(role, who.name, who.settings)
    if role == "judge" and (twin := ledger.twin_of(who.name)) is not None:
        warnings.warn(
            f"{ledger.place}: {twin!r} has ruled here and has the same settings as {who.name!r}, which is asked anew; "
            f"where they are one, stop and type: fullbench ledger alias {twin!r} {who.name!r} --ledger {ledger.place}",
            DataWarning,
            stacklevel=2,
        )
    return (notice,) if notice else ()
