"""JSON schema of a verdict, for servers that can enforce one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fullbench.core.ballot import Ballot

LONGEST = 300
"""Reasons have so many characters at most: a small model that may go on would go on until it is cut off."""


def ruling_schema(form: Ballot, n: int, *, reasons: bool) -> str:
    """What a ruling on a ballot looks like, as the text of a JSON schema; reasons stand first where they are given.

    A schema cannot say everything: a ranking may still name a letter twice, and is unreadable then.

    >>> from fullbench.core.ballot import Choice
    >>> json.loads(ruling_schema(Choice(tie=False), 2, reasons=False))["properties"]
    {'judgement': {'type': 'string', 'enum': ['A', 'B']}}
    """
    value, count = form.values(n)
    judgement = value if count == 1 else {"type": "array", "items": value, "minItems": count, "maxItems": count}
    first: dict[str, Any] = {"analysis": {"type": "string", "maxLength": LONGEST}} if reasons else {}
    parts: Mapping[str, Any] = {**first, "judgement": judgement}
    return json.dumps({
        "type": "object", "properties": parts, "required": list(parts), "additionalProperties": False,
    })  # fmt: skip
