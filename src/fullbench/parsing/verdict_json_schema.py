"""JSON schema of a verdict, for servers that can enforce one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fullbench.core.ballot import Ballot

LONGEST = 300
"""Reasons have so many characters at most: a small model that may go on would go on until it is cut off."""


def ruling_schema(form: Ballot, n: int, *, reasons: bool, check_code: bool = False) -> str:
    """Return the JSON schema of a verdict as text; reasons come first, the check code last, if they are requested.

    A schema cannot say everything: a ranking may still name a letter twice, and is unreadable then. The code is any
    short word: a server that enforced the right one would prove nothing.

    >>> from fullbench.core.ballot import Choice
    >>> json.loads(ruling_schema(Choice(tie=False), 2, reasons=False))["properties"]
    {'judgement': {'type': 'string', 'enum': ['A', 'B']}}
    """
    value, count = form.values(n)
    judgement = value if count == 1 else {"type": "array", "items": value, "minItems": count, "maxItems": count}
    first: dict[str, Any] = {"analysis": {"type": "string", "maxLength": LONGEST}} if reasons else {}
    last: dict[str, Any] = {"code": {"type": "string", "maxLength": 20}} if check_code else {}
    parts: Mapping[str, Any] = {**first, "judgement": judgement, **last}
    return json.dumps({
        "type": "object", "properties": parts, "required": list(parts), "additionalProperties": False,
    })  # fmt: skip
