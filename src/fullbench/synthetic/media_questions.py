"""Questions about a recording (video, sound or document) of known content, each with a right and a wrong answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fullbench.synthetic.vocabulary import Language

Medium = Literal["video", "audio", "document"]


@dataclass(frozen=True)
class MediaQuestion:
    """Question with two recordings: `right` is right for `shown`, and `wrong` for `other`.

    `needs_order`: the parts of the recording in another order do not tell the answer. `is_reversible`: played
    backwards, the recording makes `wrong` right.
    """

    name: str
    medium: Medium
    kind: str
    language: Language
    question: str
    right: str
    wrong: str
    shown: bytes
    other: bytes
    needs_order: bool = False
    is_reversible: bool = False
