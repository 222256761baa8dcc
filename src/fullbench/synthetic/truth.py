"""The truth: how right a response is, computed from the scene behind the picture. It stands in for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody
from fullbench.core.verdict import Verdict
from fullbench.judges.baselines import marks_from
from fullbench.synthetic.answer_quality import quality
from fullbench.synthetic.questions import understand
from fullbench.synthetic.sample_items import Known


class TruthJudge(AsksNobody):
    """Rules from the scenes themselves; what it is not told of it does not rule on.

    Equal qualities tie where the ballot allows a tie. A ranking allows none: there a draw that every item makes anew
    puts them in order, whatever their places.
    """

    kind = "metric"
    name = "truth"

    def __init__(self, known: Iterable[Known]) -> None:
        self._known = {entry.item.key: entry for entry in known}
        self._heard: dict[tuple[str, str], float] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"kind": "truth"}

    def qualities(self, case: Case) -> tuple[float, ...] | None:
        """How right each response is, in the order shown; None when the item's scene is not known."""
        known = self._known.get(case.item.key)
        if known is None:
            return None
        return tuple(self._quality(known, response.text) for response in case.responses)

    def _quality(self, known: Known, text: str) -> float:
        key = known.item.id, text
        if key not in self._heard:
            self._heard[key] = quality(known.query, known.scene, text)
        return self._heard[key]

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            qualities = self.qualities(case)
            marks = None if qualities is None else marks_from(case.ballot, qualities, order=_order(case))
            yield Verdict.of(case, self.name, "recused" if marks is None else marks)


class PictureTruth(TruthJudge):
    """The truth about questions that somebody else wrote: known where the picture and the question's meaning are."""

    def __init__(self, known: Iterable[Known]) -> None:
        super().__init__(())
        self._scenes = {entry.item.pictures[0].digest: entry.scene for entry in known}

    def qualities(self, case: Case) -> tuple[float, ...] | None:
        pictures = case.item.pictures
        scene = self._scenes.get(pictures[-1].digest) if pictures else None
        query = understand(case.item.question)
        if scene is None or query is None:
            return None
        return tuple(quality(query, scene, response.text) for response in case.responses)


def _order(case: Case) -> list[str]:
    return [digest(["truth", response.key]) for response in case.responses]
