"""Cases and verdicts for the tests of the ledger."""

from __future__ import annotations

import io

from PIL import Image

from fullbench.core.ballot import Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict


def png(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (2, 2), shade).save(buffer, "PNG")
    return buffer.getvalue()


def case(number: int = 0, *pictures: Picture, contestant: str = "a", **tags: str) -> Case:
    item = Item.ask(f"item-{number}", f"what is {number}?", *pictures, reference=f"{number}", tags=tags)
    return Case(item, (Response.say(item.id, contestant, f"it is {number}"),), Score(1, 5))


def verdict(number: int = 0, judge: str = "j", mark: float = 3.0, **rest: object) -> Verdict:
    rest = {"text": f"because {number}", "usage": Usage(1, 0, 10, 5, 0.25, 0.5), "at": 1000.0 + number, **rest}
    return Verdict.from_case(case(number), judge, [mark], **rest)
